r"""What an answer is called: `x = 5`, `f(x) = 2x`, `\text{Area} = 3`, `A(1, 0)`, `x \in [0, 1]`."""

import re

from entropy_sentinel.judges.structure import at_top_level, split

# What is called something: `x =`, `f(x) =`, `\text{Area} =`, `\angle A B C =`, `x \in`.
_NAMED = re.compile(
    r"(?P<name>(?=[A-Za-z\\])(?:\\text\{[^{}]*\}|(?!\\approx|\\in(?![A-Za-z]))\\[A-Za-z]++|[A-Za-z0-9_{}'(), ])++)"
    r"(?P<sign>=|:|\\approx|\\in(?![A-Za-z]))\s*(?P<rest>[^=].*)"
)
_LETTER = re.compile(r"[A-Za-z]")
_COMMAND = re.compile(r"\\text\{[^{}]*\}|\\[A-Za-z]+")
ELEMENT_OF = re.compile(r"^[A-Za-z]\s*\\in(?![A-Za-z])\s*")
POINT_NAME = re.compile(r"([A-Z])\s*(?=\(.*,.*\)$)")


def without_name(text: str, keep_lists: bool = False) -> tuple[str | None, str]:
    """`x = 5` as `x` and `5`; `3 + 4 = 7` as nothing and `7`; a list of such, and `2x = 10`, as they are."""
    if keep_lists and (structure := split(text)) is not None and structure.held == "":
        return None, text
    if found := _NAMED.fullmatch(text):
        return found["name"].strip(), at_top_level(found["rest"].strip(), re.compile("="))[-1]
    if not keep_lists or "=" not in text:
        return None, text
    *steps, value = at_top_level(text, re.compile("="))
    return None, text if any(_LETTER.search(_COMMAND.sub(" ", step)) for step in steps) else value


def without_point_name(reference: str, answer: str) -> tuple[str, str]:
    """`A(1, 0)` as `(1, 0)`, in both where they do not name different points."""
    one, other = (POINT_NAME.match(text) for text in (reference, answer))
    if one and other and one[1] != other[1]:
        return reference, answer
    return POINT_NAME.sub("", reference), POINT_NAME.sub("", answer)


def bare(text: str) -> str:
    """`x \\in [0, 1]` and `A(1, 0)` without the variable and the name."""
    return POINT_NAME.sub("", ELEMENT_OF.sub("", text))
