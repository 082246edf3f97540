"""The strategies: which of the candidates are selected, in which order, and why.

Where scores are equal, the order is that of `random` with the same seed: no benchmark is preferred for its name.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from entropy_sentinel.analyses.selection.catalogue import STRATEGIES
from entropy_sentinel.analyses.selection.frames import CANDIDATES, SELECTIONS
from entropy_sentinel.frames.response import ITEM

ALL_ALIKE = "all tries are {}"


@dataclass(frozen=True)
class Selected:
    """What a strategy has selected of a model's candidates, best first.

    `rows` have the columns of SELECTIONS; `left_out` says for each reason how many items were no candidates.
    """

    strategy: str
    rows: pl.DataFrame
    n_candidates: int
    size: int
    left_out: dict[str, int]

    @property
    def notes(self) -> list[str]:
        """A sentence where there are fewer candidates than were asked for, and one on those left out."""
        short = (
            f"{self.strategy}: {self.n_candidates:,} candidates, fewer than the {self.size:,} asked for: all are "
            "taken, and nothing is filled in"
        )
        reasons = ", ".join(f"{count:,} ({reason})" for reason, count in self.left_out.items())
        out = f"{self.strategy}: items left out: {reasons}"
        return [short] * (self.n_candidates < self.size) + [out] * bool(self.left_out)


def select(candidates: pl.DataFrame, strategy: str, size: int, seed: int, tries: int, answer: str) -> Selected:
    """The `size` first items by a strategy, or all where there are fewer; `candidates` are of one model.

    `tries` and `answer` are those that the candidates were read with: the reasons name them.
    """
    how = STRATEGIES[strategy]
    drawn = _in_random_order(CANDIDATES.check(candidates), seed)
    pool, left_out = _eligible(drawn, strategy)
    if how.score:
        pool = pool.sort(how.score, descending=not how.lowest, maintain_order=True)
    score = pl.col(how.score).cast(pl.Float64) if how.score else pl.lit(None, pl.Float64)
    rows = pool.head(size).with_columns(
        strategy=pl.lit(strategy), rank=pl.int_range(1, pl.len() + 1, dtype=pl.UInt32), score=score
    )
    rows = rows.with_columns(reason=_reason(strategy, len(pool), seed, tries, answer))
    return Selected(strategy, SELECTIONS.check(rows.select(SELECTIONS.schema.names())), len(pool), size, left_out)


def _in_random_order(candidates: pl.DataFrame, seed: int) -> pl.DataFrame:
    """The candidates as the seed draws them, whatever order they come in."""
    ordered = candidates.sort(ITEM)
    return ordered[np.random.default_rng(seed).permutation(len(ordered))]


def _eligible(candidates: pl.DataFrame, strategy: str) -> tuple[pl.DataFrame, dict[str, int]]:
    """The candidates of a strategy, and how many are none by reason."""
    if strategy == "pass-rate":
        alike = {1.0: ALL_ALIKE.format("correct"), 0.0: ALL_ALIKE.format("wrong")}
        same = [pl.when(pl.col("pass_rate") == rate).then(pl.lit(reason)) for rate, reason in alike.items()]
        reason = pl.coalesce("pass_rate_reason", *same)
    elif strategy == "eas":
        reason = pl.col("eas_reason")
    else:
        return candidates, {}
    told = candidates.with_columns(why=reason)
    counts = told.drop_nulls("why").group_by("why").len().sort("len", "why", descending=[True, False])
    return told.filter(pl.col("why").is_null()).drop("why"), dict(counts.iter_rows())


def _reason(strategy: str, n_candidates: int, seed: int, tries: int, answer: str) -> pl.Expr:
    """Why an item was taken, for each row."""
    if strategy == "random":
        return pl.format(f"number {{}} of {n_candidates} drawn with seed {seed}", "rank")
    place = f"place {{}} of {n_candidates}"
    if strategy == "longest":
        return pl.format(f"{{}} tokens in the response, {place}", "n_tokens", "rank")
    if strategy == "pass-rate":
        return pl.format(f"{{}} of {tries} tries correct, {place}", "passes", "rank")
    return pl.format(f"EAS {{}} bits ({answer} answer), {place}", pl.col("eas").round(3), "rank")
