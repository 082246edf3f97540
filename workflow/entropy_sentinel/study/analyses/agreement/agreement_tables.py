"""The tables declared in agreement_exhibits.py.

Agreement, accuracies and AEE are shares in [0, 1]; kappa and rho are in [-1, 1].
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from entropy_sentinel.estimators.estimator_registry import estimator_title
from entropy_sentinel.rendering.exhibit_files import ExhibitInputs, save_tables
from entropy_sentinel.rendering.table_exhibit import Table, select_headings
from entropy_sentinel.study.analyses.agreement.agreement_exhibits import TABLES
from entropy_sentinel.study.analyses.agreement.measuring.agreement_frames import ERRORS, JUDGED, PAIRS
from entropy_sentinel.study.analyses.display_names import (
    ROLES,
    ExhibitSettings,
    Groups,
    find_training_group,
    list_training_groups,
)

_ALL = "all"
_PAIR = {
    "first": "Judge",
    "second": "and judge",
    "model": "Model",
    "benchmark": "Domain",
    "n_pairs": "Pairs",
    "agreement": "Agreement",
    "agreement_lower": "from",
    "agreement_upper": "to",
    "kappa": "Kappa",
    "kappa_lower": "kappa from",
    "kappa_upper": "kappa to",
    "n_both_correct": "Both correct",
    "n_first_correct": "First alone correct",
    "n_second_correct": "Second alone correct",
    "n_both_incorrect": "Both incorrect",
    "n_first_null": "First alone null",
    "n_second_null": "Second alone null",
    "n_both_null": "Both null",
}


@dataclass(frozen=True, kw_only=True)
class AgreementTableInputs(ExhibitInputs):
    """The settings of the tables, and frames of the contracts PAIRS, JUDGED and ERRORS."""

    groups: Groups
    headline_group: str
    pairs: pl.DataFrame
    judged: pl.DataFrame
    errors: pl.DataFrame


def write_tables(
    pairs: str, judged: str, errors: str, settings: ExhibitSettings, tables: Sequence[str], folder: str
) -> None:
    """Write the tables of these names to `folder`."""
    inputs = AgreementTableInputs(
        **settings, pairs=PAIRS.read(pairs), judged=JUDGED.read(judged), errors=ERRORS.read(errors)
    )
    save_tables(TABLES, tables, inputs, folder)


def table_agreement(inputs: AgreementTableInputs) -> Table:
    """Tabulate agreement of every two judges overall, then by model, then by model and domain."""
    general_first = [pl.col("model").is_not_null(), pl.col("benchmark").is_not_null()]
    parts = inputs.pairs.partition_by("first", "second", maintain_order=True)
    rows = pl.concat(part.sort(general_first, maintain_order=True) for part in parts)
    reasons = rows.filter(pl.col("reason").is_not_null()).group_by("reason", maintain_order=True).len()
    return Table(
        "How often two judges give a response the same label, among those that both label.",
        select_headings(rows.with_columns(pl.col("model", "benchmark").fill_null(_ALL)), _PAIR),
        (
            "Agreement: with Wilson's interval at 95 %. Kappa: Cohen's, agreement beyond chance, with its asymptotic "
            "interval at 95 % (Fleiss, Cohen and Everitt 1969). First alone null: labelled only by the second.",
            *(f"Kappa or its interval is null in {count} rows: {reason}." for reason, count in reasons.iter_rows()),
        ),
    )


def table_errors(inputs: AgreementTableInputs) -> Table:
    """Tabulate AEE and rho of each training group's estimator and of its best one, under each judge's labels."""
    groups = list_training_groups(inputs.groups)
    titles = {group.group_id: group.title for group in groups}
    names = {name: estimator_title(name) for name in inputs.errors["best"].drop_nulls().unique()}
    named_rows = inputs.errors.with_columns(pl.col("group").replace(titles), pl.col("best").replace(names))
    rows = named_rows.sort("model", "group", maintain_order=True)
    missing = named_rows.drop_nulls("reason")
    headings = {
        "model": "Model",
        "group": "Training group",
        "judge": "Judge",
        "n_domains": "Domains",
        "aee": "AEE",
        "rho": "rho",
        "best": "Best estimator",
        "best_aee": "its AEE",
        "best_rho": "its rho",
    }
    return Table(
        "Errors over unseen domains of estimators fitted on one judge's labels and compared with the same "
        "judge's labels.",
        select_headings(rows, headings),
        (
            "Domains: unseen ones with labels of this judge; errors over different domains are not comparable.",
            "Best: the group's estimator with the lowest AEE, chosen after the fact by these same errors.",
            *[f"{group.title}: {group.benchmarks}; {group.estimator}." for group in groups],
            *missing.select(pl.format("{}, {}, {}: {}.", "model", "group", "judge", "reason")).to_series(),
        ),
    )


def table_accuracies(inputs: AgreementTableInputs) -> Table:
    """Tabulate true and estimated accuracy of every domain, with a column per judge."""
    group = find_training_group(inputs.groups, inputs.headline_group)
    rows = inputs.judged.filter(group=group.group_id)
    judges = rows["judge"].unique(maintain_order=True).to_list()
    # A row for each domain, to which each judge's columns are added.
    wide = rows.select("model", "benchmark", "role").unique(maintain_order=True)
    for judge in judges:
        judge_columns = rows.filter(judge=judge).select(
            "model",
            "benchmark",
            pl.col("n_labelled").alias(f"Labels, {judge}"),
            pl.col("true_accuracy").alias(f"True, {judge}"),
            pl.col("estimated_accuracy").alias(f"Estimated, {judge}"),
        )
        wide = wide.join(judge_columns, on=["model", "benchmark"], how="left", maintain_order="left")
    wide = wide.with_columns(
        pl.col("role").replace_strict(ROLES),
        _compute_range(f"True, {judge}" for judge in judges).alias("True, largest difference"),
        _compute_range(f"Estimated, {judge}" for judge in judges).alias("Estimated, largest difference"),
    )
    return Table(
        f"Domains under each judge: the share of correct responses, and the estimate by {group.title}'s estimator "
        f"({group.estimator}), which was fitted on the same judge's labels of {group.benchmarks}.",
        wide.rename({"model": "Model", "benchmark": "Domain", "role": "Role"}),
        (
            "True: among the responses that the judge labels, which may differ between judges. Estimated: "
            "over all responses with features. Training domains by their test split.",
        ),
    )


def _compute_range(columns: Iterable[str]) -> pl.Expr:
    """The largest minus the smallest value of each row; null if fewer than two columns have a value."""
    names = list(columns)
    if not names:
        return pl.lit(None, pl.Float64)
    n_known = pl.sum_horizontal(pl.col(names).is_not_null())
    return pl.when(n_known > 1).then(pl.max_horizontal(names) - pl.min_horizontal(names))
