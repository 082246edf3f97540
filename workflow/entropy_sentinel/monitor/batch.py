"""The verb `estimate`: read responses once, without windows or state, and compare with labels."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from entropy_sentinel.api.domains import FILE, are_parts_of_one_log
from entropy_sentinel.api.estimation import ensure_estimator
from entropy_sentinel.api.input_checks import Paths, add_labels, is_table
from entropy_sentinel.api.label_reading import coerce_labels, merge_logged_labels, read_table_labels
from entropy_sentinel.api.verb_options import EstimateKeywords
from entropy_sentinel.core.option_classes import document_options, parse_columns
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.training_rows import one_thread
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.logs.trace_frames import LABEL_DTYPES
from entropy_sentinel.monitor.monitor_options import TIME, EstimateOptions, MonitorOptions
from entropy_sentinel.monitor.monitor_result import Monitored
from entropy_sentinel.monitor.monitor_run import monitor_sources
from entropy_sentinel.monitor.reading.feature_stream import SLICE_PREFIX, LogSources, list_columns, resolve_sources
from entropy_sentinel.monitor.reading.problem_codes import ProblemKind
from entropy_sentinel.monitor.slice_columns import COMPARISON_COLUMNS, FLAG_COLUMNS
from entropy_sentinel.monitor.summing.file_reading import KeptRows
from entropy_sentinel.monitor.summing.sum_merging import EVERYTHING
from entropy_sentinel.schemas.response_schema import RESPONSE

# To limit memory, smaller slices beyond this number are pooled.
MOST_SLICES = 100_000
# Default slices.
BY_DEFAULT = ("model", "benchmark")
# Largest number of columns that a note names.
_MOST_NAMED_COLUMNS = 8


@document_options(EstimateOptions)
def estimate(
    estimator: FittedEstimator | str | Path,
    features: LogSources,
    by: Sequence[str] = BY_DEFAULT,
    labels: pl.DataFrame | Paths | None = None,
    **options: Unpack[EstimateKeywords],
) -> pl.DataFrame:
    """Estimate the accuracy of every slice of responses, with intervals and warnings.

    Args:
        estimator: An estimator from `fit` or `load`, or its file.
        features: A row per response, from `read_features` or `features`; or files of logs, traces, features.
        by: The columns whose values define slices, combined; without any, all responses are one slice.
        labels: Labels of some responses, from `read_labels`, or their files. By default, the labels in the given files:
            scores of evaluations, or a column `label` of the features.
        **options: The fields of `EstimateOptions`, which `help(es.estimate)` lists.

    Returns:
        One row per combination of the columns `by` (as text), the most expected errors first. It has the monitor's
        columns (`monitor/slice_columns.py`): the numbers of responses with an estimate (`n_estimated`) and without
        (`n_excluded`), `estimated_accuracy` with `lower` and `upper`, and `flags` with their `reasons` and
        `flag_codes`, including the verdict of the validation. With `labels`, it also has `n_labelled`,
        `estimated_on_labelled` and `true_accuracy` of the labelled responses, and `error`, the difference between
        these two accuracies.

    Raises:
        ProvenanceError: If all responses have another model or kind of log-probabilities than those that the
            estimator was fitted on, unless `any_model` or `any_logprobs` allows them.
        InputError: For a column that is empty for every response.

    Examples:
        >>> import entropy_sentinel as es
        >>> features, labels = es.features(es.read_logs(es.example().traces)), es.read_labels(es.example().labels)
        >>> known = pl.col("benchmark").is_in(["svamp", "math", "scibench"])
        >>> estimator = es.fit(features.filter(known), labels, "atc-nll_sum")
        >>> slices = es.estimate(estimator, features.filter(~known))
        >>> slices.select("benchmark", "n_estimated", "estimated_accuracy").rows()
        [('theoremqa', 30, 0...), ('gsm8k', 30, 0...)]
        >>> slices["flags"].to_list()
        [['truncated', 'too few domains to say'], ['too few domains to say']]
    """
    settings = options_of({"by": by, **options})
    return estimate_slices(ensure_estimator(estimator), features, settings, labels).slices


def options_of(arguments: Mapping[str, Any]) -> EstimateOptions:
    """The options among the arguments of `estimate`; a column that `by` repeats counts once."""
    return EstimateOptions.from_keywords(
        "estimate", {**arguments, "by": tuple(dict.fromkeys(parse_columns(arguments["by"])))}
    )


def estimate_slices(
    estimator: FittedEstimator,
    logs: LogSources,
    settings: EstimateOptions,
    labels: pl.DataFrame | Paths | None = None,
) -> Monitored:
    """The result of `estimate`, with its provenance and problems.

    The responses that may have a label are kept while the logs are read, and compared with their labels afterwards.
    """
    sources = resolve_sources(logs)
    if labels is None and is_table(logs):
        labels = read_table_labels(logs)
    labels = None if labels is None else coerce_labels(labels)
    columns = dict.fromkeys(
        (*RESPONSE, *FEATURES, *estimator.signals, *(f"{SLICE_PREFIX}{name}" for name in settings.by))
    )
    columns |= dict.fromkeys(("label", "excluded"))
    # Which responses may have a label: one of the logs, or one of the given labels by their id.
    wanted = pl.any_horizontal(pl.col([*LABEL_DTYPES]).is_not_null())
    if labels is not None:
        wanted = pl.col("item_id").is_in(labels["item_id"].implode())
    kept = KeptRows(lambda frame: frame.filter(wanted).select([*columns]))
    result = monitor_sources(estimator, sources, make_unpooled_options(settings), kept_rows=kept)
    if FILE in settings.by and are_parts_of_one_log(result.slices[FILE]):
        free_columns = [name for name in list_columns(sources) if name not in (*settings.by, TIME)]
        names = ", ".join(free_columns[:_MOST_NAMED_COLUMNS]) or "none"
        result.problems.add(ProblemKind.SLICES_ARE_FILES, count=len(result.slices), subject=names)
    if labels is None:
        labels = merge_logged_labels(kept.labels)
    if labels is None:
        return result
    rows = add_labels(pl.concat(kept.frames), labels).filter(pl.col("excluded").is_null())
    # Without columns, there is one slice with a fixed name.
    keys = [pl.col(f"{SLICE_PREFIX}{name}") for name in settings.by] or [pl.lit(EVERYTHING)]
    rows = rows.select(*FEATURES, *estimator.signals, "label", **dict(zip(result.by, keys, strict=True)))
    return replace(result, slices=_add_label_comparison(result, estimator, rows.filter(pl.col("label").is_not_null())))


def make_unpooled_options(options: EstimateOptions) -> MonitorOptions:
    """The options of a monitor that pools no slices, up to MOST_SLICES."""
    values = {name: getattr(options, name) for name in EstimateOptions.model_fields}
    return MonitorOptions.from_values(values | {"max_slices": MOST_SLICES})


def _add_label_comparison(result: Monitored, estimator: FittedEstimator, labelled: pl.DataFrame) -> pl.DataFrame:
    """The slices with `n_labelled`, and COMPARISON_COLUMNS, which are null for slices without labels.

    `labelled` are the labelled responses, with the slice columns.
    """
    names, rows = list(result.by), []
    with one_thread():
        for part in labelled.partition_by(names):
            estimated = estimator.estimator.accuracy(part)
            true = part.filter("label").height / len(part)
            rows.append((*part.select(names).row(0), len(part), estimated, true, estimated - true))
    dtypes = dict.fromkeys(names, pl.String) | {"n_labelled": pl.Int64}
    table = pl.DataFrame(rows, schema=dtypes | dict.fromkeys(COMPARISON_COLUMNS, pl.Float64), orient="row")
    joined = result.slices.join(table, on=names, how="left", nulls_equal=True, maintain_order="left")
    joined = joined.with_columns(pl.col("n_labelled").fill_null(0))
    return joined.select(pl.exclude(FLAG_COLUMNS), *FLAG_COLUMNS)
