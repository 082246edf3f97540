"""How numbers are shown."""

from collections.abc import Mapping
from typing import Any


def number(value: float | None, form: str = ".3f") -> str:
    """A number as text, "-" for null; what rounds to zero has no minus."""
    if value is None:
        return "-"
    text = format(value, form)
    return text if any(digit in text for digit in "123456789") else format(abs(value), form)


def span(row: Mapping[str, Any], form: str = ".2f") -> str:
    """The interval of a row that has `lower` and `upper`: "0.21 to 0.43"."""
    return f"{number(row['lower'], form)} to {number(row['upper'], form)}"


def millions(count: float) -> str:
    """A count in millions with one decimal, of less than one with two digits: "1,234.5", "0.16", "0.0015"."""
    return f"{count / 1e6:,.1f}" if not 0 < count < 1e6 else f"{float(f'{count / 1e6:.2g}'):.8f}".rstrip("0")


def counted(count: int, thing: str) -> str:
    """How many there are of a thing: "1 model", "2 models"."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"
