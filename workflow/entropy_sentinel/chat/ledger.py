"""What a server's users have spent and how fast they may go: one SQLite file, which any number of processes share."""

import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropy_sentinel.frames.errors import EntropySentinelError

# A call is written down before it is sent, at what it may cost at most. One whose reply never came, since the process
# was killed or the connection cut, stays there at that price: the provider may well charge for it.
_TABLES = """
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY,
    account TEXT NOT NULL,
    answered INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    usd REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS cached (account TEXT PRIMARY KEY, calls INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS pace (what TEXT PRIMARY KEY, free_at REAL NOT NULL);
"""
# Processes wait so long for each other's turn, seconds; each turn takes milliseconds.
_TURN_S = 60.0


@dataclass(frozen=True)
class Terms:
    """On which terms a server is used; None where nothing is said. Prices are in US dollars per million tokens."""

    usd_per_million_input_tokens: float | None = None
    usd_per_million_output_tokens: float | None = None
    budget_usd: float | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None

    def usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        """What so many tokens cost; 0 where no price is known."""
        prices = self.usd_per_million_input_tokens or 0, self.usd_per_million_output_tokens or 0
        return (prompt_tokens * prices[0] + completion_tokens * prices[1]) / 1e6


class Ledger:
    """The calls to one server, and its pace. Raises EntropySentinelError where its file cannot be used."""

    def __init__(self, path: str | Path | None, terms: Terms) -> None:
        """Open the ledger at `path`, for this process alone where it is None; makes the file where there is none."""
        self.path, self.terms = path, terms
        self._lock = threading.Lock()
        try:
            if path is not None:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            # Any thread may use it, one at a time.
            self._file = sqlite3.connect(
                path or ":memory:", timeout=_TURN_S, isolation_level=None, check_same_thread=False
            )
            # Whole however a process ends. A power cut may damage it, which costs the sums and no reply.
            self._file.execute("PRAGMA synchronous = OFF")
            self._file.executescript(_TABLES)
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from None

    def reserve(self, account: str, prompt_tokens: int, completion_tokens: int) -> int | None:
        """Write down a call at what it may take at most; its number, or None where the budget has no room for it."""
        usd = self.terms.usd(prompt_tokens, completion_tokens)
        with self._turn() as file:
            (spent,) = file.execute("SELECT coalesce(sum(usd), 0) FROM calls").fetchone()
            if self.terms.budget_usd is not None and spent + usd > self.terms.budget_usd:
                return None
            row = (account, 0, prompt_tokens, completion_tokens, usd)
            return file.execute(
                "INSERT INTO calls (account, answered, prompt_tokens, completion_tokens, usd) VALUES (?, ?, ?, ?, ?)",
                row,
            ).lastrowid

    def settle(self, call: int, prompt_tokens: int, completion_tokens: int) -> None:
        """Write down what an answered call has taken; where the server does not say, what was reserved stays."""
        usd = self.terms.usd(prompt_tokens, completion_tokens)
        with self._turn() as file:
            if prompt_tokens or completion_tokens:
                file.execute(
                    "UPDATE calls SET prompt_tokens = ?, completion_tokens = ?, usd = ? WHERE id = ?",
                    (prompt_tokens, completion_tokens, usd, call),
                )
            file.execute("UPDATE calls SET answered = 1 WHERE id = ?", (call,))

    def release(self, call: int) -> None:
        """Strike out a call that costs nothing, since the server has refused it or was not there."""
        with self._turn() as file:
            file.execute("DELETE FROM calls WHERE id = ?", (call,))

    def count_cached(self, account: str, calls: int) -> None:
        """Count replies that were on disk already."""
        with self._turn() as file:
            file.execute(
                "INSERT INTO cached VALUES (?, ?) ON CONFLICT DO UPDATE SET calls = calls + excluded.calls",
                (account, calls),
            )

    def pause_s(self, tokens: int) -> float:
        """Seconds until one more request of about so many tokens may be sent; its place is taken.

        Requests, and tokens, are spread evenly over time.
        """
        wanted = {"requests": (1, self.terms.requests_per_minute), "tokens": (tokens, self.terms.tokens_per_minute)}
        limited = {what: amount * 60 / rate for what, (amount, rate) in wanted.items() if rate}
        if not limited:
            return 0.0
        now = time.time()
        with self._turn() as file:
            free_at = dict(file.execute("SELECT what, free_at FROM pace").fetchall())
            start = max(now, *(free_at.get(what, 0.0) for what in limited))
            taken = [(what, start + seconds) for what, seconds in limited.items()]
            file.executemany("INSERT OR REPLACE INTO pace VALUES (?, ?)", taken)
        return start - now

    def correct(self, tokens: int) -> None:
        """Move the pace by so many tokens that a request took beyond those it was let through with."""
        if self.terms.tokens_per_minute:
            with self._turn() as file:
                file.execute(
                    "UPDATE pace SET free_at = free_at + ? WHERE what = 'tokens'",
                    (tokens * 60 / self.terms.tokens_per_minute,),
                )

    @property
    def spent_usd(self) -> float:
        """Dollars of all calls, those without a reply at their most."""
        with self._turn() as file:
            return file.execute("SELECT coalesce(sum(usd), 0) FROM calls").fetchone()[0]

    def accounts(self) -> list[dict[str, Any]]:
        """Per account, in order: calls, unanswered_calls, cached_calls, prompt_tokens, completion_tokens, usd.

        Dollars are those of calls without a reply as well, at their most; tokens are not.
        """
        with self._turn() as file:
            rows = file.execute(
                "SELECT account, sum(answered), sum(1 - answered), sum(answered * prompt_tokens), "
                "sum(answered * completion_tokens), sum(usd)"
                " FROM calls GROUP BY account"
            ).fetchall()
            cached: Mapping[str, int] = dict(file.execute("SELECT account, calls FROM cached").fetchall())
        names = ("calls", "unanswered_calls", "prompt_tokens", "completion_tokens", "usd")
        found = {account: dict(zip(names, values, strict=True)) for account, *values in rows}
        nothing = dict.fromkeys(names, 0)
        return [
            {"account": account, **(found.get(account) or nothing), "cached_calls": cached.get(account, 0)}
            for account in sorted(found.keys() | cached.keys())
        ]

    @contextmanager
    def _turn(self) -> Iterator[sqlite3.Connection]:
        """The file to this thread alone; what is done there is done as a whole or not at all."""
        with self._lock:
            try:
                self._file.execute("BEGIN IMMEDIATE")
                try:
                    yield self._file
                except BaseException:
                    self._file.execute("ROLLBACK")
                    raise
                self._file.execute("COMMIT")
            except sqlite3.Error as error:
                raise self._unusable(error) from None

    def _unusable(self, error: Exception) -> EntropySentinelError:
        return EntropySentinelError(
            f"{self.path}: what is spent is written down here, and it cannot be used: {error}; make room, or delete it "
            "where it is damaged: what is spent then counts from nothing, and no reply is lost"
        )
