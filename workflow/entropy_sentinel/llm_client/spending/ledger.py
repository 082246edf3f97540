"""The spending and request rate of all users of a server, in one SQLite file that any number of processes share."""

import os
import sqlite3
import threading
import time
import uuid
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropy_sentinel.core.database import DatabaseKind, check_size, prepare_database
from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.core.file_locks import try_lock


class Owner:
    """The process that owns calls in a ledger; `ledger` is its path, or None for a ledger in memory.

    The owner has a file beside the ledger, which is locked while the process lives and deleted when it ends. Another
    process deletes the file of a killed one when it checks it.
    """

    def __init__(self, ledger: str | Path | None) -> None:
        self._ledger = ledger
        self._name = ""

    @property
    def name(self) -> str:
        """The name that marks calls. The first use creates the file, which may raise OSError."""
        if not self._name:
            name = uuid.uuid4().hex
            if self._ledger is not None:
                path = self._path(name)
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
                weakref.finalize(self, _delete_owner_file, descriptor, path)
                try_lock(descriptor, path)
            self._name = name
        return self._name

    def is_alive(self, name: str) -> bool:
        """Whether the process of an owner lives."""
        if name == self._name:
            return True
        if self._ledger is None:
            return False
        try:
            descriptor = os.open(self._path(name), os.O_RDWR)
        except FileNotFoundError:
            return False
        if not try_lock(descriptor, self._path(name)):
            os.close(descriptor)
            return True
        _delete_owner_file(descriptor, self._path(name))
        return False

    def _path(self, name: str) -> Path:
        return Path(f"{self._ledger}.{name}").absolute()


def _delete_owner_file(descriptor: int, path: Path) -> None:
    with suppress(OSError):
        path.unlink()
    os.close(descriptor)


# A call is recorded before it is sent, at its largest possible cost. If its reply never came, because the process was
# killed or the connection was cut, it keeps that cost: the provider may charge for it. While it is under way, it has an
# `owner`, whose file is locked while its process lives.
_TABLES = """
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY,
    account TEXT NOT NULL,
    answered INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    usd REAL NOT NULL,
    owner TEXT
);
CREATE TABLE IF NOT EXISTS cached (account TEXT PRIMARY KEY, calls INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS pace (what TEXT PRIMARY KEY, free_at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS excess (id INTEGER PRIMARY KEY CHECK (id = 0), usd REAL NOT NULL);
"""
LEDGER = DatabaseKind("a ledger of calls to a server", 0x45536C65, 1, _TABLES)
# Longest wait for another process's transaction, seconds; each takes milliseconds.
_TRANSACTION_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Terms:
    """Prices, budget and limits of a server; None if not set. Prices are in US dollars per million tokens."""

    usd_per_million_input_tokens: float | None = None
    usd_per_million_output_tokens: float | None = None
    budget_usd: float | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None

    def usd(self, prompt_tokens: float, completion_tokens: float) -> float:
        """The cost of so many tokens, US dollars; 0 without prices."""
        prices = self.usd_per_million_input_tokens or 0, self.usd_per_million_output_tokens or 0
        return (prompt_tokens * prices[0] + completion_tokens * prices[1]) / 1e6


class OverBudget(Exception):
    """The budget does not suffice for a call, and no call in progress can free any of it."""


@dataclass(frozen=True)
class Spending:
    """US dollars: `spent` on answered calls, and `unanswered`, the limit for calls under way or without a reply.

    `excess` is the most by which a call exceeded its limit.
    """

    spent: float
    unanswered: float
    excess: float


class Ledger:
    """The calls to one server and its request rate. Raises EntropySentinelError if its file cannot be used."""

    def __init__(self, path: str | Path | None, terms: Terms) -> None:
        """Open the ledger at `path`, or create it; None is a ledger of this process only."""
        self.path, self.terms = path, terms
        self._lock = threading.Lock()
        self._owner = Owner(path)
        try:
            if path is not None:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                check_size(path, LEDGER)
            # Any thread may use it, one at a time.
            self._file = sqlite3.connect(
                path or ":memory:", timeout=_TRANSACTION_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
            # The file survives killed processes. A power cut may damage it: then the sums are lost, but no reply.
            self._file.execute("PRAGMA synchronous = OFF")
            prepare_database(self._file, path or ":memory:", LEDGER)
        except (OSError, sqlite3.Error) as error:
            raise self._make_error(error) from None

    def reserve(self, account: str, prompt_tokens: int, completion_tokens: int) -> int | None:
        """Record a call at its largest possible cost; returns its number, or None if it must wait for other calls.

        If earlier calls cost more than their limit, this call counts that much more. Raises OverBudget.
        """
        with self._open_transaction() as file:
            usd = self.terms.usd(prompt_tokens, completion_tokens) + _read_excess(file)
            (counted,) = file.execute("SELECT coalesce(sum(usd), 0) FROM calls").fetchone()
            if self.terms.budget_usd is not None and counted + usd > self.terms.budget_usd:
                if not self._has_open_calls(file):
                    raise OverBudget
                return None
            row = (account, 0, prompt_tokens, completion_tokens, usd, self._owner.name)
            return file.execute(
                "INSERT INTO calls (account, answered, prompt_tokens, completion_tokens, usd, owner)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                row,
            ).lastrowid

    def settle(self, call: int, prompt_tokens: int, completion_tokens: int) -> float:
        """Record the tokens of an answered call; if the server does not report them, the reserved ones stay.

        Returns the dollars by which the call exceeded its limit.
        """
        usd = self.terms.usd(prompt_tokens, completion_tokens)
        with self._open_transaction() as file:
            # The tokens that were reserved for it.
            [most] = file.execute("SELECT prompt_tokens, completion_tokens FROM calls WHERE id = ?", (call,))
            excess = max(0.0, usd - self.terms.usd(*most))
            if excess > _read_excess(file):
                file.execute("INSERT OR REPLACE INTO excess VALUES (0, ?)", (excess,))
            if prompt_tokens or completion_tokens:
                file.execute(
                    "UPDATE calls SET prompt_tokens = ?, completion_tokens = ?, usd = ? WHERE id = ?",
                    (prompt_tokens, completion_tokens, usd, call),
                )
            file.execute("UPDATE calls SET answered = 1, owner = NULL WHERE id = ?", (call,))
        return excess

    def give_up(self, call: int) -> None:
        """Stop waiting for the reply of a call. It may be charged, so it keeps its largest possible cost."""
        with self._open_transaction() as file:
            file.execute("UPDATE calls SET owner = NULL WHERE id = ?", (call,))

    def release(self, call: int) -> None:
        """Delete a call that costs nothing, because the server refused it or was not there."""
        with self._open_transaction() as file:
            file.execute("DELETE FROM calls WHERE id = ?", (call,))

    def _has_open_calls(self, file: sqlite3.Connection) -> bool:
        """Whether any call of a living process is under way; calls of dead processes lose their owner."""
        owners = [owner for (owner,) in file.execute("SELECT DISTINCT owner FROM calls WHERE owner IS NOT NULL")]
        any_lives = False
        for owner in owners:
            if self._owner.is_alive(owner):
                any_lives = True
            else:
                file.execute("UPDATE calls SET owner = NULL WHERE owner = ?", (owner,))
        return any_lives

    def count_cached(self, account: str, calls: int) -> None:
        """Count replies that came from the cache."""
        with self._open_transaction() as file:
            file.execute(
                "INSERT INTO cached VALUES (?, ?) ON CONFLICT DO UPDATE SET calls = calls + excluded.calls",
                (account, calls),
            )

    def pause_s(self, tokens: int) -> float:
        """The seconds until one more request of about so many tokens may be sent, and reserve its place.

        Requests and tokens are spread evenly over time.
        """
        # For how long the request uses up each limit.
        seconds = {}
        if self.terms.requests_per_minute:
            seconds["requests"] = 60 / self.terms.requests_per_minute
        if self.terms.tokens_per_minute:
            seconds["tokens"] = tokens * 60 / self.terms.tokens_per_minute
        if not seconds:
            return 0.0
        now = time.time()
        with self._open_transaction() as file:
            # When the requests that were sent have used up their part of each limit.
            free_at: dict[str, float] = dict(file.execute("SELECT what, free_at FROM pace").fetchall())
            start = max(now, *(free_at.get(what, 0.0) for what in seconds))
            for what in seconds:
                file.execute("INSERT OR REPLACE INTO pace VALUES (?, ?)", (what, start + seconds[what]))
        return start - now

    def correct(self, tokens: int) -> None:
        """Correct the token rate by the tokens that a request took in addition to its estimate (negative if fewer)."""
        if self.terms.tokens_per_minute:
            with self._open_transaction() as file:
                file.execute(
                    "UPDATE pace SET free_at = free_at + ? WHERE what = 'tokens'",
                    (tokens * 60 / self.terms.tokens_per_minute,),
                )

    def sums(self) -> Spending:
        """The sums over all calls, US dollars."""
        with self._open_transaction() as file:
            answered, unanswered = file.execute(
                "SELECT coalesce(sum(answered * usd), 0), coalesce(sum((1 - answered) * usd), 0) FROM calls"
            ).fetchone()
            return Spending(answered, unanswered, _read_excess(file))

    def accounts(self) -> list[dict[str, Any]]:
        """A row for each account, sorted by name.

        `calls`, `prompt_tokens`, `completion_tokens` and `usd` are of answered calls. `unanswered_calls` and
        `unanswered_usd`, their largest possible cost, include calls under way. `cached_calls` cost nothing.
        """
        with self._open_transaction() as file:
            rows = file.execute(
                "SELECT account, sum(answered), sum(1 - answered), sum(answered * prompt_tokens), "
                "sum(answered * completion_tokens), sum(answered * usd), sum((1 - answered) * usd)"
                " FROM calls GROUP BY account"
            ).fetchall()
            cached: Mapping[str, int] = dict(file.execute("SELECT account, calls FROM cached").fetchall())
        names = ("calls", "unanswered_calls", "prompt_tokens", "completion_tokens", "usd", "unanswered_usd")
        accounts: dict[str, dict[str, Any]] = {account: dict.fromkeys(names, 0) for account in cached}
        for account, *sums in rows:
            accounts[account] = dict(zip(names, sums, strict=True))
        table = []
        for account in sorted(accounts):
            table.append({"account": account, **accounts[account], "cached_calls": cached.get(account, 0)})
        return table

    @contextmanager
    def _open_transaction(self) -> Iterator[sqlite3.Connection]:
        """Run the block as one transaction, with the file locked for this thread."""
        with self._lock:
            try:
                self._file.execute("BEGIN IMMEDIATE")
                try:
                    yield self._file
                except BaseException:
                    self._file.execute("ROLLBACK")
                    raise
                self._file.execute("COMMIT")
            except (OSError, sqlite3.Error) as error:
                raise self._make_error(error) from None

    def _make_error(self, error: Exception) -> EntropySentinelError:
        return EntropySentinelError(
            f"{self.path}: the ledger of spending cannot be used: {error}; make room on the disk. If the file is "
            "damaged, delete it: spending then counts from 0, and no reply is lost"
        )


def _read_excess(file: sqlite3.Connection) -> float:
    """The most dollars by which a call exceeded its limit so far; 0 if none did."""
    row = file.execute("SELECT usd FROM excess").fetchone()
    return row[0] if row else 0.0
