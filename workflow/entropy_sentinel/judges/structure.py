r"""Answers of several parts: lists, tuples, intervals, sets, unions, vectors and matrices, split at the top level.

A structure is how it is held together and its parts as text: `(3, 4]` is `("(]", ["3", "4"])`. A list without
brackets, `1, -2` or `2 \text{ or } 3`, is held together by nothing, `""`; a union by `"cup"`.
"""

import re
from dataclasses import dataclass

_SEPARATOR = re.compile(
    r"\s*(?:\\text\{\s*(?:,\s*)?(?:and|or)\s*\}|,?\s*(?<![A-Za-z\\])(?:and|or)(?![A-Za-z])|[,;])\s*(?:\\text\{\s*(?:and|or)\s*\})?\s*"
)
_THOUSANDS = re.compile(r"(?:[^,=]*=)?\s*[-+]?(?:\\\$)?\s*\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,]).*")
_OPEN = {"(": ")", "[": "]", r"\{": r"\}", r"\langle": r"\rangle"}
_MATRIX = re.compile(r"\\begin\{([pbvBV]?matrix|array|smallmatrix)\}(?:\{[clr|]+\})?(.*)\\end\{\1\}", re.DOTALL)
_BOTH_SIGNS = re.compile(r"\\(?:pm|mp)(?![A-Za-z])")
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|.", re.DOTALL)


@dataclass(frozen=True)
class Structure:
    """Parts of an answer, as text, and what holds them together."""

    held: str
    parts: tuple[str, ...]

    @property
    def ordered(self) -> bool:
        """Whether the order of the parts matters."""
        return self.held not in ("", r"\{\}", "cup")


def split(text: str) -> Structure | None:
    """The structure of a cleaned answer; None if it has a single part."""
    if matrix := _MATRIX.fullmatch(re.sub(r"^[(\[]\s*(?=\\begin)|(?<=\})\s*[)\]]$", "", text)):
        rows = [row for row in re.split(r"\\\\(?:\[[^\]]*\])?", matrix[2]) if row.strip()]
        cells = [re.split(r"(?<!\\)&", row) for row in rows]
        shape = f"{len(cells)}x{len(cells[0])}"
        vector = 1 in (len(cells), len(cells[0]))
        return Structure("vector" if vector else shape, tuple(cell.strip() for row in cells for cell in row))
    if not _THOUSANDS.fullmatch(text) and len(parts := at_top_level(text, _SEPARATOR)) > 1:
        return Structure("", tuple(one for part in parts for one in both_signs(part)))
    if len(parts := at_top_level(text, re.compile(r"\s*\\cup(?![A-Za-z])\s*"))) > 1:
        return Structure("cup", tuple(parts))
    if (found := _brackets(text)) is not None:
        held, inside = found
        parts = at_top_level(inside, _SEPARATOR)
        if len(parts) == 1 and held == "()":
            return None  # a factor in parentheses
        if held == r"\{\}":
            parts = [one for part in parts for one in both_signs(part)]
        return Structure(held, tuple(parts))
    signs = both_signs(text)
    return Structure("", tuple(signs)) if len(signs) > 1 else None


def at_top_level(text: str, separator: re.Pattern[str]) -> list[str]:
    """The parts of `text` between separators that stand in no bracket; empty parts are left out."""
    parts, start, depth, position = [], 0, 0, 0
    while position < len(text):
        if depth == 0 and (found := separator.match(text, position)) and found.end() > position:
            parts.append(text[start : found.start()])
            start = position = found.end()
            continue
        token = _token(text, position)
        opens = token in ("(", "[", "{", r"\{", r"\langle") or token == r"\begin"
        closes = token in (")", "]", "}", r"\}", r"\rangle") or token == r"\end"
        depth = max(depth + opens - closes, 0)
        position += len(token)
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def _token(text: str, position: int) -> str:
    found = _TOKEN.match(text, position)
    assert found is not None  # any character is a token
    return found[0]


def both_signs(text: str) -> list[str]:
    r"""`1 \pm \sqrt{2}` as its two values; another text as it is, and one whose sign stands in brackets."""
    found = list(_BOTH_SIGNS.finditer(text))
    if len(found) != 1 or text[: found[0].start()].count("(") > text[: found[0].start()].count(")"):
        return [text]
    return [re.sub(r"^\+\s*", "", _BOTH_SIGNS.sub(sign, text).strip()) for sign in "+-"]


def _brackets(text: str) -> tuple[str, str] | None:
    """The first and the last bracket of `text`, as one text, and what is in them; None if they do not match."""
    first = next((one for one in _OPEN if text.startswith(one)), None)
    last = next((one for one in _OPEN.values() if text.endswith(one)), None)
    if first is None or last is None or len(text) < len(first) + len(last):
        return None
    depth, position = 0, 0
    while position < len(text):
        token = _token(text, position)
        depth += (token in _OPEN) - (token in _OPEN.values())
        position += len(token)
        if depth == 0:
            break
    return (first + last, text[len(first) : len(text) - len(last)].strip()) if position >= len(text) else None
