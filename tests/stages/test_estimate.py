"""Stages `observations`, `estimates` and `sweep` on small frames, worked out by hand."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

from entropy_sentinel.analyses.accuracy.frames import AUROC, DOMAINS, SWEEP
from entropy_sentinel.analyses.accuracy.sweep import auroc_of_features, domain_row, sweep_rows
from entropy_sentinel.features.catalogue import FEATURES
from entropy_sentinel.frames.benchmark import BENCHMARKS
from entropy_sentinel.frames.errors import ProvenanceError
from entropy_sentinel.frames.estimate import ESTIMATES
from entropy_sentinel.frames.feature import FEATURE_FRAME
from entropy_sentinel.frames.label import LABELS
from entropy_sentinel.frames.observation import OBSERVATIONS
from entropy_sentinel.stages.estimate import estimate, write_estimates
from entropy_sentinel.stages.observation import observe, write_observations

SETTINGS = {
    "seed": 42,
    "folds": 5,
    "trees": 10,
    "max_depth": [3],
    "min_samples_split": [2],
    "hidden_layers": [[5]],
    "estimators": ["forest-10d-balanced-isotonic", "baseline-se_sum"],
}


def observations(benchmark: str, n: int = 60, **columns: object) -> pl.DataFrame:
    """Rows of one benchmark; se_sum decides the label but for noise. Every fifth item is a test item."""
    rng = np.random.default_rng(sum(benchmark.encode()))
    features = {name: rng.gamma(2, 1, size=n) for name in FEATURES}
    data = {
        "benchmark": [benchmark] * n,
        "item_id": [f"{benchmark}-{number:05d}" for number in range(n)],
        "sample": [0] * n,
        "split": ["test" if number % 5 == 0 else "train" for number in range(n)],
        "label": features["se_sum"] + rng.normal(size=n) < 2,
        "label_reason": [None] * n,
        "n_tokens": [10] * n,
        "finish_reason": ["stop"] * n,
        "feature_reason": [None] * n,
        **features,
    }
    return OBSERVATIONS.frame(data | columns)


def test_domains_and_scopes() -> None:
    frame = pl.concat([observations(name) for name in "abc"])
    found = ESTIMATES.check(estimate(frame, ["a", "b"], SETTINGS))
    counts = found.filter(estimator="baseline-se_sum").select("benchmark", "role", "n_rows", "n_training_rows").rows()
    # Training benchmarks: 12 test rows of 60, and 48 + 48 rows to train on.
    assert counts == [("a", "training", 12, 96), ("b", "training", 12, 96), ("c", "held_out", 60, 96)]


def test_baseline_estimate_is_the_mean_of_platt_scaled_probabilities() -> None:
    frame = pl.concat([observations("a"), observations("c")])
    found = estimate(frame, ["a"], SETTINGS).filter(estimator="baseline-se_sum")
    train, unseen = frame.filter(benchmark="a", split="train"), frame.filter(benchmark="c")
    mean, std = train["se_sum"].mean(), train["se_sum"].std(ddof=0)
    platt = LogisticRegression().fit((train[["se_sum"]].to_numpy() - mean) / std, train["label"])
    expected = platt.predict_proba((unseen[["se_sum"]].to_numpy() - mean) / std)[:, 1].mean()
    row = found.row(1, named=True)
    assert row["estimated_accuracy"] == pytest.approx(expected, abs=1e-12)
    assert row["true_accuracy"] == unseen["label"].mean()


def test_searches_are_kept_for_a_killed_job_and_for_a_domain_added_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches, two = str(tmp_path / "searches.json"), pl.concat([observations("a"), observations("c")])
    settings = SETTINGS | {
        "max_depth": [2, 3],
        "estimators": ["forest-10d-balanced-isotonic", "mlp-1d-balanced-isotonic"],
    }
    first = estimate(two, ["a"], settings, searches)
    forbidden = lambda *_: pytest.fail("searched again")  # noqa: E731
    monkeypatch.setattr("entropy_sentinel.estimators.training.search_forest", forbidden)
    monkeypatch.setattr("entropy_sentinel.estimators.training.GridSearchCV", forbidden)
    three = estimate(pl.concat([two, observations("d")]), ["a"], settings, searches)
    assert three.filter(pl.col("benchmark") != "d").equals(first)
    assert three.filter(benchmark="d")["estimated_accuracy"].null_count() == 0
    for other in (settings | {"max_depth": [2]}, settings | {"seed": 1}):
        with pytest.raises(pytest.fail.Exception, match="searched again"):
            estimate(two, ["a"], other, searches)
    with pytest.raises(pytest.fail.Exception, match="searched again"):
        estimate(pl.concat([observations("a", n=55), observations("c")]), ["a"], settings, searches)


def test_rows_without_label_or_features_are_excluded_from_both_means() -> None:
    held_out = observations(
        "c", n=4, label=[True, None, False, True], label_reason=[None, "no final answer", None, None]
    )
    held_out = held_out.with_columns(
        feature_reason=pl.Series([None, None, None, "empty response"]),
        se_sum=pl.Series([1.0, 2.0, 3.0, None]),
    )
    found = estimate(pl.concat([observations("a"), held_out]), ["a"], SETTINGS)
    row = found.filter(estimator="baseline-se_sum", benchmark="c").row(0, named=True)
    assert (row["true_accuracy"], row["n_rows"], row["n_excluded"]) == (0.5, 2, 2)
    assert row["estimated_accuracy"] is not None


def test_domain_without_any_usable_row_is_null_with_reason() -> None:
    unlabelled = observations("c", n=3, label=[None] * 3, label_reason=["no final answer"] * 3)
    found = estimate(pl.concat([observations("a"), unlabelled]), ["a"], SETTINGS)
    row = found.filter(estimator="baseline-se_sum", benchmark="c").row(0, named=True)
    assert (row["estimated_accuracy"], row["true_accuracy"], row["n_rows"], row["n_excluded"]) == (None, None, 0, 3)
    assert row["reason"] == "no row of the domain has a label and features"


def test_one_class_group_is_null_with_reason_everywhere() -> None:
    frame = pl.concat([observations("a", label=[True] * 60), observations("c")])
    found = estimate(frame, ["a"], SETTINGS)
    assert found["estimated_accuracy"].null_count() == len(found) == 4
    assert found["reason"].unique().to_list() == ["all training rows are correct"]
    for row in sweep_rows(found, "m", "a"):
        assert (row["aee"], row["rho"], row["n_domains"]) == (None, None, 0)
        assert row["reason"] == "all training rows are correct"


def test_domain_of_one_class_is_estimated_and_its_auroc_is_null() -> None:
    one_class = observations("c", label=[False] * 60)
    found = estimate(pl.concat([observations("a"), one_class]), ["a"], SETTINGS)
    assert found.filter(benchmark="c")["true_accuracy"].to_list() == [0.0, 0.0]
    assert found["estimated_accuracy"].null_count() == 0
    rows = AUROC.check(AUROC.frame(list(auroc_of_features(one_class, "m", "c"))))
    assert rows["auroc"].null_count() == 17
    assert rows["reason"].unique().to_list() == ["no correct response"]


def test_sweep_by_hand() -> None:
    estimates = ESTIMATES.frame(
        [
            ("x", "a", "training", 0.9, 0.8, 10, 0, 50, None, None),
            ("x", "b", "held_out", 0.5, 0.2, 10, 0, 50, None, None),
            ("x", "c", "held_out", 0.4, 0.6, 10, 0, 50, None, None),
            ("x", "d", "held_out", None, None, 0, 9, 50, None, "no row of the domain has a label and features"),
        ]
    )
    held_out, everything = sweep_rows(estimates, "m", "a")
    SWEEP.check(SWEEP.frame([held_out, everything]))
    assert held_out["aee"] == pytest.approx((0.3 + 0.2) / 2)
    assert held_out["rho"] == pytest.approx(-1)
    assert everything["aee"] == pytest.approx((0.1 + 0.3 + 0.2) / 3)
    assert everything["rho"] == pytest.approx(0.5)  # ranks 3 2 1 against 3 1 2: 1 - 6 * 2 / (3 * 8)
    assert (held_out["n_domains"], everything["n_domains"], held_out["k"]) == (2, 3, 1)


def test_domain_counts() -> None:
    frame = observations(
        "c",
        n=5,
        label=[True, True, False, None, None],
        label_reason=[None, None, None, "no final answer", "empty response"],
        feature_reason=[None, None, None, None, "empty response"],
        finish_reason=["stop", "length", "stop", "length", "stop"],
        n_tokens=[10, 20, 30, 40, 0],
    )
    row = domain_row(frame, "m", "c")
    DOMAINS.check(DOMAINS.frame([row]))
    assert (row["n_responses"], row["n_correct"]) == (5, 2)
    assert (row["n_incorrect"], row["n_unlabelled"], row["n_featureless"], row["n_truncated"]) == (1, 2, 1, 2)
    assert row["mean_tokens"] == 20
    assert row["accuracy"] == pytest.approx(2 / 3)
    assert row["reasons"] == '{"empty response": 2, "no final answer": 1}'


def test_observe_joins_on_item_and_sample() -> None:
    items = BENCHMARKS.frame(
        {"item_id": ["c-0", "c-1"], "question": ["?", "!"], "reference": ["1", "2"], "duplicate_of": ["c-0", "c-1"]}
    )
    keys = {"item_id": ["c-0", "c-0", "c-1", "c-1"], "sample": [0, 1, 0, 1]}
    labels = LABELS.frame(
        keys | {"label": [True, False, None, True], "reason": [None, None, "x", None], "answer": [None] * 4}
    ).reverse()
    features = FEATURE_FRAME.frame(
        keys
        | {name: [1.0, 2.0, 3.0, 4.0] for name in FEATURES}
        | {
            "n_tokens": [1] * 4,
            "displaced_steps": [0] * 4,
            "finish_reason": ["stop"] * 4,
            "clamped_tokens": [0] * 4,
            "reason": [None] * 4,
        }
    )
    found = OBSERVATIONS.check(observe("c", items, labels, features, test_share=0.5, seed=42))
    assert found["label"].to_list() == [True, False, None, True]
    assert found["mean"].to_list() == [1.0, 2.0, 3.0, 4.0]
    assert found.group_by("item_id").agg(pl.col("split").n_unique())["split"].to_list() == [1, 1]


def signal(mode: str = "raw_logprobs", temperature: float = 0.5) -> dict:
    return {"logprobs_mode": mode, "top_k_returned": 20, "sampling": {"temperature": temperature}}


def test_traces_of_another_kind_are_refused(tmp_path: Path) -> None:
    empty = FEATURE_FRAME.frame({name: [] for name in FEATURE_FRAME.schema})
    FEATURE_FRAME.write(empty, tmp_path / "a.parquet", signal())
    FEATURE_FRAME.write(empty, tmp_path / "b.parquet", signal(temperature=1.0))
    paths = [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]
    with pytest.raises(ProvenanceError, match="b.parquet: its traces are of another kind"):
        write_observations(["x", "y"], ["a", "b"], ["x", "y"], paths, {}, str(tmp_path / "out.parquet"))


def test_processed_logprobs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tiny.parquet"
    OBSERVATIONS.write(observations("a"), path, {"signal": signal("processed_logprobs")})
    with pytest.raises(ProvenanceError, match="must be 'raw_logprobs' .* were 'processed_logprobs'"):
        write_estimates(str(path), "a", SETTINGS, str(tmp_path / "out.parquet"))
