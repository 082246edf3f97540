"""Choose the first responses to label and to judge, before there is an estimator.

A slice's responses are drawn systematically, with equal probabilities, from a list of blocks of time. Within blocks,
the list is sorted by entropy, alternately ascending and descending (serpentine order: Williams and Chromy 1980). The
sample therefore covers all times and entropies, and its share of correct responses is unbiased. Responses without
log-probabilities have no entropies and come last in their block. With a judge, the responses to judge are drawn like
this, and those to label from these (two phases: Neyman 1938), so that labels correct the judge on its own sample.
"""

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from entropy_sentinel.api.input_checks import WEIGHT, is_table, read_slice_values
from entropy_sentinel.api.response_reading import read_features
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.features.exclusion_reasons import ExclusionCode
from entropy_sentinel.formatting.text_format import format_count, format_list
from entropy_sentinel.logs.conversation import CONVERSATION
from entropy_sentinel.logs.reader_base import QUESTION
from entropy_sentinel.logs.reference_answer import REFERENCE
from entropy_sentinel.logs.response_selection import ResponseSelection, coalesce_columns, to_text
from entropy_sentinel.monitor.labelling.cold_start_allocation import (
    ORDER,
    VERDICTS_A_LABEL,
    allocate_labels,
    allocate_verdicts,
)
from entropy_sentinel.monitor.labelling.expected_widths import Design, expect_widths
from entropy_sentinel.monitor.labelling.judge_budget import plan_judge_budget
from entropy_sentinel.monitor.labelling.plan_notes import describe_plan, expect_validation
from entropy_sentinel.monitor.labelling.sample_plan import Sample
from entropy_sentinel.monitor.labelling.sample_table import (
    Purpose,
    draw_number,
    draw_order,
    find_id_columns,
    make_label_table,
    name_slice_columns,
)
from entropy_sentinel.monitor.labelling.slice_list import keep_listed_slices
from entropy_sentinel.monitor.labelling.usable_probability import JudgeQuality
from entropy_sentinel.monitor.monitor_options import TIME, SampleOptions
from entropy_sentinel.monitor.reading.exclusions import HARMLESS_CODES, classify_reason
from entropy_sentinel.monitor.reading.feature_stream import (
    SLICE_PREFIX,
    LogSources,
    read_table_features,
    select_format_options,
)

# Added columns; the parentheses avoid collisions with a log's columns, which may have any name.
_TIME = "(time)"
# Responses with these reasons for no features have no answer, so nobody can label them.
_UNANSWERED_CODES = {*HARMLESS_CODES, ExclusionCode.UNREADABLE}


def draw_first_sample(logs: LogSources, options: SampleOptions) -> Sample:
    """The responses to label, and those to judge with `judge_usd`; the columns `options.by` define the slices.

    Raises InputError if the budget is too small for a slice, or if the responses come from several models that are not
    slices.
    """
    by = name_slice_columns(options.by)
    quality = JudgeQuality(options.judge_sensitivity, options.judge_specificity)
    rows, n_unanswered = _read_responses(logs, options)
    budget = plan_judge_budget(rows, options)
    plan = allocate_labels(rows, by, options, budget)
    slices = plan.slices
    sizes, counts = (slices[name].to_numpy().astype(int) for name in ("n_responses", "n_to_label"))
    if budget is None:
        n_judged = np.minimum(sizes, VERDICTS_A_LABEL * counts)
    else:
        n_judged = allocate_verdicts(sizes, counts, budget)
        slices = slices.with_columns(n_to_judge=pl.Series(n_judged))
    designs = list(map(Design, sizes.tolist(), counts.tolist(), n_judged.tolist()))
    widths = expect_widths(designs, quality, options.level)
    drawn = _draw_slices(plan.rows, slices, designs, options, by)
    ids = find_id_columns(plan.rows)
    notes = list(describe_plan(plan, rows, widths, options, budget))
    if n_unanswered:
        notes.append(f"left out: {format_count(n_unanswered, 'response')} without an answer, such as refused requests")
    return Sample(
        make_label_table(drawn.asked, by, ids, ("inclusion_probability",)),
        slices.with_columns(**widths).rename(by),
        options.level,
        to_judge=None if budget is None else make_label_table(drawn.judged, by, ids, ("inclusion_probability",)),
        judge_budget=budget,
        quality=quality,
        purpose=plan.purpose,
        prospects=expect_validation(slices, options, budget),
        notes=tuple(notes),
        next_step=_describe_next_step(plan.purpose, options),
        n_left_out=len(plan.rows) - int(sizes.sum()),
    )


def _describe_next_step(purpose: Purpose, options: SampleOptions) -> str:
    """The command to run with the labels, without its option `--labels`."""
    names = list(map(shlex.quote, options.by))
    if purpose is Purpose.WATCH:
        return " ".join(["monitor LOGS", *(f"--by {name}" for name in names)])
    group = f" --group {names[0]}" if len(names) > 1 else ""
    return f"fit LOGS --domain {names[-1]}{group}"


def _read_responses(logs: LogSources, options: SampleOptions) -> tuple[pl.DataFrame, int]:
    """The responses with an answer, their order and time, and slice columns as text; and how many have none.

    Raises InputError for several models, unless they are slices.
    """
    text_columns = (TIME, QUESTION, CONVERSATION, REFERENCE)
    if is_table(logs):
        rows = ResponseSelection(options).select(read_table_features(logs, options, text_columns))
    else:
        rows = read_features(logs, texts=True, further=(*options.by, *text_columns), **select_format_options(options))
    reasons = [
        reason for reason in rows["reason"].drop_nulls().unique() if classify_reason(reason) in _UNANSWERED_CODES
    ]
    n_read, rows = len(rows), rows.filter(~pl.col("reason").is_in(reasons).fill_null(False))
    if rows.is_empty():
        raise InputError("logs: no response has an answer, so none can be chosen")
    texts = {
        name: coalesce_columns(rows, [name]).cast(pl.String) for name in (QUESTION, "response", CONVERSATION, REFERENCE)
    }
    rows = rows.with_columns(**texts)
    models = rows["model"].value_counts(sort=True)["model"].to_list()
    if len(models) > 1 and "model" not in options.by:
        names = format_list(list(map(str, models)), 5)
        raise InputError(
            f"by: the responses are of several models ({names}); watch each with {format_option('by', 'model')}, or "
            f"use one: {format_option('where', f'model={models[0]}')}"
        )
    slices = {f"{SLICE_PREFIX}{name}": to_text(read_slice_values(rows, name, "by")) for name in options.by}
    rows = keep_listed_slices(rows.with_columns(**slices), options.slices, name_slice_columns(options.by))
    time = coalesce_columns(rows, [TIME])
    rows = rows.with_columns(draw_order(rows, options.seed).alias(ORDER), time.rank("dense").alias(_TIME))
    return rows, n_read - len(rows)


class _Draw(NamedTuple):
    """The responses to label and to judge, by slice, with their inclusion probabilities and weights."""

    asked: pl.DataFrame
    judged: pl.DataFrame


def _draw_slices(
    rows: pl.DataFrame,
    slices: pl.DataFrame,
    designs: Sequence[Design],
    options: SampleOptions,
    by: Mapping[str, str],
) -> _Draw:
    """The rows to label and to judge, by slice, in an order that does not depend on their entropies.

    Of each slice, its `design` says how many. Those to label are drawn from those to judge. `by` are the names of the
    slice columns in tables, by their names in `rows`.
    """
    asked, judged = [], []
    for design, row in zip(designs, slices.iter_rows(named=True), strict=True):
        values = [row[name] for name in by]
        is_slice = [pl.col(name).eq_missing(value) for name, value in zip(by, values, strict=True)]
        slice_rows = rows.filter(*is_slice)
        candidates = slice_rows
        if options.judge_usd is not None:
            candidates = slice_rows[_draw_systematically(slice_rows, design.verdicts, f"{options.seed} {values} judge")]
            judged.append(_add_weights(candidates, design.verdicts / len(slice_rows)))
        drawn = candidates[_draw_systematically(candidates, design.labels, f"{options.seed} {values}")]
        asked.append(_add_weights(drawn, design.labels / len(slice_rows)))
    return _Draw(pl.concat(asked), pl.concat(judged or asked))


def _add_weights(rows: pl.DataFrame, inclusion: float) -> pl.DataFrame:
    """The rows in their random order, with their inclusion probability and its inverse, the weight."""
    weight = 1 / inclusion if inclusion else None
    return rows.sort(ORDER).with_columns(
        pl.lit(inclusion).alias("inclusion_probability"), pl.lit(weight, pl.Float64).alias(WEIGHT)
    )


def _draw_systematically(rows: pl.DataFrame, n: int, seed: str) -> np.ndarray:
    """The positions of `n` rows, (n,), drawn systematically in serpentine order of time and entropy."""
    time = rows[_TIME].fill_null(0)
    blocks = max(math.isqrt(n), 1) if time.n_unique() > 1 else 1
    # The place of each row in the order of time, and from it the block.
    place = np.empty(len(rows), dtype=int)
    place[np.lexsort((rows[ORDER], time))] = np.arange(len(rows))
    block = place * blocks // len(rows)
    entropy = rows["mean"].to_numpy()
    serpentine = np.lexsort((rows[ORDER], np.where(block % 2, -entropy, entropy), block))
    # Every (n_rows / n)th row of the list, from a random start.
    start = draw_number(seed) / 2**64
    drawn: np.ndarray = serpentine[((start + np.arange(n)) * len(rows) / max(n, 1)).astype(int)]
    return drawn
