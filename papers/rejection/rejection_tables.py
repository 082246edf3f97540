"""The tables of the catalogue, from the measures of all models. Except gains and PRR, values are shares in [0, 1]."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from entropy_sentinel.rendering.exhibit_files import ExhibitInputs, save_tables
from entropy_sentinel.rendering.table_exhibit import Table, missing_notes, number_frame
from entropy_sentinel.schemas.file_sets import read_by_owner
from entropy_sentinel.study.analyses.display_names import Groups, find_training_group
from papers.rejection.assessor_names import (
    DECIMALS,
    DISTRIBUTION_NOTE,
    DISTRIBUTIONS,
    EVERY_NOTE,
    INTERVAL_NOTE,
    KEPT_NOTES,
    OWN_TITLE,
    RejectionExhibitSettings,
    assessor_title,
    domain_title,
    note_absent_assessors,
    note_excluded_domains,
    short_title,
)
from papers.rejection.evaluated_rows import EVERY
from papers.rejection.rejection_exhibits import (
    QUESTION_ONLY,
    TABLES,
    coverage_measure,
    kept_accuracy_measure,
    kept_measure,
    threshold_measure,
)
from papers.rejection.rejection_frames import MEASURES


@dataclass(frozen=True, kw_only=True)
class RejectionTableInputs(ExhibitInputs):
    """The settings of the tables, and a frame MEASURES.

    `headline_group` is the training group that tables of only one show. `assessors` are those of each training group
    (`a+b`), `best` is the number of pairs of model and assessor that are ranked.
    """

    groups: Groups
    headline_group: str
    assessors: Mapping[str, Sequence[str]]
    accuracies: Sequence[float]
    best: int
    measures: pl.DataFrame


def table_auarc(inputs: RejectionTableInputs) -> Table:
    """Tabulate AUARC of every assessor by training group, model and domain, and what the trace adds to the question."""
    groups = [find_training_group(inputs.groups, name) for name in inputs.groups]
    rows = []
    # The assessors of all groups in order; each is a column.
    titles: dict[str, None] = {}
    for group in groups:
        group_rows = inputs.measures.filter(
            pl.col("group") == group.group_id, pl.col("assessor").is_in(inputs.assessors[group.group_id])
        )
        for domain_columns, cells in _iterate_domains(group_rows):
            areas = {}
            for (name, measure), cell in cells.items():
                if measure == "auarc":
                    areas[short_title(name, group)] = cell["value"]
            titles |= dict.fromkeys(areas)
            gain = cells.get((group.estimator, "gain"), {})
            gain_columns = {"Trace adds": gain.get("value"), "from": gain.get("lower"), "to": gain.get("upper")}
            rows.append({"Training group": group.title} | domain_columns | areas | gain_columns)
    keys, last_title = ["Training group", "Model", "Questions", "Domain"], assessor_title(QUESTION_ONLY)
    # The question-only assessor last, the others in their order.
    ordered_titles = sorted(titles, key=lambda title: title == last_title)
    numbers = ["Responses", "Accuracy", *ordered_titles, "Trace adds", "from", "to"]
    return Table(
        "Area under the accuracy-rejection curve (AUARC): the mean accuracy of what is kept, over all coverages. "
        "A random order has the accuracy of all responses.",
        number_frame([dict.fromkeys(numbers) | row for row in rows], keys, numbers),
        (
            "Trace adds: the AUARC of the training group's own estimator minus that of the assessor that sees "
            "only the question (a logistic regression on its words, fitted on the same responses).",
            DISTRIBUTION_NOTE,
            EVERY_NOTE,
            INTERVAL_NOTE,
            *(f"{OWN_TITLE}, {group.title}: {assessor_title(group.estimator)}." for group in groups),
            *note_absent_assessors(inputs.measures, groups, inputs.assessors),
            *note_excluded_domains(inputs.measures),
        ),
        decimals=DECIMALS,
    )


def table_coverage(
    inputs: RejectionTableInputs,
) -> Table:
    """Tabulate, for the headline training group, the share that a threshold keeps, and the largest possible share.

    A row for each model, domain, assessor and wanted accuracy.
    """
    group = find_training_group(inputs.groups, inputs.headline_group)
    group_rows = inputs.measures.filter(
        pl.col("group") == group.group_id, pl.col("assessor").is_in(inputs.assessors[group.group_id])
    )
    keys, rows = ["Model", "Questions", "Domain", "Assessor", "Accuracy at least"], []
    numbers = ["Threshold", "Kept", "Accuracy of kept", "from", "to", "Coverage", "coverage from", "coverage to"]
    for domain_columns, cells in _iterate_domains(group_rows):
        for assessor in dict.fromkeys(assessor for assessor, _ in cells):
            for accuracy in inputs.accuracies:
                threshold = cells.get((assessor, threshold_measure(accuracy)), {})
                kept = cells.get((assessor, kept_measure(accuracy)), {})
                kept_accuracy = cells.get((assessor, kept_accuracy_measure(accuracy)), {})
                coverage = cells.get((assessor, coverage_measure(accuracy)), {})
                row = {
                    "Assessor": short_title(assessor, group),
                    "Accuracy at least": f"{accuracy:g}",
                    "Threshold": threshold.get("value"),
                    "Kept": kept.get("value"),
                    "Accuracy of kept": kept_accuracy.get("value"),
                    "from": kept_accuracy.get("lower"),
                    "to": kept_accuracy.get("upper"),
                    "Coverage": coverage.get("value"),
                    "coverage from": coverage.get("lower"),
                    "coverage to": coverage.get("upper"),
                }
                rows.append(domain_columns | row)
    return Table(
        "Share kept at a required accuracy by a threshold chosen on the training group's test split, and the "
        f"largest share that could be kept, training group {group.title} ({group.benchmarks}).",
        number_frame(rows, keys, numbers),
        (
            *KEPT_NOTES,
            "Threshold: on P(correct), chosen on all training domains together. Few responses can give lucky results: "
            "see the intervals; those of the kept responses take the chosen threshold as fixed.",
            DISTRIBUTION_NOTE,
            EVERY_NOTE,
            INTERVAL_NOTE,
            f"{OWN_TITLE}: {assessor_title(group.estimator)}.",
            *note_absent_assessors(inputs.measures, [group], inputs.assessors),
            *note_excluded_domains(inputs.measures),
        ),
        decimals=DECIMALS,
    )


def table_areas(inputs: RejectionTableInputs) -> Table:
    """Tabulate AUARC and PRR by model, domain and assessor, for the headline training group."""
    group = find_training_group(inputs.groups, inputs.headline_group)
    group_rows = inputs.measures.filter(
        pl.col("group") == group.group_id, pl.col("assessor").is_in(inputs.assessors[group.group_id])
    )
    keys, rows = ["Model", "Questions", "Domain", "Assessor"], []
    numbers = ["Responses", "Accuracy", "AUARC", "from", "to", "PRR"]
    for domain_columns, cells in _iterate_domains(group_rows):
        for assessor in dict.fromkeys(assessor for assessor, _ in cells):
            area = cells[assessor, "auarc"]
            row = {
                "Assessor": short_title(assessor, group),
                "AUARC": area["value"],
                "from": area["lower"],
                "to": area["upper"],
                "PRR": cells[assessor, "prr"]["value"],
            }
            rows.append(domain_columns | row)
    undefined = group_rows.filter(pl.col("measure") == "prr", pl.col("value").is_null(), pl.col("n_responses") > 0)
    return Table(
        "Area under the accuracy-rejection curve (AUARC), and its position between a random order (0) and a "
        f"perfect one (1, PRR), training group {group.title} ({group.benchmarks}).",
        number_frame(rows, keys, numbers),
        (
            DISTRIBUTION_NOTE,
            EVERY_NOTE,
            INTERVAL_NOTE,
            f"{OWN_TITLE}: {assessor_title(group.estimator)}.",
            *note_absent_assessors(inputs.measures, [group], inputs.assessors),
            *missing_notes(
                ("PRR", row["reason"], f"{row['model']}, {domain_title(row['benchmark'])}")
                for row in undefined.iter_rows(named=True)
            ),
            *note_excluded_domains(inputs.measures),
        ),
        decimals=DECIMALS,
    )


def _iterate_domains(
    measures: pl.DataFrame,
) -> Iterator[tuple[dict[str, Any], dict[tuple[str, str], dict[str, Any]]]]:
    """Yield for each model and domain the first columns of its row in a table, and its rows of MEASURES.

    The columns are by heading, the rows of MEASURES by (assessor, measure). Models are in their order, out of
    distribution first, without domains that have no labelled response.
    """
    role_order = pl.col("role").cast(pl.Enum(list(DISTRIBUTIONS)))
    model_order = pl.col("model").cast(pl.Enum(measures["model"].unique(maintain_order=True)))
    nonempty_rows = measures.filter(pl.col("n_responses") > 0).sort(model_order, role_order, maintain_order=True)
    for (model, role, benchmark), part in nonempty_rows.group_by("model", "role", "benchmark", maintain_order=True):
        domain_columns = {
            "Model": model,
            "Questions": DISTRIBUTIONS[role],
            "Domain": domain_title(benchmark),
            "Responses": part["n_responses"][0],
            "Accuracy": part["accuracy"][0],
        }
        cells = {(row["assessor"], row["measure"]): row for row in part.iter_rows(named=True)}
        yield domain_columns, cells


# The columns that identify a row of the measures, except the measure.
_PAIR_KEY = ("model", "role", "benchmark", "assessor")


def table_best_pairs(
    inputs: RejectionTableInputs,
) -> Table:
    """Tabulate the pairs of model and assessor with the largest coverage at each accuracy, by distribution."""
    keys = ["Training group", "Questions", "Accuracy at least", "Rank", "Model", "Assessor"]
    numbers = ["Coverage", "from", "to", "Kept", "Accuracy of kept", "AUARC", "Accuracy of all"]
    rows, groups = [], [find_training_group(inputs.groups, name) for name in inputs.groups]
    for group in groups:
        for role, title in DISTRIBUTIONS.items():
            pairs = inputs.measures.filter(group=group.group_id, role=role, benchmark=EVERY)
            for accuracy in inputs.accuracies:
                for rank, pair in enumerate(
                    rank_pairs(pairs, inputs.assessors[group.group_id], accuracy, inputs.best), 1
                ):
                    row = {
                        "Training group": group.title,
                        "Questions": title,
                        "Accuracy at least": f"{accuracy:g}",
                        "Rank": rank,
                        "Model": pair["model"],
                        "Assessor": assessor_title(pair["assessor"]),
                        "Coverage": pair["value"],
                        "from": pair["lower"],
                        "to": pair["upper"],
                        "Kept": pair["kept"],
                        "Accuracy of kept": pair["kept_accuracy"],
                        "AUARC": pair["auarc"],
                        "Accuracy of all": pair["accuracy"],
                    }
                    rows.append(row)
    return Table(
        "Pairs of a model and an assessor that can keep the largest share of responses (coverage) at a wanted "
        "accuracy, over all domains in and out of distribution.",
        number_frame(rows, keys, numbers),
        (
            DISTRIBUTION_NOTE,
            INTERVAL_NOTE,
            "Equal coverages are ranked by AUARC. Coverage 0: no subset of the responses reaches the accuracy.",
            *KEPT_NOTES,
            *note_absent_assessors(inputs.measures, groups, inputs.assessors),
            *note_excluded_domains(inputs.measures),
        ),
        decimals=DECIMALS,
    )


def rank_pairs(measures: pl.DataFrame, assessors: Sequence[str], accuracy: float, n_best: int) -> list[dict[str, Any]]:
    """The `n_best` pairs of a model and an assessor with the largest coverage at `accuracy`; ties are ordered by AUARC.

    `measures` are rows of MEASURES of one group, role and benchmark. A pair is its row of the coverage, with `auarc`,
    `kept` and `kept_accuracy` added; the last two are null for the training domains, to which no threshold is applied.
    """
    assessor_rows = measures.filter(pl.col("assessor").is_in(assessors), pl.col("value").is_not_null())
    coverages = assessor_rows.filter(measure=coverage_measure(accuracy))
    added_measures = {
        "auarc": "auarc",
        "kept": kept_measure(accuracy),
        "kept_accuracy": kept_accuracy_measure(accuracy),
    }
    for name, measure in added_measures.items():
        values = assessor_rows.filter(measure=measure).select(*_PAIR_KEY, pl.col("value").alias(name))
        coverages = coverages.join(values, on=_PAIR_KEY, how="left", maintain_order="left")
    ranked = coverages.sort("value", "auarc", "model", "assessor", descending=[True, True, False, False])
    return ranked.head(n_best).rows(named=True)


class RejectionTableSettings(RejectionExhibitSettings):
    """Settings of the tables, including the number of pairs ranked."""

    best: int


def write_tables(
    measures: Sequence[str],
    settings: RejectionTableSettings,
    tables: Sequence[str],
    models: Sequence[str],
    folder: str,
) -> None:
    """Write the tables of these names to `folder`, from files MEASURES, one for each of `models`."""
    inputs = RejectionTableInputs(**settings, measures=read_by_owner(MEASURES, measures, {"model": models}))
    save_tables(TABLES, tables, inputs, folder)
