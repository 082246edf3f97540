r"""Where the final answer of a response stands: in its last box, or else in its last statement.

`last_boxed` gives what stands in the box. Without one, `stated` gives the clause after the last "answer is", or else
the last sentence, and `expression` the formula or number with its unit in it.
"""

import re

from entropy_sentinel.judges.notation import clean, spelled
from entropy_sentinel.judges.numbers import NUMBER
from entropy_sentinel.judges.units import leading_unit, parse_unit

_BOX = re.compile(r"\\f?boxed\s*(?=\{)")
# Between boxes that together are one answer: `\boxed{1}$ and $\boxed{2}`, `$x = \boxed{1}$, $y = \boxed{2}$`.
_BETWEEN_BOXES = re.compile(
    r"[\s$]*(?:\\\)|\\\])?[\s$]*(?:,|;|,?\s*(?:and|or)\b)[\s$]*(?:\\\(|\\\[)?[\s$]*(?:[A-Za-z_0-9]{1,4}\s*=\s*)?"
)
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
_EXPLANATION = re.compile(
    r",?\s+(?:because|since|which|as|so|for|when|where|if|after|by|that|while)\b|;|\s\((?=[a-z])|,(?=\s[a-z]{3,})"
)
_REMARK = re.compile(r"\s\((?:[a-z]{2,}|i\.e|e\.g)\b[^()]*(?:\([^()]*\)[^()]*)*\)")
_JOINT = re.compile(r"\s*,?\s*(?:and|or)\s+|\s*,\s*", re.IGNORECASE)
# A number or a point, `(3, 4)`, outside formulas.
_PLAIN = re.compile(
    rf"(?P<point>[\[(]\s*{NUMBER}(?:\s*,\s*{NUMBER})+\s*[\])])|(?<![\w.\\^{{])(?P<money>[-+]?\s*(?:\\?\$|€|£)\s*)?(?P<number>{NUMBER}(?:\s*/\s*\d+)?)(?P<after>\s*(?:€|%|\\%|°|\^\\circ)?)"
)
_PROSE = re.compile(r"[A-Za-z]{3,}")
_FORMULA_WORDS = re.compile(r"\\[A-Za-z]+|\b(?:sin|cos|tan|cot|sec|csc|log|exp|sqrt|max|min|pi)\b")


def last_boxed(response: str) -> str | None:
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
    """The last statement of a response without a box, "" for none, and whether it says that it is the answer."""
    text = re.sub(r"\*\*|__|`", "", response).strip()
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
    clause = _REMARK.sub("", spelled(clause)).strip()
    return (_first_expression(clause) if anchored else None) or _last_expression(clause)


def numbers(clause: str) -> list[str]:
    """All numbers and formulas in a clause: where none is called the answer, each may be."""
    clause = spelled(clause)
    masked = _SPAN.sub(lambda span: " " * len(span[0]), clause)
    return [_inside(span) for span in _SPAN.finditer(clause)] + [_amount(found) for found in _PLAIN.finditer(masked)]


def _first_expression(clause: str) -> str | None:
    while found := _FILLER.match(clause):
        clause = clause[found.end() :]
    span = _SPAN.search(clause)
    if span and (span.start() == 0 or re.fullmatch(r"[^\d,;]*=\s*", clause[: span.start()])):
        return _spans_from(clause, span)
    plain = _EXPLANATION.split(clause.rstrip(" .!"))[0]
    if span is None and not _PROSE.search(_FORMULA_WORDS.sub(" ", plain)):
        return plain
    name = re.match(r"[A-Za-z]\w*(?:\([a-z]\))?\s*=\s*", clause)
    found = _PLAIN.match(clause, name.end() if name else 0)
    return _plain_from(clause, found) if found else None


def _last_expression(clause: str) -> str | None:
    spans = list(_SPAN.finditer(clause))
    values = [span for span in spans if re.search(r"\d|=", span[0]) and not _is_unit(span)]
    masked = _SPAN.sub(lambda span: " " * len(span[0]), clause)
    numbers = list(_PLAIN.finditer(masked))
    if not values and not numbers:
        values = spans
    if values and (not numbers or values[-1].end() > numbers[-1].start()):
        return _spans_from(clause, _first_joined(clause, values))
    return _plain_from(clause, _first_joined(clause, numbers)) if numbers else None


def _first_joined(clause: str, found: list[re.Match[str]]) -> re.Match[str]:
    """The first of those that `and` or a comma joins to the last."""
    first = found[-1]
    for earlier in reversed(found[:-1]):
        if not _JOINT.fullmatch(clause[earlier.end() : first.start()]):
            break
        first = earlier
    return first


def _is_unit(span: re.Match[str]) -> bool:
    r"""Whether a formula is nothing but the unit of the number before it: `50.7 $\mathrm{atm}$`."""
    unit = parse_unit(clean(_inside(span)))
    return unit is not None and unit.powers is not None


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
    parts, end = [_amount(found)], found.end()
    while (joint := _JOINT.match(clause, end)) and (following := _PLAIN.match(clause, joint.end())):
        parts.append(_amount(following))
        end = following.end()
    has_unit = found["money"] or (found["after"] or "").strip() or clause[end : end + 1] == "-"
    unit = "" if has_unit else leading_unit(clean(re.split(r"[,;()]", clause[end:])[0]))
    return f"{', '.join(parts)} {unit}".strip()


def _amount(found: re.Match[str]) -> str:
    """The number or point in `found`, money in LaTeX."""
    if found["point"]:
        return found["point"]
    money = (found["money"] or "").replace(" ", "").replace("\\$", "$").replace("$", "\\$")
    return money + found["number"].strip(" .") + found["after"].strip()


def _inside(span: re.Match[str]) -> str:
    return next(group for group in span.groups() if group is not None).strip().rstrip(".,")


def _sentences(text: str) -> list[str]:
    """Sentences and lines; formulas are never split, and one set apart goes with the words before it."""
    masked = _SPAN.sub(lambda span: "\x00" * len(span[0]), text)
    ends = [found.end() for found in _SENTENCE_END.finditer(masked)]
    parts = [text[begin:end] for begin, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    return [part.strip() for part in parts if part.strip(" .!?\n*#-")]
