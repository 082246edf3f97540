"""The closing lines of a run, for the terminal."""

import polars as pl
from tabulate import tabulate

from entropy_sentinel.analyses.accuracy.headings import ROLES, SCOPES, Groups, group_benchmarks, group_title, id_of
from entropy_sentinel.analyses.accuracy.headline import Headline, Score, headlines
from entropy_sentinel.report.numbers import number

_COLUMNS = ("domain", "role", "estimated", "true", "error")


def summarise(estimates: pl.DataFrame, sweep: pl.DataFrame, groups: Groups, headline_group: str = "extremes") -> str:
    """Plain text: for each model, the headline group's estimates by domain, AEE and rho, the best baseline.

    `estimates` are frames ESTIMATES with `model` and `group` added, `sweep` is a frame SWEEP. Accuracies and
    AEE are shares in [0, 1].
    """
    trained = group_benchmarks(id_of(groups, headline_group))
    title = f"Accuracy estimated from entropy, trained on {trained} ({group_title(headline_group)})"
    found = headlines(estimates, sweep, groups, headline_group)
    parts = [_model(headline) for headline in found] or ["No results for this training group."]
    return "\n\n".join([title, *parts]) + "\n"


def _model(headline: Headline) -> str:
    rows = [
        (
            row["benchmark"],
            ROLES[row["role"]],
            number(row["estimated_accuracy"]),
            number(row["true_accuracy"]),
            number(row["error"], "+.3f"),
        )
        for row in headline.domains
    ]
    aligned = ("left", "left", "right", "right", "right")
    table = tabulate(rows, headers=_COLUMNS, tablefmt="simple", disable_numparse=True, colalign=aligned)
    lines = [*table.splitlines(), ""]
    for scope, title in SCOPES.items():
        if scope in headline.scores:
            lines.append(_line(f"{title} domains", headline.scores[scope]))
    if headline.baseline is not None:
        lines.append(_line("best baseline, unseen", headline.baseline_scores["held_out"], _verdict(headline)))
    return "\n".join([headline.model, *(f"  {line}".rstrip() for line in lines)])


def _line(title: str, score: Score, remark: str = "") -> str:
    reason = f"({score.reason})" if score.reason else ""
    parts = [f"{title:<21}  AEE {number(score.aee)}", f"rho {number(score.rho)}", reason, remark]
    return "   ".join(part for part in parts if part)


def _verdict(headline: Headline) -> str:
    better = {True: "lower AEE than the estimator", False: "no lower AEE than the estimator", None: "not comparable"}
    return f"{headline.baseline}: {better[headline.baseline_is_better]}"
