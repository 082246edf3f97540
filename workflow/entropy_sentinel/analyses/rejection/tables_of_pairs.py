"""The pairs of a model and an assessor that keep most, from a frame MEASURES."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from entropy_sentinel.analyses.headings import Groups, training_group
from entropy_sentinel.analyses.rejection.catalogue import coverage_measure, kept_accuracy_measure, kept_measure
from entropy_sentinel.analyses.rejection.headings import (
    DECIMALS,
    DISTRIBUTION_NOTE,
    DISTRIBUTIONS,
    INTERVAL_NOTE,
    KEPT_NOTES,
    absent_notes,
    assessor_title,
    domain_notes,
)
from entropy_sentinel.analyses.rejection.rows import EVERY
from entropy_sentinel.report.tables import Table, number_frame

# What a row of the measures is of, the measure aside.
_OF = ("model", "role", "benchmark", "assessor")
_OF_PAIR = ("value", "lower", "upper", "kept", "kept_accuracy", "auarc")


def table_best_pairs(
    measures: pl.DataFrame,
    groups: Groups,
    assessors: Mapping[str, Sequence[str]],
    accuracies: Sequence[float],
    best: int,
) -> Table:
    """The pairs of a model and an assessor of largest coverage at each accuracy, in and out of distribution."""
    keys = ["Training group", "Questions", "Accuracy at least", "Rank", "Model", "Assessor"]
    numbers = ["Coverage", "from", "to", "Kept", "Accuracy of kept", "AUARC", "Accuracy of all"]
    rows, named = [], [training_group(groups, name) for name in groups]
    for group in named:
        for role, title in DISTRIBUTIONS.items():
            pairs = measures.filter(group=group.group, role=role, benchmark=EVERY)
            for accuracy in accuracies:
                for rank, row in enumerate(best_pairs(pairs, assessors[group.group], accuracy, best), 1):
                    of = (group.title, title, f"{accuracy:g}", rank, row["model"], assessor_title(row["assessor"]))
                    values = (*(row[name] for name in _OF_PAIR), row["accuracy"])
                    rows.append(dict(zip([*keys, *numbers], [*of, *values], strict=True)))
    return Table(
        "Pairs of a model and an assessor that can keep the largest share of responses (coverage) at a wanted "
        "accuracy, over all domains in and out of distribution.",
        number_frame(rows, keys, numbers),
        (
            DISTRIBUTION_NOTE,
            INTERVAL_NOTE,
            "Equal coverages are ranked by AUARC. Coverage 0: no part of the responses reaches the accuracy.",
            *KEPT_NOTES,
            *absent_notes(measures, named, assessors),
            *domain_notes(measures),
        ),
        decimals=DECIMALS,
    )


def best_pairs(measures: pl.DataFrame, assessors: Sequence[str], accuracy: float, best: int) -> list[dict[str, Any]]:
    """Rows of MEASURES of the largest coverages at this accuracy; equal ones by their AUARC.

    With them `auarc`, and `kept` and `kept_accuracy` by the threshold of the training group, null in distribution.
    """
    wanted = measures.filter(pl.col("assessor").is_in(assessors), pl.col("value").is_not_null())
    covered = wanted.filter(measure=coverage_measure(accuracy))
    beside = {"auarc": "auarc", "kept": kept_measure(accuracy), "kept_accuracy": kept_accuracy_measure(accuracy)}
    for name, measure in beside.items():
        values = wanted.filter(measure=measure).select(*_OF, pl.col("value").alias(name))
        covered = covered.join(values, on=_OF, how="left", maintain_order="left")
    order = covered.sort("value", "auarc", "model", "assessor", descending=[True, True, False, False])
    return order.head(best).rows(named=True)
