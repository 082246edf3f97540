"""The paper's tables over training groups: medians over models, sizes, design choices, the best and the worst."""

from itertools import groupby, product
from operator import itemgetter
from typing import Any

import polars as pl

from entropy_sentinel.estimators.estimator_registry import CLASSIFIERS, CONFIGURATION_NAMES, parse_configuration
from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.rendering.table_exhibit import Table, number_frame
from entropy_sentinel.study.analyses.accuracy.exhibit_inputs import AccuracyTableInputs
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_frames import SWEEP
from entropy_sentinel.study.analyses.accuracy.sweep_aggregation import (
    IQR_NOTE,
    LARGEST_K,
    MEASURES,
    compute_group_accuracies,
    compute_spread,
    get_nulls_last_key,
    list_distinct,
    list_null_notes,
    select_fully_swept,
    select_simple_estimators,
)
from entropy_sentinel.study.analyses.display_names import SCOPE_NOTE, SCOPES, find_training_group, format_group


def _compute_spreads(rows: pl.DataFrame) -> dict[str, float | None]:
    """Median and IQR of AEE and rho over rows of SWEEP, for each scope, by headings such as `Median AEE, unseen`."""
    spreads = {}
    for scope, measure in product(SCOPES, MEASURES):
        heading = f"{MEASURES[measure]}, {SCOPES[scope]}"
        values = rows.filter(pl.col("scope") == scope)[measure]
        spreads[f"Median {heading}"], spreads[f"IQR of {heading}"] = compute_spread(values)
    return spreads


# Also for a table without rows.
_SPREAD_HEADINGS = list(_compute_spreads(SWEEP.frame([])))


def table_3_simple_estimators(inputs: AccuracyTableInputs) -> Table:
    """Tabulate the default estimator against the simple ones: median and IQR over models."""
    group = find_training_group(inputs.groups, inputs.headline_group)
    picked, titles = select_simple_estimators(inputs.sweep, group)
    rows: list[dict[str, Any]] = []
    for name, title in titles.items():
        rows.append({"Estimator": title} | _compute_spreads(picked.filter(pl.col("estimator") == name)))
    rows.sort(key=lambda row: get_nulls_last_key(row["Median AEE, unseen"]))
    models = format_count(picked["model"].n_unique(), "model")
    return Table(
        f"Medians over {models}, training group {group.title}; the smallest first.",
        number_frame(rows, ["Estimator"], _SPREAD_HEADINGS),
        (SCOPE_NOTE, IQR_NOTE, f"Default: {group.estimator}.", *list_null_notes(picked)),
    )


def table_5_design_choices(inputs: AccuracyTableInputs) -> Table:
    """Tabulate the main effects of the four design choices, over models and groups that ran all 48 configurations."""
    picked = select_fully_swept(inputs.sweep)
    rows = []
    for factor, settings in list_design_choices().items():
        for setting, names in settings.items():
            chosen = picked.filter(pl.col("estimator").is_in(names))
            rows.append({"Factor": factor, "Setting": setting} | _compute_spreads(chosen))
    groups = list_distinct(picked, "group")
    listed = "; ".join(map(format_group, groups)) if len(groups) <= 4 else f"{len(groups)} training groups"
    return Table(
        "Main effects: median and IQR over models and the training groups with all 48 configurations "
        f"({listed or 'none'}).",
        number_frame(rows, ["Factor", "Setting"], _SPREAD_HEADINGS),
        (SCOPE_NOTE, IQR_NOTE, *list_null_notes(picked)),
    )


def list_design_choices() -> dict[str, dict[str, list[str]]]:
    """The names of the configurations that have a setting of Table 5, by factor and then by setting."""
    choices: dict[str, dict[str, list[str]]] = {
        "Classifier": {},
        "Calibration": {},
        "Balancing": {},
        "Features": {},
    }
    for name in CONFIGURATION_NAMES:
        configuration = parse_configuration(name)
        settings = {
            "Classifier": CLASSIFIERS[configuration.classifier],
            "Calibration": "isotonic" if configuration.isotonic else "none",
            "Balancing": "yes" if configuration.balanced else "no",
            "Features": configuration.features.upper(),
        }
        for factor, setting in settings.items():
            choices[factor].setdefault(setting, []).append(name)
    return choices


def table_4_by_size(inputs: AccuracyTableInputs) -> Table:
    """Tabulate median AEE and IQR per model and size of training groups, over groups and configurations.

    For all 48 configurations of the paper, over groups that ran all of them, and for the default estimator only.
    """
    small = inputs.sweep.filter(pl.col("k") <= LARGEST_K)
    sources = {
        "All 48": select_fully_swept(inputs.sweep),
        "Default": small.filter(pl.col("estimator") == inputs.default),
    }
    sizes = sorted(set(small["k"]))
    # The default is also one of the 48 configurations.
    source_rows = pl.concat(sources.values()).unique(maintain_order=True)
    rows, notes = [], []
    for source_title, source in sources.items():
        counts = {k: source.filter(pl.col("k") == k)["group"].n_unique() for k in sizes}
        listed = ", ".join(f"{count} of size {k}" for k, count in counts.items() if count)
        notes.append(f"Training groups of the rows '{source_title}': {listed or 'none'}.")
        for scope, scope_title in SCOPES.items():
            for model in list_distinct(source, "model"):
                row: dict[str, Any] = {"Model": model, "Estimators": source_title, "Domains": scope_title}
                part = source.filter(pl.col("model") == model, pl.col("scope") == scope)
                for k in sizes:
                    values = part.filter(pl.col("k") == k)["aee"]
                    row[f"k = {k}: median AEE"], row[f"k = {k}: IQR"] = compute_spread(values)
                rows.append(row)
    numbers = []
    for k in sizes:
        numbers += [f"k = {k}: median AEE", f"k = {k}: IQR"]
    return Table(
        "Median and IQR of AEE over training groups and configurations, for all 48 configurations and for the default "
        "only; k benchmarks.",
        number_frame(rows, ["Model", "Estimators", "Domains"], numbers),
        (*notes, f"Default: {inputs.default}.", SCOPE_NOTE, IQR_NOTE, *list_null_notes(source_rows, ["aee"])),
    )


def table_9_best_and_worst_groups(inputs: AccuracyTableInputs) -> Table:
    """Tabulate the best and worst groups of each size, by the default estimator's median AEE over models."""
    small = inputs.sweep.filter(pl.col("k") <= LARGEST_K)
    default_rows = small.filter(pl.col("estimator") == inputs.default)
    # A group that lacks the AEE of some models would be ranked by the other models only.
    has_aee = (pl.col("scope") == "all") & pl.col("aee").is_not_null()
    has_all_models = pl.col("model").filter(has_aee).n_unique().over("group") == default_rows["model"].n_unique()
    accuracies = dict(compute_group_accuracies(inputs.domains, default_rows["group"]).iter_rows())
    swept = select_fully_swept(inputs.sweep)
    rows = []
    for (k, group), part in default_rows.filter(has_all_models).group_by("k", "group"):
        row: dict[str, Any] = {"Rank": "", "k": k, "Training group": group}
        # All domains first, by which the groups are ranked.
        for scope in reversed(SCOPES):
            aee = part.filter(pl.col("scope") == scope)["aee"]
            row[f"Median AEE, {SCOPES[scope]}"], row[f"IQR, {SCOPES[scope]}"] = compute_spread(aee)
        over_all = swept.filter(pl.col("group") == group, pl.col("scope") == "all")["aee"]
        median, _ = compute_spread(over_all)
        row["Median AEE, all, 48 configurations"] = median
        row["Weighted accuracy"] = accuracies[group]
        rows.append(row)
    incomplete = default_rows.filter(~has_all_models)["group"].n_unique()
    names = ["Rank", "k", "Training group"]
    numbers = list(rows[0])[len(names) :] if rows else []
    return Table(
        "Of each size k, by the default estimator's median AEE over models.",
        number_frame(_rank_groups(rows), names, numbers),
        (
            f"Ranked by the column Median AEE, all. Default: {inputs.default}.",
            SCOPE_NOTE,
            IQR_NOTE,
            "Weighted accuracy: mean over models, weighted by the benchmarks' numbers of responses.",
            *([f"{incomplete} groups without an AEE for every model are left out."] if incomplete else []),
            *list_null_notes(default_rows, ["aee"]),
        ),
    )


def _rank_groups(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the least and the largest median per k, with their `Rank`: the best ones first, then the worst.

    Equal medians are in alphabetical order of the groups. The only group of its size is neither best nor worst.
    """
    scored = [row for row in rows if row["Median AEE, all"] is not None]
    scored.sort(key=lambda row: (row["k"], row["Median AEE, all"], row["Training group"]))
    ranked: dict[str, list[dict[str, Any]]] = {"best": [], "worst": [], "only one": []}
    for _, rows_of_size in groupby(scored, itemgetter("k")):
        first, *rest = rows_of_size
        ranked["best" if rest else "only one"].append(first)
        ranked["worst"] += rest[-1:]
    chosen = []
    for rank, rank_rows in ranked.items():
        for row in rank_rows:
            chosen.append(row | {"Rank": rank, "Training group": format_group(row["Training group"])})
    return chosen


def table_10_leave_one_out(inputs: AccuracyTableInputs) -> Table:
    """Tabulate the default estimator's results per model, over the training groups of all benchmarks but one."""
    n_benchmarks = inputs.domains.drop_nulls("accuracy")["benchmark"].n_unique()
    picked = inputs.sweep.filter(pl.col("k") == n_benchmarks - 1, pl.col("estimator") == inputs.default)
    rows = []
    for model in list_distinct(picked, "model"):
        part = picked.filter(pl.col("model") == model)
        all_domains = part.filter(pl.col("scope") == "all")
        left_out = part.filter(pl.col("scope") == "held_out")
        row: dict[str, Any] = {"Model": model, "Groups": all_domains["group"].n_unique()}
        row["Median AEE, all"], row["IQR of AEE, all"] = compute_spread(all_domains["aee"])
        row["Median AEE, left out"], row["IQR of AEE, left out"] = compute_spread(left_out["aee"])
        row["Median rho, all"], row["IQR of rho, all"] = compute_spread(all_domains["rho"])
        rows.append(row)
    return Table(
        f"Median and IQR over the groups of {n_benchmarks - 1} of {n_benchmarks} benchmarks.",
        number_frame(rows, ["Model"], list(rows[0])[1:] if rows else []),
        (
            "all: over all labelled benchmarks; left out: on the benchmark not used for training. "
            f"Default: {inputs.default}.",
            IQR_NOTE,
            *list_null_notes(picked.filter(pl.col("scope") == "all")),
        ),
    )
