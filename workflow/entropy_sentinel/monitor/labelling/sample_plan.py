"""The result of `sample`, and how people see it: tables of slices and of chances, and what the numbers assume."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.core.printable import make_one_line
from entropy_sentinel.formatting.text_format import format_html, format_number
from entropy_sentinel.monitor.labelling.cold_start_allocation import VERDICTS_A_LABEL
from entropy_sentinel.monitor.labelling.expected_widths import ASSUMED_ACCURACY
from entropy_sentinel.monitor.labelling.judge_budget import CHARACTERS_A_TOKEN, MAX_TOKENS, JudgeBudget
from entropy_sentinel.monitor.labelling.sample_table import Purpose
from entropy_sentinel.monitor.labelling.usable_probability import ASSUMES, EXPLAINED_SHARE, JudgeQuality
from entropy_sentinel.monitor.reading.problem_collection import Problems
from entropy_sentinel.monitor.summing.sum_merging import ALL, EVERYTHING

# The headings and rows of a table.
Table = tuple[Sequence[str], Sequence[Sequence[str]]]
_COUNTS = {"n_responses": "responses", "n_to_label": "to label", "n_to_judge": "to judge"}
_WITH_ESTIMATOR = {
    "estimated_accuracy": "estimated accuracy",
    "width_before": "{level} width now",
    "width_labels_alone": "labels alone",
    "width_expected": "labels + estimate",
    "width_with_judge": "labels + judge",
}
_WITHOUT_ESTIMATOR = {
    "width_labels_alone": "{level} width, labels",
    "width_with_judge": "with a judge",
    "width_with_estimator": "with an estimator",
    "width_with_both": "with both",
}


@dataclass(frozen=True)
class Sample:
    """The responses to label and to judge, and what to expect of the slices.

    Attributes:
        responses: A row per response to label: the slice, its id, `stratum` (in 0 the model is least likely to be
            correct), `inclusion_probability`, `weight`, `question` and `response` if the log has them, and an empty
            `label`. `messages` is the whole conversation before the response, as JSON, and `reference` the
            reference answer, if the log has them. P(correct) is omitted, because it could influence the person who
            labels.
        slices: A row per slice: `n_responses`, `n_to_label`, `n_to_judge` with a budget for a judge, and expected
            widths of its interval. With an estimator: `estimated_accuracy`, and the widths now (null without a
            validation), with only the labels, with labels and predictions if P(correct) is calibrated, and with a
            judge, too (null if there are too few labels to correct the judge). And whether it is unlike all labelled
            domains, `unfamiliar`; such slices come first. Without an estimator: the widths from only the labels, with a
            judge, with an estimator fitted on these labels, and with both, at an accuracy of 0.5, where they are
            widest. In all tables, a slice column with the name of another column is called `slice_NAME`.
        level: The level of these intervals.
        to_judge: With a budget for a judge: the responses to judge, in the same form. Those to label are among them.
        judge_budget: What the judge's verdicts are expected to cost.
        quality: The judge's sensitivity and specificity that the widths assume.
        purpose: Without an estimator: what the labels are drawn for.
        prospects: Without an estimator: the probability that a first `fit` is validated as `usable`, by number of
            `domains`, `labels` per domain, and mean `error`; the rows of this sample come first. `usable_with_judge` is
            that with a judge's verdicts, too. Null if this sample has no chance.
        notes: What the budget is better spent on, how to get more domains, and which values of a slice column get no
            labels, and why.
        next_step: The command to run with the labels: `monitor`, or `fit` with its options.
        n_left_out: Number of responses in slices without any response to label.
        taken: Counts of the chosen responses that do not match the estimator, by kind.
        problems: Counts of unusable parts of the logs.
    """

    responses: pl.DataFrame
    slices: pl.DataFrame
    level: float
    to_judge: pl.DataFrame | None = None
    judge_budget: JudgeBudget | None = None
    quality: JudgeQuality = JudgeQuality(0.9, 0.85)
    purpose: Purpose | None = None
    prospects: pl.DataFrame | None = None
    notes: tuple[str, ...] = ()
    next_step: str = "monitor"
    n_left_out: int = 0
    taken: Mapping[str, int] = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)

    @property
    def n_responses(self) -> int:
        """The number of responses that could have been chosen, with those of slices left out."""
        return int(self.slices["n_responses"].sum()) + self.n_left_out

    @property
    def by(self) -> list[str]:
        """The columns of the tables that define slices."""
        return self.slices.columns[: self.slices.columns.index("n_responses")]

    def __repr__(self) -> str:
        return "\n  ".join(map(make_one_line, [summarise_sample(self), *explain_sample(self)]))

    def _repr_html_(self) -> str:
        return format_html(summarise_sample(self), explain_sample(self), *make_sample_tables(self))


def summarise_sample(sample: Sample) -> str:
    """How many responses of how many are to be labelled and judged."""
    text = f"{len(sample.responses):,} of {sample.n_responses:,} responses to label"
    return text if sample.to_judge is None else f"{text}, {len(sample.to_judge):,} to judge"


def make_sample_tables(sample: Sample) -> list[Table]:
    """The table of slices and, without an estimator, that of the chances of `usable`, if there are any."""
    tables = [make_slice_table(sample)]
    if sample.prospects is not None:
        tables.append(make_prospect_table(sample.prospects))
    return tables


def make_slice_table(sample: Sample) -> Table:
    """The table of slices: their names, numbers of responses, and expected widths."""
    slices, by = sample.slices, sample.by
    width_headings = _WITHOUT_ESTIMATOR if sample.purpose is not None else _WITH_ESTIMATOR
    counts = [name for name in _COUNTS if name in slices.columns]
    headings = [", ".join(by) or ALL, *(_COUNTS[name] for name in counts)]
    headings += [heading.format(level=f"{sample.level:.0%}") for heading in width_headings.values()]
    rows = []
    for row in slices.iter_rows(named=True):
        values = ["-" if row[name] is None else str(row[name]) for name in by]
        cells = [", ".join(values) or EVERYTHING]
        cells += [f"{row[name]:,}" for name in counts]
        cells += [_bracket_unfamiliar(format_number(row[name]), name, row) for name in width_headings]
        rows.append(cells)
    return headings, rows


def _bracket_unfamiliar(text: str, name: str, row: dict[str, Any]) -> str:
    """The estimate of an unfamiliar slice in brackets, and any other number as it is."""
    return f"({text})" if name in ("estimated_accuracy", "width_before") and row.get("unfamiliar") else text


def make_prospect_table(prospects: pl.DataFrame) -> Table:
    """The table of the chances of `usable`."""
    errors = prospects["error"].unique().sort()
    headings = ["domains", "labels each"] + [f"error {error:.2f}" for error in errors]
    rows = []
    for (n_domains, n_labels), cells in prospects.group_by("domains", "labels", maintain_order=True):
        chances = cells.sort("error").select("usable", "usable_with_judge").rows()
        rows.append(
            [str(n_domains), str(n_labels)]
            + [f"{_format_chance(alone)} ({_format_chance(both)})" for alone, both in chances]
        )
    return headings, rows


def _format_chance(probability: float) -> str:
    text = f"{probability:.0%}"
    return "<1%" if text == "0%" else text


def title_prospects(prospects: pl.DataFrame) -> str:
    """The line above the table of the chances of `usable`."""
    return (
        "Chance that validation ends in `usable`, if the estimator's mean error is ... (first row: the labels proposed "
        f"here). In brackets: with a judge's verdicts on {prospects['verdicts'][0]:,} responses per domain"
    )


def explain_sample(sample: Sample) -> Iterator[str]:
    """Yield the notes, what the numbers of the tables assume, and what the judge costs."""
    yield from sample.notes
    if sample.purpose is None:
        yield from _explain_with_estimator(sample)
    else:
        yield from _explain_without_estimator(sample)
    if sample.judge_budget is not None:
        assert sample.to_judge is not None  # a budget draws it
        yield describe_costs(sample.judge_budget, len(sample.to_judge), sample.n_responses)


def _describe_judge(sample: Sample) -> str:
    """How many verdicts of which judge the widths assume."""
    judge = f"a judge of sensitivity {sample.quality.sensitivity:g} and specificity {sample.quality.specificity:g}"
    if sample.to_judge is None:
        return (
            f"assumes {judge}, with verdicts on {VERDICTS_A_LABEL} times as many responses (`entropy-sentinel judge`)"
        )
    return f"assumes {judge}, with verdicts on the responses to judge"


def _explain_with_estimator(sample: Sample) -> Iterator[str]:
    yield f"labels + judge: {_describe_judge(sample)}"


def _explain_without_estimator(sample: Sample) -> Iterator[str]:
    """Yield what the widths of the tables, and the chances of `usable`, assume."""
    yield (
        f"widths: what to expect at an accuracy of {ASSUMED_ACCURACY:g}, where intervals are widest; a width of 0.30 "
        "is ±0.15"
    )
    yield f"with a judge: {_describe_judge(sample)}"
    if sample.slices["width_with_judge"].null_count() == len(sample.slices):
        yield "without a number: too few labels to correct the judge's errors; it takes 8 more labels than slices"
    yield (
        f"with an estimator: assumes one fitted on these labels, whose P(correct) explains {EXPLAINED_SHARE:.0%} of "
        "the "
        "differences between responses of a slice (real ones: 9% to 24%)"
    )
    if sample.prospects is not None:
        yield ASSUMES


def describe_costs(judge: JudgeBudget, n_verdicts: int, n_responses: int) -> str:
    """What the verdicts are expected to cost, how that was estimated, and what is left over."""
    usd = n_verdicts * judge.usd_per_verdict
    source = f", from {judge.source}" if judge.source else ""
    text = (
        f"judge: {n_verdicts:,} verdicts cost about {usd:.2f} of {judge.usd:.2f} US dollars: prompts of "
        f"{judge.prompt_tokens:,.0f} tokens ({CHARACTERS_A_TOKEN} characters each) and replies of "
        f"{judge.reply_tokens:,} ({format_option('judge_reply_tokens')}), at {judge.prices[0]:g} and "
        f"{judge.prices[1]:g} dollars per million tokens{source}"
    )
    if n_verdicts >= judge.n_affordable and judge.usd_reserved:
        text += (
            f". {judge.usd_reserved:.2g} dollars are kept back, because `judge` sends a request only if its longest "
            f"reply ({MAX_TOKENS:,} tokens) can be paid"
        )
    left = judge.usd - usd
    if n_verdicts >= judge.n_affordable or left < 0.005:
        return text
    why = "all responses are judged" if n_verdicts == n_responses else "more verdicts would hardly narrow the intervals"
    return f"{text}. {left:.2f} dollars are left over, because {why}"
