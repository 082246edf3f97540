r"""Where the final answer of a response stands: in its last box, or else in its last statement.

`boxed` gives what stands in the box. Without one, `stated` gives the clause after the last "answer is", or else the last
sentence, and `expression` the formula or number with its unit in it.
"""

import re

from entropy_sentinel.judges.notation import clean
from entropy_sentinel.judges.numbers import NUMBER
from entropy_sentinel.judges.units import leading_unit

_BOX = re.compile(r"\\f?boxed\s*(?=\{)")
# Between boxes that together are one answer: `\boxed{1}$ and $\boxed{2}`, `$x = \boxed{1}$, $y = \boxed{2}$`.
_BETWEEN_BOXES = re.compile(r"[\s$]*(?:\\\)|\\\])?[\s$]*(?:,|;|,?\s*(?:and|or)\b)[\s$]*(?:\\\(|\\\[)?[\s$]*(?:[A-Za-z_0-9]{1,4}\s*=\s*)?")
_SPAN = re.compile(
    r"\$\$(?P<a>.+?)\$\$|\\\[(?P<b>.+?)\\\]|\\\((?P<c>.+?)\\\)|(?<![\\$])\$(?=\S)(?P<d>(?:\\\$|[^$\n])+?)(?<![\s\\])\$(?!\d)",
    re.DOTALL,
)
_ANCHOR = re.compile(
    r"####|(?:\b(?:answers?|result|solution)\b(?:\s+(?!is\b|are\b|was\b)[\w'-]+){0,8}\s*(?:\bis\b|\bare\b|\bwas\b|=|:)+)"
    r"(?:\s*(?:\bis\b|\bare\b|:))*",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])(?=\s|$)|\n+")
_FILLER = re.compile(
    r"(?:approximately|about|roughly|around|exactly|simply|therefore|thus|just|equal to|given by|indeed|the value|"
    r"the number|≈|~|:|-(?=\s)|\*)\s*",
    re.IGNORECASE,
)
# After an answer comes what explains it.
_EXPLANATION = re.compile(r",?\s+(?:because|since|which|as|so|for|when|where|if|after|by|that|while)\b|;|\(|,(?=\s[a-z]{3,})")
_JOINT = re.compile(r"\s*,?\s*(?:and|or)\s+|\s*,\s*", re.IGNORECASE)
_PLAIN = re.compile(
    rf"(?<![\w.\\^{{])(?P<money>[-+]?\s*(?:\\?\$|€|£)\s*)?(?P<number>{NUMBER}(?:\s*/\s*\d+)?)(?P<after>\s*(?:€|%|\\%|°|\^\\circ)?)"
)
_PROSE = re.compile(r"[A-Za-z]{3,}")
_FORMULA_WORDS = re.compile(r"\\[A-Za-z]+|\b(?:sin|cos|tan|cot|sec|csc|log|exp|sqrt|max|min|pi)\b")


def boxed(response: str) -> str | None:
    r"""What stands in the last `\boxed{...}`; of several with only `and` or a comma between them, all, with commas.

    None if there is none, or if the last one never ends.
    """
    found: list[tuple[int, int, str]] = []
    for box in list(_BOX.finditer(response))[-20:]:
        inside = _braces(response, box.end())
        found.append((box.start(), box.end() + len(inside or "") + 2, inside))
    if not found or found[-1][2] is None:
        return None
    answers, start = [found[-1][2].strip()], found[-1][0]
    for begin, end, inside in reversed(found[:-1]):
        if inside is None or end > start or not _BETWEEN_BOXES.fullmatch(response[end:start]):
            break
        answers.insert(0, inside.strip())
        start = begin
    return ", ".join(answers)


def _braces(text: str, begin: int) -> str | None:
    """What stands in the braces that open at `begin`; None if they never close."""
    depth = 0
    for position in range(begin, len(text)):
        character = text[position]
        if character in "{}" and text[position - 1] != "\\":
            depth += 1 if character == "{" else -1
            if depth == 0:
                return text[begin + 1 : position]
    return None


def stated(response: str) -> tuple[str, bool]:
    """The last statement of a response without a box, and whether it says that it is the answer; "" if there is none."""
    text = re.sub(r"\*\*|__|`", "", response).strip()
    # Only near the end: an "answer is" far above is not the last word.
    anchors = list(_ANCHOR.finditer(text))
    if anchors:
        rest = text[anchors[-1].end() :].strip()
        clause = next(iter(_sentences(rest)), "")
        if clause:
            return clause, True
    sentences = [one for one in _sentences(text) if _SPAN.search(one) or re.search(r"\d", one)] or _sentences(text)
    return (sentences[-1], False) if sentences else ("", False)


def expression(clause: str, anchored: bool) -> str | None:
    """The formula, or the number with its unit, that a clause ends in or, after "answer is", begins with."""
    clause = clause.strip()
    if anchored:
        while found := _FILLER.match(clause):
            clause = clause[found.end() :]
        if (span := _SPAN.match(clause)) or (span := re.match(r"[^$\\\d]{0,40}?(?=\$|\\\(|\\\[)", clause) and _SPAN.search(clause)):
            if not _PROSE.search(clause[: span.start()]) or "=" in clause[: span.start()]:
                return _spans_from(clause, span)
        plain = _EXPLANATION.split(clause.rstrip(" .!"))[0]
        if not _PROSE.search(_FORMULA_WORDS.sub(" ", plain)) or re.fullmatch(r"[\[({].*[\])}]", plain):
            return plain
        if (found := _PLAIN.match(clause)) or (found := re.match(r"[A-Za-z]\w*(?:\([a-z]\))?\s*=\s*", clause) and _PLAIN.search(clause)):
            return _plain_from(clause, found)
    return _last_expression(clause)


def _last_expression(clause: str) -> str | None:
    spans = [span for span in _SPAN.finditer(clause)]
    numeric = [span for span in spans if re.search(r"\d|=", span[0])] or spans
    masked = _SPAN.sub(lambda span: " " * len(span[0]), clause)
    numbers = list(_PLAIN.finditer(masked))
    if numeric and (not numbers or numeric[-1].end() > numbers[-1].start()):
        first = numeric[-1]
        for earlier in reversed(numeric[:-1]):
            if not _JOINT.fullmatch(clause[earlier.end() : first.start()]):
                break
            first = earlier
        return _spans_from(clause, first)
    return _plain_from(clause, numbers[-1]) if numbers else None


def _spans_from(clause: str, span: re.Match[str]) -> str:
    """The formula in `span`, with those that `and` or a comma joins to it, and the unit that follows."""
    parts = [_inside(span)]
    while (joint := _JOINT.match(clause, span.end())) and (following := _SPAN.match(clause, joint.end())):
        parts.append(_inside(following))
        span = following
    unit = leading_unit(clean(re.split(r"[,;(]", clause[span.end() :])[0]))
    return " ".join([", ".join(parts), unit]).strip()


def _plain_from(clause: str, found: re.Match[str]) -> str:
    """The number in `found`, with numbers that `and` or a comma joins to it, and the unit that follows."""
    money = "\\$" if "$" in (found["money"] or "") else (found["money"] or "").strip("+- ")
    sign = "-" if "-" in (found["money"] or "") else ""
    number, end = sign + money + found["number"].strip() + found["after"].strip(), found.end()
    while (joint := _JOINT.match(clause, end)) and (following := _PLAIN.match(clause, joint.end())):
        number, end = f"{number}, {following['number'].strip()}", following.end()
    if money or found["after"].strip() or clause[end : end + 1] in ("$", "-"):
        return number
    return f"{number} {leading_unit(clean(re.split(r'[,;()]', clause[end:])[0]))}".strip()


def _inside(span: re.Match[str]) -> str:
    return next(group for group in span.groups() if group is not None).strip().rstrip(".,")


def _sentences(text: str) -> list[str]:
    """Sentences and lines; formulas are never split, and one set apart goes with the words before it."""
    masked = _SPAN.sub(lambda span: "\x00" * len(span[0]), text)
    ends = [found.end() for found in _SENTENCE_END.finditer(masked)]
    parts = [text[begin:end] for begin, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    return [part.strip() for part in parts if part.strip(" .!?\n*#-")]
