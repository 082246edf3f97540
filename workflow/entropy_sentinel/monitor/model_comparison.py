"""The verb `compare`: the difference of two models' accuracies on each slice, without labels."""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import polars as pl

from entropy_sentinel.api.estimation import ensure_estimator
from entropy_sentinel.api.verb_options import EstimateKeywords
from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.core.option_classes import document_options
from entropy_sentinel.core.printable import make_one_line
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.validation_record import Domain, collect_residuals
from entropy_sentinel.estimators.verdict import USABLE
from entropy_sentinel.formatting.text_format import format_count, format_html, format_number
from entropy_sentinel.monitor.alert_codes import Flag
from entropy_sentinel.monitor.batch import make_unpooled_options
from entropy_sentinel.monitor.monitor_options import MODEL, EstimateOptions
from entropy_sentinel.monitor.monitor_result import name_slice
from entropy_sentinel.monitor.monitor_run import monitor_sources
from entropy_sentinel.monitor.reading.feature_stream import LogSources, resolve_sources
from entropy_sentinel.monitor.reading.problem_collection import Problems
from entropy_sentinel.monitor.summing.sum_merging import EVERYTHING
from entropy_sentinel.statistics.monitoring.accuracy_differences import (
    FEWEST_COMMON,
    INDEPENDENT,
    PAIRED,
    half_widths_independent,
    half_widths_paired,
)
from entropy_sentinel.statistics.slice_intervals import Residuals, sampling_variance


@dataclass(frozen=True, repr=False)
class Comparison:
    """The differences of two models by slice.

    Attributes:
        by: The slice columns.
        models: The names of the two models.
        rows: One row per slice with responses of both models, the largest difference first: the slice; the numbers of
            responses `n_first` and `n_second`; the estimated accuracies `first` and `second`; their `difference`,
            second minus first, with `lower` and `upper`; the `level` and `basis` of the interval; and `flags`, which
            either estimate has.
        notes: What the intervals rest on, and slices without one of the models.
        problems: Counts of unusable parts of the logs.
    """

    by: tuple[str, ...]
    models: tuple[str, str]
    rows: pl.DataFrame
    notes: tuple[str, ...]
    problems: Problems

    def __repr__(self) -> str:
        return "\n  ".join(map(make_one_line, [self._heading, *self.notes]))

    def _repr_html_(self) -> str:
        return format_html(self._heading, self.notes, self.table())

    @property
    def _heading(self) -> str:
        first, second = self.models
        return f"accuracy of {second} minus that of {first}: {format_count(len(self.rows), 'slice')}"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and rows of a table with the differences."""
        first, second = self.models
        level = f"{self.rows['level'][0]:.0%} " if len(self.rows) else ""
        headings = [
            ", ".join(self.by) or "slice",
            f"responses ({first})",
            f"({second})",
            first,
            second,
            "difference",
            f"{level}interval",
            "more accurate",
            "flags",
        ]
        return headings, [self._cells(row) for row in self.rows.iter_rows(named=True)]

    def _cells(self, row: dict[str, Any]) -> list[str]:
        """The texts of a row of the table."""
        better = "cannot be told"
        if row["lower"] > 0:
            better = self.models[1]
        elif row["upper"] < 0:
            better = self.models[0]
        return [
            name_slice(row[name] for name in self.by) if self.by else EVERYTHING,
            f"{row['n_first']:,}",
            f"{row['n_second']:,}",
            format_number(row["first"]),
            format_number(row["second"]),
            format_number(row["difference"], "+.3f"),
            f"{row['lower']:+.3f} to {row['upper']:+.3f}",
            better,
            ", ".join(row["flags"]),
        ]


@document_options(EstimateOptions)
def compare(
    first: FittedEstimator | str | Path,
    second: FittedEstimator | str | Path,
    logs: LogSources,
    by: Sequence[str] = (),
    **options: Unpack[EstimateKeywords],
) -> Comparison:
    """Estimate the difference of two models' accuracies on every slice, with intervals, without labels.

    Each model needs an estimator of its own. If both were fitted on labels of the same domains, the interval is
    `paired`: it rests on how well their difference was estimated on these domains, each held out in turn. That is
    narrower than the two intervals suggest, because two estimates are off in the same direction on the same questions.

    Args:
        first: The estimator of one model, from `fit` or `load`, or its file.
        second: The estimator of the other model.
        logs: Responses of both models: logs, traces or features, as files, or a frame of features. They may be answers
            to the same questions or to different ones of the same slices.
        by: The columns whose values define slices, combined; without any, all responses are one slice.
        **options: The fields of `EstimateOptions`, which `help(es.compare)` lists.

    Returns:
        The differences by slice.

    Raises:
        ConfigError: If both estimators are of one model, or slices are by model.
        InputError: If no slice has responses of both models.

    Examples:
        >>> import entropy_sentinel as es
        >>> features, labels = es.features(es.read_logs(es.example().traces)), es.read_labels(es.example().labels)
        >>> small = es.fit(features, labels, "atc-nll_sum")
        >>> large = es.fit(features.with_columns(model=pl.lit("large")), labels, "atc-nll_sum")
        >>> both = pl.concat([features, features.with_columns(model=pl.lit("large"))])
        >>> es.compare(small, large, both).rows.select("n_first", "n_second", "difference", "basis").rows()
        [(150, 150, 0.0, 'paired')]
    """
    return compare_models(first, second, logs, EstimateOptions.from_keywords("compare", {"by": by, **options}))


def compare_models(
    first: FittedEstimator | str | Path,
    second: FittedEstimator | str | Path,
    logs: LogSources,
    settings: EstimateOptions,
) -> Comparison:
    """The result of `compare`."""
    if MODEL in settings.by:
        raise ConfigError(f"by: must not have '{MODEL}', because two models are compared in each slice")
    saved = (ensure_estimator(first), ensure_estimator(second))
    result = monitor_sources(saved, resolve_sources(logs), make_unpooled_options(settings))
    models = (str(saved[0].metadata.model), str(saved[1].metadata.model))
    by = [name for name in result.by if name != MODEL]
    slices = [result.slices.filter(pl.col(MODEL) == model) for model in models]
    keys = by or [EVERYTHING]
    numbers = ("n_estimated", "estimated_accuracy", "lower", "upper", "flags", "flag_codes")
    first_rows, second_rows = (side.with_columns(pl.lit("").alias(EVERYTHING)) for side in slices)
    both = first_rows.select(*keys, pl.col(numbers).name.suffix("_1")).join(
        second_rows.select(*keys, pl.col(numbers).name.suffix("_2")),
        on=keys,
        how="inner",
        nulls_equal=True,
        maintain_order="left",
    )
    both = both.filter(pl.col("n_estimated_1") > 0, pl.col("n_estimated_2") > 0)
    if both.is_empty():
        raise InputError(f"no slice has responses of both models, '{models[0]}' and '{models[1]}'")
    common = _find_common_residuals(*saved)
    rows = _add_intervals(both, common, settings.level)
    # General flags are the verdicts, which the notes have.
    rows = rows.with_columns(_join_flags(rows, result.provenance["general_flag_codes"]))
    rows = rows.sort(pl.col("difference").abs(), descending=True, maintain_order=True)
    rows = rows.select(
        *by,
        pl.col("n_estimated_1").alias("n_first"),
        pl.col("n_estimated_2").alias("n_second"),
        pl.col("estimated_accuracy_1").alias("first"),
        pl.col("estimated_accuracy_2").alias("second"),
        "difference",
        "lower",
        "upper",
        "level",
        "basis",
        "flags",
        "flag_codes",
    )
    return Comparison(
        tuple(by),
        models=models,
        rows=rows,
        notes=tuple(_list_notes(saved, common, slices, rows)),
        problems=result.problems,
    )


def _join_flags(rows: pl.DataFrame, general: Container[str]) -> pl.DataFrame:
    """The flags of both models of each row, and their codes, each once; without the `general` codes."""
    flags: list[list[str]] = []
    codes: list[list[str]] = []
    sides = ("flag_codes_1", "flags_1", "flag_codes_2", "flags_2")
    for codes_1, flags_1, codes_2, flags_2 in rows.select(sides).iter_rows():
        both = dict(zip([*codes_1, *codes_2], [*flags_1, *flags_2], strict=True))
        kept = [code for code in both if code not in general]
        codes.append(kept)
        flags.append([both[code] for code in kept])
    texts = pl.List(pl.String)
    return pl.DataFrame({"flags": flags, "flag_codes": codes}, schema={"flags": texts, "flag_codes": texts})


def _add_intervals(both: pl.DataFrame, common: tuple[Residuals, Residuals] | None, level: float) -> pl.DataFrame:
    """Add the difference, its interval and basis to slices with the columns of both models.

    `common` are the errors of both models on the domains that are labelled for both, each held out; null with too few.
    """
    first, second = both["estimated_accuracy_1"].to_numpy(), both["estimated_accuracy_2"].to_numpy()
    half = half_widths_independent(_farther_limit(both, 1), _farther_limit(both, 2))
    paired = np.zeros(len(both), dtype=bool)
    if common is not None:
        # The validation says nothing about slices unlike its domains, and nothing about other models.
        unvalidated = [Flag.UNFAMILIAR.number, Flag.OVERRIDDEN.number, Flag.SAME_MODEL.number]
        found_flags = pl.concat_list("flag_codes_1", "flag_codes_2").list.set_intersection(unvalidated)
        paired = both.select(found_flags.list.len() == 0).to_series().to_numpy()
        variances = sampling_variance(first, both["n_estimated_1"].to_numpy())
        variances = variances + sampling_variance(second, both["n_estimated_2"].to_numpy())
        half = np.where(paired, half_widths_paired(*common, variances, level), half)
    difference = second - first
    return both.with_columns(
        difference=pl.Series(difference),
        lower=pl.Series(np.clip(difference - half, -1, 1)),
        upper=pl.Series(np.clip(difference + half, -1, 1)),
        level=pl.lit(level),
        basis=pl.Series(np.where(paired, PAIRED, INDEPENDENT)),
    )


def _farther_limit(both: pl.DataFrame, model: int) -> np.ndarray:
    """The distance from the estimate of model 1 or 2 to the farther limit of its interval, (n,)."""
    accuracy = both[f"estimated_accuracy_{model}"].to_numpy()
    lower, upper = both[f"lower_{model}"].to_numpy(), both[f"upper_{model}"].to_numpy()
    farther: np.ndarray = np.maximum(accuracy - lower, upper - accuracy)
    return farther


def _find_common_residuals(first: FittedEstimator, second: FittedEstimator) -> tuple[Residuals, Residuals] | None:
    """The held-out errors on the domains that are labelled for both models; None if there are too few."""
    domains_of_first, domains_of_second = _find_held_out(first), _find_held_out(second)
    names = [name for name in domains_of_first if name in domains_of_second]
    if len(names) < FEWEST_COMMON:
        return None
    first_errors, second_errors = (
        collect_residuals([domains[name] for name in names], len(names))
        for domains in (domains_of_first, domains_of_second)
    )
    return first_errors, second_errors


def _find_held_out(saved: FittedEstimator) -> dict[str, Domain]:
    """The domains of the validation that were estimated without their labels, by name."""
    domains = saved.validation.domains if saved.validation else ()
    return {domain.domain: domain for domain in domains if domain.estimated is not None}


def _list_notes(
    saved: Sequence[FittedEstimator],
    common: tuple[Residuals, Residuals] | None,
    slices: Sequence[pl.DataFrame],
    rows: pl.DataFrame,
) -> list[str]:
    """What the intervals rest on, the verdicts, and the number of slices without one of the models."""
    notes = []
    if common is None:
        notes.append(
            f"{INDEPENDENT}: fewer than {FEWEST_COMMON} domains are labelled for both models, so their errors count as "
            "independent, and intervals are wide. Label answers of both models to the same questions"
        )
    else:
        off = np.abs(common[1].errors - common[0].errors)
        notes.append(
            f"{PAIRED}: on {len(off)} domains that are labelled for both models, each held out, the difference was off "
            f"by {off.mean():.3f} on average and by {off.max():.3f} at most"
        )
        if INDEPENDENT in rows["basis"].to_list():
            notes.append(
                f"{INDEPENDENT}: slices unlike the labelled domains have wide intervals, which rest on an assumption"
            )
    for estimator in saved:
        verdict = estimator.validation.verdict if estimator.validation else "no validation"
        if verdict != USABLE:
            notes.append(f"verdict on the estimator of {estimator.metadata.model} alone: {verdict}")
    if n_left_out := sum(map(len, slices)) - 2 * len(rows):
        notes.append(f"{format_count(n_left_out, 'slice')} with responses of only one model left out")
    return notes
