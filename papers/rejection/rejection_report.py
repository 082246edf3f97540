"""The page of this analysis, and its closing lines for the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from entropy_sentinel.formatting.text_format import format_interval, format_number
from entropy_sentinel.rendering.exhibit_files import save_report
from entropy_sentinel.rendering.plain_text import format_text_table, indent_lines
from entropy_sentinel.schemas.file_sets import read_by_owner
from entropy_sentinel.study.analyses.display_names import TrainingGroup, find_training_group
from papers.rejection.assessor_names import (
    DISTRIBUTIONS,
    RejectionExhibitSettings,
    assessor_title,
    note_absent_assessors,
    note_excluded_domains,
)
from papers.rejection.evaluated_rows import EVERY
from papers.rejection.rejection_exhibits import (
    coverage_measure,
    kept_accuracy_measure,
    kept_measure,
    threshold_measure,
)
from papers.rejection.rejection_frames import MEASURES


@dataclass(frozen=True)
class RejectionSummary:
    """One model's assessors on all domains of a distribution, which is out of it if `role` is `held_out`.

    `by_assessor` has the rows of MEASURES by assessor and measure, such as `["logistic"]["auarc"]["value"]`;
    `own_estimator` is the one that the training group uses.
    """

    model: str
    role: str
    n_responses: int
    accuracy: float
    by_assessor: dict[str, dict[str, dict[str, Any]]]
    own_estimator: str

    @property
    def title(self) -> str:
        """`tiny-1m, out of distribution`."""
        return f"{self.model}, {DISTRIBUTIONS[self.role]}"

    @property
    def verdict(self) -> str:
        """One sentence: what the trace adds to the question."""
        gain = self.by_assessor.get(self.own_estimator, {}).get("gain")
        if gain is None:
            return "The gain of the trace is unknown: one of the two assessors could not be fitted."
        gain_text = f"AUARC {format_number(gain['value'], '+.3f')}, 95 % interval {format_interval(gain, '+.3f')}"
        if gain["lower"] > 0:
            return f"The trace improves on the question-only assessor ({gain_text})."
        if gain["upper"] < 0:
            return f"The question-only assessor ranks these responses better than the trace does ({gain_text})."
        return f"There is no clear gain of the trace over the question-only assessor ({gain_text})."


def summarise_assessors(
    measures: pl.DataFrame, group: TrainingGroup, assessors: Sequence[str]
) -> list[RejectionSummary]:
    """One summary per model and distribution that has labelled responses, out of distribution first.

    `measures` is a frame MEASURES; `assessors` are those of the training group that are shown.
    """
    rows = measures.filter(
        pl.col("group") == group.group_id,
        pl.col("benchmark") == EVERY,
        pl.col("n_responses") > 0,
        pl.col("assessor").is_in(assessors),
    )
    summaries = []
    for model in rows["model"].unique(maintain_order=True):
        for role in DISTRIBUTIONS:
            part = rows.filter(model=model, role=role)
            if len(part):
                by_assessor: dict[str, dict[str, dict[str, Any]]] = {}
                for row in part.iter_rows(named=True):
                    by_assessor.setdefault(row["assessor"], {})[row["measure"]] = row
                n_responses, accuracy = part["n_responses"][0], part["accuracy"][0]
                summaries.append(RejectionSummary(model, role, n_responses, accuracy, by_assessor, group.estimator))
    return summaries


_LEGEND = (
    "for 0.9, out of distribution: the share that is kept, and its accuracy, by the threshold that reaches 0.9 on the",
    "training group's test split. In brackets, and in distribution: the largest share that could be kept, chosen with",
    "the labels of these same responses. AUARC: with its 95 % interval.",
)


def _format_kept(by_measure: Mapping[str, Mapping[str, Any]], accuracy: float) -> str:
    """What an assessor keeps at a wanted accuracy, as `0.42 at 0.87 (0.51)`: share, its accuracy, largest share.

    `by_measure` are its rows of MEASURES. In distribution it is only the largest share.
    """
    coverage = format_number(by_measure[coverage_measure(accuracy)]["value"], ".2f")
    if kept_measure(accuracy) not in by_measure:  # the threshold is chosen on these responses, not applied to them
        return coverage
    share = by_measure[kept_measure(accuracy)]["value"]
    kept_accuracy = by_measure[kept_accuracy_measure(accuracy)]["value"]
    return f"{format_number(share, '.2f')} at {format_number(kept_accuracy, '.2f')} ({coverage})"


def format_summary(
    measures: pl.DataFrame, group: TrainingGroup, assessors: Sequence[str], accuracies: Sequence[float]
) -> str:
    """Plain text: AUARC of each assessor by model and distribution, what it keeps, and what the trace adds.

    `measures` is a frame MEASURES, `assessors` are those of the training group, `accuracies` the wanted ones.
    """
    parts = [f"Responses that can be kept at a required accuracy, trained on {group.benchmarks} ({group.title})"]
    for summary in summarise_assessors(measures, group, assessors):
        headings = ["assessor", "AUARC", *(f"for {accuracy:g}" for accuracy in accuracies)]
        rows = []
        for name, by_measure in summary.by_assessor.items():
            area = by_measure["auarc"]
            cells = [assessor_title(name), f"{format_number(area['value'], '.3f')} ({format_interval(area)})"]
            rows.append(cells + [_format_kept(by_measure, accuracy) for accuracy in accuracies])
        title = f"{summary.title}: {summary.n_responses:,} responses, {format_number(summary.accuracy)} of them correct"
        parts.append(indent_lines(title, [*format_text_table(headings, rows), summary.verdict]))
    if len(parts) == 1:
        parts.append("No results for this training group.")
    else:
        parts.append("\n".join(_LEGEND))
    if notes := note_excluded_domains(measures.filter(pl.col("group") == group.group_id)):
        parts.append("\n".join(notes))
    return "\n\n".join(parts) + "\n"


def _name_measures(accuracy: float) -> dict[str, str]:
    """A wanted accuracy, and the names of its measures in MEASURES, by the names that the page's template uses."""
    return {
        "wanted": f"{accuracy:g}",
        "most": coverage_measure(accuracy),
        "threshold": threshold_measure(accuracy),
        "kept": kept_measure(accuracy),
        "kept_accuracy": kept_accuracy_measure(accuracy),
    }


def write_report(
    measures: Sequence[str],
    tables: Sequence[str],
    figures: Sequence[str],
    settings: RejectionExhibitSettings,
    models: Sequence[str],
    page: str,
    summary: str,
) -> None:
    """Write the page and the summary of the headline training group, the one that the page shows.

    `measures` are files MEASURES, one for each of `models`; `tables` and `figures` are files for the page.
    """
    rows = read_by_owner(MEASURES, measures, {"model": models})
    group = find_training_group(settings["groups"], settings["headline_group"])
    assessors = settings["assessors"][group.group_id]
    accuracies = settings["accuracies"]
    group_rows = rows.filter(pl.col("group") == group.group_id)
    save_report(
        __file__,
        page,
        summary,
        text=format_summary(rows, group, assessors, accuracies),
        tables=tables,
        figures=figures,
        title="Which responses can be kept",
        label=settings["label"],
        group=group,
        estimator=assessor_title(group.estimator),
        summaries=summarise_assessors(group_rows, group, assessors),
        accuracies=list(map(_name_measures, accuracies)),
        assessor_title=assessor_title,
        span=format_interval,
        notes=[*note_absent_assessors(rows, [group], settings["assessors"]), *note_excluded_domains(group_rows)],
    )
