"""AUROC of features and counts of labels, per model and domain, on small frames."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from entropy_sentinel.analyses.accuracy.domains import auroc_rows, domain_row, write_domains
from entropy_sentinel.analyses.accuracy.frames import AUROC, DOMAINS
from entropy_sentinel.features.catalogue import FEATURES
from entropy_sentinel.frames.observation import OBSERVATIONS


def observations(n: int = 5, **columns: Any) -> pl.DataFrame:
    """A frame OBSERVATIONS of model `m` on benchmark `c`; feature values are the number of the row."""
    rows = {
        "model": ["m"] * n,
        "benchmark": ["c"] * n,
        "item_id": [f"c-{number}" for number in range(n)],
        "sample": [0] * n,
        "split": ["test"] * n,
        "label": [True] * n,
        "label_reason": [None] * n,
        "n_tokens": [10] * n,
        "finish_reason": ["stop"] * n,
        **{name: [float(number) for number in range(n)] for name in FEATURES},
        "feature_reason": [None] * n,
    }
    return OBSERVATIONS.frame(rows | columns)


def test_domain_counts() -> None:
    row = domain_row(
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


def test_auroc_follows_the_sign_of_the_feature() -> None:
    # Incorrect rows have the larger values: AUROC 1 as a score for incorrect, 0 for a confidence.
    rows = AUROC.frame(list(auroc_rows(observations(4, label=[True, True, False, False]))))
    found = dict(AUROC.check(rows).select("feature", "auroc").iter_rows())
    assert (found["max"], found["ppl"], found["lntp"], found["skewness"]) == (1, 1, 0, 0)


def test_auroc_of_one_class_is_null() -> None:
    rows = AUROC.check(AUROC.frame(list(auroc_rows(observations(label=[False] * 5)))))
    assert rows["auroc"].null_count() == len(FEATURES)
    assert rows["reason"].unique().to_list() == ["no correct response"]


def test_domain_without_labels_has_no_accuracy(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{name}.parquet") for name in "mn"]
    labelled = observations(label=[True, True, True, False, None])
    unlabelled = observations(
        benchmark=["d"] * 5, label=[None] * 5, label_reason=["no reference"] * 5, item_id=list("12345")
    )
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
