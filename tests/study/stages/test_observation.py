"""Stage `observation`: features, labels and splits joined."""

from pathlib import Path

import polars as pl
import pytest
from observations import observations
from production import LOGPROBS

from entropy_sentinel.core.errors import ProvenanceError
from entropy_sentinel.features.feature_registry import FEATURE_FRAME
from entropy_sentinel.schemas.label_schema import LABELS
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.study.stages.observation_stage import join_observations, write_observations


def test_observe_joins_on_item_and_sample() -> None:
    keys = {"item_id": ["c-0", "c-0", "c-1", "d-0"], "sample": [0, 1, 0, 0]}
    message = {"label": [True, False, None, True], "reason": [None, None, "x", None], "answer": [None] * 4}
    own = {
        "benchmark": ["c", "c", "c", "d"],
        "mean": [1.0, 2.0, 3.0, 4.0],
        "clamped_tokens": [0, 3, 0, 0],
        "displaced_steps": [0, 0, 2, 0],
        "captured_mass": [0.9, 0.8, 0.7, 0.6],
    }
    rows = observations("c", 4, **keys).rename({"feature_reason": "reason"}).to_dict(as_series=False) | own
    labels = LABELS.frame(keys | message).reverse()
    features = FEATURE_FRAME.frame({name: rows[name] for name in FEATURE_FRAME.schema})
    items = pl.DataFrame(
        {"item_id": ["d-0", "c-1", "c-0"], "split": ["train", "test", "train"], "kind": [None, "odd", "even"]}
    )
    result = OBSERVATIONS.check(join_observations(items, labels, features))
    assert result["label"].to_list() == [True, False, None, True]
    for name, values in own.items():
        assert result[name].to_list() == values
    assert result["split"].to_list() == ["train", "train", "test", "train"]
    assert result["kind"].to_list() == ["even", "even", "odd", None]


def test_traces_of_another_kind_are_refused(tmp_path: Path) -> None:
    empty = FEATURE_FRAME.frame({name: [] for name in FEATURE_FRAME.schema})
    paths = [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]
    for path, temperature in zip(paths, (0.5, 1.0), strict=True):
        FEATURE_FRAME.write(empty, path, LOGPROBS | {"sampling": {"temperature": temperature}})
    with pytest.raises(ProvenanceError, match="b.parquet: .*differ in kind"):
        write_observations(["x", "y"], ["x", "y"], paths, {}, str(tmp_path / "out.parquet"))
