"""The page of this analysis, and its closing lines: does entropy measure a model's lack of knowledge?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import polars as pl

from entropy_sentinel.formatting.text_format import format_interval, format_number
from entropy_sentinel.rendering.exhibit_files import save_report
from entropy_sentinel.rendering.plain_text import format_text_table
from papers.ambiguity.ambiguity_exhibits import (
    ANSWERS,
    AUC_NOTE,
    BY_FREQUENCY,
    COMMON_NOTE,
    ESTIMATORS,
    FREQUENCIES,
    PAPER_FORM,
    AmbiguityExhibitSettings,
    describe_method,
)
from papers.ambiguity.ambiguity_frames import CONCORDANCES, P_STARS

# This project's own thresholds for describing an AUC_c above chance in words.
_WELL, _SOMEWHAT = 0.75, 0.6
# Shares of pairs above which a caveat is shown.
_LARGE_SHARE = 0.2


@dataclass(frozen=True)
class AmbiguitySummary:
    """How well each estimator ranks a model's items of a benchmark with one answer, or with several."""

    model: str
    benchmark: str
    answers: str
    n_items: int
    # Rows of CONCORDANCES.
    by_estimator: Mapping[str, Mapping[str, Any]]

    @property
    def title(self) -> str:
        return f"{self.model}, {self.benchmark}, {ANSWERS[self.answers]}"

    @property
    def verdict(self) -> str:
        """How well semantic entropy works, and which caveats apply."""
        row = self.by_estimator["se"]
        if row["auc_c"] is None:
            return f"Semantic entropy cannot be assessed: {row['reason']}."
        value = f"AUC_c {format_number(row['auc_c'], '.2f')}{format_row_interval(row)}"
        return " ".join([f"Semantic entropy {_describe_concordance(row)}: {value}.", *self.caveats])

    @property
    def caveats(self) -> list[str]:
        """Sentences about pairs of items without information on semantic entropy, if there are many."""
        row = self.by_estimator["se"]
        remarks = []
        if (row["tied"] or 0) >= _LARGE_SHARE:
            remarks.append(f"It is equal for {row['tied']:.0%} of the pairs of items, which are uninformative.")
        if (row["alike"] or 0) >= _LARGE_SHARE:
            remarks.append(
                f"Of the {'others' if remarks else 'pairs of items'}, {row['alike']:.0%} count half, because the model "
                "knows both items equally well (usually not at all); this pulls AUC_c towards 0.5."
            )
        return remarks


def _describe_concordance(row: Mapping[str, Any]) -> str:
    """How well semantic entropy works, in words, from its row of CONCORDANCES with an AUC_c."""
    # If all pairs of items agree, there is no interval.
    lower = row["lower"] or row["auc_c"]
    if row["auc_c"] <= 0.5 or lower <= 0.5:
        return "is no better than chance at finding what the model does not know"
    if row["auc_c"] < _SOMEWHAT:
        return "is hardly better than chance at finding what the model does not know"
    return f"finds {'well' if row['auc_c'] >= _WELL else 'somewhat'} what the model does not know"


def format_row_interval(row: Mapping[str, Any]) -> str:
    """The interval of a row of CONCORDANCES in brackets; an empty text if there is none."""
    return "" if row["lower"] is None else f" ({format_interval(row)})"


def make_summaries(concordances: pl.DataFrame, source: str) -> Iterator[AmbiguitySummary]:
    """Yield summaries by model, `answers` (items with `one` right answer or `several`) and benchmark.

    They are from rows of CONCORDANCES whose uncertainty is computed as in the paper, with p* from the benchmark's own
    counts, which are named `source`.
    """
    rows = concordances.filter(pl.col("estimator").is_in(list(ESTIMATORS)), form=PAPER_FORM, source=source)
    for (model, answers, benchmark), group in rows.group_by("model", "answers", "benchmark", maintain_order=True):
        by_estimator = {row["estimator"]: row for row in group.iter_rows(named=True)}
        yield AmbiguitySummary(str(model), str(benchmark), str(answers), group["n_items"][0], by_estimator)


def answer_question(summaries: Sequence[AmbiguitySummary]) -> str:
    """Whether entropy finds what models do not know, as text, from the medians of semantic entropy's AUC_c."""
    parts = []
    for kind, condition in (("one", "where questions have one answer"), ("several", "where they have several")):
        rows = [summary.by_estimator["se"] for summary in summaries if summary.answers == kind]
        assessed_rows = [row for row in rows if row["auc_c"] is not None]
        answer = _answer_kind(assessed_rows) if assessed_rows else "this study cannot tell"
        parts.append(f"{condition}, {answer}")
    text = "; ".join(parts)
    return f"Does entropy find what the model does not know? {text[0].upper()}{text[1:]}."


def _answer_kind(rows: Sequence[Mapping[str, Any]]) -> str:
    """The answer from the semantic entropy's rows of CONCORDANCES, for questions with one right answer or with several.

    Each row has an AUC_c.
    """
    median_auc = median(row["auc_c"] for row in rows)
    alike = median(row["alike"] for row in rows)
    above_chance = sum((row["lower"] or 0) > 0.5 for row in rows)
    if alike >= 0.5:  # such pairs pull AUC_c to chance, however good entropy is
        verdict = f"this study can hardly tell, because in the median {alike:.0%} of the pairs count half"
    elif not above_chance or median_auc <= 0.5:
        verdict = "no"
    elif median_auc < _SOMEWHAT:
        verdict = "hardly"
    else:
        verdict = "yes" if median_auc >= _WELL else "somewhat"
    return (
        f"{verdict}: the median AUC_c of semantic entropy is {median_auc:.2f}, and in {above_chance} of {len(rows)} "
        "cases its interval is above chance, 0.5"
    )


def describe_frequencies(concordances: pl.DataFrame, source: str) -> str:
    """A sentence with the medians of AUC_c if shares of the samples replace probabilities in p and semantic entropy.

    An empty text if no row of CONCORDANCES has them.
    """
    rows = concordances.filter(form=FREQUENCIES, estimator=BY_FREQUENCY, source=source).drop_nulls("auc_c")
    medians = dict(rows.group_by("answers").agg(pl.col("auc_c").median()).iter_rows())
    parts = [f"{medians[kind]:.2f} where questions have {kind}" for kind in ANSWERS if kind in medians]
    return f"With shares of the samples instead of probabilities: {' and '.join(parts)}." if parts else ""


def format_summary(summaries: Sequence[AmbiguitySummary], frequencies: str) -> str:
    """Plain text: the answer, `frequencies` (of `describe_frequencies`), then AUC_c of all estimators by summary."""
    if not summaries:
        return "There are no items.\n"
    rows, caveats = [], []
    for summary in summaries:
        cells = [summary.model, summary.benchmark, ANSWERS[summary.answers], str(summary.n_items)]
        for name in ESTIMATORS:
            row = summary.by_estimator[name]
            cells.append(format_number(row["auc_c"], ".2f") + format_row_interval(row))
        rows.append(cells)
        if summary.caveats:
            caveats.append(" ".join([f"{summary.title}, SE:", *summary.caveats]))
    headings = ["model", "benchmark", "answers", "items", *(estimator.title for estimator in ESTIMATORS.values())]
    lines = [answer_question(summaries), frequencies, "", *format_text_table(headings, rows), ""]
    lines.append("AUC_c with its 95 % interval: how often the more uncertain of two items has the larger estimator.")
    return "\n".join([*lines, *caveats]) + "\n"


def write_report(
    concordances: str,
    p_stars: str,
    tables: Sequence[str],
    figures: Sequence[str],
    settings: AmbiguityExhibitSettings,
    page: str,
    summary: str,
) -> None:
    """Write the page and the summary, from files CONCORDANCES and P_STARS; `tables` and `figures` are its files."""
    concordance_rows = CONCORDANCES.read(concordances)
    source = settings["source"]
    summaries = list(make_summaries(concordance_rows, source))
    frequencies = describe_frequencies(concordance_rows, source)
    benchmark_rows = P_STARS.read(p_stars).filter(source=source)
    uncounted = benchmark_rows.filter(pl.col("counts").is_null(), pl.col("n_answers") > 1)
    save_report(
        __file__,
        page,
        summary,
        text=format_summary(summaries, frequencies),
        tables=tables,
        figures=figures,
        title="Entropy and ambiguity",
        label=settings["label"],
        answer=answer_question(summaries) if summaries else None,
        frequencies=frequencies,
        summaries=summaries,
        kinds=ANSWERS,
        estimators=ESTIMATORS,
        interval=format_row_interval,
        notes=[AUC_NOTE, COMMON_NOTE, describe_method(settings)],
        assumed=uncounted["benchmark"].unique().sort().to_list(),
    )
