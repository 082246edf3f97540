"""A response counts once, and each counts: ids that are no ids, ids that are used again, exports that overlap."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from production import line, log_file, saved

import entropy_sentinel as es
from entropy_sentinel.logs.log_summary import EQUAL_NOTE

STEPS = [
    {
        "token": "Yes",
        "logprob": -0.1,
        "top_logprobs": [{"token": t, "logprob": v} for t, v in (("Yes", -0.1), ("No", -3.0))],
    }
]


@pytest.fixture(scope="module")
def estimator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("estimator"), "log-3d")


def reply(**changes: Any) -> dict[str, Any]:
    """A chat completion of one token."""
    choice = {"index": 0, "message": {"content": "Yes"}, "finish_reason": "stop", "logprobs": {"content": STEPS}}
    return {
        "id": "r-1",
        "object": "chat.completion",
        "model": "m",
        "created": 1793577600,
        "choices": [choice],
    } | changes


def counts(paths: list[Path], estimator: Path | None = None) -> list[int]:
    """The number of responses by each way to read files: features, and with an estimator monitor, estimate, score."""
    read = [len(es.read_features(paths)), len(es.read_features(paths, columns=["route"]))]
    if estimator is not None:
        read.append(int(es.monitor(estimator, paths).slices["n_responses"].sum()))
        read.append(int(es.estimate(estimator, paths)["n_responses"].sum()))
        read.append(len(es.score(estimator, paths)))
    return read


@pytest.mark.parametrize("blank", ["", "  ", None])
def test_an_empty_id_is_no_id(tmp_path: Path, blank: str | None) -> None:
    """TGI's endpoint for chats answers `"id": ""` always."""
    table = {name: value for name, value in line(0).items() if name != "time"}
    records = [
        *[reply(id=blank)] * 3,
        *[{"custom_id": blank, "response": {"body": reply(id=blank)}}] * 3,
        *[{"request": {}, "id": blank, "response": reply(id=blank)}] * 3,
        *[table | {"id": blank}] * 3,
    ]
    path = log_file(tmp_path / "a.jsonl", records)
    pl.DataFrame([table | {"id": blank}] * 3, schema_overrides={"id": pl.String}).write_parquet(tmp_path / "b.parquet")
    frame = es.read_logs([path, tmp_path / "b.parquet"])
    assert frame["item_id"].to_list() == [f"a-{n:05d}" for n in range(12)] + [f"b-{n:05d}" for n in range(3)]
    # Another id, where one of them has a text, counts.
    assert es.read_logs(reply(id="x") | {"n": 1})["item_id"].to_list() == ["x"]
    assert es.read_logs({"request": {}, "id": blank, "response": reply()})["item_id"].to_list() == ["r-1"]
    assert es.read_logs({"custom_id": blank, "response": {"body": reply()}})["item_id"].to_list() == ["r-1"]


def test_more_replies_with_an_empty_id_than_an_id_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entropy_sentinel.logs.response_keys._MAX_SAMPLES", 4)
    path = log_file(tmp_path / "a.jsonl", [reply(id="")] * 9)
    assert len(es.read_features(path)) == 9


def batch(day: int, number: int, **changes: Any) -> dict[str, Any]:
    """A line of a batch's output: each day has the same custom ids."""
    body = reply(id=f"chatcmpl-{day}-{number}", created=1793577600 + 86400 * day + number)
    return {"custom_id": f"request-{number}", "response": {"body": body | changes}}


@pytest.mark.parametrize("changes", [{}, {"id": ""}, {"id": "", "created": None}])
def test_daily_batches_that_use_their_custom_ids_again(estimator, tmp_path: Path, changes: dict[str, Any]) -> None:
    """The reply's own id tells them apart, else its time, else the date in the file's name."""
    paths = []
    for day in range(3):
        records = [batch(day, number, **changes) for number in range(4)]
        paths.append(log_file(tmp_path / f"2026-10-0{day + 1}.jsonl", records))
    assert counts(paths) == [12, 12]
    frame = es.read_features(paths)
    assert frame["item_id"].to_list() == [f"request-{number}" for number in range(4)] * 3
    copy = tmp_path / "again-2026-10-01.jsonl"
    copy.write_text(paths[0].read_text())
    assert counts([*paths, copy]) == [12, 12]


@pytest.mark.parametrize("time", [None, ...])
def test_daily_tables_count_alike_in_all_commands(estimator, tmp_path: Path, time: None) -> None:
    """Rows of two days with the same ids and the same answers: with times, or with a date in the file's name."""
    paths = []
    for day in (2, 3):
        of_day = {"time": ...} if time is ... else {"time": f"2026-11-0{day}T10:00:00Z"}
        path = tmp_path / f"day-2026-11-0{day}.jsonl"
        paths.append(log_file(path, [line(number, **of_day) for number in range(10)]))
    assert counts(paths, estimator) == [20] * 5
    copy = log_file(tmp_path / "copy-20261102.jsonl", [json.loads(row) for row in paths[0].read_text().splitlines()])
    assert counts([*paths, copy], estimator) == [20] * 5


def test_the_same_moment_in_another_form_is_the_same_response(tmp_path: Path) -> None:
    rows = [
        line(0, time=time)
        for time in ("2026-11-02T00:00:00Z", "2026-11-02 01:00:00+01:00", 1793577600, "1793577600000")
    ]
    assert len(es.read_features(log_file(tmp_path / "a.jsonl", rows))) == 1


def test_exports_without_ids_that_overlap_are_reported_alike(estimator, tmp_path: Path) -> None:
    """All count, because two requests may get the same answer; each command says how many are equal."""
    paths = [log_file(tmp_path / f"{n}.jsonl", [line(k, id=...) for k in range(10 * n, 10 * n + 15)]) for n in range(3)]
    assert counts(paths, estimator) == [45] * 5
    logs = es.open_logs(paths)
    assert sum(map(len, logs)) == 45
    assert logs.summary.count_duplicates() == {EQUAL_NOTE: 10}
    assert es.monitor(estimator, paths).problems.notes["equal-response"] == 10
    nights = [es.monitor(estimator, paths[:n], state=tmp_path / "state") for n in (1, 2, 3)]
    assert [night.problems.notes.get("equal-response", 0) for night in nights] == [0, 5, 5]


def test_equal_replies_of_two_models_with_one_id_are_two(tmp_path: Path) -> None:
    path = log_file(tmp_path / "a.jsonl", [reply(), reply(model="other"), reply()])
    frame = es.read_features(path)
    assert sorted(frame["model"]) == ["m", "other"]


def test_the_model_of_the_reply_counts_rather_than_the_requests() -> None:
    """An alias in the request stands for a dated model, which answers."""
    pair = {"request": {"model": "alias"}, "response": reply(model="model-2026-10-01")}
    assert es.read_logs(pair)["model"].to_list() == ["model-2026-10-01"]
    del pair["response"]["model"]
    assert es.read_logs(pair)["model"].to_list() == ["alias"]
