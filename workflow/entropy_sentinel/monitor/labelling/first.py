"""Choose the first responses to label, before there is an estimator: many slices, with enough varied responses each.

More domains help a validation more than more labels per domain, up to a point: the budget goes to so many of the
largest slices that the verdict `usable` is most probable, with 20 to 40 labels each. A slice's responses are drawn
systematically, with equal probabilities, from a list of blocks of time. Within blocks, the list is sorted by entropy,
alternately ascending and descending (serpentine order: Williams and Chromy 1980). The sample therefore covers all
times and entropies, and its share of correct responses is unbiased.
"""

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.estimators.verdict import FEWEST_DOMAINS, FEWEST_LABELS
from entropy_sentinel.frames.generation import LOGPROBS
from entropy_sentinel.frames.response import item_numbers
from entropy_sentinel.monitor.labelling.chosen import Sample, drawn_number, identity, order_of, slice_columns, to_label
from entropy_sentinel.monitor.labelling.prospects import (
    PROBABLE,
    VERDICTS,
    JudgeQuality,
    labels_for_usable,
    probability_of_usable,
    prospects,
)
from entropy_sentinel.monitor.reading.inputs import BY, Given, features_in, format_of
from entropy_sentinel.monitor.settings import TIME, SampleOptions
from entropy_sentinel.sources.logs.reader import QUESTION
from entropy_sentinel.sources.logs.selection import ResponseSelection, as_text, first_of
from entropy_sentinel.statistics.monitoring.allocation import apportion
from entropy_sentinel.verbs.domains import other_domains, remedy
from entropy_sentinel.verbs.inputs import WEIGHT, is_table, only_value, slice_values
from entropy_sentinel.verbs.reading import read_features

# More labels per domain add little information, so the rest of the budget is left for a second round.
MOST_LABELS = 40
# Values that a note names.
_NAMED = 10
# The number of slices is chosen for this mean error of the estimator.
_TYPICAL_ERROR = 0.04
# Added columns; the parentheses avoid collisions with a log's columns, which may have any name.
_ORDER, _TIME, _ITEM = "(order)", "(time)", "(item)"


def first_sample(logs: Given, options: SampleOptions) -> Sample:
    """Return the responses to label for a first `fit`; the columns `options.by` define the slices.

    Raises InputError if there are too few slices or labels for a validation, or if the responses come from several
    models or kinds of log-probabilities.
    """
    columns, by, least = list(options.by), slice_columns(options.by), options.per_slice or FEWEST_LABELS
    every = _responses(logs, options)
    affordable = options.budget // least
    if affordable < FEWEST_DOMAINS:
        raise InputError(
            f"budget: must be at least {FEWEST_DOMAINS * least}, was {options.budget}: a validation needs "
            f"{FEWEST_DOMAINS} domains of {least} labels each"
        )
    rows = _one_per_item(every, by, options.seed)
    sizes = rows.group_by(*by).agg(n_responses=pl.len())
    sizes = sizes.sort("n_responses", *by, descending=[True, *[False] * len(by)])
    enough = sizes.filter(pl.col("n_responses") >= least)
    others = other_domains(every.drop(*by), columns, len(enough)) if len(enough) < affordable else {}
    if len(enough) < FEWEST_DOMAINS:
        raise InputError(
            f"by: {_slices(columns, len(enough), least)}, and a validation needs {FEWEST_DOMAINS}; "
            f"{remedy(others, '--by')}"
        )
    counts = _counts(enough["n_responses"].to_numpy(), options.budget, least)
    slices = enough.head(len(counts)).with_columns(n_to_label=pl.Series(counts))
    notes = []
    if len(counts) == len(enough) < affordable:
        notes.append(f"{_slices(columns, len(enough), least)}; {remedy(others, '--by')}")
    notes += _left_out(sizes, slices, by, least)
    group = f" --group {columns[0]}" if len(columns) > 1 else ""
    judge = JudgeQuality(options.judge_sensitivity, options.judge_specificity)
    notes.append(_needed(judge))
    return Sample(
        _chosen(rows, slices, by, options.seed),
        slices.rename(by),
        options.level,
        prospects=prospects(len(counts), int(counts.min()), options.budget, judge),
        notes=tuple(notes),
        next_step=f"fit LOGS --domain {columns[-1]}{group}",
        n_left_out=len(rows) - int(slices["n_responses"].sum()),
    )


def _needed(judge: JudgeQuality) -> str:
    """Return a note on how many labels the verdict `usable` needs, with this judge and without."""
    alone, with_judge = labels_for_usable(_TYPICAL_ERROR), labels_for_usable(_TYPICAL_ERROR, judge)
    rates = f"a judge of sensitivity {judge.sensitivity:g} and specificity {judge.specificity:g}"
    ways = {f"with {rates} and {VERDICTS} verdicts per domain (`fit --judged`)": with_judge, "without one": alone}
    needed = [
        f"about {labels:,} labels {way}" if labels else f"more labels than were simulated {way}"
        for way, labels in ways.items()
    ]
    return (
        f"`usable` with a probability of {PROBABLE:.0%} at a mean error of {_TYPICAL_ERROR:.2f}, with as many values "
        f"as that takes: {', and '.join(needed)}; for a single validation"
    )


def _left_out(sizes: pl.DataFrame, chosen: pl.DataFrame, by: Mapping[str, str], least: int) -> list[str]:
    """Return a note with the values that get no labels, and why; none if every value gets some."""
    rest = sizes.join(chosen.select(*by), on=list(by), how="anti", nulls_equal=True, maintain_order="left")
    few = rest.filter(pl.col("n_responses") < least)
    others = rest.filter(pl.col("n_responses") >= least)
    notes = []
    if len(few):
        notes.append(f"left out, fewer than {least} responses: {_values(few, by)}")
    if len(others):
        notes.append(
            "left out, with more values, each would get fewer labels, and the verdict `usable` would be less probable: "
            f"{_values(others, by)}"
        )
    return notes


def _values(sizes: pl.DataFrame, by: Mapping[str, str]) -> str:
    """Return the first values of `sizes` with their numbers of responses."""
    names = []
    for row in sizes.head(_NAMED).iter_rows(named=True):
        value = "/".join("-" if row[name] is None else str(row[name]) for name in by)
        names.append(f"{value} ({row['n_responses']:,})")
    if len(sizes) > _NAMED:
        names.append(f"and {len(sizes) - _NAMED} more")
    return ", ".join(names)


def _slices(by: Sequence[str], n: int, least: int) -> str:
    return f"{n} values of {', '.join(by)} have {least} responses or more"


def _responses(logs: Given, options: SampleOptions) -> pl.DataFrame:
    """Return the responses with features, with slice columns as text; raise InputError for several models or kinds."""
    if is_table(logs):
        rows = ResponseSelection(options).of(features_in(logs, options, (TIME, QUESTION)))
    else:
        rows = read_features(logs, texts=True, further=(*options.by, TIME, QUESTION), **format_of(options))
    rows = rows.filter(pl.col("reason").is_null())
    if rows.is_empty():
        raise InputError("logs: no response has features, so none can be chosen")
    if not options.by:
        others = other_domains(rows, (), FEWEST_DOMAINS - 1)
        raise InputError(
            f"by: without an estimator, name the column whose values are the domains; {remedy(others, '--by')}"
        )
    for column in ("model", *LOGPROBS):
        only_value(rows, column)
    slices = {f"{BY}{name}": as_text(slice_values(rows, name, "by")) for name in options.by}
    texts = {name: first_of(rows, [name]).cast(pl.String) for name in (QUESTION, "response")}
    return rows.with_columns(**slices, **texts)


def _one_per_item(rows: pl.DataFrame, by: Collection[str], seed: int) -> pl.DataFrame:
    """Return one response per question, because several answers to one question count as one label."""
    time = first_of(rows, [TIME])
    ranked = rows.with_columns(
        order_of(rows, seed).alias(_ORDER), time.rank("dense").alias(_TIME), pl.Series(_ITEM, item_numbers(rows))
    )
    return ranked.sort(_ORDER).unique([*by, _ITEM], keep="first", maintain_order=True)


def _counts(sizes: np.ndarray, budget: int, least: int) -> np.ndarray:
    """Return the number of labels of each chosen slice, (n_chosen,); `sizes` is (n_slices,), largest first.

    The largest slices are chosen, with at least `least` labels each. Their number maximises the probability of
    `usable`; if several numbers tie, the largest wins.
    """
    most = max(least, MOST_LABELS)
    best, best_probability = np.zeros(0, dtype=int), -1.0
    for n in range(FEWEST_DOMAINS, min(len(sizes), budget // least) + 1):
        counts = apportion(np.ones(n), np.full(n, least), np.minimum(sizes[:n], most), budget)
        probability = probability_of_usable(_TYPICAL_ERROR, n, counts.min())
        if probability >= best_probability:
            best, best_probability = counts, probability
    return best


def _chosen(rows: pl.DataFrame, slices: pl.DataFrame, by: Mapping[str, str], seed: int) -> pl.DataFrame:
    """Return the rows to label, by slice, in an order that does not depend on their entropies."""
    parts = []
    for row in slices.iter_rows(named=True):
        values, n = [row[name] for name in by], row["n_to_label"]
        same = [pl.col(name).eq_missing(value) for name, value in zip(by, values, strict=True)]
        here = rows.filter(*same)
        drawn = here[_spread(here, n, f"{seed} {values}")].sort(_ORDER)
        parts.append(drawn.with_columns(inclusion_probability=n / len(here)))
    chosen = pl.concat(parts).with_columns((1 / pl.col("inclusion_probability")).alias(WEIGHT))
    return to_label(chosen, by, identity(rows), ("inclusion_probability",))


def _spread(rows: pl.DataFrame, n: int, seed: str) -> np.ndarray:
    """Return the positions of `n` rows, (n,), drawn systematically in serpentine order of time and entropy."""
    time = rows[_TIME].fill_null(0)
    blocks = math.isqrt(n) if time.n_unique() > 1 else 1
    place = np.empty(len(rows), dtype=int)
    place[np.lexsort((rows[_ORDER], time))] = np.arange(len(rows))
    block = place * blocks // len(rows)
    entropy = rows["mean"].to_numpy()
    serpentine = np.lexsort((rows[_ORDER], np.where(block % 2, -entropy, entropy), block))
    start = drawn_number(seed) / 2**64
    drawn: np.ndarray = serpentine[((start + np.arange(n)) * len(rows) / n).astype(int)]
    return drawn
