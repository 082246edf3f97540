"""Watch several models at once: an estimator for each model, and one result for all."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.api.estimation import saved_estimator
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.opening import STANDARD_INPUT
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.logs.models import bare
from entropy_sentinel.monitor.estimating.estimates import ranked
from entropy_sentinel.monitor.labelling.labelled import WITHOUT
from entropy_sentinel.monitor.labelling.witness_quality import measure_label_worth
from entropy_sentinel.monitor.reading.problems import Problems
from entropy_sentinel.monitor.result import Monitored
from entropy_sentinel.monitor.settings import MODEL, MonitorOptions
from entropy_sentinel.monitor.summing.merging import OTHERS

Estimators = list[FittedEstimator | str | Path] | tuple[FittedEstimator | str | Path, ...]

# Why responses of a model are left out, and what to do.
_NO_ESTIMATOR = "which no estimator is for"
_REMEDY = "left out: give an estimator of this model too, or name the models to watch (--where model=NAME)"


@dataclass(frozen=True)
class Part:
    """An estimator for the responses of one model, and the file that keeps their sums, or null."""

    model: str
    estimator: FittedEstimator | str | Path
    state: Path | None

    def options(self, settings: MonitorOptions) -> MonitorOptions:
        """Return the settings for this model's responses, with the column MODEL among the slices."""
        others = tuple(pair for pair in settings.where if not is_of_model(pair))
        return settings.model_copy(update={"by": _by(settings), "where": (*others, f"{MODEL}={self.model}")})


def parts_of(estimators: Estimators, logs: Any, state: str | Path | None, settings: MonitorOptions) -> list[Part]:
    """Return a part for each estimator; raise ConfigError unless each is for another model."""
    if not estimators:
        raise ConfigError("estimator: must be at least one, was an empty list")
    if settings.any_model:
        raise ConfigError("any_model: must not be set with several estimators, each of which is for its own model")
    paths = [logs] if isinstance(logs, str | Path) else logs
    if STANDARD_INPUT in map(str, paths):
        raise ConfigError("logs: must be files if there are several estimators, because each reads them")
    parts: dict[str, Part] = {}
    for number, estimator in enumerate(estimators, start=1):
        name = str(number) if isinstance(estimator, FittedEstimator) else str(estimator)
        model = bare(saved_estimator(estimator).metadata.model or "")
        if not model:
            raise ConfigError(f"estimator {name}: must name its model if there are several estimators; fit it again")
        if model in parts:
            raise ConfigError(
                f"estimator {name}: must be of another model than the other estimators, was also of '{model}'"
            )
        own = None if state is None else Path(f"{state}.{re.sub(r'[^A-Za-z0-9._-]', '-', model)}")
        if own is not None and own in [part.state for part in parts.values()]:
            raise ConfigError(f"state: {own} would belong to two models; run a monitor for each of them")
        parts[model] = Part(model, estimator, own)
    for pair in settings.same_model:
        if bare(pair.partition("=")[0]) not in parts:
            names = ", ".join(parts)
            raise ConfigError(f"same_model: must be OLD=NEW, where OLD has an estimator ({names}), was '{pair}'")
    wanted = {bare(pair.partition("=")[2]) for pair in settings.where if is_of_model(pair)}
    watched = [part for model, part in parts.items() if not wanted or model in wanted]
    if not watched:
        raise ConfigError(f"where: must name a model that has an estimator ({', '.join(parts)})")
    return watched


def joined(
    results: Sequence[Monitored], settings: MonitorOptions, silent: Sequence[str], without: Sequence[Collection[int]]
) -> Monitored:
    """Return one result for several models, the most expected errors first.

    `silent` are the models without a response, and `without` the numbers of the labels that match no response, for
    each result.
    """
    results = [_with_model(result) for result in results]
    first, problems = results[0], _problems(results, settings)
    if silent:
        problems.note("models without a response", [f"'{model}'" for model in silent])
    if without and (lost := frozenset.intersection(*map(frozenset, without))):
        problems.note(WITHOUT, [], len(lost))
    slices = ranked(_stacked([result.slices for result in results]))
    usable = [result.last_usable for result in results if result.last_usable is not None]
    by, last_usable = list(first.by), None
    if usable:  # in the order of the slices
        last_usable = slices.select(by).join(_stacked(usable), on=by, how="left", nulls_equal=True)
    whole = Monitored(
        by=first.by,
        slices=slices,
        windows=_ranked_windows([result.windows for result in results]),
        alerts=[],
        provenance=_provenance(results, settings, problems),
        problems=problems,
        newest=first.newest,
        recent=_ranked_windows([result.recent for result in results]),
        last_usable=last_usable,
    )
    for result in results:
        whole.alerts.extend(result.alerts)
        whole.behind.extend(result.behind)
        whole.drops.extend(result.drops)
        whole.histories.update(result.histories)
    return whole


def is_of_model(pair: str) -> bool:
    """Return whether an entry of `where` names a model."""
    return pair.partition("=")[0] == MODEL


def _by(settings: MonitorOptions) -> tuple[str, ...]:
    return settings.by if MODEL in settings.by else (MODEL, *settings.by)


def _stacked(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(frames, how="vertical_relaxed")


def _ranked_windows(frames: Sequence[pl.DataFrame | None]) -> pl.DataFrame | None:
    """Return the rows of all results by window and rank; null if the results have no windows."""
    rows = [frame for frame in frames if frame is not None]
    return ranked(_stacked(rows), "window") if rows else None


def _with_model(result: Monitored) -> Monitored:
    """Return a result whose slice of all small slices also has the model, so that each model has its own."""
    model = _model(result)

    def named(frame: pl.DataFrame) -> pl.DataFrame:
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
        drops=drops,
        slices=named(result.slices),
        windows=None if result.windows is None else named(result.windows),
        recent=None if result.recent is None else named(result.recent),
        last_usable=None if result.last_usable is None else named(result.last_usable),
    )


def _model(result: Monitored) -> str:
    return bare(result.provenance["estimators"][0]["model"])


def _problems(results: Sequence[Monitored], settings: MonitorOptions) -> Problems:
    """Return the problems of all results; those of the logs, which each estimator has read, count once."""
    whole, models = Problems(), {_model(result) for result in results}
    user_named_models = any(map(is_of_model, settings.where))
    for result in results:
        problems = result.problems
        for counts, total in ((problems.counts, whole.counts), (problems.notes, whole.notes)):
            for kind, count in counts.items():
                if kind in problems.of_logs:
                    total[kind] = max(total[kind], count)
                else:
                    total[kind] += count
        for left_out, count in problems.left_out.items():
            if left_out.column != MODEL:
                whole.left_out[left_out] += count
            elif left_out.value is None or left_out.value not in models:
                # Each estimator's part leaves out the responses of the other models.
                whole.left_out[left_out] = max(whole.left_out[left_out], count)
        whole.of_logs |= problems.of_logs
        whole.remedies |= problems.remedies
        whole.earlier.merge(problems.earlier, problems.of_logs)
        for kind, places in problems.places.items():
            whole.places.setdefault(kind, places)
    if not user_named_models:
        _record_unwatched(whole)
    return whole


def _record_unwatched(problems: Problems) -> None:
    """Count the responses of models without an estimator as problems instead of as left out by `where`."""
    for left_out in [kind for kind in problems.left_out if kind.column == MODEL]:
        named = left_out.value is not None
        whose = f"of model '{left_out.value}'" if named else "without a model name or of other models"
        problems.record(f"responses {whose}, {_NO_ESTIMATOR}", [], problems.left_out.pop(left_out), _REMEDY)


def _witnesses(every: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the witnesses of each model's responses."""
    witnesses: list[dict[str, Any]] = []
    for about in every:
        model = about["estimators"][0]["model"] if len(every) > 1 else None
        witnesses += [kept | {"responses_of": model} for kept in about["judge"] if kept["n_seen"]]
    return witnesses


def _provenance(results: Sequence[Monitored], settings: MonitorOptions, problems: Problems) -> dict[str, Any]:
    """Return where the rows come from: the first result's, with the counts and estimators of all."""
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
        files |= Counter(about["files"])  # the largest, because each estimator reads the same files
    return {
        **every[0],
        "monitor": settings.name or " + ".join(about["monitor"] for about in every),
        "estimators": estimators,
        "recognises_unfamiliar": all(about["recognises_unfamiliar"] for about in every),
        "general_flags": {flag: ". ".join(texts) for flag, texts in reasons.items()},
        "general_flag_codes": list(dict.fromkeys(code for about in every for code in about["general_flag_codes"])),
        "overridden": dict(overridden),
        "same_models": [entry for about in every for entry in about["same_models"]],
        "reading": {**settings.as_dict(), "by": list(_by(settings))},
        "files": {name: files[name] for name in ("read_now", "known", "in_all")},
        "responses": dict(responses),
        "judge": _witnesses(every),
        "label_worth": measure_label_worth(pl.concat([result.slices for result in results], how="diagonal_relaxed")),
        "witness_estimates": [
            {**entry, "watched": about["estimators"][0]["model"]}
            for about in every
            for entry in about["witness_estimates"]
        ],
        "pooled_slices": sum(about["pooled_slices"] for about in every),
        **problems.provenance(),
    }
