"""Stage `estimates`: train a group's estimators and estimate the accuracy of every domain."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from entropy_sentinel.estimators.training import Fitted, TrainingGroup
from entropy_sentinel.features.catalogue import FEATURES
from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.errors import ProvenanceError
from entropy_sentinel.frames.estimate import ESTIMATES
from entropy_sentinel.frames.observation import OBSERVATIONS
from entropy_sentinel.stages.choices import Choices

RAW = "raw_logprobs"


def write_estimates(observations: str, group: str, settings: Mapping[str, Any], output: str) -> None:
    """Estimates of one training group (`a+b`) from the file `observations` of one model.

    `settings` is `config.study.estimation_settings`. Raises ProvenanceError for traces whose log-probabilities are
    not those of the model's distribution before temperature.
    """
    signal = read_provenance(observations)["signal"]
    if signal["logprobs_mode"] != RAW:
        raise ProvenanceError(
            f"{observations}: log-probabilities must be '{RAW}' (before temperature), were "
            f"'{signal['logprobs_mode']}'; generate the traces with that mode"
        )
    with threadpool_limits(1):  # the matrices are small: more threads only wait for each other
        frame = estimate(OBSERVATIONS.read(observations), group.split("+"), settings, f"{output}.searches.json")
    ESTIMATES.write(frame, output, {"group": group, "settings": dict(settings), "signal": signal})


def estimate(
    observations: pl.DataFrame, group: list[str], settings: Mapping[str, Any], searches: str | None = None
) -> pl.DataFrame:
    """Train on the group's `train` rows and estimate every domain; a frame of contract ESTIMATES.

    The file `searches` keeps what the grid searches choose, for a killed job and for domains that are added later.
    A training benchmark is evaluated on its `test` rows, any other on all its rows. Estimate and true accuracy are
    means over the same rows: those with a label and features.
    """
    usable = pl.col("label").is_not_null() & pl.col("feature_reason").is_null()
    trains = pl.col("benchmark").is_in(group)
    training_rows = observations.filter(usable, trains, pl.col("split") == "train")
    evaluated = observations.filter(~trains | (pl.col("split") == "test")).with_columns(usable=usable)
    rows = evaluated.filter("usable")
    x, y = training_rows.select(FEATURES).to_numpy(), training_rows["label"].to_numpy()
    training = TrainingGroup(x, y, settings, Choices(searches, x, y, settings) if searches else None)
    scaled = training.scaler.transform(rows.select(FEATURES).to_numpy()) if len(x) and len(rows) else None
    domains = _domains(evaluated, group)
    parts = []
    for name in settings["estimators"]:
        fitted = training.fit(name)
        parts.append(_estimates(name, fitted, scaled, rows["benchmark"], domains))
    frame = pl.concat(parts).with_columns(n_training_rows=pl.lit(len(y), pl.UInt32))
    return frame.select(ESTIMATES.schema.names())


def _domains(evaluated: pl.DataFrame, group: list[str]) -> pl.DataFrame:
    """One row per domain: role, true accuracy and counts."""
    role = pl.when(pl.col("benchmark").is_in(group)).then(pl.lit("training")).otherwise(pl.lit("held_out"))
    counts = evaluated.group_by("benchmark", maintain_order=True).agg(
        true_accuracy=pl.col("label").filter("usable").mean(),
        n_rows=pl.col("usable").sum().cast(pl.UInt32),
        n_excluded=(~pl.col("usable")).sum().cast(pl.UInt32),
    )
    return counts.with_columns(role=role)


def _estimates(
    name: str, fitted: Fitted, scaled: np.ndarray | None, benchmarks: pl.Series, domains: pl.DataFrame
) -> pl.DataFrame:
    """One estimator's mean P(correct) per domain, or null with the reason."""
    if fitted.reason or scaled is None:
        means = pl.DataFrame(schema={"benchmark": pl.String, "estimated_accuracy": pl.Float64})
    else:
        means = pl.DataFrame({"benchmark": benchmarks, "p": fitted.predict(scaled)})
        means = means.group_by("benchmark").agg(estimated_accuracy=pl.col("p").mean())
    chosen = json.dumps(fitted.hyperparameters) if fitted.hyperparameters else None
    reason = (
        pl.when(pl.lit(fitted.reason is not None))
        .then(pl.lit(fitted.reason))
        .when(pl.col("n_rows") == 0)
        .then(pl.lit("no row of the domain has a label and features"))
    )
    return domains.join(means, on="benchmark", how="left", maintain_order="left").with_columns(
        estimator=pl.lit(name), hyperparameters=pl.lit(chosen, pl.String), reason=reason
    )
