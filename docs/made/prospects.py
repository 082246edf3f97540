"""The page about numbers of labels: how often a validation says `usable`."""

import polars as pl

from entropy_sentinel.estimators.verdict import FEWEST_LABELS
from entropy_sentinel.monitor.labelling.usable_probability import (
    ASSUMES,
    LABELS_WITH_JUDGE,
    TABLE,
    VERDICTS,
    JudgeQuality,
    probability_with_judge,
    read_table,
)
from made.markdown import table


def page() -> str:
    """The page: for each mean error, a table by number of domains and of labels in each."""
    cells = read_table()
    judge = JudgeQuality(0.9, 0.85)
    parts = [
        "# What labels can show\n",
        "How often the validation of `fit` says `usable`, by the number of labelled domains, the labels per domain, "
        "and the estimator's mean error on new domains. The columns `and a judge` are for `fit --judged` with a judge "
        f"of sensitivity {judge.sensitivity:g} and specificity {judge.specificity:g}, and {VERDICTS} verdicts each. "
        f"`sample` without an estimator shows the same numbers; `make bench-usable ARGS=--write` simulates them "
        f"({TABLE.name}). {ASSUMES}\n",
    ]
    for (error,), rows in cells.filter(pl.col("labels") >= FEWEST_LABELS).group_by("error", maintain_order=True):
        wide = rows.pivot("labels", index="domains", values="usable")
        head = ["domains", *(f"{labels} labels each" for labels in wide.columns[1:])]
        head += [f"{labels} and a judge" for labels in LABELS_WITH_JUDGE]
        lines = []
        for domains, *shares in wide.rows():
            shares += [probability_with_judge(float(error), domains, labels, judge) for labels in LABELS_WITH_JUDGE]
            lines.append([str(domains), *(f"{share:.0%}" for share in shares)])
        parts += [f"## Mean error {error:.2f}\n", table(head, lines)]
    return "\n".join(parts)
