"""Servers that refuse log-probabilities: the service gets its reply, and the log says why it has none."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
from fake_api import Answer, FakeApi, completion, fake_api, ok, refusal, step, user
from openai import AsyncOpenAI, OpenAI

import entropy_sentinel as es
from entropy_sentinel.capture.logprobs_negotiation import LogprobsNegotiator, RequestKind, find_limit

STEPS = [step("4", -0.1), step("2", -0.7), step("!", -1.3)]
TOOLS: Any = [{"type": "function", "function": {"name": "f", "parameters": {}}}]


def plain(body: dict[str, Any]) -> Answer:
    return ok(completion("42!", STEPS if body.get("logprobs") else [], n_tokens=3))


@contextmanager
def serving(answer: Callable[[dict[str, Any]], Answer]) -> Iterator[FakeApi]:
    with fake_api(lambda body, _: answer(body)) as api:
        yield api


def captured(api: FakeApi, folder: Path, retries: int = 0) -> OpenAI:
    return es.capture(OpenAI(base_url=api.base_url, api_key="none", max_retries=retries), folder)


def ask(client: OpenAI, **more: Any) -> str | None:
    return client.chat.completions.create(model="m", messages=user("6*7"), **more).choices[0].message.content


def reasons(client: Any, folder: Path) -> dict[str, int]:
    """Why replies in the log have no features, with their numbers."""
    client._client._transport.writer.close()
    logs = es.open_logs(folder)
    assert sum(map(len, logs))
    return dict(logs.summary.unusable)


@pytest.mark.parametrize("status", [400, 422, 429, 500])
def test_whatever_the_status_the_request_is_sent_as_it_was(tmp_path: Path, status: int) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        refused = {"error": {"message": "logprobs are not supported", "type": "x", "code": status}}
        return (status, {}, refused, 0.0) if "logprobs" in body else plain(body)

    with serving(answer) as api:
        client = captured(api, tmp_path)
        assert ask(client) == ask(client) == "42!"
        assert ["logprobs" in body for body in api.requests] == [True, False, False]
        why = f"no log-probabilities in the log: HTTP {status}: logprobs are not supported"
        assert reasons(client, tmp_path) == {why: 2}


def test_the_same_with_await(tmp_path: Path) -> None:
    with serving(lambda body: refusal("no logprobs") if "logprobs" in body else plain(body)) as api:
        client = es.capture(AsyncOpenAI(base_url=api.base_url, api_key="none", max_retries=0), tmp_path)

        async def twice() -> None:
            for _ in range(2):
                await client.chat.completions.create(model="m", messages=user("6*7"))

        asyncio.run(twice())
        assert ["logprobs" in body for body in api.requests] == [True, False, False]
        assert reasons(client, tmp_path) == {"no log-probabilities in the log: HTTP 400: no logprobs": 2}


def test_a_refusal_counts_for_requests_of_its_kind_only(tmp_path: Path) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        if body.get("tools") and "logprobs" in body:
            return refusal("logprobs is not supported with tools + stream")
        return plain(body)

    with serving(answer) as api:
        client = captured(api, tmp_path)
        ask(client, tools=TOOLS)
        ask(client)
        ask(client, tools=TOOLS)
        assert ["logprobs" in body for body in api.requests] == [True, False, True, False]


def test_an_error_of_another_reason_reaches_the_service_and_switches_nothing_off(tmp_path: Path) -> None:
    with serving(lambda body: refusal("context too long") if len(body["messages"]) > 1 else plain(body)) as api:
        client = captured(api, tmp_path)
        with pytest.raises(openai.BadRequestError, match="context too long"):
            client.chat.completions.create(model="m", messages=[*user("a"), *user("b")])
        ask(client)
        assert "logprobs" in api.requests[-1]


def test_after_a_random_error_they_are_requested_again_and_ever_more_rarely() -> None:
    now, kind = [0.0], RequestKind.from_body("host", "/v1/chat/completions", {"model": "m"})
    negotiator = LogprobsNegotiator(20, clock=lambda: now[0])
    asked = []
    for second in range(0, 3000, 10):
        now[0] = float(second)
        attempt = negotiator.start_attempt(kind, {"model": "m"}, retry=False)
        if attempt.has_added_logprobs:
            asked.append(second)
            assert attempt.next_body(400, b"out of luck") == {"model": "m"}
            assert not attempt.has_added_logprobs
        attempt.record_final_status(200)
    assert asked == [0, 60, 300, 1260]  # after 60, 240 and 960 seconds


def test_a_busy_server_that_gives_log_probabilities_is_left_to_the_clients_retries(tmp_path: Path) -> None:
    busy = [False, True, False]
    with serving(lambda body: (429, {"Retry-After": "0.01"}, {}, 0.0) if busy.pop(0) else plain(body)) as api:
        client = captured(api, tmp_path, retries=1)
        assert ask(client) == ask(client) == "42!"
        assert ["logprobs" in body for body in api.requests] == [True, True, False]
        assert reasons(client, tmp_path) == {
            "no log-probabilities in the log: the request was repeated after an error": 1
        }


@pytest.mark.parametrize(
    "words",
    [
        "Requested sample logprobs of 20, which is greater than max allowed: 5",
        "Invalid value for 'top_logprobs': must be less than or equal to 5.",
        "top_logprobs must be between 0 and 5 (error 4004)",
    ],
)
def test_a_limit_that_the_server_names_is_kept(tmp_path: Path, words: str, caplog: pytest.LogCaptureFixture) -> None:
    with serving(lambda body: refusal(words) if body.get("top_logprobs", 0) > 5 else plain(body)) as api:
        client = captured(api, tmp_path)
        with caplog.at_level(logging.WARNING):
            ask(client)
            ask(client)
        assert [body.get("top_logprobs") for body in api.requests] == [20, 5, 5]
        assert "at most 5 alternatives" in caplog.text
        assert reasons(client, tmp_path) == {}


@pytest.mark.parametrize("path", ["chat/completions", "completions", "responses"])
def test_a_limit_that_falls_with_each_request_is_asked_for_once(path: str) -> None:
    """A server that names another limit each time; no body is sent twice, and the third is the client's own."""
    attempt = LogprobsNegotiator(20).start_attempt(
        RequestKind.from_body("host", f"/v1/{path}", {"model": "m"}), {"model": "m"}, retry=False
    )
    sent, status = [attempt.body], 400
    for limit in range(19, 0, -1):
        if not attempt.is_refusal(status):
            break
        attempt.next_body(status, f"logprobs: at most {limit}".encode())
        sent.append(attempt.body)
        status = 400 if attempt.has_added_logprobs else 200
    assert sent[-1] == {"model": "m"}
    assert len(sent) == (2 if path == "completions" else 3)  # text completions never asked for more than 5
    attempt.record_final_status(status)
    assert attempt.why.startswith("HTTP 400: logprobs: at most 1")


def test_a_limit_is_only_read_in_words_about_log_probabilities() -> None:
    assert find_limit("at most 5 messages", 20) is None
    assert find_limit("model gpt-4.1 gives no logprobs", 20) is None
    assert find_limit("logprobs: at most 20", 20) is None


def test_what_a_client_without_capture_would_get_is_sent_byte_for_byte(tmp_path: Path) -> None:
    """After a refusal the request is the client's own."""
    with serving(lambda body: refusal("no") if "logprobs" in body else plain(body)) as api:
        ask(captured(api, tmp_path))
        ask(OpenAI(base_url=api.base_url, api_key="none"))
        assert api.requests[1] == api.requests[2]
