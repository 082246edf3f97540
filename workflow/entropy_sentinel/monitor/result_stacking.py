"""Make one result of those of several models: rows by rank, alerts, and where they come from."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from entropy_sentinel.logs.model_names import strip_prefix
from entropy_sentinel.monitor.estimating.slice_rows import add_rank
from entropy_sentinel.monitor.labelling.witness_table import measure_label_worth
from entropy_sentinel.monitor.monitor_options import MODEL, MonitorOptions
from entropy_sentinel.monitor.monitor_result import Monitored
from entropy_sentinel.monitor.summing.sum_merging import OTHERS


def stack_results(results: Sequence[Monitored], settings: MonitorOptions) -> Monitored:
    """One result for several models, the most expected errors first."""
    results = [_name_pooled_slices(result) for result in results]
    first = results[0]
    slices = add_rank(_stack_frames([result.slices for result in results]))
    usable = [result.last_usable for result in results if result.last_usable is not None]
    by, last_usable = list(first.by), None
    if usable:  # in the order of the slices
        last_usable = slices.select(by).join(_stack_frames(usable), on=by, how="left", nulls_equal=True)
    whole = Monitored(
        by=first.by,
        slices=slices,
        windows=_stack_windows([result.windows for result in results]),
        alerts=[],
        provenance=_stack_provenance(results, settings),
        problems=first.problems,
        newest=first.newest,
        recent=_stack_windows([result.recent for result in results]),
        last_usable=last_usable,
    )
    for result in results:
        whole.alerts.extend(result.alerts)
        whole.behind.extend(result.behind)
        whole.drops.extend(result.drops)
        whole.histories.update(result.histories)
    return whole


def _stack_frames(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(frames, how="vertical_relaxed")


def _stack_windows(frames: Sequence[pl.DataFrame | None]) -> pl.DataFrame | None:
    """The rows of all results by window and rank; null if the results have no windows."""
    rows = [frame for frame in frames if frame is not None]
    return add_rank(_stack_frames(rows), "window") if rows else None


def _name_pooled_slices(result: Monitored) -> Monitored:
    """A result whose slice of all small slices, OTHERS, has its model as value, so that each model has its own."""
    model = _find_model(result)

    def add_model(frame: pl.DataFrame) -> pl.DataFrame:
        pooled = pl.all_horizontal(pl.col(name) == OTHERS for name in result.by).fill_null(False)
        return frame.with_columns(pl.when(pooled).then(pl.lit(model)).otherwise(MODEL).alias(MODEL))

    def is_pooled(slice_: Mapping[str, Any]) -> bool:
        return all(value == OTHERS for value in slice_.values())

    for alert in result.alerts:
        if is_pooled(alert.slice):
            alert.slice[MODEL] = model
    drops = [
        replace(drop, slice={**drop.slice, MODEL: model}) if is_pooled(drop.slice) else drop for drop in result.drops
    ]
    return replace(
        result,
        slices=add_model(result.slices),
        windows=None if result.windows is None else add_model(result.windows),
        recent=None if result.recent is None else add_model(result.recent),
        last_usable=None if result.last_usable is None else add_model(result.last_usable),
        drops=drops,
    )


def _find_model(result: Monitored) -> str:
    """The model of a result of one estimator, without its provider."""
    return strip_prefix(result.provenance["estimators"][0]["model"])


def _list_witnesses(every: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The witnesses (judges and second models) of each model's responses, from each provenance; as JSON."""
    witnesses: list[dict[str, Any]] = []
    for about in every:
        model = about["estimators"][0]["model"] if len(every) > 1 else None
        witnesses += [kept | {"responses_of": model} for kept in about["judge"] if kept["n_seen"]]
    return witnesses


def _stack_provenance(results: Sequence[Monitored], settings: MonitorOptions) -> dict[str, Any]:
    """Where the rows come from: the first result's, with the counts and estimators of all."""
    every = [result.provenance for result in results]
    estimators: list[dict[str, Any]] = []
    reasons: dict[str, list[str]] = {}
    overridden, responses, files = Counter[str](), Counter[str](), Counter[str]()
    for about in every:
        estimators += about["estimators"]
        for flag, reason in about["general_flags"].items():
            reasons.setdefault(flag, []).append(f"{about['estimators'][0]['model']}: {reason}")
        overridden.update(about["overridden"])
        responses.update(about["responses"])
        files |= Counter(about["files"])  # the largest, because the estimators share the files
    return {
        **every[0],
        "monitor": settings.name or " + ".join(about["monitor"] for about in every),
        "estimators": estimators,
        "recognises_unfamiliar": all(about["recognises_unfamiliar"] for about in every),
        "general_flags": {flag: ". ".join(texts) for flag, texts in reasons.items()},
        "general_flag_codes": list(dict.fromkeys(code for about in every for code in about["general_flag_codes"])),
        "overridden": dict(overridden),
        "same_models": [entry for about in every for entry in about["same_models"]],
        "reading": {**settings.to_dict(), "by": list(results[0].by)},
        "files": {name: files[name] for name in ("read_now", "known", "in_all")},
        "responses": dict(responses),
        "judge": _list_witnesses(every),
        "label_worth": measure_label_worth(pl.concat([result.slices for result in results], how="diagonal_relaxed")),
        "witness_estimates": [
            {**entry, "watched": about["estimators"][0]["model"]}
            for about in every
            for entry in about["witness_estimates"]
        ],
        "pooled_slices": sum(about["pooled_slices"] for about in every),
    }
