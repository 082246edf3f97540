"""The page of this analysis, and its closing lines for the terminal, from a frame CORRELATIONS."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from entropy_sentinel.formatting.text_format import format_interval, format_number
from entropy_sentinel.rendering.exhibit_files import save_report
from entropy_sentinel.rendering.plain_text import format_text_table, indent_lines
from papers.entropy_area.area_exhibits import AreaExhibitSettings, answer_note, measure_title
from papers.entropy_area.area_frames import CORRELATIONS


@dataclass(frozen=True)
class AreaSummary:
    """Correlations of the first responses' measures with the answer entropy, for a model and a set of benchmarks."""

    model: str
    benchmark: str
    n_items: int
    # Rows of CORRELATIONS by measure, those of the area first.
    by_measure: Mapping[str, Mapping[str, Any]]

    @property
    def title(self) -> str:
        return f"{self.model}, {self.benchmark}"

    @property
    def verdict(self) -> str:
        """A sentence with the measure that correlates most with the answer entropy, and r of EAS if it is another."""
        rows = {name: row for name, row in self.by_measure.items() if row["r"] is not None}
        if not rows:
            reason = next(iter(self.by_measure.values()))["reason"]
            return f"There is no correlation: {reason}."
        best = max(rows, key=lambda name: abs(rows[name]["r"]))
        text = f"{measure_title(best)} has the strongest correlation with the answer entropy: {_format_r(rows[best])}"
        if best.startswith("eas_"):
            return f"{text}."
        scores = [name for name in rows if name.startswith("eas_")]
        if not scores:
            return f"{text}; EAS has no r."
        return f"{text}; {measure_title(scores[0])} has {_format_r(rows[scores[0]])}."


def _format_r(row: Mapping[str, Any]) -> str:
    """R of a row of CORRELATIONS with its interval, as `r +0.52 (+0.40 to +0.63)`."""
    return f"r {format_number(row['r'], '+.2f')} ({format_r_interval(row)})"


def format_r_interval(row: Mapping[str, Any]) -> str:
    """The interval of a row of CORRELATIONS as text."""
    return format_interval(row, "+.2f")


def build_summaries(correlations: pl.DataFrame) -> Iterator[AreaSummary]:
    """Yield a summary for each model and set of benchmarks, in order, from a frame CORRELATIONS."""
    rows = correlations.filter(target="answer_entropy")
    for (model, benchmark), group_rows in rows.group_by("model", "benchmark", maintain_order=True):
        by_measure = {row["measure"]: row for row in group_rows.iter_rows(named=True)}
        yield AreaSummary(str(model), str(benchmark), group_rows["n_items"][0], by_measure)


def format_summaries(summaries: Sequence[AreaSummary]) -> str:
    """Plain text: r of every measure with the answer entropy, by model and benchmark, each with a sentence."""
    sections = [
        "Correlation of one response's uncertainty with the variety of many answers: Pearson's r, 95 % interval"
    ]
    for summary in summaries:
        rows = []
        for name, row in summary.by_measure.items():
            rows.append([measure_title(name), format_number(row["r"], "+.3f"), format_r_interval(row)])
        table = format_text_table(["measure", "r", "interval"], rows)
        sections.append(indent_lines(f"{summary.title}: {summary.n_items} items", [*table, summary.verdict]))
    return "\n\n".join(sections) + "\n"


def write_report(
    correlations: str,
    tables: Sequence[str],
    figures: Sequence[str],
    settings: AreaExhibitSettings,
    page: str,
    summary: str,
) -> None:
    """Write the page and the summary, from a file CORRELATIONS; `tables` and `figures` are files for the page."""
    summaries = list(build_summaries(CORRELATIONS.read(correlations)))
    save_report(
        __file__,
        page,
        summary,
        text=format_summaries(summaries),
        tables=tables,
        figures=figures,
        title="Entropy area score",
        label=settings["label"],
        summaries=summaries,
        measures=[(name, measure_title(name)) for name in summaries[0].by_measure] if summaries else [],
        interval=format_r_interval,
        answers=answer_note(settings["answers"]),
    )
