"""Tables on a terminal and in a log."""

import re
from io import StringIO

import pytest

from entropy_sentinel.report.terminal import show, table

PARTS = [
    "What it takes",
    table(("model", "long heading", "USD"), [("a [b]", "1,234,567", "8.00"), ("total", "9", "1")]),
]


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def lines(out: StringIO) -> list[str]:
    """The lines without what makes text bold."""
    return [re.sub(r"\x1b\[\d*m", "", line).rstrip() for line in out.getvalue().splitlines()]


def test_a_table_in_a_log_has_plain_text_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    show(PARTS, out := StringIO())
    assert lines(out) == [
        "What it takes",
        "",
        "model  long heading   USD",
        "a [b]     1,234,567  8.00",
        "total             9     1",
        "",
    ]


def test_a_narrow_terminal_wraps_headings_and_keeps_numbers_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("TERM", "xterm")
    show(PARTS, out := Terminal())
    assert lines(out) == [
        "What it takes",
        "",
        "",
        "              long",
        " model     heading    USD",
        " ────────────────────────",
        " a [b]   1,234,567   8.00",
        " total           9      1",
        "",
        "",
    ]
