"""The page of this analysis, and its closing lines for the terminal, from frames SCORES and DIFFERENCES."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from entropy_sentinel.formatting.text_format import format_count, format_interval, format_number
from entropy_sentinel.rendering.exhibit_files import save_report
from entropy_sentinel.rendering.plain_text import format_text_table, indent_lines
from papers.intervals.interval_exhibits import (
    CALIBRATION,
    TEST,
    IntervalsExhibitSettings,
    end_note,
    level_title,
    method_title,
)
from papers.intervals.interval_frames import DIFFERENCES, SCORES

# The level at the top of the page, or the nearest of the study's levels.
HEADLINE = 99.0

Row = Mapping[str, Any]


@dataclass(frozen=True)
class IntervalsSummary:
    """A model at a level on the test half: rows of SCORES and of DIFFERENCES by method.

    `chosen` is the recommendation of the calibration half (see `choose_method`), `best` the method with the lowest
    score on the test half; both are None if no question has an interval of every method, or no score is finite.
    `may_hold` is whether the chosen method reaches the level, as far as the calibration half shows.
    """

    model: str
    level: float
    scores: Mapping[str, Row]
    differences: Mapping[str, Row]
    chosen: str | None
    may_hold: bool
    best: str | None

    @property
    def n_common(self) -> int:
        """The number of questions for which every method has an interval."""
        return max(int(row["n_common"]) for row in self.scores.values())

    @property
    def n_unread(self) -> int:
        """The number of questions whose answer could not be read; those too far from 0 are not among them."""
        base = self.scores["base"]
        return int(base["n_questions"] - base["n"] - base["n_too_far"])

    @property
    def coverage_sentence(self) -> str:
        """A sentence with the share of stated intervals that contain the truth, and the number without one."""
        base, level = self.scores["base"], level_title(self.level)
        problems = []  # they follow the number of intervals, so they say "more"
        if self.n_unread:
            problems.append(f"{format_count(self.n_unread, 'more answer')} could not be read")
        if n_too_far := base["n_too_far"]:
            verb = "is" if n_too_far == 1 else "are"
            problems.append(f"{format_count(n_too_far, 'more interval')} {verb} too far from 0 to be used")
        if base["coverage"] is None:
            explanation = f": {' and '.join(problems).replace('more ', '')}" if base["n_too_far"] else ""
            return (
                f"No {level} interval of {self.model} {'can be used' if explanation else 'could be read'}{explanation}."
            )
        suffix = f"; {' and '.join(problems)}" if problems else ""
        return f"Of {base['n']} {level} intervals by {self.model}, {_format_coverage(base)} contain the truth{suffix}."

    @property
    def advice(self) -> str:
        """Sentences with the method that the calibration half recommends, and its result on the test half."""
        if self.chosen is None:
            return "No method can be chosen: there is no question on which all have a finite interval."
        if self.scores[self.chosen]["coverage"] is None:
            return f"{method_title(self.chosen)} {self._selection_reason}; on the test half it has no interval."
        if not self._has_finite_adjustment:
            return "No other method has finite ends at this level: the calibration half has too few questions."
        if self.chosen == "base":
            alternative = "no other that holds" if self.may_hold else "no other"
            return f"Use them as they are: {alternative} has a lower score on the calibration half."
        return self._recommend_adjustment(self.chosen)

    @property
    def _has_finite_adjustment(self) -> bool:
        """Whether any method but the stated intervals has a finite score on the test half."""
        scores = [row["score"] for name, row in self.differences.items() if name != "base"]
        return any(score is not None and math.isfinite(score) for score in scores)

    def _recommend_adjustment(self, method: str) -> str:
        """The advice if the chosen method is not the stated intervals."""
        title, result = method_title(method), self._describe_test_result(method)
        if not self.may_hold:
            return f"No method with finite intervals reaches this level. {title} {self._selection_reason}. {result}"
        advice = f"Use {title}: it {self._selection_reason}. {result}"
        if self.best in (None, method):
            return advice
        return f"{advice} Regardless of coverage, {method_title(str(self.best))} has the lowest score on the test half."

    def _describe_test_result(self, method: str) -> str:
        """A sentence with a method's coverage and score on the test half, and one about its temperature if needed."""
        row = self.scores[method]
        coverage, score = _format_coverage(row), self._compare_score(method)
        result = f"On the test half, {coverage} of intervals contain the truth, its score is {score}."
        if end := row.get("temperature_end"):
            result += f" {end_note(method_title(method), row['temperature'], end)}"
        return result

    @property
    def _selection_reason(self) -> str:
        """The predicate of a sentence about the chosen method: why it was chosen."""
        return f"has the lowest score {'of those that hold ' if self.may_hold else ''}on the calibration half"

    def _compare_score(self, method: str) -> str:
        """How a method's score on the test half compares with that of the stated intervals, as a predicate."""
        row = self.differences[method]
        if row["difference"] is None:
            return f"not compared because {row['reason']}"
        ends = format_interval(row, "+.1f")
        if row["lower"] <= 0 <= row["upper"]:
            return (
                "not clearly different from that of the stated ones: "
                f"{format_number(row['difference'], '+.1f')} ({ends})"
            )
        side = "lower" if row["upper"] < 0 else "higher"
        return f"{side} than that of the stated ones by {format_number(abs(row['difference']), '.1f')} ({ends})"


def _format_coverage(row: Row) -> str:
    """The coverage of a row of SCORES with its interval, as `83% (79% to 86%)`."""
    return f"{row['coverage']:.0%} ({row['coverage_lower']:.0%} to {row['coverage_upper']:.0%})"


def build_summaries(scores: pl.DataFrame, differences: pl.DataFrame) -> list[IntervalsSummary]:
    """A summary for each model and level, in order, from frames SCORES and DIFFERENCES."""
    rows = []
    for (model, level), level_scores in scores.filter(half=TEST).group_by("model", "level", maintain_order=True):
        level_differences = differences.filter(model=model, level=level)
        test_differences = level_differences.filter(half=TEST)
        calibration_scores = scores.filter(model=model, level=level, half=CALIBRATION)
        chosen, may_hold = choose_method(calibration_scores, level_differences.filter(half=CALIBRATION))
        rows.append(
            IntervalsSummary(
                model=str(model),
                level=float(str(level)),
                scores=_index_by_method(level_scores),
                differences=_index_by_method(test_differences),
                chosen=chosen,
                may_hold=may_hold,
                best=_find_lowest_score(test_differences),
            )
        )
    return rows


def choose_method(scores: pl.DataFrame, differences: pl.DataFrame) -> tuple[str | None, bool]:
    """The recommended method by rows of SCORES and DIFFERENCES of a model, level and half; whether it may hold.

    It has the lowest finite score among the methods that may hold: the level is in the Wilson interval of their
    coverage, or below. If none may hold, it has the lowest finite score of all. So a method that misses the level is
    not recommended for a good score.
    """
    may_hold = scores.filter(pl.col("coverage_upper") * 100 >= pl.col("level"))["method"]
    best = _find_lowest_score(differences.filter(pl.col("method").is_in(may_hold.implode())))
    if best is not None:
        return best, True
    return _find_lowest_score(differences), False


def _find_lowest_score(differences: pl.DataFrame) -> str | None:
    """The method with the lowest finite score in rows of DIFFERENCES; of equals, the first in the catalogue."""
    finite = differences.filter(pl.col("score").is_finite()).sort("score", maintain_order=True)
    return finite["method"][0] if len(finite) else None


def select_headlines(summaries: Sequence[IntervalsSummary]) -> list[IntervalsSummary]:
    """For each model the summary at the top of the page: of the level that is nearest to HEADLINE."""
    nearest: dict[str, IntervalsSummary] = {}
    for summary in sorted(summaries, key=lambda summary: abs(summary.level - HEADLINE)):
        nearest.setdefault(summary.model, summary)
    return [nearest[model] for model in dict.fromkeys(summary.model for summary in summaries)]


def _index_by_method(rows: pl.DataFrame) -> dict[str, Row]:
    """The rows of SCORES or DIFFERENCES by method."""
    return {row["method"]: row for row in rows.iter_rows(named=True)}


def format_summaries(summaries: Sequence[IntervalsSummary]) -> str:
    """Plain text: coverage and recommendation by model, and scores of every method at the headline level."""
    sections = ["Intervals that a model states, and adjusted intervals: scores are Winkler's, lower is better"]
    for summary in select_headlines(summaries):
        rows = []
        for name, row in summary.scores.items():
            score, coverage = format_number(row["score"], ".1f"), format_number(row["coverage"], ".2f")
            rows.append([method_title(name), score, coverage, str(row["n"])])
        table = format_text_table(["method", "score", "coverage", "questions"], rows)
        note = f"Scores are over the {summary.n_common} questions for which every method has an interval."
        title = f"{summary.model}, {level_title(summary.level)}"
        sections.append(indent_lines(title, [*table, note, summary.coverage_sentence, summary.advice]))
    return "\n\n".join(sections) + "\n"


def write_report(
    scores: str,
    differences: str,
    tables: Sequence[str],
    figures: Sequence[str],
    settings: IntervalsExhibitSettings,
    page: str,
    summary: str,
) -> None:
    """Write the page and the summary, from files SCORES and DIFFERENCES; `tables` and `figures` are for the page."""
    summaries = build_summaries(SCORES.read(scores), DIFFERENCES.read(differences))
    save_report(
        __file__,
        page,
        summary,
        text=format_summaries(summaries),
        tables=tables,
        figures=figures,
        title="Intervals that a model states",
        label=settings["label"],
        headline=select_headlines(summaries),
        summaries=summaries,
        level_title=level_title,
        method_title=method_title,
    )
