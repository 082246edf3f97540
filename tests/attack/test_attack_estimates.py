"""Rows that estimators cannot learn from or be asked about: `estimates.yaml`. By the estimate stage, every family."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from attack_cases import ROOT, Case, attack, cases
from observations import BESIDE

from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.schemas.estimate_schema import ESTIMATES
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config.group_estimates import estimation_settings
from entropy_sentinel.study.stages.estimate_stage import write_estimates

pytestmark = pytest.mark.slow

N = 100  # rows of each of the domains a, on which is trained, and b
# One of each family, with all features and with few.
ESTIMATORS = (
    "logistic-17d-balanced-isotonic",
    "logistic-17d-unbalanced-uncalibrated",
    "forest-17d-balanced-isotonic",
    "mlp-17d-balanced-isotonic",
    "mlp-3d-unbalanced-uncalibrated",
    "baseline-ppl",
    "baseline-se_sum",
    "group-accuracy",
    "atc-max",
    "atc-ppl",
    "log-3d",
    "consensus",
    "median-of-seven",
    "recommended",
    "doc-lntp",
)
SMALL = {"trees": 5, "max_depth": [3], "min_samples_split": [2], "hidden_layers": [[3]]}


def observations(case: Case) -> pl.DataFrame:
    """Rows of two domains, of which the case changes columns: `all` or the first rows of a domain."""
    random = np.random.default_rng(11)
    parts = []
    for benchmark in ("a", "b"):
        features = {name: random.gamma(2, 1, N) for name in FEATURES}
        rows: dict[str, Any] = {
            "model": ["m"] * N,
            "benchmark": [benchmark] * N,
            "item_id": [f"{benchmark}-{number:05d}" for number in range(N)],
            "sample": [0] * N,
            "split": ["test" if number % 5 == 0 else "train" for number in range(N)],
            "label": list(features["se_sum"] + random.normal(size=N) < 2),
            "label_reason": [None] * N,
            "n_tokens": [9] * N,
            "finish_reason": ["stop"] * N,
            "feature_reason": [None] * N,
            **{name: list(values) for name, values in features.items()},
            **{name: [value] * N for name, value in BESIDE.items()},
        }
        for column, value in case.get(benchmark, {}).items():
            names = FEATURES if column == "features" else [column]
            for name in names:
                first = case.get("rows", N)
                rows[name][:first] = [value] * first
                if name in FEATURES and value is None:
                    rows["feature_reason"][:first] = ["none"] * first
        parts.append(OBSERVATIONS.frame(rows))
    return pl.concat(parts)


@cases("estimates.yaml")
def test_estimates(case: Case, tmp_path: Path) -> None:
    config = load_config(read_config([ROOT / "config.yaml"]) | {"estimation": SMALL})
    path, output = tmp_path / "m.parquet", tmp_path / "a.parquet"
    OBSERVATIONS.write(observations(case), path, {"logprobs": {"logprobs_mode": case.get("mode", "raw_logprobs")}})

    def estimates() -> pl.DataFrame:
        write_estimates(str(path), "a", estimation_settings(config, ESTIMATORS), str(output))
        return ESTIMATES.check(ESTIMATES.read(output))

    frame = attack(case["expect"], estimates)
    if frame is None:
        return
    assert sorted(frame["estimator"].unique()) == sorted(ESTIMATORS)
    for column in ("estimated_accuracy", "estimated_on_labelled", "true_accuracy"):
        assert frame[column].drop_nulls().is_between(0, 1).all(), "a share, and a number"
    null = frame["estimated_accuracy"].is_null()
    assert frame.filter(null)["reason"].is_not_null().all(), "null with a reason"
    for benchmark, share in case["expect"].get("estimated", {}).items():
        result = frame.filter(benchmark=benchmark)["estimated_accuracy"].is_not_null().mean()
        assert result == share, frame.filter(benchmark=benchmark).select("estimator", "estimated_accuracy", "reason")
    for benchmark, wanted in case["expect"].get("true", {}).items():
        assert frame.filter(benchmark=benchmark)["true_accuracy"].unique().to_list() == [wanted]
