"""Tables with one result per cell: AUROC (1, 6), AEE and rho by model (2, 7, 8)."""

from collections.abc import Sequence

import polars as pl

from entropy_sentinel.analyses.accuracy.aggregation import (
    MEASURES,
    against_baselines,
    by_key,
    missing_notes,
    names_in,
    null_notes,
)
from entropy_sentinel.analyses.accuracy.headings import (
    SCOPE_NOTE,
    SCOPES,
    STATISTICS,
    Groups,
    group_benchmarks,
    group_title,
    id_of,
)
from entropy_sentinel.report.tables import Table, number_frame


def table_1(auroc: pl.DataFrame, auroc_models: Sequence[str], auroc_benchmarks: Sequence[str]) -> Table:
    """AUROC of the 17 statistics as scores for an incorrect response, for the models `auroc_models`."""
    return _auroc(1, auroc.filter(pl.col("model").is_in(auroc_models)), auroc_benchmarks)


def table_6(auroc: pl.DataFrame, auroc_models: Sequence[str], auroc_benchmarks: Sequence[str]) -> Table:
    """Table 1 for all models that are not among `auroc_models`."""
    return _auroc(6, auroc.filter(~pl.col("model").is_in(auroc_models)), auroc_benchmarks)


def _auroc(number: int, auroc: pl.DataFrame, benchmarks: Sequence[str]) -> Table:
    auroc = auroc.filter(pl.col("benchmark").is_in(benchmarks))
    found = {(row["model"], row["feature"], row["benchmark"]): row["auroc"] for row in auroc.iter_rows(named=True)}
    rows = [
        {"Model": model, "Statistic": title} | {name: found.get((model, feature, name)) for name in benchmarks}
        for model in names_in(auroc, "model")
        for feature, title in STATISTICS.items()
    ]
    nulls = auroc.filter(pl.col("auroc").is_null()).unique(["model", "benchmark", "reason"], maintain_order=True)
    return Table(
        number,
        "AUROC of each statistic as a score for an incorrect response (0.5 is chance)"
        + (", further models." if number == 6 else "."),
        number_frame(rows, ["Model", "Statistic"], benchmarks),
        (
            "Skewness, kurtosis, LNTP and MTP grow with confidence: 1 - AUROC is shown.",
            *(f"{row['model']}, {row['benchmark']}: no AUROC, {row['reason']}." for row in nulls.iter_rows(named=True)),
            *([] if rows else ["There are no further models."]),
        ),
    )


def table_2(sweep: pl.DataFrame, groups: Groups) -> Table:
    """AEE and rho per model for the groups Extremes and Intermediate."""
    return _named_groups(2, sweep, groups, ("extremes", "intermediate"))


def table_7(sweep: pl.DataFrame, groups: Groups) -> Table:
    """AEE and rho per model for the groups Cross-Domain and Sci-Math."""
    return _named_groups(7, sweep, groups, ("cross-domain", "sci-math"))


def _named_groups(number: int, sweep: pl.DataFrame, groups: Groups, names: Sequence[str]) -> Table:
    chosen = {name: (id_of(groups, name), groups[name]["estimator"]) for name in names if name in groups}
    wanted = pl.DataFrame(list(chosen.values()), schema={"group": pl.String, "estimator": pl.String}, orient="row")
    picked = sweep.join(wanted, on=["group", "estimator"], how="semi", maintain_order="left")
    found = by_key(picked)
    rows = [{"Model": model} for model in names_in(sweep, "model")]
    for name, key in chosen.items():
        for scope, scope_title in SCOPES.items():
            for measure, title in MEASURES.items():
                for row in rows:
                    result = found.get((row["Model"], *key, scope), {})
                    row[f"{group_title(name)}: {title}, {scope_title}"] = result.get(measure)
    titles = " and ".join(map(group_title, chosen)) or "none of this study"
    notes = [SCOPE_NOTE]
    for name, (group, estimator) in chosen.items():
        notes.append(f"{group_title(name)}: {group_benchmarks(group)}; {estimator}.")
        notes += missing_notes(sweep, group, group_title(name))
    return Table(
        number,
        "Accuracy estimation error (AEE) and Spearman correlation (rho) of estimated and true accuracy by model, "
        f"training groups: {titles}.",
        number_frame(rows, ["Model"], list(rows[0])[1:] if rows else []),
        (*notes, *null_notes(picked)),
    )


def table_8(sweep: pl.DataFrame, groups: Groups, headline_group: str) -> Table:
    """The default and every baseline per model, Extremes in the paper."""
    picked, titles = against_baselines(sweep, groups, headline_group)
    found = by_key(picked)
    group = id_of(groups, headline_group)
    rows = [
        {"Model": model, "Measure": f"{measure_title}, {scope_title}"}
        | {title: found.get((model, group, name, scope), {}).get(measure) for name, title in titles.items()}
        for model in names_in(sweep, "model")
        for scope, scope_title in SCOPES.items()
        for measure, measure_title in MEASURES.items()
    ]
    return Table(
        8,
        f"The default estimator and each baseline by model, training group {group_title(headline_group)} "
        "(AEE: lower is better, rho: higher is better).",
        number_frame(rows, ["Model", "Measure"], titles.values()),
        (
            SCOPE_NOTE,
            f"Default: {groups[headline_group]['estimator']}.",
            *missing_notes(sweep, group, group_title(headline_group)),
            *null_notes(picked),
        ),
    )
