r"""Where the final answer of a response stands: in its last box, or else in its last statement.

`last_boxed` gives what stands in the box. Without one, `stated` gives the clause after the last "answer is", or else
the last sentence; `statements.expression` finds the formula or number with its unit in it.
"""

import re
from typing import NamedTuple

from entropy_sentinel.judges.notation import in_braces

_BOX = re.compile(r"\\f?boxed\s*(?=\{)")
# Between boxes that together are one answer: `\boxed{1}$ and $\boxed{2}`, `$x = \boxed{1}$, $y = \boxed{2}$`.
_BETWEEN_BOXES = re.compile(
    r"[\s$]*(?:\\\)|\\\])?[\s$]*(?:,|;|,?\s*(?:and|or)\b)[\s$]*(?:\\\(|\\\[)?[\s$]*(?:[A-Za-z_0-9]{1,4}\s*=\s*)?"
)
# A formula between its delimiters.
SPAN = re.compile(
    r"\$\$(?P<a>.+?)\$\$|\\\[(?P<b>.+?)\\\]|\\\((?P<c>.+?)\\\)|(?<![\\$])\$(?=\S)(?P<d>(?:\\\$|[^$\n])+?)(?<![\s\\])\$(?!\d)",
    re.DOTALL,
)
_ANCHOR = re.compile(
    r"####|(?:\b(?:answers?|result|solution)\b(?:\s+(?!is\b|are\b|was\b)[\w'-]+){0,8}\s*(?:\bis\b|\bare\b|\bwas\b|=|:)+)"
    r"(?:\s*(?:\bis\b|\bare\b|:))*",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])(?=\s|$)|\n+")


class Statement(NamedTuple):
    """The last statement of a response; `anchored`: whether it says that it is the answer."""

    clause: str
    anchored: bool
    # What of the same sentence comes before, up to "answer is"; and what follows the sentence.
    opening: str = ""
    following: str = ""


def last_boxed(response: str) -> str | None:
    r"""What stands in the last `\boxed{...}`; of several with only `and` or a comma between them, all, with commas.

    None if there is none, or if the last one never ends.
    """
    found = _last_boxes(response)
    return found and ", ".join(found[0])


def around_boxes(response: str) -> tuple[str, str]:
    """What stands before and after what `last_boxed` gives."""
    found = _last_boxes(response)
    return (response[: found[1]], response[found[2] :]) if found else (response, "")


def _last_boxes(response: str) -> tuple[list[str], int, int] | None:
    """The contents of the last boxes that belong together, where the first begins and where the last ends."""
    found: list[tuple[int, int, str | None]] = []
    for box in list(_BOX.finditer(response))[-20:]:
        inside = in_braces(response, box.end())
        found.append((box.start(), box.end() + len(inside or "") + 2, inside))
    if not found or found[-1][2] is None:
        return None
    answers, start = [found[-1][2].strip()], found[-1][0]
    for begin, end, inside in reversed(found[:-1]):
        if inside is None or end > start or not _BETWEEN_BOXES.fullmatch(response[end:start]):
            break
        answers.insert(0, inside.strip())
        start = begin
    return answers, start, found[-1][1]


def stated(response: str) -> Statement:
    """The last statement of a response without a box, with an empty clause for none."""
    text = re.sub(r"\*\*|__|`", "", response).strip()
    anchors = list(_ANCHOR.finditer(text))
    if anchors:
        clause, *following = _sentences(text[anchors[-1].end() :].strip()) or [""]
        if clause:
            opening = re.split(r"[.!?,;:\n]", text[: anchors[-1].start()])[-1] + anchors[-1][0]
            return Statement(clause, True, opening, "\n".join(following))
    sentences = _sentences(text)
    counted = [place for place, one in enumerate(sentences) if SPAN.search(one) or re.search(r"\d", one)]
    place = (counted or [len(sentences) - 1])[-1]
    if not sentences:
        return Statement("", False)
    return Statement(sentences[place], False, following="\n".join(sentences[place + 1 :]))


def _sentences(text: str) -> list[str]:
    """Sentences and lines; formulas are never split, and one set apart goes with the words before it."""
    masked = SPAN.sub(lambda span: "\x00" * len(span[0]), text)
    ends = [found.end() for found in _SENTENCE_END.finditer(masked)]
    parts = [text[begin:end] for begin, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    return [part.strip() for part in parts if part.strip(" .!?\n*#-")]
