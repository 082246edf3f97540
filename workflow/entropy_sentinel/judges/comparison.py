r"""Whether two answers are the same: numbers with units, lists, sets, ratios, equations, formulas."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from entropy_sentinel.judges import expressions
from entropy_sentinel.judges.equations import equation, same_equation
from entropy_sentinel.judges.expressions import UnreadableError
from entropy_sentinel.judges.names import ELEMENT_OF, without_name, without_point_name
from entropy_sentinel.judges.notation import clean, key
from entropy_sentinel.judges.numbers import close
from entropy_sentinel.judges.quantities import SUFFIX, Quantity, compound, quantity
from entropy_sentinel.judges.ranges import is_relation, real_set, same_ranges
from entropy_sentinel.judges.ratios import Ratio, ratio, same_ratio
from entropy_sentinel.judges.references import json_list, readable, units_in_letters
from entropy_sentinel.judges.spelled_numbers import NUMBER_WORDS
from entropy_sentinel.judges.structure import Structure, at_top_level, split
from entropy_sentinel.judges.things import harmless
from entropy_sentinel.judges.units import parse_unit, scales
from entropy_sentinel.judges.wording import WORDS_AFTER, Unclear, content, unsure

Tolerance = Mapping[str, Any] | None

_ALMOST = re.compile(r"\\approx(?![A-Za-z])")
_TEXT = re.compile(r"\\text\{\s*[A-Za-z]{2,}[A-Za-z' .,-]*\}")
_AMOUNT = re.compile(
    r"\b(?:\w+(?:th|st|nd|rd)|dozen|half|halves|quarters?|thirds?|pairs?|couple|score|once|twice|thrice|single|double|triple|both|either|"
    rf"neither|option|choice|[A-J]|{NUMBER_WORDS})\b",
    re.IGNORECASE,
)


def same_as_reference(reference: str, answer: str, tolerance: Tolerance, question: str = "") -> bool:
    """Whether `answer` is the `reference`, both as they were written. Raises Unclear where that cannot be said.

    `question` is what both answer: words after a number that it counts, `7 zorgs`, change nothing.
    """
    expected, found = content(clean(reference)), content(clean(answer))
    listed, letters = json_list(reference, question), units_in_letters(reference)
    if not expected or not (listed or readable(expected, letters)):
        raise Unclear("reference cannot be read")
    if not found:
        raise Unclear("answer cannot be read")
    if unsure(found):
        raise Unclear("answer says what it is not, or when")
    return _Comparison(tolerance, letters, question).same(expected, found, listed)


@dataclass(frozen=True)
class _Comparison:
    """Compares cleaned texts. `units_in_letters`: whether `2 m` in the reference is two metres and no product."""

    tolerance: Tolerance
    units_in_letters: bool
    question: str = ""

    def same(self, reference: str, answer: str, listed: Structure | None = None) -> bool:
        if key(reference) == key(answer):
            return True
        if listed is None and (decided := self._by_kind(reference, answer)) is not None:
            return decided
        reference = ELEMENT_OF.sub("", reference)
        reference, answer = without_point_name(reference, answer)
        structure = listed or split(reference)
        interval = structure is not None and ("(" in structure.held or "[" in structure.held or structure.held == "cup")
        if is_relation(reference) or (interval and is_relation(answer)):
            return self._same_formula(reference, answer)
        if is_relation(answer):
            return False  # it says in which range the answer lies
        name, expected = (None, reference) if structure and len(structure.parts) > 1 else without_name(reference)
        if name is None and structure is None and "=" in reference:
            return self._same_formula(reference, answer)
        if name is not None:
            structure = split(expected)
        found = [
            rest
            for part in at_top_level(answer, _ALMOST)
            for label, rest in [without_name(part, keep_lists=True)]
            if not (name and label and key(name) != key(label) and "\\text" not in name + label)
        ]
        same = any(self._same_value(expected, structure, rest) for rest in found)
        said = equation(answer)
        if same and said and not said.names and equation(reference) is None and not self._asked(said.left):
            raise Unclear("an equation, or the value of its left side")
        return same

    def _by_kind(self, reference: str, answer: str) -> bool | None:
        """For compound quantities, ratios, sets of numbers and equations; None for other kinds."""
        if compound(reference) or compound(answer):
            return self._same_single(reference, answer)
        if (expected := ratio(reference)) is not None or ratio(answer) is not None:
            return _same_ratio(expected, ratio(answer))
        on_a_line = any(is_relation(text) or "\\cup" in text for text in (reference, answer))
        if on_a_line and (same := _same_set(reference, answer)) is not None:
            return same
        one, other = equation(reference), equation(answer)
        if one is None or other is None or (one.names and key(one.left) == key(other.left)):
            return None
        same = same_equation(one, other)
        return same if same or not other.names else None

    def _asked(self, text: str) -> bool:
        return key(text) in key(self.question)

    def _same_value(self, reference: str, structure: Structure | None, answer: str) -> bool:
        """Names are off; the same structure or else the same number or formula."""
        if key(reference) == key(answer):
            return True
        other = split(answer)
        if structure is not None:
            return self._same_structure(reference, structure, answer, other)
        if other is not None and other.held in ("", r"\{\}") and quantity(answer, True) is None:
            return bool(other.parts) and all(self.same(reference, part) for part in other.parts)
        if other is not None and len(other.parts) > 1:
            return False
        return self._same_single(reference, answer)

    def _same_structure(self, reference: str, structure: Structure, answer: str, other: Structure | None) -> bool:
        if other is None and len(structure.parts) == 1 and structure.held in (r"\{\}", "list"):
            return self.same(structure.parts[0], answer)
        if other is None:
            if structure.held in ("cup", "()", "[]", "(]", "[)") and "\\" in answer:
                return self._same_formula(reference, answer)
            return False
        if other.held not in _ALSO.get(structure.held, ()) and other.held != structure.held:
            return self._same_brackets_aside(structure, other)
        same = self._same_parts(structure, other)
        both = {structure.held, other.held}
        if same and "()" in both and both & {"", r"\{\}"} and (real_set(reference) or real_set(answer)):
            raise Unclear("a point, an interval or two answers")
        return same

    def _same_brackets_aside(self, structure: Structure, other: Structure) -> bool:
        """Brackets matter for two ends, an interval; a longer list may be written in any."""
        if len(structure.parts) <= 2 or {structure.held, other.held} & {"cup"} or "x" in structure.held + other.held:
            return False
        return self._same_parts(structure, other)

    def _same_parts(self, structure: Structure, other: Structure) -> bool:
        if len(structure.parts) != len(other.parts):
            return False
        if structure.ordered:
            return all(self.same(part, found) for part, found in zip(structure.parts, other.parts, strict=True))
        return self._same_in_any_order(structure.parts, other.parts)

    def _same_in_any_order(self, reference: Sequence[str], answer: Sequence[str]) -> bool:
        left = list(answer)
        for part in reference:
            position = next((i for i, found in enumerate(left) if self.same(part, found)), None)
            if position is None:
                return False
            del left[position]
        return True

    def _same_single(self, reference: str, answer: str) -> bool:
        expected = quantity(reference, self.units_in_letters)
        found = None if expected is None else quantity(answer, True)
        if expected is None or found is None:
            if expected is not None and expected.number.value != 0 and _only_words(answer):
                return False
            return self._same_formula(reference, answer)
        unit = found.unit
        if expected.unit is None:
            if found.compound or SUFFIX.fullmatch(answer):
                raise Unclear("units cannot be compared")
            if unit is not None and unit.powers is None and harmless(unit.text, self.question):
                unit = None
        if _percent_of_less_than_one(expected, found):
            raise Unclear("per cent, or a share")
        factors = scales(expected.unit, unit)
        if factors is None:
            raise Unclear("units cannot be compared")
        # The tolerance is for the number as it stands: 1 is no answer to 54.7 degrees, though nearly so in radians.
        named = expected.unit is not None and unit is not None
        return any(
            close(expected.number, found.number, factor, self.tolerance if named or factor == 1 else None)
            for factor in factors
        )

    def _same_formula(self, reference: str, answer: str) -> bool:
        try:
            expected = expressions.read(WORDS_AFTER.sub("", reference))
        except UnreadableError:
            raise Unclear("reference cannot be read") from None
        try:
            found = expressions.read(self._without_words(answer))
        except UnreadableError:
            raise Unclear("answer cannot be read") from None
        return expressions.equal(expected, found)

    def _without_words(self, text: str) -> str:
        r"""A formula without the words after it: `2n \text{ ways}`."""
        found = WORDS_AFTER.search(text)
        if found is None:
            return text
        unit = parse_unit(found[0])
        if unit is not None and unit.powers is None and not harmless(found[1], self.question):
            raise Unclear("words after the answer may change it")
        return text[: found.start()]


# Ways to write a structure that say the same as another: a list without brackets as a set, a point as a vector.
_ALSO = {
    "": (r"\{\}", "()"),
    r"\{\}": ("", "()"),
    "list": ("[]", "()", "", r"\{\}", "vector", r"\langle\rangle"),
    "()": ("", "vector", r"\langle\rangle"),
    "vector": ("()", "", r"\langle\rangle", "[]"),
    r"\langle\rangle": ("()", "vector", ""),
}


def _same_ratio(reference: Ratio | None, answer: Ratio | None) -> bool:
    if reference is None:
        raise Unclear("answer cannot be read")  # not as what the reference is
    if answer is None:
        raise Unclear("answer is no ratio and no time")
    same = same_ratio(reference, answer)
    if same is None:
        raise Unclear("the same as ratios, not as times")
    return same


def _percent_of_less_than_one(expected: Quantity, found: Quantity) -> bool:
    r"""Whether the answer to `0.5` is `0.5\%`: to 12.5, per cent went without saying, but this may be a share."""
    alone = expected.unit is None and found.unit is not None and found.unit.text == "%"
    return alone and -1 < expected.number.value < 1 and expected.number.value == found.number.value


def _only_words(text: str) -> bool:
    """Whether an answer is words that are no number and no option: `undefined`, `no solution`."""
    return bool(_TEXT.fullmatch(text)) and not _AMOUNT.search(text)


def _same_set(reference: str, answer: str) -> bool | None:
    """Whether two sets of numbers are the same; None where one cannot be read as such."""
    expected, found = real_set(reference), real_set(answer)
    if expected is not None and found is not None:
        return same_ranges(expected, found)
    structure = split(answer)
    if expected is not None and structure is not None and structure.held == "":
        together = real_set(" \\cup ".join(structure.parts))
        if together is not None and same_ranges(expected, together):
            raise Unclear("several sets, or their union")
    return None
