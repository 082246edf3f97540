"""Benchmarks with references that a judge could give no label to: which judge, why, and which kind could."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from entropy_sentinel.frames.benchmark import BENCHMARKS
from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.label import LABELS, NO_REFERENCE


@dataclass(frozen=True)
class Unjudged:
    """One model's responses to a benchmark, `n` of which a judge was shown and could label none.

    `reason` is the most frequent one, of `n_reason` responses; `fitting` is the kind of judge that the references ask
    for, and `is_fitting` whether the judge is of that kind.
    """

    model: str
    benchmark: str
    judge: str
    n: int
    reason: str
    n_reason: int
    fitting: str
    is_fitting: bool

    @property
    def text(self) -> str:
        """What happened and what to do, in two sentences."""
        why = self.reason if self.n_reason == self.n else f"{self.n_reason} times {self.reason}"
        what = f"{self.judge} gave no label to any of {self.n} responses ({why})"
        if self.is_fitting:
            remedy = f"look at them with `entropy-sentinel show {self.model} {self.benchmark}`"
        else:
            remedy = f"name a judge of kind {self.fitting} in benchmarks.{self.benchmark}.judge"
        return f"{self.model}, {self.benchmark}: {what}. To have labels, {remedy}."


def unjudged(labels: Sequence[str], benchmarks: Sequence[str]) -> list[Unjudged]:
    """One for each of the files LABELS without any label; `benchmarks` are the files BENCHMARKS of the study."""
    items = {read_provenance(path)["benchmark"]: path for path in benchmarks}
    return [one for path in labels for one in _of(path, items)]


def _of(path: str, items: Mapping[str, str]) -> Iterator[Unjudged]:
    said = LABELS.read(path, ["label", "reason"])
    shown = said.filter(pl.col("reason").ne_missing(NO_REFERENCE))
    if shown.is_empty() or shown["label"].null_count() < len(shown):
        return
    # Of equally frequent ones the first by the alphabet.
    reason, count = shown["reason"].value_counts().sort("count", "reason", descending=[True, False]).row(0)
    told = read_provenance(path)
    fitting = _fitting(items[told["benchmark"]])
    yield Unjudged(
        told["model"], told["benchmark"], told["judge"], len(shown), reason, count, fitting, fitting in _kinds(told)
    )


def _fitting(path: str) -> str:
    from entropy_sentinel.judges.math_verify import kind_for  # brings a computer algebra system

    asked = BENCHMARKS.read(path, ["question", "reference"]).drop_nulls("reference")
    return kind_for(asked.iter_rows()) if len(asked) else "file"


def _kinds(judge: Mapping[str, Any]) -> set[str]:
    """The kinds of the judges that a judge is made of, or its own, by its settings."""
    parts = judge.get("members", {}).values()
    return set().union(*map(_kinds, parts)) if parts else {judge["kind"]}
