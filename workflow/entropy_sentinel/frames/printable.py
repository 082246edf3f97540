"""Text of logs and models as a terminal or a spreadsheet may show it.

On a terminal nothing in it moves the cursor, colours, or turns the order round (Unicode, UAX 9 and UTR 36). In a CSV
file no text becomes a formula (OWASP, CSV Injection): one that a spreadsheet would compute, as `=HYPERLINK(...)`, gets
an apostrophe before it, and one with apostrophes before such a beginning gets one more, so that it is read back as it
was. Numbers stay numbers.
"""

import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Polars is imported where a file is written or read: help texts and errors are printable without it, and at once.
if TYPE_CHECKING:
    import polars as pl

# What joins letters in some scripts and in emoji.
_JOINERS = "\u200c\u200d"
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def printable(text: str) -> str:
    """The text with a visible character in the place of each that acts on a terminal; lines and tabs stay."""
    return text if text.isprintable() else "".join(char if char in "\n\t" else _visible(char) for char in text)


def one_line(text: str) -> str:
    """The text as `printable` has it, on one line."""
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(char: str) -> str:
    """The picture of a control character, U+FFFD for others that are not seen; other characters as they are."""
    if unicodedata.category(char) not in _HIDDEN or char in _JOINERS:
        return char
    if char < " ":
        return chr(0x2400 + ord(char))
    return "\N{SYMBOL FOR DELETE}" if char == "\x7f" else "\N{REPLACEMENT CHARACTER}"


_BEGINS = r"[=+\-@\t\r\n＝＋－＠]"


def write_csv(frame: "pl.DataFrame", path: str | Path) -> None:
    """Write a frame, its texts and the names of its columns so that a spreadsheet shows them."""
    import polars.selectors as cs

    frame.with_columns(as_shown(cs.string())).rename(_shown_names(frame.columns)).write_csv(path)


def read_csv(path: str | Path, **options: Any) -> "pl.DataFrame":
    """Read such a file, its texts as they were; `options` are those of polars.read_csv."""
    import polars as pl
    import polars.selectors as cs

    table = pl.read_csv(path, **options).with_columns(as_written(cs.string()))
    return table.rename({name: pl.select(as_written(pl.lit(name))).item() for name in table.columns})


def as_shown(texts: "pl.Expr") -> "pl.Expr":
    """Texts as they stand in the file."""
    return texts.str.replace(f"^('*{_BEGINS})", "'$1")


def as_written(texts: "pl.Expr") -> "pl.Expr":
    """Texts of a file as they were."""
    return texts.str.replace(f"^'('*{_BEGINS})", "$1")


def _shown_names(names: list[str]) -> dict[str, str]:
    import polars as pl

    shown = pl.select(as_shown(pl.lit(pl.Series(names, dtype=pl.String)))).to_series()
    return dict(zip(names, shown, strict=True))
