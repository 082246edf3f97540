"""Stage `observation`: features, labels and splits joined."""

from pathlib import Path

import polars as pl
import pytest

from entropy_sentinel.features.catalogue import EXTRAS, FEATURE_FRAME, FEATURES
from entropy_sentinel.frames.errors import ProvenanceError
from entropy_sentinel.frames.label import LABELS
from entropy_sentinel.signals.observation_frame import OBSERVATIONS
from entropy_sentinel.stages.observation import observe, write_observations


def test_observe_joins_on_item_and_sample() -> None:
    keys = {"item_id": ["c-0", "c-0", "c-1", "d-0"], "sample": [0, 1, 0, 0]}
    labels = LABELS.frame(
        keys | {"label": [True, False, None, True], "reason": [None, None, "x", None], "answer": [None] * 4}
    ).reverse()
    features = FEATURE_FRAME.frame(
        keys
        | {name: [1.0, 2.0, 3.0, 4.0] for name in FEATURES}
        | {
            "model": ["m"] * 4,
            "benchmark": ["c", "c", "c", "d"],
            "n_tokens": [1] * 4,
            "displaced_steps": [0, 0, 2, 0],
            "finish_reason": ["stop"] * 4,
            "clamped_tokens": [0, 3, 0, 0],
            "trace_tokens": [1] * 4,
            "cut_off": [False] * 4,
            **dict.fromkeys(EXTRAS, [None] * 4),
            "captured_mass": [0.9, 0.8, 0.7, 0.6],
            "reason": [None] * 4,
        }
    )
    items = pl.DataFrame(
        {"item_id": ["d-0", "c-1", "c-0"], "split": ["train", "test", "train"], "kind": [None, "odd", "even"]}
    )
    found = OBSERVATIONS.check(observe(items, labels, features))
    assert found["label"].to_list() == [True, False, None, True]
    assert found["mean"].to_list() == [1.0, 2.0, 3.0, 4.0]
    assert found["clamped_tokens"].to_list() == [0, 3, 0, 0]
    assert found["displaced_steps"].to_list() == [0, 0, 2, 0]
    assert found["captured_mass"].to_list() == [0.9, 0.8, 0.7, 0.6]
    assert found["split"].to_list() == ["train", "train", "test", "train"]
    assert found["benchmark"].to_list() == ["c", "c", "c", "d"]
    assert found["kind"].to_list() == ["even", "even", "odd", None]


def traced(temperature: float = 0.5) -> dict:
    return {"logprobs_mode": "raw_logprobs", "top_k_returned": 20, "sampling": {"temperature": temperature}}


def test_traces_of_another_kind_are_refused(tmp_path: Path) -> None:
    empty = FEATURE_FRAME.frame({name: [] for name in FEATURE_FRAME.schema})
    FEATURE_FRAME.write(empty, tmp_path / "a.parquet", traced())
    FEATURE_FRAME.write(empty, tmp_path / "b.parquet", traced(temperature=1.0))
    paths = [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]
    with pytest.raises(ProvenanceError, match="b.parquet: its traces are of another kind"):
        write_observations(["x", "y"], ["x", "y"], paths, {}, str(tmp_path / "out.parquet"))
