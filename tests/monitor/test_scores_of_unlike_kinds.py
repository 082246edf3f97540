"""Scores of real answers to another kind of question say that they may be far off."""

from pathlib import Path

import polars as pl
import pytest

import entropy_sentinel as es

EXAMPLES = Path(__file__).parents[2] / "examples"
MODEL = "qwen2.5-coder-0.5b"

pytestmark = pytest.mark.slow  # real answers are read and fitted


def test_trivia_are_unfamiliar_to_labels_of_mathematics_and_more_mathematics_is_not() -> None:
    names = ["svamp", "gsm8k", "math", "theoremqa"]
    paths = [EXAMPLES / f"real/traces/{MODEL}/{name}.parquet" for name in names]
    labels = es.read_labels([EXAMPLES / f"real/labels/{MODEL}/{name}.parquet" for name in names])
    fitted = es.fit(paths, labels)
    asked = [EXAMPLES / f"real/traces/{MODEL}/scibench.parquet", EXAMPLES / f"kinds/traces/{MODEL}/facts.parquet"]
    scores = es.score(fitted, es.read_features(asked), any_model=True)
    told = dict(scores.group_by("benchmark").agg(pl.col("unfamiliar").unique()).iter_rows())
    assert told == {"scibench": [False], "facts": [True]}
