"""What a study says of one training group's assessors, by model: for the page and for the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from tabulate import tabulate

from entropy_sentinel.analyses.headings import TrainingGroup
from entropy_sentinel.analyses.rejection.catalogue import coverage_measure
from entropy_sentinel.analyses.rejection.headings import DISTRIBUTIONS, assessor_title, domain_notes
from entropy_sentinel.analyses.rejection.rows import EVERY
from entropy_sentinel.report.numbers import number


@dataclass(frozen=True)
class Summary:
    """One model's assessors on all domains of a distribution: rows of MEASURES by assessor and measure."""

    model: str
    role: str
    n_responses: int
    accuracy: float
    found: dict[str, dict[str, dict[str, Any]]]
    own: str

    @property
    def title(self) -> str:
        """`tiny-1m, out of distribution`."""
        return f"{self.model}, {DISTRIBUTIONS[self.role]}"

    @property
    def verdict(self) -> str:
        """One sentence: what the trace adds to the question."""
        gain = self.found.get(self.own, {}).get("gain")
        if gain is None:
            return "What the trace adds cannot be said: one of the two assessors could not be fitted."
        size = f"AUARC {number(gain['value'], '+.3f')}, 95 % interval {span(gain, '+.3f')}"
        if gain["lower"] > 0:
            return f"The trace adds to what the question alone says ({size})."
        if gain["upper"] < 0:
            return f"The question alone ranks these responses better than the trace does ({size})."
        return f"That the trace adds to what the question alone says is not shown ({size})."


def span(row: Mapping[str, Any], form: str = ".2f") -> str:
    """The interval of a row of MEASURES as text."""
    return f"{number(row['lower'], form)} to {number(row['upper'], form)}"


def summaries(measures: pl.DataFrame, group: TrainingGroup, assessors: Sequence[str]) -> list[Summary]:
    """One per model and distribution that has labelled responses, out of distribution first."""
    rows = measures.filter(
        pl.col("group") == group.group,
        pl.col("benchmark") == EVERY,
        pl.col("n_responses") > 0,
        pl.col("assessor").is_in(assessors),
    )
    found = []
    for model in rows["model"].unique(maintain_order=True):
        for role in DISTRIBUTIONS:
            part = rows.filter(model=model, role=role)
            if len(part):
                by_name: dict[str, dict[str, dict[str, Any]]] = {}
                for row in part.iter_rows(named=True):
                    by_name.setdefault(row["assessor"], {})[row["measure"]] = row
                found.append(
                    Summary(model, role, part["n_responses"][0], part["accuracy"][0], by_name, group.estimator)
                )
    return found


def summarise(
    measures: pl.DataFrame, group: TrainingGroup, assessors: Sequence[str], accuracies: Sequence[float]
) -> str:
    """Plain text: for each model and distribution AUARC and coverages of every assessor, and what the trace adds."""
    parts = [f"Responses that can be kept at a wanted accuracy, trained on {group.benchmarks} ({group.title})"]
    for one in summaries(measures, group, assessors):
        headings = ["assessor", "AUARC", *(f"kept at {accuracy:g}" for accuracy in accuracies)]
        shown = ["auarc", *map(coverage_measure, accuracies)]
        rows = [
            [assessor_title(name), *(f"{number(of[what]['value'], '.3f')} ({span(of[what])})" for what in shown)]
            for name, of in one.found.items()
        ]
        table = tabulate(rows, headings, tablefmt="simple", disable_numparse=True)
        title = f"{one.title}: {one.n_responses:,} responses, {number(one.accuracy)} of them correct"
        parts.append("\n".join([title, *(f"  {line}".rstrip() for line in [*table.splitlines(), one.verdict])]))
    if len(parts) == 1:
        parts.append("No results for this training group.")
    if notes := domain_notes(measures.filter(pl.col("group") == group.group)):
        parts.append("\n".join(notes))
    return "\n\n".join(parts) + "\n"
