"""What acts on a terminal is seen in its place; all other text is as it was."""

import unicodedata

import pytest

from entropy_sentinel.core.printable import make_one_line, make_printable
from entropy_sentinel.formatting.text_format import format_list, format_rounded


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("a\rb\x08c\x7f\0", "a␍b␈c␡␀"),
        ("\x9b31m", "\ufffd31m"),  # a C1 control is ESC [ in one character
        ("user\u202egpj.exe", "user\ufffdgpj.exe"),
        ("\u2066a\u2069\u200f\u061c", "\ufffda\ufffd\ufffd\ufffd"),
        ("a\u2028b\ufeff\u200b", "a\ufffdb\ufffd\ufffd"),
        ("\U000e0041", "\ufffd"),
        ("half \ud800", "half \ufffd"),
    ],
)
def test_control_characters_are_shown_escaped(text: str, shown: str) -> None:
    assert make_printable(text) == make_one_line(text) == shown
    assert len(shown) == len(text)


@pytest.mark.parametrize(
    "text", ["größe 7 €", "数学", "\u05d0\u05d1", "a\u00a0b", "👩\u200d🔬", "می\u200cخواهم", "", "x" * 9]
)
def test_other_text_is_unchanged(text: str) -> None:
    assert make_printable(text) == make_one_line(text) == text


def test_newlines_and_tabs_stay_in_multiline_text() -> None:
    assert make_printable("a\n\tb") == "a\n\tb"
    assert make_one_line("a\n\tb") == "a␊␉b"


def test_no_terminal_control_character_remains() -> None:
    """C0, DEL and C1 whole (ECMA-48), and all that sets the direction of text (Unicode's Bidi_Control)."""
    controls = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))]
    bidi = [*"\u061c\u200e\u200f", *map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))]
    for char in controls + bidi:
        assert unicodedata.category(make_one_line(char)) == "So", hex(ord(char))


def test_a_list_of_names_says_how_many_it_leaves_out() -> None:
    assert format_list(["a", "b", "c"], 3) == "a, b, c"
    assert format_list(["a", "b", "c"], 1, "; ") == "a and 2 more"
    assert format_list([*"abc", *["d"] * 1200], 2, "; ") == "a; b and 1,201 more"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((1061.3, "1,060"), (959.0, "959"), (999.9, "1,000"), (12345.0, "12,300"), (1.5e14, "150,000,000,000,000")),
        *((0.01234, "0.0123"), (9.999, "10"), (0.5, "0.5"), (1e-7, "0.0000001"), (-1061.3, "-1,060"), (0.0, "0")),
        *((None, "-"), (float("nan"), "nan"), (float("inf"), "inf"), (1.7e308, "1.7e+308")),
    ],
)
def test_a_number_with_three_digits_has_no_exponent(value: float | None, text: str) -> None:
    assert format_rounded(value) == text
