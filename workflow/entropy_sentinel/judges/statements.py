"""The formula, or the number with its unit, in the last statement of a response, and the words next to it."""

import re
from dataclasses import dataclass

from entropy_sentinel.judges.answers import SPAN
from entropy_sentinel.judges.notation import clean, spelled
from entropy_sentinel.judges.numbers import MIXED, NUMBER
from entropy_sentinel.judges.quantities import compound
from entropy_sentinel.judges.spelled_numbers import in_digits, mixed
from entropy_sentinel.judges.units import leading_unit, parse_unit

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
_RATIO = r"\d+(?:\.\d+)?(?:\s?:\s?\d+(?:\.\d+)?)+(?:\s*[AaPp]\.?[Mm]\b\.?)?"
# A number, a ratio or a time, or a point, `(3, 4)`, outside formulas.
_PLAIN = re.compile(
    rf"(?P<point>[\[(]\s*{NUMBER}(?:\s*,\s*{NUMBER})+\s*[\])]|(?<![\w.:])\s*{_RATIO})|"
    rf"(?<![\w.\\^{{])(?<!\d:)(?P<money>[-+]?\s*(?:\\?\$|€|£)\s*)?(?P<number>{MIXED}|{NUMBER}(?:\s*/\s*\d+)?)"
    r"(?P<after>(?:\s*(?:€|%|\\%|°|\^\\circ))?)"
)
_UNIT_WORD = re.compile(r"\s*([A-Za-z]+)\b\.?")
_NEXT_PART = re.compile(rf"\s*(?:,\s*and\b|,|and\b)?\s*(?:{NUMBER})")
_CALCULATED = re.compile(r"=\s*(?:\\?\$|€|£)?\s*[-+]?\.?\d")
_CONCLUSION = re.compile(r"[,;≈]|\b(?:so|hence|therefore|thus|which is|meaning|rounds?(?: up)?)\b")
_ENDS_CALCULATION = re.compile(r"=[^=,;]*$(?<![A-Za-z] )|[-+*/=]\s*$")
_PROSE = re.compile(r"[A-Za-z]{3,}")
_FORMULA_WORDS = re.compile(r"\\[A-Za-z]+|\b(?:sin|cos|tan|cot|sec|csc|log|exp|sqrt|max|min|pi)\b")


@dataclass(frozen=True)
class Expression:
    """A formula or number with its unit, as text, and what stands before and after it in its clause."""

    text: str
    before: str
    after: str


def expression(clause: str, anchored: bool) -> Expression | None:
    """The formula, or the number with its unit, that a clause ends in or, after "answer is", begins with."""
    clause = _REMARK.sub("", mixed(spelled(clause))).strip()
    return (_first_expression(clause) if anchored else None) or _last_expression(clause)


def numbers(clause: str) -> list[str]:
    """All numbers and formulas in a clause: where none is called the answer, each may be."""
    clause = mixed(spelled(clause))
    masked = _masked(clause)
    return [_inside(span) for span in SPAN.finditer(clause)] + [_amount(found) for found in _PLAIN.finditer(masked)]


def calculated_before(found: Expression) -> bool:
    """Whether a calculation ends before a number that ends none: `9 + 6 = 15 litres out of 24`, `= $42 in 6 hours`."""
    before = _CONCLUSION.split(_masked(found.before))[-1]
    return bool(_CALCULATED.search(before)) and not _ENDS_CALCULATION.search(before) and "=" not in found.text


def _first_expression(clause: str) -> Expression | None:
    while found := _FILLER.match(clause):
        clause = clause[found.end() :]
    clause = in_digits(clause)
    span = SPAN.search(clause)
    if span and (span.start() == 0 or re.fullmatch(r"[^\d,;]*=\s*", clause[: span.start()])):
        return _spans_from(clause, span)
    whole = clause.rstrip(" .!")
    plain = _EXPLANATION.split(whole)[0]
    if span is None and not _PROSE.search(_FORMULA_WORDS.sub(" ", plain)):
        return Expression(plain, "", clause[len(plain) :]) if plain else None
    name = re.match(r"[A-Za-z]\w*(?:\([a-z]\))?\s*=\s*", clause)
    found = _PLAIN.match(clause, name.end() if name else 0)
    return _plain_from(clause, found) if found else None


def _last_expression(clause: str) -> Expression | None:
    spans = list(SPAN.finditer(clause))
    values = [span for span in spans if re.search(r"\d|=", span[0]) and not _is_unit(span)]
    found = list(_PLAIN.finditer(_masked(clause)))
    if not values and not found:
        values = spans
    if values and (not found or values[-1].end() > found[-1].start()):
        return _spans_from(clause, _first_joined(clause, values))
    return _plain_from(clause, _first_joined(clause, found)) if found else None


def _masked(clause: str) -> str:
    return SPAN.sub(lambda span: " " * len(span[0]), clause)


def _first_joined(clause: str, found: list[re.Match[str]]) -> re.Match[str]:
    """The first of those that belong to the last one: `1, 2 and 3`, `7 hours 30 minutes`."""
    first = found[-1]
    for earlier in reversed(found[:-1]):
        between = clause[earlier.end() : first.start()]
        if not _JOINT.fullmatch(between) and _compound_end(clause, earlier) <= first.start():
            break
        first = earlier
    return first


def _is_unit(span: re.Match[str]) -> bool:
    r"""Whether a formula is nothing but the unit of the number before it: `50.7 $\mathrm{atm}$`."""
    unit = parse_unit(clean(_inside(span)))
    return unit is not None and unit.powers is not None


def _spans_from(clause: str, span: re.Match[str]) -> Expression:
    """The formula in `span`, with those that `and` or a comma joins to it, and the unit that follows."""
    parts, begin = [_inside(span)], span.start()
    while (joint := _JOINT.match(clause, span.end())) and (following := SPAN.match(clause, joint.end())):
        parts.append(_inside(following))
        span = following
    unit = leading_unit(clean(re.split(r"[,;(]", clause[span.end() :])[0]))
    return Expression(" ".join([", ".join(parts), unit]).strip(), clause[:begin], _behind(clause[span.end() :], unit))


def _plain_from(clause: str, found: re.Match[str]) -> Expression:
    """The number in `found`, with numbers that `and` or a comma joins to it, and the unit that follows."""
    begin = found.start()
    if end := _compound_end(clause, found):
        return Expression(clause[begin:end].strip(), clause[:begin], clause[end:])
    parts, end = [_amount(found)], found.end()
    while (joint := _JOINT.match(clause, end)) and (following := _PLAIN.match(clause, joint.end())):
        parts.append(_amount(following))
        end = following.end()
    has_unit = found["money"] or (found["after"] or "").strip() or clause[end : end + 1] == "-"
    unit = "" if has_unit else leading_unit(clean(re.split(r"[,;()]", clause[end:])[0]))
    return Expression(f"{', '.join(parts)} {unit}".strip(), clause[:begin], _behind(clause[end:], unit))


def _compound_end(clause: str, found: re.Match[str]) -> int:
    """Where `7 hours and 30 minutes`, which `found` begins, ends; 0 if that is none."""
    end, last = 0, found.end()
    while (word := _UNIT_WORD.match(clause, last)) and (unit := parse_unit(word[1])) is not None and unit.powers:
        if end or last > found.end():
            end = word.end() if compound(clean(clause[found.start() : word.end()])) is not None else end
        following = _NEXT_PART.match(clause, word.end())
        if following is None:
            break
        last = following.end()
    return end


def _behind(text: str, unit: str) -> str:
    """What stands behind the unit that `text` begins with, perhaps in another spelling."""
    bare = text.lstrip()
    if bare.startswith(unit):
        return bare[len(unit) :] if unit else text
    return " " + " ".join(bare.split()[len(unit.split()) :])


def _amount(found: re.Match[str]) -> str:
    """The number or point in `found`, money in LaTeX."""
    if found["point"]:
        return found["point"].strip()
    money = (found["money"] or "").replace(" ", "").replace("\\$", "$").replace("$", "\\$")
    return money + found["number"].strip(" .") + found["after"].strip()


def _inside(span: re.Match[str]) -> str:
    return next(group for group in span.groups() if group is not None).strip().rstrip(".,")
