"""Tables with one result per cell: AUROC (1, 6), AEE and rho by model (2, 7, 8)."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import polars as pl

from entropy_sentinel.analyses.accuracy.aggregation import (
    MEASURES,
    against_simple,
    by_key,
    missing_notes,
    names_in,
    null_notes,
    signals_in,
)
from entropy_sentinel.analyses.headings import SCOPE_NOTE, SCOPES, Groups, training_group
from entropy_sentinel.features.catalogue import FEATURES
from entropy_sentinel.report.tables import Table, number_frame
from entropy_sentinel.signals.catalogue import SIGNALS

# Named groups that Table 2 shows; Table 7 shows the others.
_FIRST_GROUPS = 2


def table_1_auroc(auroc: pl.DataFrame, auroc_models: Sequence[str], auroc_benchmarks: Sequence[str]) -> Table:
    """Tabulate the AUROC of the features as scores for an incorrect response, for the models `auroc_models`."""
    return _auroc(auroc.filter(pl.col("model").is_in(auroc_models)), auroc_benchmarks)


def table_6_auroc_further_models(
    auroc: pl.DataFrame, auroc_models: Sequence[str], auroc_benchmarks: Sequence[str]
) -> Table:
    """Tabulate the same as Table 1 for all models outside `auroc_models`."""
    return _auroc(auroc.filter(~pl.col("model").is_in(auroc_models)), auroc_benchmarks)


def _auroc(auroc: pl.DataFrame, benchmarks: Sequence[str]) -> Table:
    auroc, shown = auroc.filter(pl.col("benchmark").is_in(benchmarks)), signals_in(auroc)
    cells = {(row["model"], row["feature"], row["benchmark"]): row for row in auroc.iter_rows(named=True)}
    headings = {
        name: {"auroc": name, "lower": f"{name}: from", "upper": f"{name}: to"}
        for name in benchmarks
        if name in set(auroc["benchmark"])
    }
    rows = [
        {"Model": model, "Statistic": feature.title}
        | {
            heading: cells.get((model, key, name), {}).get(column)
            for name, columns in headings.items()
            for column, heading in columns.items()
        }
        for model in names_in(auroc, "model")
        for key, feature in shown.items()
    ]
    confident = [feature.title for feature in shown.values() if feature.confident]
    return Table(
        "AUROC of each statistic as a score for an incorrect response (0.5 is chance), with its 95 % interval "
        "(DeLong) from ... to.",
        number_frame(
            rows, ["Model", "Statistic"], [heading for by_key in headings.values() for heading in by_key.values()]
        ),
        (
            f"{', '.join(confident[:-1])} and {confident[-1]} grow with confidence: 1 - AUROC is shown.",
            *one_class(auroc),
            *([] if rows else ["There are no further models."]),
        ),
        words={
            (place, name): class_of(cells[row["Model"], key, name])
            for place, (row, key) in enumerate(zip(rows, cycle(shown), strict=False))
            for name in headings
            if (row["Model"], key, name) in cells
        },
    )


def class_of(domain: Mapping[str, Any]) -> str:
    """Return the text shown for a missing AUROC: the class of all the domain's responses."""
    if domain["n_correct"]:
        return "all correct"
    return "all incorrect" if domain["n_incorrect"] else "no labels"


def one_class(auroc: pl.DataFrame) -> list[str]:
    """Return one line for each model and benchmark without an AUROC, with the reason and the class of its responses."""
    same = ["model", "benchmark", "reason", "n_correct", "n_incorrect"]
    nulls = auroc.filter(pl.col("auroc").is_null()).unique(same, maintain_order=True)
    return [
        f"{row['model']}, {row['benchmark']}"
        f"{'' if row['feature'] in FEATURES else ', ' + SIGNALS[row['feature']].title}: no AUROC, {row['reason']} "
        f"({row['n_correct']} correct, {row['n_incorrect']} incorrect)."
        for row in nulls.iter_rows(named=True)
    ]


def table_2_by_model(sweep: pl.DataFrame, groups: Groups) -> Table:
    """Tabulate AEE and rho per model for the first two named groups: Extremes and Intermediate in the paper."""
    return _named_groups(sweep, groups, list(groups)[:_FIRST_GROUPS])


def table_7_by_model_further_groups(sweep: pl.DataFrame, groups: Groups) -> Table:
    """Tabulate AEE and rho per model for the other named groups: Cross-Domain and Sci-Math in the paper."""
    return _named_groups(sweep, groups, list(groups)[_FIRST_GROUPS:])


def _named_groups(sweep: pl.DataFrame, groups: Groups, names: Sequence[str]) -> Table:
    chosen = [training_group(groups, name) for name in names]
    wanted = pl.DataFrame(
        [(group.group, group.estimator) for group in chosen],
        schema={"group": pl.String, "estimator": pl.String},
        orient="row",
    )
    picked = sweep.join(wanted, on=["group", "estimator"], how="semi", maintain_order="left")
    cells = by_key(picked)
    rows = [
        {"Model": model}
        | {
            f"{group.title}: {title}, {scope_title}": cells.get((model, group.group, group.estimator, scope), {}).get(
                measure
            )
            for group in chosen
            for scope, scope_title in SCOPES.items()
            for measure, title in MEASURES.items()
        }
        for model in names_in(sweep, "model")
        if chosen
    ]
    notes = [SCOPE_NOTE] if chosen else ["The study has no such training groups."]
    for group in chosen:
        notes += [f"{group.title}: {group.benchmarks}; {group.estimator}.", *missing_notes(sweep, group)]
    return Table(
        "Accuracy estimation error (AEE) and Spearman correlation (rho) of estimated and true accuracy by model, "
        f"training groups: {', '.join(group.title for group in chosen) or 'none'}.",
        number_frame(rows, ["Model"], list(rows[0])[1:] if rows else []),
        (*notes, *null_notes(picked)),
    )


def table_8_simple_estimators_by_model(sweep: pl.DataFrame, groups: Groups, headline_group: str) -> Table:
    """Tabulate the default and every simple estimator per model, Extremes in the paper."""
    group = training_group(groups, headline_group)
    picked, titles = against_simple(sweep, group)
    cells = by_key(picked)
    errors = picked.filter(pl.col("scope") == next(iter(SCOPES))).group_by("estimator").agg(pl.col("aee").median())
    medians = {name: error for name, error in errors.iter_rows() if error is not None}
    titles = dict(sorted(titles.items(), key=lambda one: medians.get(one[0], float("inf"))))
    rows = [
        {"Model": model, "Measure": f"{measure_title}, {scope_title}"}
        | {title: cells.get((model, group.group, name, scope), {}).get(measure) for name, title in titles.items()}
        for model in names_in(sweep, "model")
        for scope, scope_title in SCOPES.items()
        for measure, measure_title in MEASURES.items()
    ]
    return Table(
        f"The default estimator and each simple estimator by model, training group {group.title} "
        "(AEE: lower is better, rho: higher is better), in the order of their median AEE.",
        number_frame(rows, ["Model", "Measure"], titles.values()),
        (SCOPE_NOTE, f"Default: {group.estimator}.", *missing_notes(sweep, group), *null_notes(picked)),
    )
