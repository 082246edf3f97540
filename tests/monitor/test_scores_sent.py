"""Scores for other systems: OpenTelemetry's events, Langfuse's scores and annotation queues."""

import base64
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calling import run
from fake_api import Answer, FakeApi, fake_api
from production import fitted, saved, traffic, written

import entropy_sentinel as es
from entropy_sentinel.core import batch_posting, json_posting
from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.monitor.showing.langfuse import send_to_queue
from entropy_sentinel.monitor.showing.open_telemetry import make_events

SECRET = "sk-lf-0000-sekret-1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An estimator with P(correct), and a log of which two responses have no features."""
    folder = tmp_path_factory.mktemp("scored")
    saved(folder, "log-3d")
    rows = traffic(30).with_columns(
        pl.when(pl.col("item_id").is_in(["req-0003", "req-0004"])).then(pl.lit("no log-probabilities")).alias("reason")
    )
    written(rows, folder / "log.parquet")
    return folder


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-1")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", SECRET)


@contextmanager
def langfuse(answer: Callable[..., Answer]) -> Iterator[FakeApi]:
    """A server in the place of Langfuse's."""
    with fake_api(answer) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANGFUSE_BASE_URL", f"{server.base_url.removesuffix('/v1')}/")
        yield server


def call(folder: Path, *options: Any) -> list[Any]:
    return ["score", folder / "log-3d.estimator", folder / "log.parquet", *options]


def test_events_of_open_telemetry(folder: Path, capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    out = tmp_path / "events.jsonl"
    status, printed, _ = run(capsys, *call(folder, "--open-telemetry", "--json", "--output", out))
    assert (status, printed) == (0, out.read_text())
    lines = [json.loads(line) for line in printed.splitlines()]
    scores = es.score(folder / "log-3d.estimator", es.read_features(folder / "log.parquet"))
    assert lines == list(make_events(scores))
    assert {line["event_name"] for line in lines} == {"gen_ai.evaluation.result"}
    first = scores.row(0, named=True)
    assert lines[0]["attributes"] == {
        "gen_ai.evaluation.name": "entropy_sentinel.p_correct",
        "gen_ai.evaluation.score.value": first["p_correct"],
        "gen_ai.evaluation.score.label": "too few domains to say",
        "gen_ai.response.id": first["item_id"],
        "gen_ai.response.model": "m",
    }


def test_an_event_without_a_score_has_the_reason() -> None:
    row = {"model": "m", "item_id": "a", "p_correct": None, "verdict": None, "familiarity_reason": "no-slices"}
    row |= {"reason": "no log-probabilities", "reason_code": "no-logprobs"}
    (event,) = make_events(pl.DataFrame([row]))
    assert event["attributes"] == {
        "gen_ai.evaluation.name": "entropy_sentinel.p_correct",
        "gen_ai.response.id": "a",
        "gen_ai.response.model": "m",
        "error.type": "no-logprobs",
        "gen_ai.evaluation.explanation": "no log-probabilities",
    }


def test_events_are_json_lines(folder: Path, capsys: pytest.CaptureFixture) -> None:
    status, _, error = run(capsys, *call(folder, "--open-telemetry", "--output", "scores.csv"))
    assert status == 1
    assert ".jsonl" in error


def test_the_verdict_of_a_score_is_the_one_that_covers_it() -> None:
    rows = traffic(30)
    scores = es.score(fitted(), rows)
    assert set(scores["verdict"]) == {"too few domains to say"}
    other = es.score(fitted(), rows.with_columns(model=pl.lit("another")), any_model=True)
    assert set(other["verdict"]) == {"not validated"}


def test_langfuse_gets_each_score_with_the_same_id(folder: Path, keys: None, capsys) -> None:
    with langfuse(lambda *_: (200, {}, {"id": "x"}, 0.0)) as server:
        results = [run(capsys, *call(folder, "--langfuse", "observation")) for _ in range(2)]
    n = len(server.requests) // 2
    assert [(status, out) for status, out, _ in results] == [(0, f"Langfuse: {n} scores sent\n")] * 2
    assert set(server.paths) == {"/api/public/scores"}
    assert set(server.keys) == {f"Basic {base64.b64encode(f'pk-lf-1:{SECRET}'.encode()).decode()}"}
    scores = es.score(folder / "log-3d.estimator", es.read_features(folder / "log.parquet")).drop_nulls("p_correct")
    sent = {body["observationId"]: body["value"] for body in server.requests}
    assert sent == dict(scores.select("item_id", "p_correct").rows())
    assert {body["name"] for body in server.requests} == {"p_correct"}
    assert len({body["id"] for body in server.requests}) == n == len(scores)


def test_langfuse_is_asked_again_and_then_the_failure_is_told(folder: Path, keys: None, capsys) -> None:
    with langfuse(lambda _, number: (503 if number == 0 else 200, {}, {}, 0.0)):
        assert run(capsys, *call(folder, "--langfuse", "trace"))[0] == 0
    with langfuse(lambda *_: (401, {}, SECRET.encode(), 0.0)) as server:
        status, printed, error = run(capsys, *call(folder, "--langfuse", "trace", "--json"))
    assert (status, len(server.requests), len(printed.splitlines())) == (1, 1, 30)
    assert "did not take 30 of 30 scores: the server answered 401 Unauthorized; gave up after 1 request. Run" in error
    assert SECRET not in error


# What a server answers to a number, how many requests it gets at most for 28 scores, how many scores it does not take,
# and whether the rest is not tried.
SERVERS: dict[str, tuple[Callable[[int], int], int, int, bool]] = {
    "limits once": (lambda number: 429 if number == 0 else 200, 29, 0, False),
    "has no such address": (lambda _: 404, 1, 28, True),
    "refuses every score": (lambda _: 400, 1 + 2 + 8, 28, True),
    "fails": (lambda _: 503, 3, 28, True),
    "refuses one score": (lambda number: 400 if number == 5 else 200, 28, 1, False),
}


@pytest.mark.parametrize("what", SERVERS)
def test_a_server_that_takes_nothing_is_not_asked_for_each_score(what: str, keys: None, monkeypatch) -> None:
    monkeypatch.setattr(batch_posting, "_PAUSE_S", 0.01)
    status, n_requests, n_failed, gave_up = SERVERS[what]
    with langfuse(lambda _, number: (status(number), {}, {}, 0.0)) as server:
        address = f"{os.environ['LANGFUSE_BASE_URL']}api/public/scores"
        delivery = batch_posting.post_each([{"number": number} for number in range(28)], address, {}, attempts=3)
    assert (delivery.n_failed, delivery.gave_up) == (n_failed, gave_up)
    assert n_requests - 10 < len(server.requests) <= n_requests


def test_a_server_that_asks_to_wait_is_waited_for(keys: None, monkeypatch) -> None:
    monkeypatch.setattr(batch_posting, "_PAUSE_S", 0.01)
    with langfuse(lambda _, number: (429 if number == 0 else 200, {"Retry-After": "1"}, {}, 0.0)) as server:
        delivery = batch_posting.post_each([{}], f"{os.environ['LANGFUSE_BASE_URL']}api", {}, attempts=2)
    assert (delivery.n_failed, server.times[1] - server.times[0] >= 1) == (0, True)


def test_a_silent_server_is_waited_for_once(folder: Path, keys: None, capsys, monkeypatch) -> None:
    monkeypatch.setattr(json_posting, "TIMEOUT_S", 0.3)
    with langfuse(lambda *_: (200, {}, {}, 1.0)) as server:
        status, _, error = run(capsys, *call(folder, "--langfuse", "trace", "--json"))
        assert len(server.requests) == 1
    assert status == 1
    assert "30 of 30 scores: no answer within 0.3 seconds; gave up after 1 request" in error


def test_a_key_that_is_no_text_is_named(folder: Path, keys: None, capsys, monkeypatch) -> None:
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk-\udce4")
    status, _, error = run(capsys, *call(folder, "--langfuse", "trace"))
    assert (status, "langfuse: LANGFUSE_SECRET_KEY must be text in UTF-8" in error) == (1, True)


def test_json_of_scores_has_no_hidden_character(folder: Path, tmp_path: Path, capsys) -> None:
    hidden = "a\x9b31m\u202eb\x85\x7f\ufeff\U000e0041é"
    written(
        traffic(30).with_columns(item_id=pl.lit(hidden) + pl.int_range(pl.len()).cast(pl.String)),
        tmp_path / "l.parquet",
    )
    _, printed, _ = run(capsys, "score", folder / "log-3d.estimator", tmp_path / "l.parquet", "--json")
    assert {char for char in printed if not char.isprintable()} == {"\n"}
    assert [json.loads(line)["item_id"] for line in printed.splitlines()] == [f"{hidden}{n}" for n in range(30)]
    assert "é" in printed


def test_without_keys_nothing_is_read(folder: Path, capsys, monkeypatch) -> None:
    monkeypatch.delenv("LANGFUSE_SECRET_KEY", raising=False)
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-1")
    status, _, error = run(capsys, "score", folder / "log-3d.estimator", "missing.jsonl", "--langfuse", "trace")
    assert status == 1
    assert error.startswith(f"{ConfigError.__name__}: langfuse: set the environment variable LANGFUSE_SECRET_KEY")


def test_responses_to_label_go_to_an_annotation_queue(folder: Path, keys: None, capsys) -> None:
    with langfuse(lambda *_: (200, {}, {}, 0.0)) as server:
        options = ["--budget", "10", "--langfuse-queue", "queue/1", "--json"]
        status, out, _ = run(capsys, "sample", folder / "log-3d.estimator", folder / "log.parquet", *options)
    assert status == 0
    assert set(server.paths) == {"/api/public/annotation-queues/queue%2F1/items"}
    chosen = {row["item_id"] for row in json.loads(out)["responses"]}
    assert {body["objectId"] for body in server.requests} == chosen
    assert {body["objectType"] for body in server.requests} == {"TRACE"}


def test_a_queue_gets_no_response_twice_and_the_error_names_the_others(keys: None) -> None:
    rows = pl.DataFrame({"item_id": ["a", "b", "c"]})
    one = pytest.raises(InputError, match=r"1 of 3 responses: .* 503 .*twice: b$")
    with langfuse(lambda body, _: (503 if body["objectId"] == "b" else 200, {}, {}, 0.0)) as server, one:
        send_to_queue(rows, "trace", "q")
    assert sorted(body["objectId"] for body in server.requests) == ["a", "b", "c"]
    every = pytest.raises(InputError, match=r"3 of 3 responses: .* Nothing was added: run the command again$")
    with langfuse(lambda *_: (401, {}, {}, 0.0)), every:
        send_to_queue(rows, "trace", "q")
