"""Read the candidate items from a study's files, and select among them by a strategy, with the reasons.

Equal scores are ordered as by `random` with the same seed, so that no benchmark is preferred because of its name.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.schemas.label_schema import LABELS
from entropy_sentinel.schemas.response_schema import ITEM, SAMPLE
from entropy_sentinel.study.signal_families.forced_answer.forced_answer_frames import FORCED_ANSWERS
from papers.selection.selection_exhibits import STRATEGIES
from papers.selection.selection_frames import CANDIDATES, SELECTIONS

NO_TRIES, NO_PASS = "no pass rate is asked for", "no entropy area is asked for"
NO_ANSWER, NO_NUMBER = "the pass has no row of the response", "the entropy area is not a finite number"


@dataclass(frozen=True)
class CandidateFiles:
    """A model's files on one benchmark. Without `labels` items have no pass rate, without `forced_answers` no EAS."""

    items: str | Path
    generations: str | Path
    labels: str | Path | None = None
    forced_answers: str | Path | None = None


def read_candidates(model: str, files: Iterable[CandidateFiles], tries: int, answer: str) -> pl.DataFrame:
    """Read a frame CANDIDATES: items of all benchmarks that have a reference and a response, each question once.

    `tries` is the number of responses in a pass rate. `answer` is the inserted answer whose entropy area score (EAS) is
    read: `own` or `reference`. Raises InputError if no item can be trained on, and ConfigError if
    signals.forced_answer, which computes the score, was not run with that answer.
    """
    candidates = pl.concat(_read_benchmark(source, tries, answer) for source in files).with_columns(model=pl.lit(model))
    if candidates.is_empty():
        raise InputError(f"{model}: no item has a reference, and only such items can be trained on")
    return candidates.select(CANDIDATES.schema.names()).unique("question", keep="first", maintain_order=True)


def _read_benchmark(files: CandidateFiles, tries: int, answer: str) -> pl.DataFrame:
    """The candidates of one benchmark (CANDIDATES without model), with pass rate and EAS, or why they have none."""
    items = BENCHMARKS.read(files.items, ["item_id", "question", "reference"]).drop_nulls("reference")
    benchmark = Path(files.items).stem
    responses = GENERATIONS.read(files.generations, [*SAMPLE, "n_tokens"]).sort(SAMPLE)
    first_responses = responses.group_by("item_id", maintain_order=True).first()
    return (
        items.join(first_responses, on="item_id", how="inner", maintain_order="left")
        .join(_compute_pass_rates(files, tries), on="item_id", how="left", maintain_order="left")
        .join(_read_areas(files.forced_answers, benchmark, answer), on=SAMPLE, how="left", maintain_order="left")
        .with_columns(
            pl.coalesce("pass_rate_reason", _explain_null("pass_rate", NO_TRIES)),
            pl.coalesce("eas_reason", _explain_null("eas", NO_ANSWER if files.forced_answers else NO_PASS)),
            benchmark=pl.lit(benchmark),
        )
    )


def _explain_null(column: str, reason: str) -> pl.Expr:
    """The reason where the column is null, else null."""
    return pl.when(pl.col(column).is_null()).then(pl.lit(reason))


def _compute_pass_rates(files: CandidateFiles, tries: int) -> pl.DataFrame:
    """By item_id: `label` of the first response; `passes` of the first `tries` responses, their share, or the reason.

    Without a file of labels, a frame without rows.
    """
    schema = {"label": pl.Boolean, "passes": pl.UInt16, "pass_rate": pl.Float64, "pass_rate_reason": pl.String}
    if files.labels is None:
        return pl.DataFrame(schema={"item_id": pl.String, **schema})
    labels = LABELS.read(files.labels, [*SAMPLE, "label"]).sort(SAMPLE)
    try_labels = pl.col("label").head(tries)
    too_few_tries = pl.format("{} of {} tries", pl.col("tried"), pl.lit(tries))
    too_few_labels = pl.format("{} of {} tries have no label", pl.col("tried") - pl.col("labelled"), pl.lit(tries))
    return (
        labels.group_by("item_id", maintain_order=True)
        .agg(
            pl.col("label").first(),
            tried=try_labels.len(),
            labelled=try_labels.count(),
            passes=try_labels.sum().cast(pl.UInt16),
        )
        .with_columns(
            pass_rate_reason=pl.when(pl.col("tried") < tries)
            .then(too_few_tries)
            .when(pl.col("labelled") < tries)
            .then(too_few_labels)
        )
        .with_columns(passes=pl.when(pl.col("pass_rate_reason").is_null()).then("passes"))
        .with_columns(pass_rate=pl.col("passes") / tries)
        .select("item_id", *schema)
    )


def _read_areas(path: str | Path | None, benchmark: str, answer: str) -> pl.DataFrame:
    """By item_id and sample: `eas`, the entropy area score, or `eas_reason`, why there is none.

    `path` is a file FORCED_ANSWERS, None for a frame without rows; `answer` is which inserted answer's score is read.
    """
    schema = {"item_id": pl.String, "sample": pl.UInt16, "eas": pl.Float64, "eas_reason": pl.String}
    if path is None:
        return pl.DataFrame(schema=schema)
    rows = FORCED_ANSWERS.read(path, [*SAMPLE, "answer", "eas", "reason"])
    answer_rows = rows.filter(answer=answer)
    if answer_rows.is_empty() and not rows.is_empty():
        available = ", ".join(rows["answer"].unique(maintain_order=True))
        raise ConfigError(
            f"{path}: has entropy areas for the answers {available}, but not for '{answer}'; set "
            f"signals.forced_answer.answers: [{answer}], or select by another answer"
        )
    finite = pl.col("eas").is_finite()
    no_number = pl.when(~finite).then(pl.lit(NO_NUMBER))
    return answer_rows.select(*SAMPLE, eas=pl.when(finite).then("eas"), eas_reason=pl.coalesce("reason", no_number))


ALL_ALIKE = "all tries are {}"


@dataclass(frozen=True)
class StrategySelection:
    """A strategy's selection from a model's candidates, best first.

    `rows` have the columns of SELECTIONS; `excluded_counts` counts for each reason the items that were not candidates.
    """

    strategy: str
    rows: pl.DataFrame
    n_candidates: int
    size: int
    excluded_counts: dict[str, int]

    @property
    def notes(self) -> list[str]:
        """Sentences about too few candidates and about items left out."""
        notes = []
        if self.n_candidates < self.size:
            notes.append(
                f"{self.strategy}: {self.n_candidates:,} candidates, fewer than the {self.size:,} requested: all are "
                "selected, and none are added"
            )
        if self.excluded_counts:
            reasons = ", ".join(f"{count:,} ({reason})" for reason, count in self.excluded_counts.items())
            notes.append(f"{self.strategy}: items left out: {reasons}")
        return notes


def select_items(
    candidates: pl.DataFrame, strategy: str, size: int, seed: int, tries: int, answer: str
) -> StrategySelection:
    """Select the first `size` items by a strategy, or all if there are fewer; `candidates` are of one model.

    `tries` and `answer` are those with which the candidates were read; the reasons name them.
    """
    method = STRATEGIES[strategy]
    shuffled = _shuffle_candidates(CANDIDATES.check(candidates), seed)
    eligible, excluded_counts = _split_eligible(shuffled, strategy)
    if method.score:
        eligible = eligible.sort(method.score, descending=not method.lowest, maintain_order=True)
    # Of `random`, which has no score, null.
    score = pl.col(method.score).cast(pl.Float64) if method.score else pl.lit(None, pl.Float64)
    rows = eligible.head(size).with_columns(
        strategy=pl.lit(strategy), rank=pl.int_range(1, pl.len() + 1, dtype=pl.UInt32), score=score
    )
    rows = rows.with_columns(reason=_explain_selection(strategy, len(eligible), seed, tries, answer))
    return StrategySelection(
        strategy, SELECTIONS.check(rows.select(SELECTIONS.schema.names())), len(eligible), size, excluded_counts
    )


def _shuffle_candidates(candidates: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Shuffle the candidates by the seed; the result does not depend on their order."""
    sorted_candidates = candidates.sort(ITEM)
    return sorted_candidates[np.random.default_rng(seed).permutation(len(sorted_candidates))]


def _split_eligible(candidates: pl.DataFrame, strategy: str) -> tuple[pl.DataFrame, dict[str, int]]:
    """The candidates with the data that a strategy needs, and the number of the others by the reason they lack it."""
    if strategy == "pass-rate":
        all_correct = pl.when(pl.col("pass_rate") == 1).then(pl.lit(ALL_ALIKE.format("correct")))
        all_wrong = pl.when(pl.col("pass_rate") == 0).then(pl.lit(ALL_ALIKE.format("wrong")))
        # The strategy leaves out items that the model always or never solves.
        reason = pl.coalesce("pass_rate_reason", all_correct, all_wrong)
    elif strategy == "eas":
        reason = pl.col("eas_reason")
    else:
        return candidates, {}
    candidate_reasons = candidates.with_columns(why=reason)
    reason_counts = (
        candidate_reasons.drop_nulls("why").group_by("why").len().sort("len", "why", descending=[True, False])
    )
    return candidate_reasons.filter(pl.col("why").is_null()).drop("why"), dict(reason_counts.iter_rows())


def _explain_selection(strategy: str, n_candidates: int, seed: int, tries: int, answer: str) -> pl.Expr:
    """An expression for the column `reason` of SELECTIONS: why each row was selected."""
    if strategy == "random":
        return pl.format(f"number {{}} of {n_candidates} drawn with seed {seed}", "rank")
    rank_text = f"place {{}} of {n_candidates}"
    if strategy == "longest":
        return pl.format(f"{{}} tokens in the response, {rank_text}", "n_tokens", "rank")
    if strategy == "pass-rate":
        return pl.format(f"{{}} of {tries} tries correct, {rank_text}", "passes", "rank")
    return pl.format(f"EAS {{}} bits ({answer} answer), {rank_text}", pl.col("eas").round(3), "rank")
