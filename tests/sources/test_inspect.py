"""Logs that inspect_ai made of given answers: traces and labels in one."""

import json
import math
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calling import run

import entropy_sentinel as es
from entropy_sentinel.features.catalogue import FEATURES
from entropy_sentinel.frames.errors import IncompleteFileError, InputError
from entropy_sentinel.frames.generation import REFUSED
from entropy_sentinel.sources.logs.inspect_samples import label_of

# Made by inspect_numbers.py: three samples in three epochs, of which the last fails, scored in two ways, in both forms.
LOGS = {form: Path(__file__).parent / "logs" / f"numbers.{form}" for form in ("eval", "json")}
# Of each step the log-probabilities of the most likely tokens, the sampled one first.
STEPS = [[-0.1, -2.5], [-0.7, -0.8]]


def test_a_sample_is_a_response() -> None:
    traces = es.read_logs(LOGS["eval"], scorer="exact").sort("item_id", "sample")
    columns = ["item_id", "sample", "benchmark", "finish_reason", "seed", "prompt_tokens", "metadata.level"]
    failed, one, two = (traces.filter(item_id=name).select(columns) for name in ("three", "one", "two"))
    assert one.rows() == [("one", epoch, "numbers", "stop", 5, 7, "o") for epoch in range(3)]
    assert two["sample"].to_list() == [0, 1, 2]
    assert failed["finish_reason"].unique().to_list() == [f"{REFUSED}RuntimeError('no such tool')"]
    assert traces["model"].unique().sort().to_list() == ["(not named)", "m"]
    question = es.read_logs(LOGS["eval"], columns=["question"])["question"].unique().sort()
    assert question.to_list() == [f"Which number is {name}?" for name in ("one", "three", "two")]


def test_scores_are_labels() -> None:
    labels = es.read_labels(LOGS["eval"], scorer="exact").group_by("item_id").agg(pl.col("label").unique())
    assert dict(labels.rows()) == {"one": [True], "two": [False], "three": [None]}
    # Of a folder, the logs of evaluations are files of labels too.
    includes = es.read_labels(LOGS["eval"].parent, scorer="includes").filter(item_id="two")["label"]
    assert includes.to_list() == [True] * 3
    unnamed = es.read_labels(LOGS["eval"]).filter(item_id="one").row(0, named=True)
    assert unnamed["label"] is None
    assert "exact, includes" in unnamed["label_reason"]
    with pytest.raises(InputError, match="exact, includes"):
        es.fit(es.read_features(LOGS["eval"]), estimator="group-accuracy")


@pytest.mark.parametrize("form", ["eval", "json"])
def test_features_are_those_of_the_steps(form: str) -> None:
    """Entropy and likelihood by their definitions, of the probabilities without what is left over."""
    features = es.read_features(LOGS[form], scorer="exact").filter(item_id="one")
    entropies = [-sum(math.exp(value) * value for value in step) for step in STEPS]
    rows = features.select("max", "mean", "nll_avg").unique().rows()
    assert rows == [pytest.approx((max(entropies), sum(entropies) / 2, 0.4), abs=1e-6)]
    other = es.read_features(LOGS["json" if form == "eval" else "eval"], scorer="exact").filter(item_id="one")
    assert features.select(FEATURES, "label").equals(other.select(FEATURES, "label"))


def test_what_a_score_says() -> None:
    def verdict(value: Any, **more: Any) -> bool | None:
        return label_of({"scores": {"s": {"value": value, **more}}}, None)[0]

    given = ["C", "I", "N", "P", True, False, 1, 0.0, 0.5, float("nan"), 7, "maybe", ["C"]]
    expected = [True, False, False, None, True, False, True, False, None, None, None, None, None]
    assert [verdict(value) for value in given] == expected
    sub = {"scores": {"s": {"value": {"right": 1, "neat": 0}}}}
    assert [label_of(sub, f"s.{key}")[0] for key in ("right", "neat")] == [True, False]
    failed = {"scores": {"s": {"value": float("nan"), "reason": "grader_failed"}}}
    assert label_of(failed, "s") == (None, "grader_failed")
    assert label_of({"scores": {}, "error": {"message": "x"}}, None)[1] == "the sample failed before it was scored"


def test_fit_and_estimate_need_no_files_of_labels(tmp_path: Path, capsys: Any) -> None:
    estimator, log = tmp_path / "mine.estimator", LOGS["eval"]
    run(capsys, "fit", log, "--scorer", "exact", "-e", "group-accuracy", "-o", estimator)
    run(capsys, "estimate", estimator, log, "--scorer", "includes", "-o", tmp_path / "slices.json")
    (row, *_) = json.loads((tmp_path / "slices.json").read_text())["slices"]
    # By `exact`, three of six are right; by `includes`, all.
    assert (row["n_labelled"], row["estimated_accuracy"], row["true_accuracy"]) == (6, 0.5, 1.0)


def test_a_study_and_a_monitor_take_the_scores(tmp_path: Path, capsys: Any) -> None:
    folder, estimator = LOGS["eval"].parent, tmp_path / "mine.estimator"
    commands = [
        ["init", tmp_path / "mine.yaml", "--log", LOGS["eval"], "--by", "metadata.level"],
        ["fit", LOGS["eval"], "-e", "group-accuracy", "-o", estimator],
        ["monitor", estimator, LOGS["eval"], "--labels", folder, "--json"],
    ]
    for command in commands:
        _, printed, _ = run(capsys, *command, "--scorer", "exact")
    (row,) = json.loads(printed)["slices"]
    assert (row["n_labelled"], row["labelled_accuracy"]) == (6, 0.5)
    labels = {path.stem: pl.read_parquet(path)["label"].to_list() for path in tmp_path.rglob("labels/*/*.parquet")}
    assert labels == {"o": [True] * 3, "t": [None, False] * 3}  # null for the sample that failed


def test_a_log_that_is_damaged_or_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "half.eval").write_bytes(LOGS["eval"].read_bytes()[:-100])
    with pytest.raises(IncompleteFileError, match=r"half\.eval"):
        es.read_logs(tmp_path / "half.eval")
    with zipfile.ZipFile(tmp_path / "other.eval", "w") as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(InputError, match=r"other\.eval.*header\.json"):
        es.read_logs(tmp_path / "other.eval")
    from backports.zstd import zipfile as archives

    # A run that was cut off has no header yet; a sample that is broken is named, and the others are read.
    with archives.ZipFile(LOGS["eval"]) as old, zipfile.ZipFile(tmp_path / "cut.eval", "w") as new:
        for name in old.namelist():
            if name not in ("header.json", "summaries.json", "reductions.json"):
                new.writestr(name, b"{" if name == "samples/one_epoch_2.json" else old.read(name))
    read = es.open_logs(tmp_path / "cut.eval")
    assert sum(map(len, read)) == 8
    assert ["samples/one_epoch_2.json" in line for line in read.summary.lines()] == [True]
