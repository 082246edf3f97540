"""Divide a budget of labels among slices before there is an estimator: to know them all, or to validate an estimator.

Labels are for watching the slices, unless the verdict `usable` of a first `fit` is likely enough: slices with equally
many labels have equally wide intervals. For a first `fit`, more domains help more than more labels per domain, up to a
point: the budget goes to so many of the largest slices that `usable` is most probable, with 20 to 40 labels each; with
a judge, with 10 or more.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.estimators.verdict import FEWEST_DOMAINS, FEWEST_LABELS
from entropy_sentinel.monitor.labelling.judge_budget import JudgeBudget
from entropy_sentinel.monitor.labelling.sample_table import Purpose
from entropy_sentinel.monitor.labelling.usable_probability import (
    LABELS_WITH_JUDGE,
    TYPICAL_ERROR,
    VERDICTS,
    WORTHWHILE,
    JudgeQuality,
    probability_of_usable,
    probability_with_judge,
)
from entropy_sentinel.monitor.monitor_options import SampleOptions
from entropy_sentinel.schemas.generation_schema import LOGPROBS
from entropy_sentinel.schemas.response_schema import item_numbers
from entropy_sentinel.statistics.monitoring.allocation import apportion_labels

# Default minimum number of labels per slice; smaller slices are left out without an estimator.
LABELS_A_SLICE = 5
# Verdicts of a judge for each label; more hardly narrow an interval.
VERDICTS_A_LABEL = 10
# For a first `fit`, more labels per domain add little information, so the rest of the budget is left for a second one.
MOST_LABELS = 40
# A probability of `usable` that is lower by so much is nearly the same.
_NEARLY = 0.05
# The random order of responses.
ORDER = "(order)"


class Allocation(NamedTuple):
    """The responses to choose from, the slices with `n_responses` and `n_to_label`, and all slices with their sizes.

    `rows` are those from which labels can be drawn. `fewest` is the number of responses that a slice needs.
    """

    purpose: Purpose
    rows: pl.DataFrame
    slices: pl.DataFrame
    sizes: pl.DataFrame
    fewest: int


def allocate_labels(
    rows: pl.DataFrame, by: Mapping[str, str], options: SampleOptions, judge: JudgeBudget | None
) -> Allocation:
    """How many responses of each slice to label; raises InputError if the budget is too small for any slice.

    `by` are the names of the slice columns in tables, by their names in `rows`; `judge` is null if none is planned.
    """
    return _allocate_for_validation(rows, by, options, judge) or _allocate_for_watching(rows, by, options)


def allocate_verdicts(sizes: np.ndarray, labels: np.ndarray, judge: JudgeBudget) -> np.ndarray:
    """The number of verdicts of each slice, (n_slices,): equally many, and the labelled responses among them.

    More than VERDICTS, and VERDICTS_A_LABEL for each label, would add little. Raises InputError if the budget is too
    small for the responses to label.
    """
    if judge.n_affordable < labels.sum():
        raise InputError(
            f"judge_usd: {judge.usd:g} US dollars pay for about {judge.n_affordable:,} verdicts, and the judge must "
            f"also see the {labels.sum():,} responses to label, so that labels correct its errors; give at least "
            f"{judge.usd_for(int(labels.sum())):g}, or a smaller {format_option('budget')}"
        )
    most = np.minimum(sizes, np.maximum(VERDICTS, VERDICTS_A_LABEL * labels))
    most = np.where(labels > 0, np.maximum(most, labels), 0)
    return apportion_labels(np.ones(len(sizes)), labels, most, int(min(judge.n_affordable, most.sum())))


def is_fittable(rows: pl.DataFrame) -> bool:
    """Whether one estimator can be fitted on all these responses: one model, and log-probabilities of a kind."""
    features = rows.filter(pl.col("reason").is_null())
    return len(features) > 0 and all(features[name].n_unique() == 1 for name in ("model", *LOGPROBS))


def count_slices(rows: pl.DataFrame, by: Mapping[str, str]) -> pl.DataFrame:
    """The slices with their `n_responses`, the largest first."""
    if not by:
        return pl.DataFrame({"n_responses": [len(rows)]}, schema={"n_responses": pl.UInt32})
    sizes = rows.group_by(*by).agg(n_responses=pl.len())
    return sizes.sort("n_responses", *by, descending=[True, *[False] * len(by)])


def _allocate_for_watching(rows: pl.DataFrame, by: Mapping[str, str], options: SampleOptions) -> Allocation:
    """Equally many labels for each slice, or for so many of the largest ones as can get the least number."""
    least = LABELS_A_SLICE if options.per_slice is None else options.per_slice
    most = max(least, options.budget) if options.max_per_slice is None else options.max_per_slice
    least = min(least, most)
    fewest = max(1, min(least, LABELS_A_SLICE))  # slices with fewer responses get no labels
    sizes = count_slices(rows, by)
    enough = sizes.filter(pl.col("n_responses") >= fewest)
    if enough.is_empty():
        raise InputError(
            f"by: no value of {', '.join(options.by)} has {fewest} responses; use a column with fewer values"
        )
    needed = np.minimum(enough["n_responses"].to_numpy().astype(int), least)
    n_affordable = int(np.count_nonzero(np.cumsum(needed) <= options.budget))
    if not n_affordable:
        raise InputError(f"budget: must be at least {needed[0]}, the labels of one slice, got {options.budget}")
    slices = enough.head(n_affordable)  # the largest ones
    slice_sizes = np.minimum(slices["n_responses"].to_numpy(), most)
    counts = apportion_labels(np.ones(n_affordable), needed[:n_affordable], slice_sizes, options.budget)
    return Allocation(
        Purpose.WATCH, rows=rows, slices=slices.with_columns(n_to_label=pl.Series(counts)), sizes=sizes, fewest=fewest
    )


def _allocate_for_validation(
    rows: pl.DataFrame, by: Mapping[str, str], options: SampleOptions, judge: JudgeBudget | None
) -> Allocation | None:
    """The labels with which `usable` is most probable; null if it is improbable or was not asked for."""
    least = FEWEST_LABELS if judge is None else LABELS_WITH_JUDGE[0]
    if options.per_slice is not None:
        if options.per_slice < FEWEST_LABELS:
            return None
        least = options.per_slice
    most = MOST_LABELS if options.max_per_slice is None else min(MOST_LABELS, options.max_per_slice)
    if not by or not is_fittable(rows) or (options.max_per_slice or least) < least:
        return None
    items = _select_one_per_item(rows.filter(pl.col("reason").is_null()), by)
    sizes = count_slices(items, by)
    enough = sizes.filter(pl.col("n_responses") >= least)
    quality = JudgeQuality(options.judge_sensitivity, options.judge_specificity)

    available = enough["n_responses"].to_numpy().astype(int)

    def compute_chance(n_slices: int, labels: int) -> float:
        verdicts = 0 if judge is None else count_domain_verdicts(n_slices, int(available[n_slices - 1]), judge)
        return compute_usable_chance(n_slices, labels, verdicts, quality)

    counts, probability = choose_counts(available, options.budget, least, compute_chance, most)
    if probability < WORTHWHILE:
        return None
    slices = enough.head(len(counts)).with_columns(n_to_label=pl.Series(counts))
    return Allocation(Purpose.VALIDATE, rows=items, slices=slices, sizes=sizes, fewest=least)


def compute_usable_chance(n_slices: int, labels: int, verdicts: int, quality: JudgeQuality) -> float:
    """The probability of `usable` at TYPICAL_ERROR, with so many labels and verdicts in each slice."""
    alone = probability_of_usable(TYPICAL_ERROR, n_slices, labels)
    return max(alone, probability_with_judge(TYPICAL_ERROR, n_slices, labels, quality, verdicts))


def count_domain_verdicts(n_slices: int, responses: int, judge: JudgeBudget | None) -> int:
    """How many verdicts each slice can get, at most VERDICTS; `responses` are those of the smallest one."""
    affordable = VERDICTS if judge is None else judge.n_affordable // max(n_slices, 1)
    return min(VERDICTS, responses, affordable)


def choose_counts(
    sizes: np.ndarray, budget: int, least: int, chance: Callable[[int, int], float], most: int = MOST_LABELS
) -> tuple[np.ndarray, float]:
    """The number of labels of each chosen slice, (n_chosen,), and the probability of `usable`.

    `sizes` is (n_slices,), largest first. The largest slices are chosen, with `least` to `most` labels each. Of the
    numbers of slices whose chance is nearly the best, the largest wins, so that few slices are left out.
    """
    most = max(least, most)
    plans: list[tuple[np.ndarray, float]] = []
    for n in range(FEWEST_DOMAINS, min(len(sizes), budget // least) + 1):
        counts = apportion_labels(np.ones(n), np.full(n, least), np.minimum(sizes[:n], most), budget)
        plans.append((counts, chance(n, int(counts.min()))))
    if not plans:
        return np.zeros(0, dtype=int), 0.0
    enough = max(probability for _, probability in plans) - _NEARLY
    return max((plan for plan in plans if plan[1] >= enough), key=lambda plan: len(plan[0]))


def _select_one_per_item(rows: pl.DataFrame, by: Mapping[str, str]) -> pl.DataFrame:
    """One response per question, because several answers to one question count as one label of a `fit`."""
    item = pl.Series("(item)", item_numbers(rows))
    return rows.with_columns(item).sort(ORDER).unique([*by, "(item)"], keep="first", maintain_order=True)
