"""Stages `observations`, `estimates` and `sweep` on small frames, worked out by hand."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from observations import SETTINGS, observations
from sklearn.linear_model import LogisticRegression

from entropy_sentinel.core.errors import ProvenanceError
from entropy_sentinel.estimators.training_rows import TrainingRows
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.schemas.estimate_schema import ESTIMATES
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.study.stages.estimate_stage import estimate_group, write_estimates

ROOT = Path(__file__).parents[3]


def test_a_job_imports_nothing_that_it_does_not_use() -> None:
    """There are thousands of these jobs, of a second each: torch alone would double that."""
    heavy = {"torch", "pytest", "matplotlib", "sympy", "litellm", "datasets", "imblearn", "numba"}
    code = f"import sys, entropy_sentinel.study.stages.estimate_stage; print(*sorted({heavy} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "workflow", capture_output=True, text=True, check=True
    )
    assert done.stdout == "\n"


def test_domains_and_scopes() -> None:
    frame = pl.concat([observations(name) for name in "abc"])
    result = ESTIMATES.check(estimate_group(frame, "a+b", SETTINGS))
    counts = result.filter(estimator="baseline-se_sum").select("benchmark", "role", "n_rows", "n_training_rows").rows()
    # Training benchmarks: 12 test rows of 60, and 48 + 48 rows to train on.
    assert counts == [("a", "training", 12, 96), ("b", "training", 12, 96), ("c", "held_out", 60, 96)]


def platt(train: pl.DataFrame, values: pl.Series) -> np.ndarray:
    """P(correct) by a logistic regression on se_sum, which is scaled by mean and deviation of the training rows."""
    mean, std = train["se_sum"].mean(), train["se_sum"].std(ddof=0)
    fitted = LogisticRegression().fit((train[["se_sum"]].to_numpy() - mean) / std, train["label"])
    return fitted.predict_proba((values.to_numpy()[:, None] - mean) / std)[:, 1]


def test_baseline_estimate_is_the_mean_of_platt_scaled_probabilities() -> None:
    frame = pl.concat([observations("a"), observations("c")])
    result = estimate_group(frame, "a", SETTINGS).filter(estimator="baseline-se_sum")
    train, unseen = frame.filter(benchmark="a", split="train"), frame.filter(benchmark="c")
    expected = platt(train, unseen["se_sum"]).mean()
    row = result.row(1, named=True)
    assert row["estimated_accuracy"] == pytest.approx(expected, abs=1e-12)
    assert row["true_accuracy"] == unseen["label"].mean()


def test_one_class_group_is_null_with_reason_everywhere() -> None:
    frame = pl.concat([observations("a", label=[True] * 60), observations("c")])
    result = estimate_group(frame, "a", SETTINGS)
    assert result["estimated_accuracy"].null_count() == len(result) == 4
    assert result["reason"].unique().to_list() == ["all training rows are correct"]


def test_what_was_recommended_is_kept_with_the_errors_of_the_candidates_on_the_training_benchmarks() -> None:
    group = "a+b+c+d+e+f"
    frame = pl.concat([observations(name) for name in "abcdefg"])
    settings = SETTINGS | {"estimators": ["recommended", "atc-max"]}
    result = estimate_group(frame, group, settings)
    chosen = json.loads(result.filter(estimator="recommended")["hyperparameters"][0])
    assert chosen["domains"] == 6
    # Without each: fitted on the others, and judged on its training rows.
    train, errors = frame.filter(split="train"), []
    for domain in "abcdef":
        others = TrainingRows(*_rows(train.filter(pl.col("benchmark").is_in([*({*"abcdef"} - {domain})]))), settings)
        unseen, labels = _rows(train.filter(benchmark=domain))
        errors.append(abs(others.fit("atc-max").accuracy(unseen) - labels.mean()))
    assert chosen["leave_one_out_aee"]["atc-max"] == pytest.approx(np.mean(errors), abs=1e-4)
    # Nothing of it depends on the labels of the domain that is estimated.
    turned = frame.with_columns(label=pl.col("label") ^ (pl.col("benchmark") == "g"))
    assert estimate_group(turned, group, settings)["estimated_accuracy"].equals(result["estimated_accuracy"])


def test_a_training_group_of_nearly_one_class_carries_a_caution() -> None:
    frame = pl.concat([observations("a", label=[True] * 58 + [False] * 2), observations("c")])
    assert estimate_group(frame, "c", SETTINGS)["caution"].null_count() == 4
    (caution,) = estimate_group(frame, "a", SETTINGS)["caution"].unique()
    assert caution.startswith("only 2 of 48 training rows are incorrect")


def _rows(frame: pl.DataFrame) -> tuple[pl.DataFrame, np.ndarray]:
    return frame.select(FEATURES), frame["label"].to_numpy()


def test_domain_of_one_class_is_estimated() -> None:
    one_class = observations("c", label=[False] * 60)
    result = estimate_group(pl.concat([observations("a"), one_class]), "a", SETTINGS)
    assert result.filter(benchmark="c")["true_accuracy"].to_list() == [0.0, 0.0]
    assert result["estimated_accuracy"].null_count() == 0


def test_processed_logprobs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tiny.parquet"
    processed = {"logprobs_mode": "processed_logprobs", "top_k_returned": 20, "sampling": {}}
    OBSERVATIONS.write(observations("a"), path, {"logprobs": processed})
    with pytest.raises(ProvenanceError, match="must be 'raw_logprobs' .* got 'processed_logprobs'"):
        write_estimates(str(path), "a", SETTINGS, str(tmp_path / "out.parquet"))


def test_the_estimate_is_over_all_rows_with_features_and_errors_compare_the_labelled_ones() -> None:
    labels = {"label": [True, None, False, True], "label_reason": [None, "no final answer", None, None]}
    features = {"se_sum": [1.0, 2.0, 3.0, None], "feature_reason": [None, None, None, "empty response"]}
    held_out = observations("c", n=4, **labels, **features)
    frame = pl.concat([observations("a"), held_out])
    result = estimate_group(frame, "a", SETTINGS)
    row = result.filter(estimator="baseline-se_sum", benchmark="c").row(0, named=True)
    assert (row["true_accuracy"], row["n_rows"], row["n_labelled"], row["n_excluded"]) == (0.5, 3, 2, 1)
    train = frame.filter(benchmark="a", split="train")
    one, two, three = platt(train, pl.Series([1.0, 2.0, 3.0]))
    assert row["estimated_accuracy"] == pytest.approx((one + two + three) / 3, abs=1e-12)
    assert row["estimated_on_labelled"] == pytest.approx((one + three) / 2, abs=1e-12)


def test_a_domain_without_labels_is_estimated_all_the_same() -> None:
    labelled = observations("c", n=30)
    unlabelled = labelled.with_columns(label=pl.lit(None, pl.Boolean), label_reason=pl.lit("no reference"))
    with_labels, without = (
        estimate_group(pl.concat([observations("a"), rows]), "a", SETTINGS).filter(benchmark="c")
        for rows in (labelled, unlabelled)
    )
    assert without["estimated_accuracy"].equals(with_labels["estimated_accuracy"])
    assert without["reason"].null_count() == 2
    assert without["true_accuracy"].null_count() == without["estimated_on_labelled"].null_count() == 2
    assert without["n_labelled"].to_list() == [0, 0]


def test_a_domain_without_features_is_null_with_reason() -> None:
    empty = observations("c", n=3, feature_reason=["empty response"] * 3)
    result = estimate_group(pl.concat([observations("a"), empty]), "a", SETTINGS)
    row = result.filter(estimator="baseline-se_sum", benchmark="c").row(0, named=True)
    assert (row["estimated_accuracy"], row["true_accuracy"], row["n_rows"], row["n_excluded"]) == (None, None, 0, 3)
    assert row["reason"] == "no row of the domain has features"
