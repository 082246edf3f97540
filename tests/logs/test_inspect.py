"""Logs that inspect_ai made of given answers: traces and labels in one."""

import io
import json
import math
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calling import run

import entropy_sentinel as es
from entropy_sentinel.core.errors import IncompleteFileError, InputError
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.logs.inspect_samples import read_archive, read_json_log, read_label
from entropy_sentinel.logs.log_stream import Logs
from entropy_sentinel.schemas.generation_schema import REFUSED

# Made by inspect_numbers.py: three samples in three epochs, of which the last fails, scored in two ways, in both forms.
LOGS = {form: Path(__file__).parent / "samples" / f"numbers.{form}" for form in ("eval", "json")}
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


def test_estimates_and_labels_come_from_one_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A retried evaluation has a log for each attempt: the newest one's scores are the labels of both."""
    features = es.read_features(LOGS["json"], scorer="exact").filter(pl.col("reason").is_null())
    estimator = es.fit(features, estimator="atc-max", domain="item_id")
    read, read_file = list[str](), Logs._read_file

    def record(self: Logs, path: Any) -> Iterator[pl.DataFrame]:
        if isinstance(path, str):  # not the first record, whose columns are looked up
            read.append(Path(path).name)
        return read_file(self, path)

    monkeypatch.setattr(Logs, "_read_file", record)
    (row,) = es.estimate(estimator, LOGS["json"], (), scorer="exact").iter_rows(named=True)
    assert read == ["numbers.json"]
    # Three epochs of one, which is right, and of two, which is wrong.
    assert (row["n_labelled"], row["true_accuracy"]) == (6, 0.5)
    names = ["2026-11-01T09-00-00_a.json", "2026-11-02T09-00-00_a.json"]
    older = json.loads(LOGS["json"].read_text())
    for sample in older["samples"]:
        for score in (sample["scores"] or {}).values():
            score["value"] = "I"
    (tmp_path / names[0]).write_text(json.dumps(older))
    (tmp_path / names[1]).write_text(LOGS["json"].read_text())
    read.clear()
    (both,) = es.estimate(estimator, [tmp_path / name for name in names], (), scorer="exact").iter_rows(named=True)
    assert sorted(read) == names
    assert (both["n_labelled"], both["true_accuracy"]) == (6, 0.5)


def test_what_a_score_says() -> None:
    def verdict(value: Any, **more: Any) -> bool | None:
        return read_label({"scores": {"s": {"value": value, **more}}}, None)[0]

    given = ["C", "I", "N", "P", True, False, 1, 0.0, 0.5, float("nan"), 7, "maybe", ["C"]]
    expected = [True, False, False, None, True, False, True, False, None, None, None, None, None]
    assert [verdict(value) for value in given] == expected
    sub = {"scores": {"s": {"value": {"right": 1, "neat": 0}}}}
    assert [read_label(sub, f"s.{key}")[0] for key in ("right", "neat")] == [True, False]
    failed = {"scores": {"s": {"value": float("nan"), "reason": "grader_failed"}}}
    assert read_label(failed, "s") == (None, "grader_failed")
    assert read_label({"scores": {}, "error": {"message": "x"}}, None)[1] == "the sample failed before it was scored"


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
    assert ["samples/one_epoch_2.json" in line for line in read.summary.format_problems()] == [True]


HEADER: Any = {"eval": {"task": "t", "model": "m", "model_generate_config": {}}, "plan": {"config": {}}}
SAMPLE: Any = {"id": 1, "epoch": 1, "input": "q", "target": "a", "output": {"model": "m", "choices": []}}


def archive_of(path: Path, header: Any, *samples: Any) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(header))
        for number, sample in enumerate(samples):
            archive.writestr(
                f"samples/{number}_epoch_1.json", sample if isinstance(sample, bytes) else json.dumps(sample)
            )
    return path


def stream_of(content: bytes) -> io.BufferedReader:
    return io.BufferedReader(io.BytesIO(content))


@pytest.mark.parametrize("form", ["eval", "json"])
@pytest.mark.parametrize(
    ("header", "words"),
    [
        ([], "the log must be a JSON object, is list"),
        ({}, "eval must be a JSON object, is NoneType"),
        ({**HEADER, "plan": [1]}, "plan must be a JSON object, is list"),
        ({**HEADER, "plan": {"config": "x"}}, "config must be a JSON object, is str"),
    ],
)
def test_a_header_of_another_type_is_an_error(tmp_path: Path, header: Any, words: str, form: str) -> None:
    packed = archive_of(tmp_path / "a.eval", header, SAMPLE).read_bytes()
    content, read = (packed, read_archive) if form == "eval" else (json.dumps(header).encode(), read_json_log)
    with pytest.raises(IncompleteFileError, match=rf"^name.*{words}"):
        list(read(stream_of(content), "name", 1 << 20))


def test_samples_of_another_type_than_a_list_are_an_error(tmp_path: Path) -> None:
    content = json.dumps({**HEADER, "samples": {"a": 1}}).encode()
    with pytest.raises(IncompleteFileError, match="^name: samples must be a list, is dict"):
        list(read_json_log(stream_of(content), "name", 1 << 20))


def test_times_with_and_without_a_zone_are_of_one_type(tmp_path: Path) -> None:
    times = ["2026-01-01T00:00:00", "2026-01-01T00:00:00+00:00", "2026-01-01T02:00:00+02:00"]
    samples = [{**SAMPLE, "id": number, "completed_at": time} for number, time in enumerate(times)]
    times = es.read_logs(archive_of(tmp_path / "a.eval", HEADER, *samples))["time"]
    assert times.dtype == pl.Datetime("us", "UTC")
    assert times.n_unique() == 1


def test_an_archive_of_a_later_version_is_an_error(tmp_path: Path) -> None:
    log = archive_of(tmp_path / "a.eval", HEADER, SAMPLE)
    content = bytearray(log.read_bytes())
    place = content.find(b"PK\x01\x02")
    content[place + 6] = 99  # the version that is needed to unpack the first file, in the directory
    log.write_bytes(content)
    with pytest.raises(IncompleteFileError, match=r"a\.eval.*version 9\.9"):
        es.read_logs(log)


@pytest.mark.parametrize("stated", [None, 1000])
def test_what_an_archive_unpacks_to_is_bounded_whatever_size_it_states(tmp_path: Path, stated: int | None) -> None:
    """64 MB of blanks; the limit is 1 MB."""
    log = archive_of(tmp_path / "a.eval", HEADER, SAMPLE, b" " * (64 << 20))
    content = bytearray(log.read_bytes())
    for mark, size, name in ((b"PK\x01\x02", 24, 46), (b"PK\x03\x04", 22, 30)):
        place = content.find(mark)
        while stated is not None and place >= 0:
            if content[place + name :].startswith(b"samples/1"):
                content[place + size : place + size + 4] = stated.to_bytes(4, "little")
            place = content.find(mark, place + 4)
    log.write_bytes(content)
    tracemalloc.start()
    logs = es.open_logs(log, max_record_mb=1)
    assert sum(map(len, logs)) == 1
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 16 << 20
    assert ["samples/1_epoch_1.json" in line for line in logs.summary.format_problems()] == [True]


def test_samples_of_epochs_and_choices_do_not_collide_and_only_the_first_choice_is_scored(tmp_path: Path) -> None:
    choices = [{"message": {"content": text}, "stop_reason": "stop"} for text in "ab"]
    sample = {**SAMPLE, "output": {"model": "m", "choices": choices}, "scores": {"s": {"value": "C"}}}
    second = {**sample, "epoch": 2, "scores": {"s": {"value": "I"}}}
    log = archive_of(tmp_path / "a.eval", HEADER, second, sample)
    labels = es.read_labels(log).sort("sample")
    assert labels["sample"].to_list() == [0, 1, 2, 3]
    assert labels["label"].to_list() == [True, None, False, None]
    assert labels["label_reason"].to_list() == [None, "only the first choice was scored"] * 2


def test_settings_of_the_run_come_before_those_of_its_model(tmp_path: Path) -> None:
    header = {"eval": {**HEADER["eval"], "model_generate_config": {"seed": 1}}, "plan": {"config": {"seed": 2}}}
    assert es.read_logs(archive_of(tmp_path / "a.eval", header, SAMPLE))["seed"].to_list() == [2]


def test_a_response_that_reached_a_length_is_truncated(tmp_path: Path) -> None:
    step = {"token": "a", "logprob": -0.1, "top_logprobs": [{"token": "a", "logprob": -0.1}]}
    choice = {"message": {"content": "a"}, "logprobs": {"content": [step]}}
    reasons = {"stop": "stop", "max_tokens": "length", "model_length": "length"}
    outputs = {reason: {"model": "m", "choices": [choice | {"stop_reason": reason}]} for reason in reasons}
    samples = [{**SAMPLE, "id": reason, "output": output} for reason, output in outputs.items()]
    read = es.read_logs(archive_of(tmp_path / "a.eval", HEADER, *samples))
    assert dict(read.select("item_id", "finish_reason").rows()) == reasons
