"""Responses as a deployed model's logs have them: features with routes and times; lines of a log; estimators."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rows import rows

import entropy_sentinel as es
from entropy_sentinel.api.response_reading import write_features
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.features.feature_registry import EXTRAS, FEATURE_FRAME
from entropy_sentinel.features.hashed_tokens import SCHEMA

LOGPROBS = {"logprobs_mode": "raw_logprobs", "top_k_returned": 20}
BEGIN = datetime(2026, 11, 2, tzinfo=UTC)  # a Monday
DAY = timedelta(days=1)


def traffic(n: int = 600, seed: int = 0, days: float = 4) -> pl.DataFrame:
    """Features of n responses of model `m` over so many days, in order of time, by three routes and two users."""
    values, _ = rows(n, seed)
    rng = np.random.default_rng(seed)
    routes = rng.choice(["shop", "school", "support"], n, p=[0.6, 0.3, 0.1])
    times = [BEGIN + timedelta(days=days * number / n) for number in range(n)]
    columns = {
        "model": "m",
        "benchmark": "log",
        "item_id": pl.Series([f"{seed}-{number}" for number in range(n)]),
        "sample": pl.lit(0, pl.UInt16),
        "n_tokens": pl.lit(9, pl.UInt32),
        "displaced_steps": pl.lit(0, pl.UInt32),
        "finish_reason": "stop",
        "clamped_tokens": pl.lit(0, pl.UInt32),
        "trace_tokens": pl.lit(9, pl.UInt32),
        "cut_off": pl.Series(rng.random(n) < 0.05),
        **{name: pl.lit(None, pl.Float64) for name in EXTRAS},
        "reason": pl.lit(None, pl.String),
        **LOGPROBS,
        "route": pl.Series(routes),
        "user": pl.Series(rng.choice(["ann", "bob"], n)),
        "time": pl.Series(times, dtype=pl.Datetime("us", "UTC")),
    }
    columns = {name: pl.lit(value) if isinstance(value, str | int) else value for name, value in columns.items()}
    names = [name for name in FEATURE_FRAME.schema.names() if name not in SCHEMA]
    return values.with_columns(**columns).select(*names, *LOGPROBS, "route", "user", "time")


def fitted(name: str = "median-of-seven", domains: int = 4) -> FittedEstimator:
    """An estimator of model `m`, fitted on so many domains."""
    features = traffic(400, seed=99)
    _, labels = rows(400, 99)
    features = features.with_columns(benchmark=pl.Series([f"domain-{number % domains}" for number in range(400)]))
    return es.fit(features, features.select("item_id", label=pl.Series(labels)), name, {"trees": 10})


def change_metadata(estimator: FittedEstimator, **fields: Any) -> FittedEstimator:
    """The estimator with other metadata."""
    return replace(estimator, metadata=estimator.metadata.model_copy(update=fields))


def saved(folder: Path, name: str = "median-of-seven") -> Path:
    """The file of `fitted`."""
    path = folder / f"{name}.estimator"
    es.save(fitted(name), path)
    return path


def written(features: pl.DataFrame, path: Path) -> Path:
    """Features as a file that `features` writes."""
    write_features(features, path)
    return path


def line(number: int, k: int = 20, **changes: Any) -> dict[str, Any]:
    """A record of a log: a table's row with three tokens of `k` alternatives."""
    rng = np.random.default_rng(number)
    logits = np.sort(rng.normal(scale=3, size=(3, k)))[:, ::-1]
    top = (logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))).round(5)
    record = {
        "id": f"req-{number:04d}",
        "model": "m",
        "text": "a b c",
        "finish_reason": "stop",
        "token_logprobs": top[:, 0].tolist(),
        "top_logprobs": top.tolist(),
        "time": (BEGIN + timedelta(hours=number)).isoformat(),
        "route": "shop" if number % 3 else "school",
    }
    record |= changes
    return {name: value for name, value in record.items() if value is not ...}


def log_file(path: Path, records: list[dict[str, Any] | str]) -> Path:
    """JSON Lines; a text is a line as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((record if isinstance(record, str) else json.dumps(record)) + "\n" for record in records))
    return path
