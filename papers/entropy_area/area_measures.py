"""Stage `measures`: correlations of a response's measures with the variety of repeated samples, for all models."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import polars as pl

from entropy_sentinel.schemas.file_sets import read_by_owner
from papers.entropy_area.area_exhibits import TARGETS, list_measures, measure_title
from papers.entropy_area.area_frames import CORRELATIONS, ITEMS, RESPONSES, SPREAD
from papers.entropy_area.correlation import compute_correlation, explain_no_correlation

Sets = Mapping[str, Sequence[str]]

_ENTROPY = pl.col("answer_entropy")
# Ranges of the answer entropy by name: the title, in bits, and an expression for whether a row of ITEMS is in it.
RANGES: Mapping[str, tuple[str, pl.Expr]] = {
    "low": ("[0, 0.5)", _ENTROPY < 0.5),
    "medium": ("[0.5, 1.5]", _ENTROPY.is_between(0.5, 1.5)),
    "high": ("(1.5, inf)", _ENTROPY > 1.5),
}


class AreaMeasureSettings(TypedDict):
    """Settings: sets of benchmarks by name, kinds of answers, number of bootstrap samples and their seed."""

    sets: Sets
    answers: list[str]
    resamples: int
    seed: int


def write_measures(
    by_item: Sequence[str],
    by_response: Sequence[str],
    models: Sequence[str],
    settings: AreaMeasureSettings,
    correlations_output: str,
    spread_output: str,
) -> None:
    """Write correlations (CORRELATIONS), and how much the score depends on the sample (SPREAD).

    `by_item` are files ITEMS and `by_response` files RESPONSES, one for each of `models`.
    """
    items = read_by_owner(ITEMS, by_item, {"model": models})
    provenance = {"settings": dict(settings)}
    CORRELATIONS.write(CORRELATIONS.frame(list(correlate_measures(items, settings))), correlations_output, provenance)
    responses = read_by_owner(RESPONSES, by_response, {"model": models})
    SPREAD.write(SPREAD.frame(list(compute_spreads(items, responses, settings))), spread_output, provenance)


def select_benchmarks(frame: pl.DataFrame, model: str, benchmarks: Sequence[str]) -> pl.DataFrame:
    """The rows of one model on some benchmarks."""
    return frame.filter(pl.col("model") == model, pl.col("benchmark").is_in(benchmarks))


def select_complete_items(items: pl.DataFrame, names: Sequence[str], target: str) -> pl.DataFrame:
    """The items with all measures in `names` and the entropy `target`; a measure that no item has is not required."""
    measured_names = [name for name in names if items[name].null_count() < len(items)]
    return items.drop_nulls([*measured_names, target])


def correlate_measures(items: pl.DataFrame, settings: AreaMeasureSettings) -> Iterator[dict[str, Any]]:
    """Yield rows of CORRELATIONS from a frame ITEMS, for each model, set of benchmarks, entropy and measure.

    All measures are compared on the same items.
    """
    names = list_measures(settings["answers"])
    for model in items["model"].unique(maintain_order=True):
        for name, benchmarks in settings["sets"].items():
            model_items = select_benchmarks(items, model, benchmarks)
            for target in TARGETS:
                rows = select_complete_items(model_items, names, target)
                for measure in names:
                    key_fields = {"model": model, "benchmark": name, "measure": measure, "target": target}
                    yield key_fields | {"n_items": len(rows)} | _correlate_measure(rows, measure, target, settings)


def _correlate_measure(rows: pl.DataFrame, measure: str, target: str, settings: AreaMeasureSettings) -> dict[str, Any]:
    """The columns r to reason of CORRELATIONS for the items in `rows`; all but the reason are null without an r."""
    empty = dict.fromkeys(("r", "p", "lower", "upper", "rho", "rho_p", "reason"))
    if len(rows) and rows[measure].null_count():
        return empty | {"reason": "no response has it"}
    x, y = rows[measure], rows[target]
    if reason := explain_no_correlation(x, y, (measure_title(measure), TARGETS[target])):
        return empty | {"reason": reason}
    return empty | vars(compute_correlation(x, y, settings["resamples"], settings["seed"]))


def compute_spreads(
    items: pl.DataFrame, responses: pl.DataFrame, settings: AreaMeasureSettings
) -> Iterator[dict[str, Any]]:
    """Yield rows of SPREAD, the differences in EAS between an item's samples, from frames ITEMS and RESPONSES."""
    for model in items["model"].unique(maintain_order=True):
        for name, benchmarks in settings["sets"].items():
            entropies = select_benchmarks(items, model, benchmarks).select("benchmark", "item_id", "answer_entropy")
            for answer in settings["answers"]:
                score = f"eas_{answer}"
                scored_responses = (
                    select_benchmarks(responses, model, benchmarks).drop_nulls(score).rename({score: "score"})
                )
                # One score of an item shows no difference between samples.
                repeated_responses = scored_responses.filter(pl.len().over("benchmark", "item_id") > 1)
                rows = repeated_responses.join(entropies, on=["benchmark", "item_id"], maintain_order="left")
                yield {"model": model, "benchmark": name, "answer": answer} | _compute_spread(rows)


def _compute_spread(rows: pl.DataFrame) -> dict[str, Any]:
    """The columns n_items to r_mean of SPREAD, from rows with `sample`, `score` and `answer_entropy`.

    r is the correlation of the score with the answer entropy, for the first, second, ... sample of each item.
    """
    item_rows = rows.group_by("benchmark", "item_id", maintain_order=True).agg(
        pl.col("score").mean(), pl.col("answer_entropy").first(), variance=pl.col("score").var(), n=pl.len()
    )
    empty = dict.fromkeys(("within_sd", "between_sd", "r_first", "r_lowest", "r_highest", "r_mean"))
    counts = {"n_items": len(item_rows), "n_scores": len(rows)}
    if len(item_rows) < 2:
        return counts | empty
    degrees_of_freedom = (item_rows["n"] - 1).to_numpy()
    r_by_sample = [
        _compute_r(sample_rows) for _, sample_rows in rows.sort("sample").group_by("sample", maintain_order=True)
    ]
    defined_r = [r for r in r_by_sample if r is not None]
    return counts | {
        "within_sd": float(
            np.sqrt((item_rows["variance"].to_numpy() * degrees_of_freedom).sum() / degrees_of_freedom.sum())
        ),
        "between_sd": float(item_rows["score"].to_numpy().std(ddof=1)),
        "r_first": r_by_sample[0],
        "r_lowest": min(defined_r, default=None),
        "r_highest": max(defined_r, default=None),
        "r_mean": _compute_r(item_rows),
    }


def _compute_r(rows: pl.DataFrame) -> float | None:
    """Pearson's r of `score` with `answer_entropy`; None if it is undefined, as for equal scores."""
    x, y = rows["score"], rows["answer_entropy"]
    return None if explain_no_correlation(x, y) else float(np.corrcoef(x, y)[0, 1])
