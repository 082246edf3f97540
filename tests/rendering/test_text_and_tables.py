"""Tables on a terminal and in a log; text on a page."""

import re
from io import StringIO

import pytest

from entropy_sentinel.rendering.html_pages import mark_code
from entropy_sentinel.rendering.terminal_text import format_terminal_table, print_parts

PARTS = [
    "What it takes",
    format_terminal_table(("model", "long heading", "USD"), [("a\x1b[b]", "1,234,567", "8.00"), ("total", "9", "1")]),
]


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def lines(out: StringIO) -> list[str]:
    """The lines without what makes text bold."""
    return [re.sub(r"\x1b\[[\d;]*m", "", line).rstrip() for line in out.getvalue().splitlines()]


def test_a_table_in_a_log_has_plain_text_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    print_parts(PARTS, out := StringIO())
    assert lines(out) == [
        "What it takes",
        "",
        "model  long heading   USD",
        "a␛[b]     1,234,567  8.00",
        "total             9     1",
        "",
    ]


def test_a_narrow_terminal_wraps_headings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "26")
    monkeypatch.setenv("TERM", "xterm")
    print_parts(PARTS, out := Terminal())
    assert lines(out)[3:5] == ["              long", " model     heading    USD"]


def test_a_table_that_is_wider_than_the_terminal_is_shown_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "25")
    monkeypatch.setenv("TERM", "xterm")
    print_parts([*PARTS, "the responses " * 3], out := Terminal())
    assert lines(out) == [
        "What it takes",
        "",
        "model",
        "a␛[b]",
        "  long heading 1,234,567,",
        "  USD 8.00",
        "total",
        "  long heading 9, USD 1",
        "",
        "the responses the",
        "responses the responses",
    ]


def test_backticks_are_code_on_a_page() -> None:
    text = "raise `--limit` <or> a lone ` here"
    assert mark_code(text) == "raise <code>--limit</code> &lt;or&gt; a lone ` here"
