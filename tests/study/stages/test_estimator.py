"""Stage `estimator`: kept estimators and P(correct) by response."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from observations import SETTINGS, observations

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.estimators.estimator_file import load_estimator
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.estimate_schema import SCORES
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS, observation_contract
from entropy_sentinel.statistics.ambiguity import AmbiguousShare
from entropy_sentinel.study.stages.estimate_stage import estimate_group, write_estimators

NAMES = ["forest-10d-balanced-isotonic", "atc-max", "baseline-mtp"]
LOGPROBS = {"logprobs_mode": "raw_logprobs", "top_k_returned": 20, "sampling": {}, "commit": None}


def write(folder: Path, frame: pl.DataFrame) -> tuple[list[Path], Path]:
    """Run the stage on a frame of observations, with group a+b."""
    source, files, scores = folder / "m.parquet", [folder / name for name in NAMES], folder / "scores.parquet"
    OBSERVATIONS.write(frame, source, {"logprobs": LOGPROBS})
    settings = SETTINGS | {"estimators": NAMES}
    write_estimators(str(source), "a+b", settings, [str(path) for path in files], str(scores))
    return files, scores


def test_kept_estimators_give_the_numbers_of_the_study(tmp_path: Path) -> None:
    frame = pl.concat([observations(name) for name in "abc"])
    files, scores = write(tmp_path, frame)
    study = estimate_group(frame, "a+b", SETTINGS | {"estimators": NAMES}).filter(benchmark="c")
    unseen = frame.filter(benchmark="c")
    for path, expected in zip(files, study["estimated_accuracy"], strict=True):
        loaded = load_estimator(path)
        assert loaded.estimator.accuracy(unseen) == pytest.approx(expected, abs=1e-12)
        assert (loaded.metadata.model, loaded.metadata.group) == ("m", "a+b")
        assert loaded.metadata.logprobs.to_dict() == LOGPROBS
        assert loaded.metadata.n_training_rows == 96
        assert set(loaded.metadata.feature_statistics) == set(FEATURES)
    result = SCORES.check(SCORES.read(scores))
    # The forest and the baseline give a probability, the threshold does not.
    assert result["estimator"].unique(maintain_order=True).to_list() == [NAMES[0], NAMES[2]]
    assert len(result) == 2 * len(frame)
    means = result.filter(benchmark="c").group_by("estimator", maintain_order=True).agg(pl.col("p").mean())["p"]
    assert np.allclose(means, study.filter(pl.col("estimator") != "atc-max")["estimated_accuracy"], atol=1e-12)
    assert read_provenance(scores)["group"] == "a+b"


def test_a_kept_estimator_says_how_many_training_questions_look_ambiguous(tmp_path: Path) -> None:
    """The signal is known of the train split's first five questions of `a`, two of which have several answers."""
    frame = pl.concat([observations(name) for name in "abc"])
    trained = frame.filter(pl.col("split") == "train", benchmark="a")["item_id"].unique(maintain_order=True)[:5]
    stable = pl.col("item_id").replace_strict(dict(zip(trained, (1, 2, 1, 3, 0), strict=True)), default=None)
    signals = {name: pl.lit(None, pl.Float64) for name in ("semantic_entropy", "answer_classes")}
    frame = frame.with_columns(**signals, stable_classes=stable.cast(pl.Float64))
    about = {"logprobs": LOGPROBS, "families": ["semantics"]}
    observation_contract(["semantics"]).write(frame, tmp_path / "m.parquet", about)
    settings = SETTINGS | {"estimators": ["atc-max"]}
    path = tmp_path / "atc-max"
    write_estimators(str(tmp_path / "m.parquet"), "a+b", settings, [str(path)], str(tmp_path / "scores.parquet"))
    assert load_estimator(path).metadata.ambiguous == {"a": AmbiguousShare(0.4, 5)}


def test_a_group_that_nothing_can_be_fitted_on_says_so_in_every_file(tmp_path: Path) -> None:
    frame = pl.concat([observations(name) for name in "abc"]).with_columns(label=pl.lit(None, pl.Boolean))
    files, scores = write(tmp_path, frame)
    for path in files:
        with pytest.raises(InputError, match="could not be fitted: the training group has no row with a label"):
            load_estimator(path)
    assert SCORES.read(scores).is_empty()


def test_a_group_that_keeps_no_estimator_has_no_scores(tmp_path: Path) -> None:
    OBSERVATIONS.write(observations("a"), tmp_path / "m.parquet", {"logprobs": LOGPROBS})
    settings = SETTINGS | {"estimators": []}
    write_estimators(str(tmp_path / "m.parquet"), "a", settings, [], str(tmp_path / "scores.parquet"))
    assert SCORES.read(tmp_path / "scores.parquet").is_empty()
