"""The closing lines of a run, for the terminal."""

from collections.abc import Sequence

import polars as pl
from tabulate import tabulate

from entropy_sentinel.analyses.accuracy.headline import Headline, Score, headlines, unstated
from entropy_sentinel.analyses.headings import ROLES, SCOPES, Groups, training_group
from entropy_sentinel.report.numbers import number


def summarise(estimates: pl.DataFrame, sweep: pl.DataFrame, groups: Groups, headline_group: str) -> str:
    """Plain text: the estimates of domains without labels; then for each model the others, AEE and rho.

    `estimates` is a frame ESTIMATES, `sweep` a frame SWEEP. Accuracies and AEE are shares in [0, 1].
    """
    group = training_group(groups, headline_group)
    title = f"Accuracy estimated from entropy, trained on {group.benchmarks} ({group.title})"
    found = headlines(estimates, sweep, group)
    parts = [_model(headline) for headline in found] or ["No results for this training group."]
    return "\n\n".join([*_unlabelled(found), title, *parts]) + "\n"


def _unlabelled(found: Sequence[Headline]) -> list[str]:
    """What nobody has labelled, in one table for all models, with the error to expect; nothing where all is."""
    rows = [
        (
            headline.model,
            row["benchmark"],
            str(row["n_rows"]),
            number(row["estimated_accuracy"], ".2f"),
            number(headline.expected_error, ".2f"),
        )
        for headline in found
        for row in headline.unlabelled
    ]
    if not rows:
        return []
    table = _table(("model", "domain", "responses", "estimated", "give or take"), rows, "llrrr")
    notes = ["Give or take: the mean error (AEE) on the model's unseen domains with labels.", *unstated(found)]
    notes += [
        f"{headline.model}, {row['benchmark']}: no estimate, {row['reason']}."
        for headline in found
        for row in headline.unlabelled
        if row["reason"]
    ]
    return ["\n".join(["Domains without labels: estimated accuracy", *_indented([*table, "", *notes])])]


def _model(headline: Headline) -> str:
    rows = [
        (
            row["benchmark"],
            ROLES[row["role"]],
            labels(row),
            number(row["estimated_on_labelled"]),
            number(row["true_accuracy"]),
            number(row["error"], "+.3f"),
        )
        for row in headline.domains
    ]
    lines = [*_table(("domain", "role", "labels", "estimated", "true", "error"), rows, "llrrrr"), ""]
    for scope, title in SCOPES.items():
        if scope in headline.scores:
            lines.append(_line(f"{title} domains", headline.scores[scope]))
    if chosen := headline.recommended:
        lines.append(_line("recommended", chosen.scores["held_out"], f"{chosen.method}: {chosen.reason}"))
    if headline.simple is not None:
        lines.append(_line("best simple estimator", headline.simple_scores["held_out"], _verdict(headline)))
    if headline.caution:
        lines.append(f"caution: {headline.caution}")
    return "\n".join([headline.model, *_indented(lines)])


def labels(row: dict[str, int]) -> str:
    """The number of labelled responses, with that of all responses where it is larger."""
    every = row["n_labelled"] == row["n_rows"]
    return str(row["n_labelled"]) if every else f"{row['n_labelled']} of {row['n_rows']}"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], sides: str) -> list[str]:
    aligned = [{"l": "left", "r": "right"}[side] for side in sides]
    return tabulate(rows, headings, tablefmt="simple", disable_numparse=True, colalign=aligned).splitlines()


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}".rstrip() for line in lines]


def _line(title: str, score: Score, remark: str = "") -> str:
    reason = f"({score.reason})" if score.reason else ""
    parts = [f"{title:<21}  AEE {number(score.aee)}", f"rho {score.rho_text}", reason, remark]
    return "   ".join(part for part in parts if part)


def _verdict(headline: Headline) -> str:
    better = {True: "lower AEE than the estimator", False: "no lower AEE than the estimator", None: "not comparable"}
    return f"{headline.simple}: {better[headline.simple_is_better]}"
