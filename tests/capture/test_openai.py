"""A client whose replies are written: the log holds what the client got, and the client notices nothing."""

import asyncio
import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calling import run
from fake_api import Answer, FakeApi, completion, fake_api, ok, refusal, step, user
from openai import AsyncOpenAI, OpenAI
from polars.testing import assert_frame_equal

import entropy_sentinel as es
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.features.feature_registry import FEATURES

STEPS = [step("4", -0.1), step("2", -0.7), step("!", -1.3)]


def chunks(body: dict[str, Any]) -> Iterator[bytes]:
    """A completion as the server-sent events of a stream, a token each."""
    reply = completion("", STEPS)
    for one in [*STEPS, None]:
        delta = {"content": one["token"]} if one else {}
        choice = {"index": 0, "delta": delta, "finish_reason": None if one else "stop"}
        logprobs = {"content": [one]} if one and body.get("logprobs") else None
        event = {**reply, "object": "chat.completion.chunk", "choices": [{**choice, "logprobs": logprobs}]}
        yield f"data: {json.dumps(event)}\n\n".encode()
    yield b"data: [DONE]\n\n"


def answer(body: dict[str, Any], _: int) -> Answer:
    if body["model"] == "strict" and "logprobs" in body:
        return refusal("logprobs are not supported")
    if body.get("stream"):
        return 200, {"Content-Type": "text/event-stream"}, chunks(body), 0.0
    return ok(completion("42!", STEPS if body.get("logprobs") else [], n_tokens=3))


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with fake_api(answer) as api:
        yield api


def captured(api: FakeApi, folder: Path, **options: Any) -> OpenAI:
    client = OpenAI(base_url=api.base_url, api_key="sk-" + "b2" * 12, max_retries=0)
    return es.capture(client, folder, **options)


def read(client: Any, folder: Path) -> pl.DataFrame:
    """What a client's log holds, once all of it is written."""
    client._client._transport.writer.close()
    return es.read_logs(folder)


def test_a_reply_is_in_the_log_as_the_client_got_it(api: FakeApi, tmp_path: Path) -> None:
    client = captured(api, tmp_path, metadata={"route": "billing", "tier": 2})
    reply = client.chat.completions.create(model="m", messages=user("6*7"), metadata={"tier": "3"})
    assert api.requests[0]["logprobs"] is True
    assert api.requests[0]["top_logprobs"] == 20
    log = read(client, tmp_path)
    assert log.select("text", "metadata.route", "metadata.tier").row(0) == ("42!", "billing", "3")
    assert_frame_equal(es.features(log).select(FEATURES), es.features(es.read_logs(reply)).select(FEATURES))
    assert "b2b2" not in str([path.read_bytes() for path in tmp_path.iterdir()])


def test_features_alone_are_what_the_whole_replies_give(
    api: FakeApi, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for keep in ("texts", "features"):
        client = captured(api, tmp_path / keep, metadata={"route": "billing", "note": "sk-" + "c3" * 12}, keep=keep)
        for _ in range(2):
            client.chat.completions.create(model="m", messages=user("a secret question"))
        client._client._transport.writer.close()
    (path,) = (tmp_path / "features").iterdir()
    assert path.name.endswith(".features.jsonl.gz")
    rows = gzip.decompress(path.read_bytes()).decode()
    assert not [text for text in ("secret", "c3c3", "42!") if text in rows]
    columns = [*FEATURES, "n_tokens", "metadata.route"]
    features, same = (es.read_features(tmp_path / keep).select(columns) for keep in ("features", "texts"))
    assert_frame_equal(features, same)
    # The command reads its own files, and the page lists all that they have.
    assert run(capsys, "features", tmp_path / "features", "--output", tmp_path / "f.parquet")[0] == 0
    assert_frame_equal(es.read_features(tmp_path / "f.parquet").select(columns), features)
    page = (Path(__file__).parents[2] / "docs" / "capture.md").read_text()
    further = set(json.loads(rows.splitlines()[0])) - set(FEATURES)
    assert {"buckets", "captured_mass"} <= further
    assert [name for name in further if f"`{name}`" not in page and not name.startswith("metadata.")] == []
    with pytest.raises(InputError, match=r"features\.jsonl\.gz: contains features, without log-probabilities"):
        es.read_logs(tmp_path / "features")


@pytest.mark.parametrize("status", [201, 202])
def test_replies_of_any_status_of_success_are_in_the_log(tmp_path: Path, status: int) -> None:
    """Gateways that are built on NestJS answer a POST with 201."""

    def created(body: dict[str, Any], number: int) -> Answer:
        _, headers, reply, wait = answer(body, number)
        return status, headers, reply, wait

    with fake_api(created) as api:
        client = captured(api, tmp_path)
        client.chat.completions.create(model="m", messages=user("6*7"))
        list(client.chat.completions.create(model="m", messages=user("6*7"), stream=True))
        one = es.capture(AsyncOpenAI(base_url=api.base_url, api_key="none"), tmp_path)
        asyncio.run(one.chat.completions.create(model="m", messages=user("6*7")))
        assert read(client, tmp_path)["n_tokens"].to_list() == [3, 3, 3]


def test_streams_parsed_replies_and_copies_of_the_client_are_in_the_log(api: FakeApi, tmp_path: Path) -> None:
    client = captured(api, tmp_path)
    texts = [
        part.choices[0].delta.content
        for part in client.chat.completions.create(model="m", messages=user("6*7"), stream=True)
    ]
    assert texts == ["4", "2", "!", None]
    client.with_options(timeout=9).chat.completions.parse(model="m", messages=user("6*7"))
    client.chat.completions.with_raw_response.create(model="m", messages=user("6*7"))
    log = read(client, tmp_path)
    assert log["token_logprobs"].to_list() == 3 * [pytest.approx([-0.1, -0.7, -1.3])]
    assert log["finish_reason"].to_list() == 3 * ["stop"]


def test_a_stream_that_the_client_leaves_has_no_finish_reason(tmp_path: Path) -> None:
    def long(body: dict[str, Any], _: int) -> Answer:
        parts = list(chunks(body))[:2]
        return 200, {"Content-Type": "text/event-stream"}, iter(parts), 0.0

    with fake_api(long) as api:
        client = captured(api, tmp_path)
        with client.chat.completions.create(model="m", messages=user("6*7"), stream=True) as stream:
            next(iter(stream))
            next(iter(stream))
        assert read(client, tmp_path).select("text", "finish_reason").row(0) == ("42", "unknown")


def test_text_completions_and_the_responses_api(tmp_path: Path) -> None:
    logprobs = {"tokens": ["42"], "token_logprobs": [-0.3], "top_logprobs": [{"42": -0.3, "43": -2.0}]}
    choice = {"index": 0, "text": "42", "finish_reason": "stop", "logprobs": logprobs}
    text = {"id": "t", "object": "text_completion", "created": 1, "model": "m", "choices": [choice]}
    part = {"type": "output_text", "text": "4", "annotations": [], "logprobs": [STEPS[0]]}
    message = {"type": "message", "id": "i", "role": "assistant", "status": "completed", "content": [part]}
    response = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    response["output"] = [message]

    def answered(body: dict[str, Any], _: int) -> Answer:
        if body.get("stream"):
            event = {"type": "response.completed", "sequence_number": 0, "response": {**response, "id": "s"}}
            return 200, {"Content-Type": "text/event-stream"}, f"data: {json.dumps(event)}\n\n".encode(), 0.0
        return ok(text if "prompt" in body else response)

    with fake_api(answered) as api:
        client = captured(api, tmp_path)
        client.completions.create(model="m", prompt="6*7")
        client.responses.create(model="m", input="6*7")
        list(client.responses.create(model="m", input="6*7", stream=True))
        assert api.requests[0]["logprobs"] == 5  # the most that OpenAI allows here
        assert api.requests[1]["include"] == ["message.output_text.logprobs"]
        log = read(client, tmp_path)
        assert log.select("item_id", "text").rows() == [("t", "42"), ("r", "4"), ("s", "4")]
        assert log["token_logprobs"].to_list() == [pytest.approx([value]) for value in (-0.3, -0.1, -0.1)]


def test_what_the_page_shows(api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "capture.md").read_text()
    snippet = page.split("```py\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", api.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    names: dict[str, Any] = {}
    exec(snippet, names)
    assert read(names["client"], tmp_path / "logs")["metadata.route"].to_list() == ["billing"]


def test_an_async_client(api: FakeApi, tmp_path: Path) -> None:
    client = es.capture(AsyncOpenAI(base_url=api.base_url, api_key="none"), tmp_path, top_logprobs=5)

    async def ask() -> None:
        await asyncio.gather(
            *(client.chat.completions.create(model="m", messages=user(str(number))) for number in range(20))
        )
        async for _ in await client.chat.completions.create(model="m", messages=user("s"), stream=True):
            pass

    asyncio.run(ask())
    assert api.requests[0]["top_logprobs"] == 5
    assert read(client, tmp_path)["n_tokens"].to_list() == 21 * [3]


def test_what_the_request_says_itself_stands(api: FakeApi, tmp_path: Path) -> None:
    client = captured(api, tmp_path)
    client.chat.completions.create(model="m", messages=user("6*7"), logprobs=True, top_logprobs=3)
    client.chat.completions.create(model="m", messages=user("6*7"), logprobs=False)
    client.chat.completions.create(model="m", messages=user("6*7"), logprobs=True)  # without alternatives, no entropy
    assert [body.get("top_logprobs") for body in api.requests] == [3, None, 20]


def test_damaged_features_and_an_unknown_name_are_refused(api: FakeApi, tmp_path: Path) -> None:
    path = tmp_path / "2026-11-23.features.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"max": 1')[:-3])
    with pytest.raises(InputError, match=f"{path}: cannot be read as captured features"):
        es.read_features(path)
    with pytest.raises(InputError, match="keep: must be texts or features, got 'all'"):
        captured(api, tmp_path, keep="all")
    with pytest.raises(InputError, match="must be an OpenAI or AsyncOpenAI client, got str"):
        es.capture("x", tmp_path)


def test_features_of_a_forked_worker(api: FakeApi, tmp_path: Path) -> None:
    """Polars has been used before the fork, so that its threads are missing in the child."""
    client = captured(api, tmp_path, keep="features")
    for _ in range(3):
        client.chat.completions.create(model="m", messages=user("6*7"))
    writer = client._client._transport.writer
    writer.close()
    if (child := os.fork()) == 0:
        mine = captured(api, tmp_path, keep="features")  # a connection of its own
        for _ in range(20):
            mine.chat.completions.create(model="m", messages=user("6*7"))
        writer.close(patience_s=30)
        os._exit(writer.written)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 20
    features = es.read_features(tmp_path)
    assert len(features) == 23
    assert features.select(FEATURES).n_unique() == 1
