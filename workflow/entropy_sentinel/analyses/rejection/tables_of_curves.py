"""Best pairs, areas and coverages, from a frame MEASURES. Values are shares in [0, 1], but for gains and PRR."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from entropy_sentinel.analyses.headings import Groups, training_group
from entropy_sentinel.analyses.rejection.catalogue import QUESTION_ONLY, coverage_measure
from entropy_sentinel.analyses.rejection.headings import (
    DISTRIBUTION_NOTE,
    DISTRIBUTIONS,
    EVERY_NOTE,
    INTERVAL_NOTE,
    OWN_TITLE,
    absent_notes,
    assessor_title,
    domain_notes,
    domain_title,
    short_title,
)
from entropy_sentinel.analyses.rejection.rows import EVERY
from entropy_sentinel.report.tables import Table, number_frame

# What a row of the measures is of, the measure aside.
_OF = ("model", "role", "benchmark", "assessor")


def table_best_pairs(
    measures: pl.DataFrame,
    groups: Groups,
    assessors: Mapping[str, Sequence[str]],
    accuracies: Sequence[float],
    best: int,
) -> Table:
    """The pairs of a model and an assessor of largest coverage at each accuracy, in and out of distribution."""
    keys = ["Training group", "Questions", "Accuracy at least", "Rank", "Model", "Assessor"]
    numbers = ["Coverage", "from", "to", "AUARC", "Accuracy of all"]
    rows, named = [], [training_group(groups, name) for name in groups]
    for group in named:
        for role, title in DISTRIBUTIONS.items():
            pairs = measures.filter(group=group.group, role=role, benchmark=EVERY)
            for accuracy in accuracies:
                for rank, row in enumerate(best_pairs(pairs, assessors[group.group], accuracy, best), 1):
                    of = (group.title, title, f"{accuracy:g}", rank, row["model"], assessor_title(row["assessor"]))
                    values = (row["value"], row["lower"], row["upper"], row["auarc"], row["accuracy"])
                    rows.append(dict(zip([*keys, *numbers], [*of, *values], strict=True)))
    return Table(
        "Pairs of a model and an assessor that keep the largest share of responses (coverage) at a wanted accuracy, "
        "over all domains in and out of distribution.",
        number_frame(rows, keys, numbers),
        (
            DISTRIBUTION_NOTE,
            INTERVAL_NOTE,
            "Equal coverages are ranked by AUARC. Coverage 0: no part of the responses reaches the accuracy.",
            *absent_notes(measures, named, assessors),
            *domain_notes(measures),
        ),
    )


def best_pairs(measures: pl.DataFrame, assessors: Sequence[str], accuracy: float, best: int) -> list[dict[str, Any]]:
    """Rows of MEASURES of the largest coverages at this accuracy, with `auarc`; equal ones by their AUARC."""
    wanted = measures.filter(pl.col("assessor").is_in(assessors), pl.col("value").is_not_null())
    areas = wanted.filter(measure="auarc").select(*_OF, auarc="value")
    covered = wanted.filter(measure=coverage_measure(accuracy)).join(areas, on=_OF, maintain_order="left")
    order = covered.sort("value", "auarc", "model", "assessor", descending=[True, True, False, False])
    return order.head(best).rows(named=True)


def table_auarc(measures: pl.DataFrame, groups: Groups, assessors: Mapping[str, Sequence[str]]) -> Table:
    """AUARC of every assessor by training group, model and domain, and what the trace adds to the question."""
    gain = ["Trace adds", "from", "to"]
    rows, named, titles = [], [training_group(groups, name) for name in groups], {}
    for group in named:
        own = measures.filter(pl.col("group") == group.group, pl.col("assessor").is_in(assessors[group.group]))
        for of, found in _by_domain(own):
            areas = {short_title(name, group): one["value"] for (name, what), one in found.items() if what == "auarc"}
            titles |= dict.fromkeys(areas)
            added = found.get((group.estimator, "gain"), {})
            adds = dict(zip(gain, map(added.get, ("value", "lower", "upper")), strict=True))
            rows.append({"Training group": group.title} | of | areas | adds)
    keys, last = ["Training group", "Model", "Questions", "Domain"], assessor_title(QUESTION_ONLY)
    numbers = ["Responses", "Accuracy", *sorted(titles, key=lambda title: title == last), *gain]
    return Table(
        "Area under the accuracy-rejection curve (AUARC): the mean accuracy of what is kept, over all coverages. "
        "An order at random has the accuracy of all responses.",
        number_frame([dict.fromkeys(numbers) | row for row in rows], keys, numbers),
        (
            "Trace adds: the AUARC of the training group's own estimator minus that of the assessor that sees the "
            "question alone (a logistic regression on its words, fitted on the same responses).",
            DISTRIBUTION_NOTE,
            EVERY_NOTE,
            INTERVAL_NOTE,
            *(f"{OWN_TITLE}, {group.title}: {assessor_title(group.estimator)}." for group in named),
            *absent_notes(measures, named, assessors),
            *domain_notes(measures),
        ),
    )


def table_coverage(
    measures: pl.DataFrame,
    groups: Groups,
    headline_group: str,
    assessors: Mapping[str, Sequence[str]],
    accuracies: Sequence[float],
) -> Table:
    """The headline group: AUARC, PRR and the coverage at each accuracy, by model, domain and assessor."""
    group = training_group(groups, headline_group)
    own = measures.filter(pl.col("group") == group.group, pl.col("assessor").is_in(assessors[group.group]))
    shown = {"auarc": "AUARC", "prr": "PRR"} | {coverage_measure(one): f"Coverage at {one:g}" for one in accuracies}
    keys, rows = ["Model", "Questions", "Domain", "Assessor"], []
    for of, found in _by_domain(own):
        for assessor in dict.fromkeys(assessor for assessor, _ in found):
            row = of | {"Assessor": short_title(assessor, group)}
            for measure, title in shown.items():
                one = found[assessor, measure]
                row |= {title: one["value"]}
                if measure != "prr":
                    row |= {f"{title}, from": one["lower"], f"{title}, to": one["upper"]}
            rows.append(row)
    numbers = [name for name in (rows[0] if rows else shown.values()) if name not in keys]
    undefined = own.filter(pl.col("measure") == "prr", pl.col("value").is_null(), pl.col("n_responses") > 0)
    return Table(
        "The largest share of responses that can be kept with at least a wanted accuracy, training group "
        f"{group.title} ({group.benchmarks}).",
        number_frame(rows, keys, numbers),
        (
            "PRR: how far the AUARC is on the way from an order at random (0) to a perfect one (1). A coverage of a "
            "few responses can be luck: see the intervals.",
            DISTRIBUTION_NOTE,
            EVERY_NOTE,
            INTERVAL_NOTE,
            f"{OWN_TITLE}: {assessor_title(group.estimator)}.",
            *absent_notes(measures, [group], assessors),
            *(
                f"{row['model']}, {domain_title(row['benchmark'])}: no PRR, {row['reason']}."
                for row in undefined.unique(["model", "role", "benchmark"], maintain_order=True).iter_rows(named=True)
            ),
            *domain_notes(measures),
        ),
    )


def _by_domain(
    measures: pl.DataFrame,
) -> Iterator[tuple[dict[str, Any], dict[tuple[str, str], dict[str, Any]]]]:
    """What every table says of a model's domain, and its rows of MEASURES by assessor and measure.

    Models in their order, out of distribution first; domains that take no part are left out.
    """
    order = pl.col("role").cast(pl.Enum(list(DISTRIBUTIONS)))
    place = pl.col("model").cast(pl.Enum(measures["model"].unique(maintain_order=True)))
    shown = measures.filter(pl.col("n_responses") > 0).sort(place, order, maintain_order=True)
    for (model, role, benchmark), part in shown.group_by("model", "role", "benchmark", maintain_order=True):
        of = {"Model": model, "Questions": DISTRIBUTIONS[role], "Domain": domain_title(benchmark)}
        of |= {"Responses": part["n_responses"][0], "Accuracy": part["accuracy"][0]}
        yield of, {(row["assessor"], row["measure"]): row for row in part.iter_rows(named=True)}
