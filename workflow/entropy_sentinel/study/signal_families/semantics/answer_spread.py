"""The classes of a model's answers to each item of a benchmark, and the spread of the answers over them."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.features.token_lists import ZERO_PROBABILITY
from entropy_sentinel.judges.final_answers import find_final_answer
from entropy_sentinel.judges.judge_interface import Unclear
from entropy_sentinel.schemas.generation_schema import CUT_OFF, WAS_REFUSED
from entropy_sentinel.statistics.ambiguity import LEAST_SAMPLES, count_stable_classes
from entropy_sentinel.study.semantic_clustering.backend_interface import Backend, read_questions, warn_few_answers
from entropy_sentinel.study.semantic_clustering.greedy_clustering import cluster_answers
from entropy_sentinel.study.semantic_clustering.semantic_entropy import class_probabilities, semantic_entropy


def extract_answer(response: str, truncated: bool) -> str:
    """The final answer, or the whole response if it has no clear one, stripped; it may be empty.

    A truncated response is the text so far.
    """
    try:
        return find_final_answer(response, truncated).text.strip()
    except Unclear:
        return response.strip()


_FROM_FREQUENCIES = "of frequencies: a log-probability is not known of each answer to the item"
_ONE_ANSWER = "the item has one answer, needs at least 2"
_FEW_ANSWERS = f"stable_classes: the item has {{}} answers, needs at least {LEAST_SAMPLES}"
COLUMNS = pl.Schema(
    {
        "semantic_entropy": pl.Float64,
        "answer_classes": pl.Float64,
        "stable_classes": pl.Float64,
        "answer": pl.String,
        "answer_class": pl.UInt16,
        "probability": pl.Float64,
        "class_probability": pl.Float64,
        "semantics_reason": pl.String,
    }
)


def compute_spread(traces: pl.LazyFrame, benchmark: str, backend: Backend, by_frequency: bool) -> pl.DataFrame:
    """A row per response, in order, with COLUMNS; `benchmark` is the file of the items.

    With `by_frequency`, the probability of a class is its share of the item's answers, instead of the share of the
    answers' summed probabilities.
    """
    logprobs = pl.col("token_logprobs").cast(pl.List(pl.Float64))
    # A sampled token cannot have probability 0: the server's value is not a log-probability.
    is_possible = logprobs.list.min().fill_null(0) > ZERO_PROBABILITY
    rows = traces.select(
        "item_id",
        "text",
        refused=pl.when(WAS_REFUSED).then("finish_reason"),
        cut_off=CUT_OFF,
        logprob=pl.when(is_possible).then(logprobs.list.sum()),
    ).collect()
    answers = [extract_answer(text, cut_off) for text, cut_off in rows.select("text", "cut_off").iter_rows()]
    rows = rows.with_columns(answer=pl.Series(answers, dtype=pl.String)).with_row_index("row")
    items = rows.filter(pl.col("refused").is_null()).partition_by("item_id", maintain_order=True)
    warn_few_answers([len(item) for item in items])
    questions = read_questions(benchmark)
    answered = [(questions[item["item_id"][0]], item["answer"].to_list()) for item in items]
    spreads: list[Mapping[str, Any]] = []
    for item, numbers in zip(items, cluster_answers(answered, backend), strict=True):
        spreads += _spread_item(item, numbers, by_frequency)
    frame = pl.DataFrame(spreads, schema={"row": rows["row"].dtype, **COLUMNS})
    joined = rows.select("row", "refused").join(frame, on="row", how="left", maintain_order="left", validate="1:1")
    # A refused request has no answer; the reason is the engine's.
    with_reason = joined.with_columns(semantics_reason=pl.coalesce("refused", "semantics_reason"))
    return with_reason.select(COLUMNS.names())


def _spread_item(item: pl.DataFrame, numbers: list[int], by_frequency: bool) -> list[Mapping[str, Any]]:
    """A row of COLUMNS for each answer to an item, with its number `row`; `numbers` are the classes of the answers.

    With `by_frequency`, or if an answer has no log-probability, the probability of a class is its share of the answers.
    """
    has_logprobs = not item["logprob"].has_nulls()
    logprobs = item["logprob"].to_list() if has_logprobs and not by_frequency else None
    shares = class_probabilities(numbers, logprobs)
    has_several_answers = len(item) > 1
    n_stable_classes = count_stable_classes(np.bincount(numbers))  # None with fewer than LEAST_SAMPLES answers
    reasons = []
    if has_several_answers and not has_logprobs and not by_frequency:
        reasons.append(_FROM_FREQUENCIES)
    if n_stable_classes is None:
        reasons.append(_FEW_ANSWERS.format(len(item)) if has_several_answers else _ONE_ANSWER)
    item_values = {
        "semantic_entropy": semantic_entropy(shares) if has_several_answers else None,
        "answer_classes": len(shares) if has_several_answers else None,
        "stable_classes": n_stable_classes,
        "semantics_reason": "; ".join(reasons) or None,
    }
    rows: list[Mapping[str, Any]] = []
    for (row, answer, logprob), number in zip(item.select("row", "answer", "logprob").rows(), numbers, strict=True):
        answer_values = {
            "row": row,
            "answer": answer,
            "answer_class": number,
            "probability": None if logprob is None else math.exp(logprob),
            "class_probability": shares[number],
        }
        rows.append(item_values | answer_values)
    return rows
