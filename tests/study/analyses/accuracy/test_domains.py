"""AUROC of features and counts of labels, per model and domain, on small frames."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from observations import observations as shared_observations

from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_frames import AUROC, DOMAINS
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_measures import (
    build_domain_row,
    compute_auroc_rows,
    write_domains,
)


def observations(n: int = 5, **columns: Any) -> pl.DataFrame:
    """Rows of model `m` on benchmark `c`, all correct; feature values are the number of the row."""
    values = {name: [float(number) for number in range(n)] for name in FEATURES}
    return shared_observations("c", n, **({"label": [True] * n} | values | columns))


def test_domain_counts() -> None:
    row = build_domain_row(
        observations(
            label=[True, True, False, None, None],
            label_reason=[None, None, None, "no final answer", "empty response"],
            feature_reason=[None, None, None, None, "empty response"],
            finish_reason=["stop", "length", "content_filter", "length", "refused: too long"],
            n_tokens=[10, 20, 30, 40, 0],
        )
    )
    DOMAINS.check(DOMAINS.frame([row]))
    assert (row["model"], row["benchmark"], row["n_responses"], row["n_correct"]) == ("m", "c", 5, 2)
    assert (row["n_incorrect"], row["n_unlabelled"], row["n_featureless"], row["n_truncated"]) == (1, 2, 1, 3)
    assert row["mean_tokens"] == 20
    assert row["accuracy"] == pytest.approx(2 / 3)
    # Cut off are the second, which is correct, the third, which is not, and the fourth, which has no label.
    assert (row["n_truncated_correct"], row["n_truncated_incorrect"]) == (1, 1)
    assert row["accuracy_whole"] == 1
    assert row["reasons"] == '{"empty response": 2, "no final answer": 1}'


def test_questions_that_look_ambiguous_count_once_each() -> None:
    rows = observations(6, item_id=["c-0", "c-0", "c-1", "c-1", "c-2", "c-3"], sample=[0, 1, 0, 1, 0, 0]).with_columns(
        stable_classes=pl.Series([None, 2.0, 1.0, 1.0, 3.0, None])
    )
    result = build_domain_row(rows)
    assert (result["n_ambiguous"], result["n_questions"]) == (2, 3)
    for unknown in (rows.drop("stable_classes"), rows.with_columns(stable_classes=pl.lit(None, pl.Float64))):
        result = build_domain_row(unknown)
        assert (result["n_ambiguous"], result["n_questions"]) == (None, None)


def test_auroc_follows_the_sign_of_the_feature() -> None:
    # Incorrect rows have the larger values: AUROC 1 as a score for incorrect, 0 for a confidence.
    rows = AUROC.frame(list(compute_auroc_rows(observations(4, label=[True, True, False, False]))))
    result = dict(AUROC.check(rows).select("feature", "auroc").iter_rows())
    assert (result["max"], result["ppl"], result["lntp"], result["skewness"]) == (1, 1, 0, 0)


def test_auroc_of_one_class_is_null() -> None:
    rows = AUROC.check(AUROC.frame(list(compute_auroc_rows(observations(label=[False] * 5)))))
    assert rows["auroc"].null_count() == len(FEATURES)
    assert rows["reason"].unique().to_list() == ["no correct response"]


def test_domain_without_labels_has_no_accuracy(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{name}.parquet") for name in "mn"]
    labelled = observations(label=[True, True, True, False, None])
    unlabelled = observations(label=[None] * 5, label_reason=["no reference"] * 5, item_id=list("12345"))
    unlabelled = unlabelled.with_columns(benchmark=pl.lit("d"))
    OBSERVATIONS.write(pl.concat([labelled, unlabelled]), paths[0], {})
    OBSERVATIONS.write(labelled.with_columns(model=pl.lit("n")), paths[1], {})
    write_domains(paths, ["m", "n"], str(tmp_path / "auroc.parquet"), str(tmp_path / "domains.parquet"))
    domains = DOMAINS.read(tmp_path / "domains.parquet")
    assert domains.select("model", "benchmark", "n_correct", "n_incorrect", "n_unlabelled", "accuracy").rows() == [
        ("m", "c", 3, 1, 1, 0.75),
        ("m", "d", 0, 0, 5, None),
        ("n", "c", 3, 1, 1, 0.75),
    ]
    auroc = AUROC.read(tmp_path / "auroc.parquet").filter(benchmark="d")
    assert auroc["reason"].unique().to_list() == ["no response with a label and features"]


def test_missing_mass_of_a_domain_is_over_tokens_and_not_over_responses() -> None:
    """By hand: (10 * 0.9 + 30 * 0.5) / 40 of the two responses with features; all three for the counts."""
    row = build_domain_row(
        observations(
            3,
            feature_reason=[None, None, "empty response"],
            trace_tokens=[10, 30, 5],
            captured_mass=[0.9, 0.5, None],
            open_steps=[0.0, 1.0, None],
            entropy_error_bound=[0.1, 0.3, None],
            clamped_tokens=[1, 2, 0],
            displaced_steps=[0, 4, 1],
        )
    )
    names = ("captured_mass", "open_steps", "entropy_error_bound")
    assert [row[name] for name in names] == pytest.approx([0.6, 0.75, 0.25])
    assert (row["trace_tokens"], row["clamped_tokens"], row["displaced_steps"]) == (45, 3, 5)


def test_error_bound_is_unknown_where_a_vocabulary_is() -> None:
    row = build_domain_row(observations(2, entropy_error_bound=[0.1, None]))
    assert (row["entropy_error_bound"], row["captured_mass"]) == (None, 0.5)
    assert build_domain_row(observations(1, feature_reason=["empty response"]))["captured_mass"] is None
