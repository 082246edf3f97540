"""What is spent and how fast: one file for all processes, and a budget that is not passed."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fake_api import FakeApi, completion, fake_api, ok, quiet_litellm

from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.llm_client.chat_client import ChatClient
from entropy_sentinel.llm_client.spending.ledger import Ledger, OverBudget, Spending, Terms

pytestmark = quiet_litellm

# A dollar per million tokens in, ten out.
PRICES = {"usd_per_million_input_tokens": 1.0, "usd_per_million_output_tokens": 10.0}


def client(api: FakeApi, tmp_path: Path, **changes: Any) -> ChatClient:
    settings = {"concurrency": 4, "timeout_s": 20, "retries": 3, "identity": {}, "ledger": str(tmp_path / "l.sqlite")}
    return ChatClient("judges.x", "hosted_vllm/tiny", api.base_url, **settings | changes)


def ask(asked: ChatClient, n: int, account: str = "m/b") -> dict[int, str]:
    requests = [{"messages": [{"role": "user", "content": f"question {i}"}], "max_tokens": 1000} for i in range(n)]
    return dict(asked.ask(requests, lambda reply: reply.text, account=account))


def test_calls_cost_what_they_took_and_at_most_what_was_reserved_where_no_reply_came(tmp_path: Path) -> None:
    """500 in and 20 out: 0.0005 + 0.0002; 1,000 in and 100 out: 0.001 + 0.001."""
    ledger = Ledger(tmp_path / "l.sqlite", Terms(**PRICES, budget_usd=0.01))
    first, second, third = (ledger.reserve("m/a", 1000, 100) for _ in range(3))
    assert ledger.sums() == Spending(0, pytest.approx(0.006), 0)
    ledger.settle(first, 500, 20)
    ledger.release(second)
    ledger.count_cached("m/c", 7)
    ledger.count_cached("m/c", 2)
    assert ledger.sums() == Spending(pytest.approx(0.0007), pytest.approx(0.002), 0)
    again = Ledger(tmp_path / "l.sqlite", Terms(**PRICES, budget_usd=0.01))
    nothing = {"calls": 0, "unanswered_calls": 0, "prompt_tokens": 0, "completion_tokens": 0}
    nothing |= {"usd": 0, "unanswered_usd": 0}
    assert again.accounts() == [
        {"account": "m/a", "calls": 1, "unanswered_calls": 1, "prompt_tokens": 500, "completion_tokens": 20}
        | {"usd": pytest.approx(0.0007), "unanswered_usd": pytest.approx(0.002), "cached_calls": 0},
        {"account": "m/c", **nothing, "cached_calls": 9},
    ]
    assert third is not None
    # A server that counts no tokens: what was reserved is what it took.
    again.settle(third, 0, 0)
    assert (again.accounts()[0]["calls"], again.sums()) == (2, Spending(pytest.approx(0.0027), 0, 0))


def test_a_budget_has_room_for_as_many_calls_as_it_pays_for_however_many_ask(tmp_path: Path) -> None:
    """Calls of 0.002 from 0.0101: five, of 40 that two ledgers with eight threads ask for at once."""
    ledgers = [Ledger(tmp_path / "l.sqlite", Terms(**PRICES, budget_usd=0.0101)) for _ in range(2)]
    with ThreadPoolExecutor(8) as threads:
        calls = list(threads.map(lambda i: ledgers[i % 2].reserve("m/a", 1000, 100), range(40)))
    assert sum(call is not None for call in calls) == 5


def kill_after(code: str, path: Path) -> None:
    """Run code with a `ledger` in another process, which then kills itself."""
    before = "import os, signal, sys; from entropy_sentinel.llm_client.spending.ledger import Ledger, Terms"
    lines = [before, "ledger = Ledger(sys.argv[1], Terms(1.0, 10.0))", code, "os.kill(os.getpid(), signal.SIGKILL)"]
    call = [sys.executable, "-c", "\n".join(lines), path]
    assert subprocess.run(call, env={"PYTHONPATH": ":".join(sys.path)}).returncode == -9


def test_a_process_that_is_killed_leaves_what_it_reserved(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    three_calls = "for _ in range(3): ledger.reserve('m/a', 1000, 100)\n"
    kill_after(f"{three_calls}ledger._file.execute('BEGIN IMMEDIATE'); ledger._file.execute('DELETE FROM calls')", path)
    ledger = Ledger(path, Terms(**PRICES))
    assert ledger.sums() == Spending(0, pytest.approx(0.006), 0)
    assert ledger.reserve("m/a", 1000, 100) is not None


def test_a_ledger_that_cannot_be_used_says_which_and_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    path.write_bytes(b"no database, " * 500)
    with pytest.raises(EntropySentinelError, match=f"{path}: .*is not a database; .*delete it"):
        Ledger(path, Terms())


def test_requests_and_tokens_are_spread_over_the_minute_by_all_processes_together(tmp_path: Path) -> None:
    """600 requests a minute: one every 0.1 s; 6,000 tokens a minute: 50 take 0.5 s. The first may go at once."""
    requests = [Ledger(tmp_path / "r.sqlite", Terms(requests_per_minute=600)) for _ in range(2)]
    pauses = [requests[i % 2].pause_s(1) for i in range(5)]
    assert pauses == pytest.approx([0, 0.1, 0.2, 0.3, 0.4], abs=0.05)
    tokens = Ledger(None, Terms(requests_per_minute=600, tokens_per_minute=6000))
    assert [tokens.pause_s(50) for _ in range(3)] == pytest.approx([0, 0.5, 1.0], abs=0.05)
    # The last took 20 tokens fewer than it was thought to.
    tokens.correct(-20)
    assert tokens.pause_s(50) == pytest.approx(1.3, abs=0.05)
    assert Ledger(None, Terms()).pause_s(10**9) == 0


def test_a_client_keeps_to_its_pace(tmp_path: Path) -> None:
    """The request with number n, from 0, leaves 0.1 n seconds after the first at the earliest."""
    with fake_api(lambda *_: ok(completion())) as api:
        asked, start = client(api, tmp_path, requests_per_minute=600), time.monotonic()
        assert len(ask(asked, 11)) == 11
    assert all(at - start >= 0.1 * number for number, at in enumerate(api.times))


def test_a_budget_ends_the_round_before_it_is_exceeded_and_more_budget_continues_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A reply of 11 tokens in and 100 out costs 0.001011; 1,000 out and 150 bytes in may cost 0.0102 at most."""
    with fake_api(lambda *_: ok(completion("yes", [], 100), 0.01)) as api:
        first = client(api, tmp_path, **PRICES, budget_usd=0.02)
        told = r"judges.x: of budget_usd 0.02, 0.0\d+ are spent, and the next request may cost up to 0.010\d; raise b"
        with pytest.raises(EntropySentinelError, match=told):
            ask(first, 40)
        # So many until what is left is smaller than what one more may cost.
        assert len(api.requests) == 10
        assert first.ledger.sums() == Spending(pytest.approx(10 * 0.001011), 0, 0)
        # Of the 40, ten are on disk.
        second = client(api, tmp_path, **PRICES, budget_usd=1.0)
        assert len(ask(second, 40)) == len(api.requests) == 40
        assert (second.counts["cached"], second.counts["answered"]) == (10, 30)
        (account,) = second.ledger.accounts()
        assert (account["calls"], account["cached_calls"]) == (40, 10)
        assert account["usd"] == pytest.approx(40 * 0.001011)
        assert "max_tokens" not in caplog.text
        # What is on disk is given without any budget.
        assert len(ask(client(api, tmp_path, **PRICES, budget_usd=0.0), 40)) == 40


@pytest.mark.parametrize(
    ("failure", "usd"),
    [
        ((500, {}, {"error": {"message": "oops"}}, 0), 0),
        ((429, {}, {"error": {"message": "slow down"}}, 0), 0),
        # May have been worked on: at its most, 1,000 tokens out and at least the question's bytes in.
        ((200, {"Content-Length": "1000"}, b'{"id"', 0), 0.01),
        ((200, {}, b"<html>", 0), 0.01),
    ],
)
def test_a_failed_call_costs_nothing_where_the_server_says_that_it_failed(
    tmp_path: Path, failure: Any, usd: float
) -> None:
    with fake_api(lambda *_: failure) as api:
        asked = client(api, tmp_path, **PRICES, retries=0)
        with pytest.raises(EntropySentinelError):
            ask(asked, 1)
    sums = asked.ledger.sums()
    assert sums.spent == 0
    assert usd <= sums.unanswered < usd + 0.0003 * bool(usd) + 1e-12


def test_after_a_reply_longer_than_max_tokens_all_later_ones_count_as_long(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """5,000 tokens out for 1,000: 0.050011 dollars a call. Each is then reckoned at 0.0501 to 0.0503: 3 of 0.2.

    Had each been reckoned at 0.0102 alone, nineteen would have been sent at once, of 0.95 dollars.
    """
    with fake_api(lambda *_: ok(completion("yes", [], 5000), 0.05)) as api:
        asked = client(api, tmp_path, **PRICES, budget_usd=0.2, concurrency=16)
        told = r"of budget_usd 0.2, 0.1500 are spent, and .* up to 0.050\d; replies cost up to 0.0399 more than max_tok"
        with pytest.raises(EntropySentinelError, match=told):
            ask(asked, 40)
    assert len(api.requests) == 3
    assert asked.ledger.sums().spent == pytest.approx(3 * 0.050011)
    assert caplog.text.count("took 5000 tokens for a reply, more than its max_tokens allow") == 1
    # Another process knows.
    assert Ledger(tmp_path / "l.sqlite", Terms()).sums().excess == pytest.approx(0.0399, abs=0.0002)


def test_what_is_reserved_is_waited_for_as_long_as_its_process_lives(tmp_path: Path) -> None:
    """Calls of 0.002 at most and a budget of 0.003: a second one waits for the first, and for nobody who is dead."""
    path = tmp_path / "l.sqlite"
    first, second = (Ledger(path, Terms(**PRICES, budget_usd=0.003)) for _ in range(2))
    call = first.reserve("m/a", 1000, 100)
    assert second.reserve("m/a", 1000, 100) is None
    first.settle(call, 10, 10)
    taken = second.reserve("m/a", 1000, 100)
    assert first.reserve("m/a", 1000, 100) is None
    # Of a request whose reply was given up nothing comes back.
    second.give_up(taken)
    with pytest.raises(OverBudget):
        first.reserve("m/a", 1000, 100)
    other = tmp_path / "o.sqlite"
    kill_after("ledger.reserve('m/a', 1000, 100)", other)
    assert len(list(tmp_path.glob("o.sqlite.*"))) == 1
    with pytest.raises(OverBudget):
        Ledger(other, Terms(**PRICES, budget_usd=0.003)).reserve("m/a", 1000, 100)
    assert not list(tmp_path.glob("o.sqlite.*"))
    assert Ledger(other, Terms()).sums() == Spending(0, pytest.approx(0.002), 0)
