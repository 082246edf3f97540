"""The client of chat models, against a server on loopback that misbehaves on request."""

import gzip
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from fake_api import FakeApi, completion, fake_api, ok, quiet_litellm, refusal

from entropy_sentinel.core.errors import ConfigError, EntropySentinelError
from entropy_sentinel.llm_client.chat_client import ChatClient
from entropy_sentinel.llm_client.request_results import Refusal, ServerReply, UnusableReply
from entropy_sentinel.llm_client.request_sending import Sender

pytestmark = quiet_litellm

# What vLLM 0.2x says, and OpenAI.
TOO_LONG = (
    "This model's maximum context length is 64 tokens. However, your prompt contains 90 input tokens, which exceeds "
    "this limit even without any output tokens. Please reduce the length of the input prompt."
)


def client(api: FakeApi, model: str = "hosted_vllm/tiny", **changes: Any) -> ChatClient:
    settings = {"concurrency": 4, "timeout_s": 20, "retries": 3, "identity": {"kept": "text 1"}}
    return ChatClient("models.tiny.api", model, api.base_url, **settings | changes)


def questions(n: int) -> list[dict[str, Any]]:
    return [{"messages": [{"role": "user", "content": f"question {i}"}], "temperature": 0} for i in range(n)]


def text(reply: ServerReply) -> dict[str, Any]:
    return {"text": reply.text, "reason": reply.finish_reason}


def answers(asked: ChatClient, n: int = 1, keep: Any = text) -> dict[int, Any]:
    return dict(asked.ask(questions(n), keep))


def number(body: dict[str, Any]) -> int:
    return int(body["messages"][0]["content"].split()[-1])


def files(tmp_path: Path, folder: str = "replies") -> list[Path]:
    return sorted(path for path in (tmp_path / "cache" / folder).rglob("*") if path.is_file())


def slow(body: Any, every_s: float) -> Iterator[bytes]:
    """A body by the byte."""
    for byte in json.dumps(body).encode():
        yield bytes([byte])
        time.sleep(every_s)


def test_replies_are_kept_as_the_caller_reads_them_and_cached_calls_are_counted(tmp_path: Path) -> None:
    with fake_api(lambda body, _: ok(completion(f"answer {number(body)}"))) as api:
        first, again = client(api), client(api)
        assert answers(first, 5) == {i: {"text": f"answer {i}", "reason": "stop"} for i in range(5)}
        assert answers(again, 6) == {i: {"text": f"answer {i}", "reason": "stop"} for i in range(6)}
        assert (first.counts, again.counts) == ({"answered": 5}, {"cached": 5, "answered": 1})
        # What another caller keeps of the same request is another reply.
        answers(client(api, identity={"kept": "verdict 1"}), 1, lambda reply: {"verdict": reply.text == "answer 0"})
    assert len(api.requests) == 7
    assert api.requests[0]["temperature"] == 0
    assert len(files(tmp_path)) == 7


def test_a_reply_has_one_deadline_however_slowly_its_bytes_come() -> None:
    # 700 bytes of 20 ms are 14 s; no pause between two of them is longer than a time-out.
    with fake_api(lambda _, n: (200, {}, slow(completion(), 0.02), 0) if n == 0 else ok(completion("in time"))) as api:
        start = time.monotonic()
        assert answers(client(api, timeout_s=0.7))[0]["text"] == "in time"
        assert 0.7 <= time.monotonic() - start < 3
    assert len(api.requests) == 2


def test_a_server_that_stays_slow_is_reported_with_the_limit() -> None:
    with (
        fake_api(lambda *_: (200, {}, slow(completion(), 0.02), 0)) as api,
        pytest.raises(EntropySentinelError, match=f"tiny at {api.base_url} did not .* no whole reply within 0.3 s"),
    ):
        answers(client(api, timeout_s=0.3, retries=1))
    assert len(api.requests) == 2


def test_a_silent_server_is_given_up_after_the_total_time_and_a_line_says_that_no_reply_comes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ChatClient, "FIRST_LINE_S", 0.2)
    with (
        fake_api(lambda *_: (200, {}, slow(completion(), 0.02), 0)) as api,
        pytest.raises(EntropySentinelError, match="did not answer .* in 2 tries: .*no whole reply within 0.2 s"),
    ):
        answers(client(api, timeout_s=0.5, total_timeout_s=0.7, retries=6))
    assert len(api.requests) == 2
    assert f"no reply of hosted_vllm/tiny at {api.base_url} for 0 s; a request is given up after 0.7 s" in caplog.text


def endless() -> Iterator[bytes]:
    yield b'{"choices": [{"message": {"content": "'
    for _ in range(400):
        yield b"a" * 2**20


@pytest.mark.parametrize(
    ("headers", "body", "reason"),
    [
        ({}, endless, r"it has more than 16,777,\d+ bytes"),
        ({"Content-Encoding": "gzip"}, lambda: gzip.compress(b"a" * 2**26), r"it has more than 16,777,\d+ bytes"),
        ({"Content-Encoding": "gzip"}, lambda: b"no gzip", "its bytes are not of its Content-Encoding"),
    ],
    ids=["endless", "packed", "badly packed"],
)
@pytest.mark.parametrize("is_text", [False, True], ids=["chat", "text"])
def test_a_reply_without_bound_or_with_damaged_bytes_is_paid_for_once(
    headers: dict[str, str], body: Any, reason: str, is_text: bool
) -> None:
    asked = questions(1) if not is_text else [{"prompt": "question 0"}]
    with fake_api(lambda *_: (200, headers, body(), 0)) as api:
        used = client(api)
        with pytest.raises(EntropySentinelError, match=f"reply to request 0 .* cannot be used: {reason}.*; it is"):
            dict(used.ask(asked, text))
    assert len(api.requests) == 1
    assert used.counts == {"answered": 1}


@pytest.mark.parametrize("model", ["hosted_vllm/tiny", "openai/tiny"])
def test_an_address_where_nothing_answers_is_named_in_the_error_and_before_each_pause(
    model: str, caplog: pytest.LogCaptureFixture
) -> None:
    with fake_api(lambda *_: ok(completion())) as api:
        pass
    refused = f"no connection to {urlsplit(api.base_url).netloc}: Connection refused"
    told = f"{model} at {api.base_url} did not answer request 0 .* in 2 tries: {refused};"
    with pytest.raises(EntropySentinelError, match=told):
        answers(client(api, model, retries=1))
    assert f"request 0 to {model} at {api.base_url}: {refused}; again in" in caplog.text


def test_an_address_that_has_never_answered_is_tried_three_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three tries, whatever `retries` is; a server that has answered is waited for as long as they say."""
    monkeypatch.setattr(Sender, "LONGEST_PAUSE_S", 0.01)
    with fake_api(lambda *_: ok(completion())) as api:
        asked = client(api, retries=9)
        assert answers(asked, n=1)
    with pytest.raises(EntropySentinelError, match=r"did not answer request 1 .* in 3 tries: no connection"):
        answers(client(api, retries=9), n=2)
    with pytest.raises(EntropySentinelError, match=r"did not answer request 1 .* in 10 tries: no connection"):
        answers(asked, n=2)


@pytest.mark.parametrize("model", ["hosted_vllm/tiny", "openai/tiny"])
def test_a_redirect_to_where_nothing_answers_names_that_address_and_takes_no_key_along(model: str) -> None:
    """Python's server answers at another address; a key that is sent there would be another's."""
    with fake_api(lambda *_: ok(completion())) as elsewhere:
        pass
    moved = {"Location": f"{elsewhere.base_url}/chat/completions"}
    told = f"at {{}} did not answer .* no connection to {urlsplit(elsewhere.base_url).netloc}: Connection refused"
    with fake_api(lambda *_: (307, moved, {}, 0)) as api:
        with pytest.raises(EntropySentinelError, match=told.format(api.base_url)):
            answers(client(api, model, retries=0))
        with fake_api(lambda *_: ok(completion("from elsewhere"))) as other:
            moved["Location"] = f"{other.base_url.replace('127.0.0.1', 'localhost')}/chat/completions"
            assert answers(client(api, model)) == {0: {"text": "from elsewhere", "reason": "stop"}}
        assert other.keys == [None]


@pytest.mark.parametrize("form", ["1", "date"])
def test_the_pause_that_a_server_asks_for_is_for_all_requests(form: str) -> None:
    """The second request is told to wait for a second, or until the second after next; the others wait with it."""

    def reply(body: dict[str, Any], number_of_request: int) -> Any:
        if number_of_request == 1:
            wait = form if form == "1" else format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
            return 429, {"Retry-After": wait}, {"error": {"message": "slow down"}}, 0
        return ok(completion(), 0.1)

    with fake_api(reply) as api:
        assert len(answers(client(api), 12)) == 12
    # The first comes alone, then four at once, of which one is refused; the others wait until the pause is over.
    pauses = np.diff(api.times)
    assert len(api.times) == 13
    assert sum(pauses > 0.8) == 1
    assert int(np.argmax(pauses)) <= 4


@pytest.mark.parametrize("model", ["hosted_vllm/tiny", "openai/tiny"])
@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"<html>Bad gateway</html>", "Bad gateway"),
        (b'{"id": "1", "choices": [{"index"', "choices"),
        ([], ""),
        ({"id": "1"}, "choices"),
        (completion() | {"choices": None}, "choices"),
        (completion() | {"choices": []}, "its `choices` are empty"),
        (completion() | {"choices": [{"index": 0, "finish_reason": "stop", "message": None}]}, "Invalid response"),
    ],
)
def test_a_reply_that_cannot_be_used_is_paid_once_put_aside_and_never_an_answer(
    tmp_path: Path, model: str, body: Any, told: str
) -> None:
    bodies = [body, completion("good")]
    with fake_api(lambda _, n: ok(bodies[n])) as api:
        with pytest.raises(EntropySentinelError, match="gave a reply to request 0 .* cannot be used: ") as error:
            answers(client(api, model))
        assert len(api.requests) == 1
        (aside,) = files(tmp_path, "unusable")
        assert str(aside) in str(error.value)
        assert told in str(error.value) + aside.read_text()
        kept = json.loads(aside.read_text())
        assert kept["request"]["messages"][0]["content"] == "question 0"
        if model.startswith("hosted") and isinstance(body, bytes):
            assert kept["reply"] == body.decode()
        assert not files(tmp_path)
        assert answers(client(api, model))[0]["text"] == "good"


def verdict(reply: ServerReply) -> dict[str, Any]:
    raise UnusableReply(f"'{reply.text}' is no verdict")


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        (verdict, "'INCORRECT' is no verdict; .*/unusable/"),
        (lambda reply: reply.choice.message.verdict, "chat completion: .*'verdict'"),
    ],
)
def test_a_reply_that_the_caller_cannot_use_is_put_aside(tmp_path: Path, keep: Any, message: str) -> None:
    with fake_api(lambda *_: ok(completion("INCORRECT"))) as api, pytest.raises(EntropySentinelError, match=message):
        answers(client(api), 3, keep)
    assert len(api.requests) == 1
    assert json.loads(json.loads(files(tmp_path, "unusable")[0].read_text())["reply"])["id"].startswith("reply-")
    assert not files(tmp_path)


@pytest.mark.parametrize("reason", [5, "weird"])
def test_a_finish_reason_is_text(reason: Any) -> None:
    body = completion()
    body["choices"][0]["finish_reason"] = reason
    with fake_api(lambda *_: ok(body)) as api:
        assert answers(client(api))[0]["reason"] == str(reason)


@pytest.mark.parametrize(
    "failure",
    [
        (200, {"Content-Length": "100000"}, completion(), 0),  # the connection is cut
        ok({"error": {"message": "overloaded", "code": 503}}),
    ],
)
def test_a_request_that_fails_with_status_200_is_tried_again(failure: tuple) -> None:
    with fake_api(lambda _, n: failure if n == 0 else ok(completion())) as api:
        assert answers(client(api))[0]["text"] == "42"
    assert len(api.requests) == 2


@pytest.mark.parametrize(
    "answer",
    [
        refusal(TOO_LONG),
        refusal(TOO_LONG, "invalid_request_error", "context_length_exceeded"),
        refusal("The prompt was filtered: content_policy_violation", "invalid_request_error"),
    ],
)
@pytest.mark.parametrize("model", ["hosted_vllm/tiny", "openai/tiny"])
def test_a_request_refused_for_its_own_sake_stops_no_other(tmp_path: Path, model: str, answer: tuple) -> None:
    with fake_api(lambda body, _: answer if number(body) in (0, 3) else ok(completion())) as api:
        asked = client(api, model)
        given = answers(asked, 6)
    refusals = {position: kept for position, kept in given.items() if isinstance(kept, Refusal)}
    assert refusals.keys() == {0, 3}
    assert {refused.reason for refused in refusals.values()} == {answer[2]["error"]["message"]}
    assert given.keys() == set(range(6))
    assert asked.counts == {"answered": 4, "refused": 2}
    assert len(api.requests) == 6
    assert len(files(tmp_path)) == 4


@pytest.mark.parametrize(
    "answer",
    [
        (401, {}, {"error": {"message": "Incorrect API key"}}, 0),
        (403, {}, {"error": {"message": "no access to the model"}}, 0),
        (404, {}, {"error": {"message": "The model `tiny` does not exist"}}, 0),
        refusal("Unrecognized request argument supplied: top_logprob"),
        refusal("Invalid value for 'temperature': must be at most 2"),
        (422, {}, {"error": {"message": "top_logprobs must be at most 5"}}, 0),
    ],
)
def test_a_refusal_that_concerns_every_request_stops_at_once(answer: tuple) -> None:
    with (
        fake_api(lambda *_: answer) as api,
        pytest.raises(EntropySentinelError, match=f"request 0 .* in 1 try: .*{answer[2]['error']['message'][:20]}"),
    ):
        answers(client(api), 30)
    assert len(api.requests) == 1


def test_prompts_that_are_all_too_long_are_a_wrong_limit_on_tokens() -> None:
    with (
        fake_api(lambda *_: refusal(TOO_LONG)) as api,
        pytest.raises(EntropySentinelError, match="refused 10 requests as too long and answered none: This model's "),
    ):
        answers(client(api), 30)
    assert len(api.requests) == 10
    # A few are left out instead: a last prompt that is too long must not hold up a study.
    with fake_api(lambda *_: refusal(TOO_LONG)) as api:
        assert [kept.too_long for kept in answers(client(api), 9).values()] == [True] * 9
    with fake_api(lambda *_: refusal("It was filtered: content_policy_violation", "invalid_request_error")) as api:
        assert len(answers(client(api), 12)) == 12


def test_no_request_is_sent_if_its_reply_cannot_be_kept(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")
    with (
        fake_api(lambda *_: ok(completion())) as api,
        pytest.raises(EntropySentinelError, match=r"cache: replies .* cannot be written: Not a directory; make room"),
    ):
        answers(client(api), 8)
    assert not api.requests


def test_files_and_folders_are_private(tmp_path: Path) -> None:
    (tmp_path / "cache" / "replies").mkdir(parents=True, mode=0o755)  # as earlier versions left it
    bodies = [completion(), b"<html>"]
    with fake_api(lambda _, n: ok(bodies[n])) as api, pytest.raises(EntropySentinelError, match="unusable"):
        answers(client(api), 2)
    made = {path: path.stat().st_mode & 0o777 for path in (tmp_path / "cache").rglob("*")}
    assert {path.is_dir(): mode for path, mode in made.items()} == {True: 0o700, False: 0o600}
    assert set(made.values()) == {0o700, 0o600}
    assert sum(path.is_file() for path in made) == 2  # a reply, an unusable reply


def test_an_error_of_the_caller_ends_everything() -> None:
    def keep(reply: ServerReply) -> Any:
        raise ConfigError("needs another server")

    with fake_api(lambda *_: ok(completion())) as api, pytest.raises(ConfigError, match="needs another server"):
        answers(client(api), 9, keep)
    assert len(api.requests) == 1


@pytest.mark.parametrize("interrupts", [1, 2])
def test_an_interrupt_waits_for_requests_under_way_and_a_second_one_does_not(interrupts: int) -> None:
    """The server delays all replies after the first by a second, and interrupts at the third request."""

    def reply(_: Any, n: int) -> Any:
        if n == 2:
            for pause_s in [0.0, 0.2][:interrupts]:
                time.sleep(pause_s)
                os.kill(os.getpid(), signal.SIGINT)
        return ok(completion(), 1.0 if n else 0.0)

    replies: list[int] = []
    with fake_api(reply) as api:
        with pytest.raises(KeyboardInterrupt):
            replies.extend(position for position, _ in client(api, concurrency=2).ask(questions(20), text))
        assert len(api.requests) == 3
    assert sorted(replies) == ([0, 1, 2] if interrupts == 1 else [0])


def test_a_caller_that_leaves_waits_for_requests_under_way(caplog: pytest.LogCaptureFixture) -> None:
    """An interrupt may come while the caller works on a reply. The server delays all replies after the second."""
    with fake_api(lambda _, n: ok(completion(), 0.5 if n > 1 else 0.0)) as api:
        with closing(client(api, concurrency=2).ask(questions(20), text)) as replies:
            next(replies), next(replies)
        assert "waiting for those under way" in caplog.text
        assert len(api.requests) < 7
