"""Select results of the sweep and aggregate them over models and groups, for tables and figures."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.estimators.estimator_registry import (
    BASELINES,
    CONFIGURATION_NAMES,
    estimator_title,
    sort_estimators,
)
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.schemas.signal_schema import Signal
from entropy_sentinel.signal_families.signal_registry import SIGNALS
from entropy_sentinel.statistics.estimate_errors import FEWEST_FOR_RHO, interquartile_range, median_value
from entropy_sentinel.study.analyses.display_names import TrainingGroup

# Group sizes that the paper's Tables 4, 5 and 9 and Figure 4 cover.
LARGEST_K = 4
MEASURES: dict[str, str] = {"aee": "AEE", "rho": "rho"}
# Of two values, the quartiles are the values.
_FEWEST_FOR_IQR = 3
IQR_NOTE = f"IQR: interquartile range, for at least {_FEWEST_FOR_IQR} values."


def list_signals(auroc: pl.DataFrame) -> dict[str, Signal]:
    """The signals of a frame AUROC by name, always including the features."""
    names = {*FEATURES, *auroc["feature"].unique()}
    return {name: signal for name, signal in SIGNALS.items() if name in names}


def name_confident_signals(signals: Mapping[str, Signal]) -> str:
    """The titles of the signals that are larger for more certain responses: `a, b and c`."""
    *titles, last = [signal.title for signal in signals.values() if signal.confident]
    return f"{', '.join(titles)} and {last}"


def compute_spread(values: pl.Series) -> tuple[float | None, float | None]:
    """The median and interquartile range in the unit of the values, ignoring nulls.

    Both are null if no value is left; the range is also null if there are fewer than `_FEWEST_FOR_IQR`.
    """
    present = values.drop_nulls().to_numpy()
    if len(present) == 0:
        return None, None
    return median_value(present), interquartile_range(present) if len(present) >= _FEWEST_FOR_IQR else None


def get_nulls_last_key(error: float | None) -> tuple[bool, float]:
    """The key by which `sorted` puts the smallest error first, and nulls last."""
    return error is None, error or 0.0


def select_fully_swept(sweep: pl.DataFrame) -> pl.DataFrame:
    """The configurations' rows of the models and groups on which all 48 were run, up to LARGEST_K benchmarks."""
    rows = sweep.filter(pl.col("estimator").is_in(CONFIGURATION_NAMES), pl.col("k") <= LARGEST_K)
    n_configurations = pl.col("estimator").n_unique().over("model", "group")
    return rows.filter(n_configurations == len(CONFIGURATION_NAMES))


def list_distinct(frame: pl.DataFrame, column: str) -> list[str]:
    """The column's distinct values in the order of the frame."""
    return frame[column].unique(maintain_order=True).to_list()


def drop_small_rho(sweep: pl.DataFrame) -> pl.DataFrame:
    """The sweep with rho null, and its reason, in rows over fewer than FEWEST_FOR_RHO domains, too few to show it."""
    small = (pl.col("n_domains") < FEWEST_FOR_RHO) & pl.col("rho").is_not_null()
    reason = pl.format(f"only {{}} domains, but a headline needs {FEWEST_FOR_RHO} (see sweep.parquet)", "n_domains")
    return sweep.with_columns(rho=pl.when(~small).then("rho"), reason=pl.when(small).then(reason).otherwise("reason"))


def index_by_key(sweep: pl.DataFrame) -> dict[tuple[str, ...], dict[str, Any]]:
    """The rows of a frame SWEEP by (model, group, estimator, scope)."""
    keys = sweep.select("model", "group", "estimator", "scope").rows()
    return dict(zip(keys, sweep.rows(named=True), strict=True))


def select_simple_estimators(sweep: pl.DataFrame, group: TrainingGroup) -> tuple[pl.DataFrame, dict[str, str]]:
    """The results of a group's configuration ("Default") and of the simple estimators, and their titles by name.

    Simple estimators are those outside the 48 configurations: first the paper's nine baselines in the order of its
    Table 8, then any others that were run, in the order of the catalogue.
    """
    rows = sweep.filter(pl.col("group") == group.group_id)
    run_estimators = sort_estimators(rows["estimator"].unique())
    titles = {group.estimator: "Default"} if group.estimator in run_estimators else {}
    for name in dict.fromkeys([*BASELINES, *run_estimators]):
        if name in run_estimators and name not in CONFIGURATION_NAMES:
            titles[name] = estimator_title(name)
    return rows.filter(pl.col("estimator").is_in(list(titles))), titles


def compute_group_accuracies(domains: pl.DataFrame, groups: Iterable[str]) -> pl.DataFrame:
    """The weighted accuracy of training groups (paper, section 5, RQ3): columns `group` and `group_accuracy`.

    A group's accuracy, in [0, 1], is the mean over its benchmarks of their mean accuracy over models, weighted by
    their numbers of responses (the largest over models). It is null if a benchmark has no accuracy.
    """
    # Over models. Benchmarks without an accuracy are in `counts`, but not in `accuracies`.
    means = domains.group_by("benchmark").agg(pl.col("accuracy").mean(), n=pl.col("n_responses").max())
    accuracies = dict(means.drop_nulls("accuracy").select("benchmark", "accuracy").iter_rows())
    counts = dict(means.select("benchmark", "n").iter_rows())
    rows = []
    for group in sorted(set(groups)):
        benchmarks = group.split("+")
        accuracy = None
        if set(benchmarks) <= accuracies.keys():
            n_correct = sum(accuracies[name] * counts[name] for name in benchmarks)
            accuracy = n_correct / sum(counts[name] for name in benchmarks)
        rows.append((group, accuracy))
    return pl.DataFrame(rows, schema={"group": pl.String, "group_accuracy": pl.Float64}, orient="row")


def list_missing_notes(sweep: pl.DataFrame, group: TrainingGroup) -> list[str]:
    """One line for each model of the sweep that has no results for the group."""
    present = set(sweep.filter(pl.col("group") == group.group_id)["model"])
    return [
        f"{model} has no results for {group.title}." for model in list_distinct(sweep, "model") if model not in present
    ]


def list_null_notes(sweep: pl.DataFrame, measures: Iterable[str] = tuple(MEASURES)) -> list[str]:
    """One line for each of the `measures` and each reason why it is null in `sweep`, with the number per model."""
    notes = []
    for measure in measures:
        nulls = sweep.filter(pl.col(measure).is_null())
        for (reason,), part in nulls.group_by("reason", maintain_order=True):
            counts = part.group_by("model", maintain_order=True).len()
            where = ", ".join(counts.select(pl.format("{} {}", "model", "len")).to_series())
            notes.append(
                f"{MEASURES[measure]} is shown as - and left out of medians in {len(part)} of {len(sweep)} "
                f"results ({where}): {reason or 'no reason given'}."
            )
    return notes


def bin_errors(points: pl.DataFrame, bins: int) -> pl.DataFrame:
    """The quartiles of `aee` in bins of equal width over the range of `group_accuracy`, without empty bins.

    The columns are `centre`, `median`, `lower`, `upper` and `n`, sorted by `centre`; quartiles are computed as in
    the tables.
    """
    accuracy = points["group_accuracy"].to_numpy()
    edges = np.histogram_bin_edges(accuracy, bins)
    # The largest value is at the last edge, and belongs to the last bin.
    bin_numbers = np.clip(np.digitize(accuracy, edges) - 1, 0, bins - 1)
    rows = []
    for number in np.unique(bin_numbers):
        values = points["aee"].to_numpy()[bin_numbers == number]
        lower, middle, upper = np.quantile(values, [0.25, 0.5, 0.75], method="weibull")
        centre = edges[number : number + 2].mean()
        rows.append((centre, middle, lower, upper, len(values)))
    return pl.DataFrame(rows, schema=["centre", "median", "lower", "upper", "n"], orient="row")
