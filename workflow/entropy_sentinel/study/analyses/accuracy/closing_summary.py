"""The closing lines of a run for the terminal, including benchmarks that a judge could not label."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from entropy_sentinel.formatting.text_format import format_number
from entropy_sentinel.rendering.plain_text import format_text_table, indent_lines
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.label_schema import FITTING_KIND, LABELS, NO_REFERENCE
from entropy_sentinel.study.analyses.accuracy.headline import Headline, Score, build_headlines
from entropy_sentinel.study.analyses.accuracy.measuring.study_validation import LEVEL, DomainResult, ModelValidation
from entropy_sentinel.study.analyses.display_names import ROLES, SCOPES, Groups, find_training_group


@dataclass(frozen=True)
class UnjudgedBenchmark:
    """A benchmark where the judge labelled none of the `n` responses of one model that it was shown.

    `reason` is the most frequent reason, given for `n_reason` responses. `fitting` is the kind of judge that suits the
    references, null if the labels do not state it, and `is_fitting` says whether the judge is of that kind.
    """

    model: str
    benchmark: str
    judge: str
    n: int
    reason: str
    n_reason: int
    fitting: str | None
    is_fitting: bool

    @property
    def text(self) -> str:
        """What happened and what to do, in two sentences."""
        cause = self.reason if self.n_reason == self.n else f"{self.n_reason} times {self.reason}"
        problem = f"{self.judge} gave no label to any of {self.n} responses ({cause})"
        if self.is_fitting:
            # Another judge would not help; the responses may show why.
            remedy = f"look at them with `entropy-sentinel show {self.model} {self.benchmark}`"
        else:
            kind = f"of kind {self.fitting}" if self.fitting else "that suits its references"
            remedy = f"name a judge {kind} in benchmarks.{self.benchmark}.judge"
        return f"{self.model}, {self.benchmark}: {problem}. To have labels, {remedy}."


def find_unjudged(labels: Sequence[str]) -> list[UnjudgedBenchmark]:
    """An `UnjudgedBenchmark` for each file LABELS without a label."""
    return list(filter(None, map(_read_unjudged, labels)))


def _read_unjudged(path: str) -> UnjudgedBenchmark | None:
    """The facts about a file LABELS without a label; None if it has labels or nothing was to be labelled."""
    labels = LABELS.read(path, ["label", "reason"])
    # Without a reference, the judge was not asked.
    judged = labels.filter(pl.col("reason").ne_missing(NO_REFERENCE))
    if judged["label"].null_count() < len(judged) or judged.is_empty():
        return None
    # Of equally frequent reasons, the alphabetically first.
    reason, count = judged["reason"].value_counts().sort("count", "reason", descending=[True, False]).row(0)
    provenance = read_provenance(path)
    fitting = provenance.get(FITTING_KIND)
    return UnjudgedBenchmark(
        provenance["model"],
        provenance["benchmark"],
        judge=provenance.get("labelled_by", provenance["judge"]),
        n=len(judged),
        reason=reason,
        n_reason=count,
        fitting=fitting,
        is_fitting=fitting in _list_kinds(provenance),
    )


def _list_kinds(judge: Mapping[str, Any]) -> set[str]:
    """The config's `kind` of a judge, or those of all judges that it combines; `judge` is its settings as a dict."""
    parts = judge.get("members", {}).values()
    return set().union(*map(_list_kinds, parts)) if parts else {judge["kind"]}


def write_summary(
    validations: Sequence[ModelValidation],
    estimates: pl.DataFrame,
    sweep: pl.DataFrame,
    groups: Groups,
    headline_group: str,
    unjudged: Sequence[UnjudgedBenchmark] = (),
    ambiguous: Sequence[str] = (),
    unanswered: Sequence[str] = (),
) -> str:
    """The summary as text: whether to trust the estimates, unlabelled domains, the group that `headline_group` names.

    `validations` has one entry per model, `estimates` is a frame ESTIMATES, `sweep` a frame SWEEP. `unjudged` are the
    benchmarks that the judge could not label; `ambiguous` names domains whose entropies may mislead; `unanswered` has
    sentences on responses without a final answer. Accuracies and AEE are shares in [0, 1].
    """
    group = find_training_group(groups, headline_group)
    title = f"Accuracy estimated from entropy, trained on {group.benchmarks} ({group.title})"
    model_texts = [_describe_model(headline) for headline in build_headlines(estimates, sweep, group)]
    model_texts = model_texts or ["No results for this training group."]
    opening = [_describe_verdicts(validations), *ambiguous, *unanswered, *_tabulate_unlabelled(validations)]
    if unjudged:
        opening.append("\n".join(["No label from the judge", *[f"  {gap.text}" for gap in unjudged]]))
    return "\n\n".join([*opening, title, *model_texts]) + "\n"


def _describe_verdicts(validations: Sequence[ModelValidation]) -> str:
    """Say for each model whether to trust the recommended estimator, and why."""
    lines = ["Can the estimates be trusted? Each labelled domain is estimated without its labels"]
    for validation in validations:
        for domain_suffix, verdict, reasons in validation.verdicts_by_scope:
            lines.append(f"  {validation.model}{domain_suffix}: {verdict}")
            lines += [f"    {reason}" for reason in reasons]
        lines.append(f"    method: {validation.method_title} ({validation.method_reason})")
        if validation.caution:
            lines.append(f"    caution: {validation.caution}")
    return "\n".join(lines)


def _tabulate_unlabelled(validations: Sequence[ModelValidation]) -> list[str]:
    """One table of the unlabelled domains of all models, with intervals; empty if every domain is labelled."""
    rows = []
    for validation in validations:
        for domain in validation.unlabelled:
            verdict = validation.verdict
            if domain.reason:
                verdict = domain.reason
            elif domain.unfamiliar:
                verdict = "unfamiliar: label some"
            cells = [
                validation.model,
                domain.domain,
                str(domain.n),
                format_estimate(domain),
                format_interval(domain),
                verdict,
            ]
            rows.append(cells)
    if not rows:
        return []
    headings = ("model", "domain", "responses", "estimated", f"{LEVEL:.0%} interval", "verdict")
    return [indent_lines("Domains without labels: estimated accuracy", format_text_table(headings, rows, "llrrrl"))]


def format_estimate(domain: DomainResult) -> str:
    """A domain's estimate as text, in brackets if the domain is unlike all labelled ones."""
    text = format_number(domain.estimated, ".2f")
    return f"({text})" if domain.unfamiliar else text


def format_interval(domain: DomainResult) -> str:
    """The interval of a domain's estimate as text; "-" if it has no interval."""
    if domain.lower is None:
        return "-"
    return f"{format_number(domain.lower, '.2f')} to {format_number(domain.upper, '.2f')}"


# By `Headline.simple_is_better`.
_COMPARISON_TEXTS = {
    True: "lower AEE than the estimator",
    False: "no lower AEE than the estimator",
    None: "not comparable",
}


def _describe_model(headline: Headline) -> str:
    """The text about one model's results of a training group: its domains in a table, then a line per score.

    The scores (AEE, rho) are of the group's, the recommended and the best simple estimator.
    """
    rows = []
    for row in headline.domains:
        estimated, true = format_number(row["estimated_on_labelled"]), format_number(row["true_accuracy"])
        error = format_number(row["error"], "+.3f")
        rows.append((row["benchmark"], ROLES[row["role"]], format_label_count(row), estimated, true, error))
    lines = [*format_text_table(("domain", "role", "labels", "estimated", "true", "error"), rows, "llrrrr"), ""]
    for scope, title in SCOPES.items():
        if scope in headline.scores:
            lines.append(_format_score_line(f"{title} domains", headline.scores[scope]))
    chosen = headline.recommended
    if chosen is not None:
        lines.append(_format_score_line("recommended", chosen.scores["held_out"], f"{chosen.method}: {chosen.reason}"))
    if headline.simple is not None:
        verdict = f"{headline.simple}: {_COMPARISON_TEXTS[headline.simple_is_better]}"
        lines.append(_format_score_line("best simple estimator", headline.simple_scores["held_out"], verdict))
    if headline.caution:
        lines.append(f"caution: {headline.caution}")
    return indent_lines(headline.model, lines)


def format_label_count(row: dict[str, int]) -> str:
    """`5`, or `5 of 8` if not all responses are labelled; `row` is a row of ESTIMATES."""
    if row["n_labelled"] == row["n_rows"]:
        return str(row["n_labelled"])
    return f"{row['n_labelled']} of {row['n_rows']}"


def _format_score_line(title: str, score: Score, remark: str = "") -> str:
    """`unseen domains   AEE 0.071   rho 0.93`, with the reason for a null, and the remark."""
    reason = f"({score.reason})" if score.reason else ""
    parts = [f"{title:<21}  AEE {format_number(score.aee)}", f"rho {score.rho_text}", reason, remark]
    return "   ".join(filter(None, parts))
