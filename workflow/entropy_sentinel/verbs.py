"""What a notebook needs: read logs, compute features, fit an estimator on what is labelled, estimate the rest.

>>> import entropy_sentinel as es
>>> example = es.example()  # a tiny model's answers to four kinds of arithmetic problems
>>> traces = es.read_logs(example.traces)
>>> features = es.features(traces)
>>> easy_and_hard = features.filter(pl.col("benchmark").is_in(["one-digit-addition", "two-digit-multiplication"]))
>>> estimator = es.fit(easy_and_hard, es.read_labels(example.labels), "atc-max")
>>> es.estimate(estimator, features).select("benchmark", "n_rows", pl.col("estimated_accuracy").round(3)).rows()
[('averages', 40, 0.875), ('multiply-then-add', 40, 0.7), ('one-digit-addition', 40, 1.0), ('two-digit-multiplication', 40, 0.025)]
"""

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.estimators.estimator import Unfitted
from entropy_sentinel.estimators.fit import fit as fit_estimators
from entropy_sentinel.estimators.fit import score
from entropy_sentinel.estimators.saved import SIGNAL, SavedEstimator, feature_statistics, load_estimator, save_estimator
from entropy_sentinel.estimators.settings import Estimation
from entropy_sentinel.estimators.training import TrainingRows
from entropy_sentinel.features.catalogue import FEATURES
from entropy_sentinel.features.compute import compute_features
from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.feature import FEATURE_FRAME
from entropy_sentinel.frames.generation import GENERATIONS, scan_traces

Paths = str | Path | Sequence[str | Path]
_KEY = ("model", "benchmark", "item_id", "sample")


@dataclass(frozen=True)
class Example:
    """Files that come with the package: a tiny model's responses to 160 arithmetic problems, and their labels."""

    traces: Path
    labels: Path


def example() -> Example:
    """Where the example's files are.

    >>> example().labels.name
    'labels.parquet'
    """
    folder = Path(__file__).with_name("example")
    return Example(folder / "traces", folder / "labels.parquet")


def read_logs(paths: Paths) -> pl.DataFrame:
    """Responses with their log-probabilities: files of stage `generations`, folders of such files, or patterns.

    Columns are those of GENERATIONS, with `model`, `benchmark`, and the signal: `logprobs_mode`, `top_k_returned`.
    Raises InputError where there is no file, ContractError for a file of another kind.

    >>> traces = read_logs(example().traces)
    >>> traces.height, traces["logprobs_mode"].unique().to_list()
    (160, ['raw_logprobs'])
    """
    return pl.concat([_with_signal(scan_traces(path), read_provenance(path)).collect() for path in _files(paths)])


def features(traces: pl.DataFrame) -> pl.DataFrame:
    """The features of every response, one row each in the order of `traces`, with the columns of the signal.

    Columns are those of FEATURE_FRAME; all features are null where `reason` says why.

    >>> features(read_logs(example().traces)).select("item_id", pl.col("max").round(3)).row(0)
    ('averages-00000', 0.217)
    """
    signal = [name for name in SIGNAL if name in traces.columns]
    return pl.concat([compute_features(traces), traces.select(signal)], how="horizontal")


def read_features(paths: Paths) -> pl.DataFrame:
    """Features from files of stage `features` or, computed now, of stage `generations`, with the columns of the signal.

    Raises as `read_logs` does.

    >>> read_features(example().traces).height
    160
    """
    parts = []
    for path in _files(paths):
        origin = read_provenance(path)
        if origin["stage"] == FEATURE_FRAME.stage:
            parts.append(_with_signal(FEATURE_FRAME.scan(path), origin).collect())
        elif origin["stage"] == GENERATIONS.stage:
            parts.append(features(read_logs(path)))
        else:
            raise InputError(f"{path}: must hold features or generations, holds {origin['stage']}")
    return pl.concat(parts)


def read_labels(paths: Paths) -> pl.DataFrame:
    """Labels from files of stage `labels`, or any Parquet or CSV file with columns `item_id` and `label` (true, false).

    `sample` and `benchmark` are used where they are there. Raises InputError for a file without the two.

    >>> read_labels(example().labels)["label"].mean()
    0.6125
    """
    parts = [pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path) for path in _files(paths)]
    for path, part in zip(_files(paths), parts, strict=True):
        if absent := {"item_id", "label"} - set(part.columns):
            raise InputError(f"{path}: column '{min(absent)}' is missing; columns there: {', '.join(part.columns)}")
        if part["label"].dtype not in (pl.Boolean, pl.Null):
            raise InputError(f"{path}: column 'label' must be true or false, was {part['label'].dtype}")
    columns = [*_KEY, "label"]
    return pl.concat([part.select(name for name in columns if name in part.columns) for part in parts])


def fit(
    features: pl.DataFrame,
    labels: pl.DataFrame,
    estimator: str = "atc-max",
    settings: Mapping[str, Any] | None = None,
) -> SavedEstimator:
    """Fit an estimator, by its name in `estimators.catalogue`, on the responses that have features and a label.

    `features` and `labels` are joined on what identifies a response: item_id, and model, benchmark and sample where
    both have them. `settings` are keys of the config's section `estimation` (folds, trees, seed, ...).

    Raises InputError where no response has both, features are of several models or signals, or the estimator cannot
    be fitted on these rows.

    >>> fitted = fit(features(read_logs(example().traces)), read_labels(example().labels), "doc-mtp")
    >>> fitted.estimator.name, fitted.about["n_training_rows"]
    ('doc-mtp', 160)
    """
    labelled = _join(features, labels).filter(pl.col("label").is_not_null(), pl.col("reason").is_null())
    if labelled.is_empty():
        raise InputError("labels: no response has features and a label; item_id must be the same in both")
    about = {
        "model": _one(labelled, "model"),
        "group": "+".join(sorted(labelled["benchmark"].unique())),
        "signal": {name: _one(labelled, name) for name in SIGNAL if name in labelled.columns},
    }
    chosen = Estimation(**(settings or {}))
    used = chosen.model_dump(include={"folds", "trees", "max_depth", "min_samples_split", "hidden_layers"})
    training = TrainingRows(
        labelled, labelled["label"].to_numpy(), used | {"seed": getattr(chosen, "seed", None) or 42}
    )
    fitted = fit_estimators(training, [estimator])[estimator]
    if isinstance(fitted, Unfitted):
        raise InputError(f"estimator '{estimator}' cannot be fitted: {fitted.reason}")
    facts = {
        "settings": dict(training.settings),
        "n_training_rows": len(training),
        "training_accuracy": training.accuracy,
        "feature_statistics": feature_statistics(training.features),
    }
    return SavedEstimator(fitted, about | facts)


def estimate(
    estimator: SavedEstimator,
    features: pl.DataFrame,
    by: Sequence[str] = ("model", "benchmark"),
    labels: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """The estimated accuracy of every slice of responses: one row per combination of the columns `by`, in their order.

    Columns: those of `by`; `n_rows` responses with features, that the estimate is over; `n_excluded`, those without;
    `estimated_accuracy` in [0, 1], null for a slice without features. With `labels` also `n_labelled`,
    `estimated_on_labelled` and `true_accuracy` over the labelled rows, and `error`, the difference of these two.

    Raises ProvenanceError for features of another signal than the estimator was fitted on, and InputError for a column
    that is not there.

    >>> table = estimate(load(save_to), features(read_logs(example().traces)), by=["model"])
    >>> table.select("model", "n_rows", pl.col("estimated_accuracy").round(3)).rows()
    [('tiny-1m', 160, 0.613)]
    """
    for name in by:
        if name not in features.columns:
            raise InputError(f"by: there is no column '{name}'; columns there: {', '.join(features.columns)}")
    signal = {name: _one(features, name) for name in SIGNAL if name in features.columns}
    estimator.check_signal(signal, "features")
    rows = features if labels is None else _join(features, labels)
    rows = rows.with_columns(label=pl.lit(None, pl.Boolean)) if labels is None else rows
    slices = rows.select(*by, slice=pl.struct(by).rank("dense"), usable=pl.col("reason").is_null(), label="label")
    scored = slices.filter("usable")
    number, labelled = scored["slice"].to_numpy(), scored["label"].is_not_null().to_numpy()
    masks = {int(one): number == one for one in np.unique(number)}
    values = score(
        estimator.estimator,
        rows.filter(pl.col("reason").is_null()).select(FEATURES),
        masks | {-one: rows & labelled for one, rows in masks.items()},
    )
    table = slices.group_by("slice", *by).agg(
        n_rows=pl.col("usable").sum(),
        n_excluded=(~pl.col("usable")).sum(),
        n_labelled=(pl.col("usable") & pl.col("label").is_not_null()).sum(),
        true_accuracy=pl.col("label").filter("usable").mean(),
    )
    table = table.sort("slice").with_columns(
        estimated_accuracy=pl.Series([values.get(one) for one in table.sort("slice")["slice"]], dtype=pl.Float64),
        estimated_on_labelled=pl.Series([values.get(-one) for one in table.sort("slice")["slice"]], dtype=pl.Float64),
    )
    shown = [*by, "n_rows", "n_excluded", "estimated_accuracy"]
    if labels is None:
        return table.select(shown)
    error = pl.col("estimated_on_labelled") - pl.col("true_accuracy")
    return table.select(*shown, "n_labelled", "estimated_on_labelled", "true_accuracy", error=error)


def save(estimator: SavedEstimator, path: str | Path) -> None:
    """Write an estimator to a file, see `estimators.saved`."""
    save_estimator(estimator.estimator, path, estimator.about)


def load(path: str | Path) -> SavedEstimator:
    """Read an estimator from a file; InputError or ProvenanceError for what must not be used, see `estimators.saved`."""
    return load_estimator(path)


def _files(paths: Paths) -> list[Path]:
    """The files that paths, folders and patterns name, sorted within each; InputError where there is none."""
    found: list[Path] = []
    for path in [paths] if isinstance(paths, str | Path) else paths:
        if Path(path).is_dir():
            matches = sorted(Path(path).rglob("*.parquet"))
        else:
            matches = [Path(path)] if Path(path).is_file() else sorted(map(Path, glob.glob(str(path), recursive=True)))
        if not matches:
            raise InputError(f"{path}: there is no such file, folder with Parquet files, or pattern that matches one")
        found += matches
    return found


def _with_signal(rows: pl.LazyFrame, origin: Mapping[str, Any]) -> pl.LazyFrame:
    return rows.with_columns(**{name: pl.lit(origin.get(name)) for name in SIGNAL})


def _join(features: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    key = [name for name in _KEY if name in labels.columns and name in features.columns]
    types = {name: features.schema[name] for name in key}
    return features.join(
        labels.select(*key, "label").cast(types), on=key, how="left", maintain_order="left", validate="m:1"
    )


def _one(rows: pl.DataFrame, column: str) -> Any:
    """The one value of a column; InputError where it has several."""
    found = rows[column].unique(maintain_order=True).to_list()
    if len(found) > 1:
        raise InputError(
            f"features: {column} must be the same in all rows, is {found[0]!r} and {found[1]!r}; filter them"
        )
    return found[0]
