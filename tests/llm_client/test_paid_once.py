"""Nothing is paid for twice or in vain: by several processes, after kills, on full disks, at other addresses."""

import errno
import gzip
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fake_api import FakeApi, completion, fake_api, ok, quiet_litellm, refusal

from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.llm_client.chat_client import ChatClient
from entropy_sentinel.llm_client.reply_cache import ReplyCache
from entropy_sentinel.llm_client.server_settings import find_address

pytestmark = quiet_litellm

# Asks `n` questions, and prints what `counts` reads.
ASKER = """
import sys
from entropy_sentinel.llm_client.chat_client import ChatClient
from entropy_sentinel.core.errors import EntropySentinelError
_, base_url, n, concurrency = sys.argv
client = ChatClient("judges.x", "hosted_vllm/tiny", base_url, concurrency=int(concurrency), timeout_s=60, retries=0,
                    identity={})
requests = [{"messages": [{"role": "user", "content": f"question {i}"}], "max_tokens": 100} for i in range(int(n))]
given = {}
try:
    given.update(client.ask(requests, lambda reply: reply.text))
except EntropySentinelError as error:
    print(error, file=sys.stderr)
kept = sum(client._cache.get({"model": client.model, **one, **client._identity}) is not None for one in requests)
print(len(given), len(set(given.values())), client.counts["answered"], client.counts["cached"], kept)
"""


def client(api: FakeApi, **changes: Any) -> ChatClient:
    settings = {"concurrency": 4, "timeout_s": 20, "retries": 0, "identity": {}}
    return ChatClient("judges.x", "hosted_vllm/tiny", api.base_url, **settings | changes)


def questions(n: int) -> list[dict[str, Any]]:
    return [{"messages": [{"role": "user", "content": f"question {i}"}], "max_tokens": 100} for i in range(n)]


def ask(asked: ChatClient, requests: list[dict[str, Any]]) -> dict[int, Any]:
    return dict(asked.ask(requests, lambda reply: reply.text))


def echo(body: dict[str, Any], _: int) -> Any:
    """Says its question, after a while."""
    return ok(completion(body["messages"][0]["content"], [], 5), 0.05)


def start(api: FakeApi, n: int, *before: str, concurrency: int = 4) -> subprocess.Popen:
    return subprocess.Popen(
        [*before, sys.executable, "-W", "ignore", "-c", ASKER, api.base_url, str(n), str(concurrency)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def counts(process: subprocess.Popen) -> list[int]:
    """Answers given, different ones, how many were asked for and found, and are kept, as the process says."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return [int(count) for count in out.split()]


def kept(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "cache" / "replies").rglob("*") if path.is_file()]


@pytest.mark.long
def test_three_processes_ask_each_question_once(tmp_path: Path) -> None:
    """As of two studies with one cache, and of judges `mine`, `first_of` and `majority` of one run."""
    with fake_api(echo) as api:
        processes = [start(api, 80) for _ in range(3)]
        results = [counts(process) for process in processes]
    assert len(api.requests) == 80
    assert [one[:2] for one in results] == [[80, 80]] * 3
    assert sum(one[2] for one in results) == 80
    assert sum(one[3] for one in results) == 160
    assert len(kept(tmp_path)) == 80


def test_two_threads_ask_each_question_once() -> None:
    with fake_api(echo) as api, ThreadPoolExecutor(2) as threads:
        given = list(threads.map(lambda _: ask(client(api), questions(30)), range(2)))
    assert len(api.requests) == 30
    assert given == [{i: f"question {i}" for i in range(30)}] * 2


def test_a_thread_that_is_done_leaves_the_requests_of_others_alone() -> None:
    """LiteLLM can only close the connections of all at once; a request that is cut off may be paid for."""

    def reply(body: dict[str, Any], _: int) -> Any:
        return ok(completion(), 0 if "question 0" in str(body) else 0.4)

    with fake_api(reply) as api, ThreadPoolExecutor(1) as thread:
        slow = thread.submit(ask, client(api), questions(9)[1:])
        until(lambda: api.requests)
        for _ in range(8):
            ask(client(api, identity={"number": len(api.requests)}), questions(1))
        assert len(slow.result()) == 8


def test_a_repeated_question_is_asked_once() -> None:
    with fake_api(echo) as api:
        assert ask(client(api), questions(2) * 4) == {i: f"question {i % 2}" for i in range(8)}
    assert len(api.requests) == 2


@pytest.mark.slow
def test_a_process_takes_over_the_request_of_a_killed_one(tmp_path: Path) -> None:
    """The first request is answered after a minute; the process that sent it is killed, with the other waiting."""
    with fake_api(lambda body, n: ok(completion("yes", [], 5), 3.0 if n == 0 else 0)) as api:
        first = start(api, 1)
        until(lambda: len(api.requests) == 1)
        with ThreadPoolExecutor(1) as thread:
            waiting = thread.submit(ask, client(api), questions(1))
            time.sleep(0.6)
            assert len(api.requests) == 1
            first.send_signal(signal.SIGKILL)
            first.communicate()
            killed = time.monotonic()
            assert waiting.result(timeout=20) == {0: "yes"}
            # What lives no longer is waited for no longer than until it is looked at again.
            assert time.monotonic() - killed < 2
    assert len(api.requests) == 2
    assert len(kept(tmp_path)) == 1


def until(holds: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_failed_request_is_asked_again_and_leaves_no_file(tmp_path: Path) -> None:
    cache, request = ReplyCache(), {"q": 1}
    first = cache.claim(request, 1000)
    assert first.is_locked
    assert cache.claim(request, 1000) is None
    first.release()
    assert kept(tmp_path) == []
    second = cache.claim(request, 1000)
    second.keep({"a": 1})
    assert cache.claim(request, 1000) is None
    assert cache.get(request) == {"a": 1}
    with fake_api(lambda *_: refusal("wrong key")) as api, pytest.raises(EntropySentinelError, match="wrong key"):
        ask(client(api), questions(3))
    assert len(kept(tmp_path)) == 1


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(bytes(5000), id="room-that-a-killed-process-had-reserved"),
        pytest.param(b"\x1f\x8b half a file", id="half"),
        pytest.param(b"x" * 5000, id="longer-than-a-reply"),
        pytest.param(gzip.compress(b"[1]"), id="a-list"),
        pytest.param(gzip.compress(b"{}"), id="no-request"),
    ],
)
def test_a_file_that_cannot_be_read_is_not_a_reply(tmp_path: Path, content: bytes) -> None:
    cache = ReplyCache()
    cache.claim({"q": 1}, 100).keep({"a": 2})
    assert cache.get({"q": 1}) == {"a": 2}
    assert cache.get({"q": 2}) is None
    (file,) = kept(tmp_path)
    cache.claim({"q": 2}, 100).keep({"a": 4})
    cache._path({"q": 2}).write_bytes(file.read_bytes())
    assert cache.get({"q": 2}) is None, "the reply to another request"
    file.write_bytes(content)
    assert cache.get({"q": 1}) is None
    # It is no claim either: whoever asks next may ask, and what is kept then takes its place.
    cache.claim({"q": 1}, 100).keep({"a": 3})
    assert cache.get({"q": 1}) == {"a": 3}


def test_a_reply_is_kept_where_the_cache_was_cleared_away_meanwhile(tmp_path: Path) -> None:
    cache, request = ReplyCache(), {"q": 1}
    claim = cache.claim(request, 1000)
    shutil.rmtree(tmp_path / "cache")
    claim.keep({"a": 1})
    assert cache.get(request) == {"a": 1}
    assert [path.stat().st_mode & 0o777 for path in kept(tmp_path)] == [0o600]


def test_a_full_disk_stops_requests_before_they_are_paid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for ten replies is promised, then there is none; the requests under way then have theirs."""
    promised, reserve = [], os.posix_fallocate

    def full_after_ten(file: int, start: int, n_bytes: int) -> None:
        promised.append(n_bytes)
        if len(promised) > 10:
            raise OSError(errno.ENOSPC, "No space left on device")
        reserve(file, start, n_bytes)

    monkeypatch.setattr(os, "posix_fallocate", full_after_ten)
    given: dict[int, Any] = {}
    with fake_api(echo) as api:
        with pytest.raises(EntropySentinelError, match=r"cache: replies .* cannot be written: No space left on device"):
            given.update(client(api).ask(questions(20), lambda reply: reply.text))
        assert len(given) == len(api.requests) == len(kept(tmp_path)) == 10
        monkeypatch.setattr(os, "posix_fallocate", reserve)
        assert len(ask(client(api), questions(20))) == 20
    assert len(api.requests) == 20


@pytest.mark.long
def test_on_a_real_disk_that_fills_up_no_reply_is_lost(tmp_path: Path) -> None:
    """A file system of 160 KiB, in pages of 4 KiB, for 100 questions; each claims two pages, and keeps one."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("needs the right to mount a file system of its own (unshare -rm)")
    (tmp_path / "cache").mkdir()
    disk = f'mount -t tmpfs -o size=160k none {tmp_path / "cache"} && exec "$@"'
    with fake_api(echo) as api:
        process = start(api, 100, "unshare", "-rm", "sh", "-c", disk, "sh", concurrency=8)
        out, err = process.communicate(timeout=120)
    assert "No space left on device" in err
    given, _, answered, results, on_disk = [int(count) for count in out.split()]
    assert (given, answered, results, on_disk) == (len(api.requests), len(api.requests), 0, len(api.requests))
    assert 10 < given < 100


def test_a_server_is_part_of_a_question_and_the_same_server_is_known_again() -> None:
    with fake_api(lambda *_: ok(completion("one"))) as one, fake_api(lambda *_: ok(completion("two"))) as two:
        assert ask(client(one), questions(1)) == {0: "one"}
        assert ask(client(two), questions(1)) == {0: "two"}
        one.base_url += "/"
        assert ask(client(one), questions(1)) == {0: "one"}
        assert (len(one.requests), len(two.requests)) == (1, 1)
        # A job's own server is another address each time.
        assert ask(client(one, own_server=True), questions(1)) == {0: "one"}
        assert ask(client(two, own_server=True), questions(1)) == {0: "one"}
        assert (len(one.requests), len(two.requests)) == (2, 1)


def test_an_address_is_where_requests_go_without_what_is_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_address("openai/gpt-4o", None) is None
    assert find_address("openai/gpt-4o", "https://Proxy.example/v1/?key=1") == "https://proxy.example/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:secret@10.0.0.1:8000/v1")
    assert find_address("openai/gpt-4o", None) == "http://10.0.0.1:8000/v1"
    assert find_address("xai/grok-4", None) is None
