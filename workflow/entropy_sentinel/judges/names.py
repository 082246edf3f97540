r"""What an answer is called: `x = 5`, `f(x) = 2x`, `\text{Area} = 3`, `A(1, 0)`, `x \in [0, 1]`."""

import re

from entropy_sentinel.judges.qualifiers import no_answer
from entropy_sentinel.judges.structure import at_top_level, split
from entropy_sentinel.judges.wording import Unclear

# What is called something: `x =`, `f(x) =`, `\text{Area} =`, `\angle A B C =`, `x \in`.
_NAMED = re.compile(
    r"(?P<name>(?=[A-Za-z\\])(?:\\text\{[^{}]*\}|(?!\\approx|\\in(?![A-Za-z]))\\[A-Za-z]++|[A-Za-z0-9_{}'(), ])++)"
    r"(?P<sign>=|:|\\approx|\\in(?![A-Za-z]))\s*(?P<rest>[^=].*)"
)
ELEMENT_OF = re.compile(r"^[A-Za-z]\s*\\in(?![A-Za-z])\s*")
_POINT_NAME = re.compile(r"([A-Z])\s*(?=\(.*,.*\)$)")


def without_name(text: str, keep_lists: bool = False) -> tuple[str | None, str]:
    """`x = 5` as `x` and `5`; `3 + 4 = 7` as nothing and `7`; a list of such as it is."""
    if keep_lists and (structure := split(text)) is not None and structure.held == "":
        return None, text
    name = None
    if found := _NAMED.fullmatch(text):
        name, text = found["name"].strip(), found["rest"].strip()
        if no_answer(name):
            raise Unclear("answer says what it is not")
    elif not keep_lists:
        return None, text
    return name, at_top_level(text, re.compile("="))[-1] if "=" in text else text


def without_point_name(reference: str, answer: str) -> tuple[str, str]:
    """`A(1, 0)` as `(1, 0)`, in both where they do not name different points."""
    one, other = (_POINT_NAME.match(text) for text in (reference, answer))
    if one and other and one[1] != other[1]:
        return reference, answer
    return _POINT_NAME.sub("", reference), _POINT_NAME.sub("", answer)


def bare(text: str) -> str:
    """`x \\in [0, 1]` and `A(1, 0)` without the variable and the name."""
    return _POINT_NAME.sub("", ELEMENT_OF.sub("", text))
