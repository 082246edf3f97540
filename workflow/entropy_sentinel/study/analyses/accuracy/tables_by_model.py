"""Tables with one result per cell: AUROC (1, 6), AEE and rho by model (2, 7, 8)."""

from collections.abc import Mapping, Sequence
from itertools import chain, product
from typing import Any

import polars as pl

from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.rendering.table_exhibit import Table, number_frame
from entropy_sentinel.signal_families.signal_registry import SIGNALS
from entropy_sentinel.study.analyses.accuracy.exhibit_inputs import AccuracyTableInputs
from entropy_sentinel.study.analyses.accuracy.sweep_aggregation import (
    MEASURES,
    get_nulls_last_key,
    index_by_key,
    list_distinct,
    list_missing_notes,
    list_null_notes,
    list_signals,
    name_confident_signals,
    select_simple_estimators,
)
from entropy_sentinel.study.analyses.display_names import (
    SCOPE_NOTE,
    SCOPES,
    TrainingGroup,
    find_training_group,
    list_further_groups,
    list_main_groups,
)


def table_1_auroc(inputs: AccuracyTableInputs) -> Table:
    """Tabulate the AUROC of the features as scores for an incorrect response, for the models `auroc_models`."""
    return _tabulate_auroc(inputs.auroc.filter(pl.col("model").is_in(inputs.auroc_models)), inputs.auroc_benchmarks)


def table_6_auroc_further_models(inputs: AccuracyTableInputs) -> Table:
    """Tabulate the AUROC of the features as in Table 1, for all models outside `auroc_models`."""
    return _tabulate_auroc(inputs.auroc.filter(~pl.col("model").is_in(inputs.auroc_models)), inputs.auroc_benchmarks)


def _tabulate_auroc(auroc: pl.DataFrame, benchmarks: Sequence[str]) -> Table:
    """A row for each model and signal, with AUROC and interval on each benchmark; `auroc` is a frame AUROC."""
    signals = list_signals(auroc)
    auroc = auroc.filter(pl.col("benchmark").is_in(benchmarks))
    cells = {(row["model"], row["feature"], row["benchmark"]): row for row in auroc.iter_rows(named=True)}
    present = [name for name in benchmarks if name in set(auroc["benchmark"])]
    rows: list[dict[str, Any]] = []
    # What is shown for a null AUROC, by row number and column.
    classes: dict[tuple[int, str], str] = {}
    for model, (key, signal) in product(list_distinct(auroc, "model"), signals.items()):
        row = {"Model": model, "Statistic": signal.title}
        for name in present:
            cell = cells.get((model, key, name))
            if cell is not None:
                numbers = (cell["auroc"], cell["lower"], cell["upper"])
                row |= dict(zip(_list_auroc_headings(name), numbers, strict=True))
                classes[len(rows), name] = describe_class(cell)
        rows.append(row)
    return Table(
        "AUROC of each statistic as a score for an incorrect response (0.5 is chance), with its 95 % interval "
        "(DeLong) from ... to.",
        number_frame(rows, ["Model", "Statistic"], chain.from_iterable(map(_list_auroc_headings, present))),
        (
            f"{name_confident_signals(signals)} grow with confidence: 1 - AUROC is shown.",
            *list_one_class_notes(auroc),
            *([] if rows else ["There are no further models."]),
        ),
        words=classes,
    )


def _list_auroc_headings(benchmark: str) -> tuple[str, str, str]:
    """The columns of a benchmark's AUROC and of its interval's ends."""
    return benchmark, f"{benchmark}: from", f"{benchmark}: to"


def describe_class(domain: Mapping[str, Any]) -> str:
    """The text shown for a missing AUROC: the class of all the domain's responses."""
    if domain["n_correct"]:
        return "all correct"
    return "all incorrect" if domain["n_incorrect"] else "no labels"


def list_one_class_notes(auroc: pl.DataFrame) -> list[str]:
    """One line for each model and benchmark without an AUROC, with the reason and the class of its responses."""
    same = ["model", "benchmark", "reason", "n_correct", "n_incorrect"]
    nulls = auroc.filter(pl.col("auroc").is_null()).unique(same, maintain_order=True)
    lines = []
    for row in nulls.iter_rows(named=True):
        names = [row["model"], row["benchmark"]]
        # All features lack an AUROC for the same reason, so only a signal of another family is named.
        if row["feature"] not in FEATURES:
            names.append(SIGNALS[row["feature"]].title)
        counts = f"{row['n_correct']} correct, {row['n_incorrect']} incorrect"
        lines.append(f"{', '.join(names)}: no AUROC, {row['reason']} ({counts}).")
    return lines


def table_2_by_model(inputs: AccuracyTableInputs) -> Table:
    """Tabulate AEE and rho per model for the main groups: Extremes and Intermediate in the paper."""
    return _tabulate_groups(inputs, list_main_groups(inputs.groups, inputs.main_groups))


def table_7_by_model_further_groups(inputs: AccuracyTableInputs) -> Table:
    """Tabulate AEE and rho per model for the other named groups: Cross-Domain and Sci-Math in the paper."""
    return _tabulate_groups(inputs, list_further_groups(inputs.groups, inputs.main_groups))


def _tabulate_groups(inputs: AccuracyTableInputs, chosen: Sequence[TrainingGroup]) -> Table:
    """A row for each model: AEE and rho of the estimator of each `chosen` group, on all and on unseen domains."""
    sweep = inputs.sweep
    group_estimators = pl.DataFrame(
        [(group.group_id, group.estimator) for group in chosen],
        schema={"group": pl.String, "estimator": pl.String},
        orient="row",
    )
    picked = sweep.join(group_estimators, on=["group", "estimator"], how="semi", maintain_order="left")
    cells = index_by_key(picked)
    rows: list[dict[str, Any]] = []
    for model in list_distinct(sweep, "model") if chosen else ():
        row: dict[str, Any] = {"Model": model}
        for group, (scope, scope_title) in product(chosen, SCOPES.items()):
            result = cells.get((model, group.group_id, group.estimator, scope), {})
            for measure, title in MEASURES.items():
                row[f"{group.title}: {title}, {scope_title}"] = result.get(measure)
        rows.append(row)
    notes = [SCOPE_NOTE] if chosen else ["The study has no such training groups."]
    for group in chosen:
        notes += [f"{group.title}: {group.benchmarks}; {group.estimator}.", *list_missing_notes(sweep, group)]
    return Table(
        "Accuracy estimation error (AEE) and Spearman correlation (rho) of estimated and true accuracy. "
        f"Training groups: {', '.join(group.title for group in chosen) or 'none'}.",
        number_frame(rows, ["Model"], list(rows[0])[1:] if rows else []),
        (*notes, *list_null_notes(picked)),
    )


def table_8_simple_estimators_by_model(inputs: AccuracyTableInputs) -> Table:
    """Tabulate the default estimator and every simple one per model, for the group `headline_group`.

    The paper's table is for its group Extremes.
    """
    group = find_training_group(inputs.groups, inputs.headline_group)
    picked, titles = select_simple_estimators(inputs.sweep, group)
    cells = index_by_key(picked)
    unseen = picked.filter(pl.col("scope") == "held_out")
    medians = dict(unseen.group_by("estimator").agg(pl.col("aee").median()).iter_rows())
    names = sorted(titles, key=lambda name: get_nulls_last_key(medians.get(name)))
    rows = []
    for model, scope, measure in product(list_distinct(inputs.sweep, "model"), SCOPES, MEASURES):
        row: dict[str, Any] = {"Model": model, "Measure": f"{MEASURES[measure]}, {SCOPES[scope]}"}
        for name in names:
            row[titles[name]] = cells.get((model, group.group_id, name, scope), {}).get(measure)
        rows.append(row)
    return Table(
        f"Training group {group.title}; estimators in the order of their median AEE (AEE: lower is better, rho: higher "
        "is better).",
        number_frame(rows, ["Model", "Measure"], [titles[name] for name in names]),
        (
            SCOPE_NOTE,
            f"Default: {group.estimator}.",
            *list_missing_notes(inputs.sweep, group),
            *list_null_notes(picked),
        ),
    )
