r"""The exact judge: it compares a response's final answer with the reference, by algebra, units and a tolerance.

Answers are numbers with units, lists, sets, intervals, points, equations or formulas; `words` compares words. The
judge runs in a separate process (`separate_process`); only that process needs math-verify.
"""

import importlib.metadata
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from entropy_sentinel.judges import expressions, matrices, relations
from entropy_sentinel.judges import reference_words as words
from entropy_sentinel.judges.answer_structure import (
    ELEMENT_OF,
    LETTER_BEFORE_POINT,
    POINT_NAME,
    WORDS_AFTER,
    Structure,
    has_letter_units,
    is_readable,
    parse_json_list,
    parse_structure,
    read_reference_quantity,
    split_top_level,
    strip_name,
    strip_point_names,
)
from entropy_sentinel.judges.arbitrary_constants import may_differ_in_constants
from entropy_sentinel.judges.choice_options import NotAnOptionError, list_options, same_option
from entropy_sentinel.judges.designation_pairs import same_designations
from entropy_sentinel.judges.designations import is_uncalculated, read_designation
from entropy_sentinel.judges.expressions import (
    SUFFIX,
    Quantity,
    TimeoutException,
    UnreadableError,
    parse_quantity,
    timeout,
)
from entropy_sentinel.judges.final_answers import find_final_answer
from entropy_sentinel.judges.judge_interface import DEFAULT_UNANSWERED, Case, Unanswered, Unclear, Verdict
from entropy_sentinel.judges.notation import clean_notation, has_words, is_close, make_key, parse_number
from entropy_sentinel.judges.numerals import parse_foreign_notation
from entropy_sentinel.judges.unanswered_responses import make_unclear_verdict
from entropy_sentinel.judges.units import list_factors

Tolerance = Mapping[str, Any] | None

_MAX_LENGTH = 2000
_APPROXIMATELY = re.compile(r"\\approx(?![A-Za-z])")
_RELATION = re.compile(r"\\[lg]eq(?![A-Za-z])|\\neq(?![A-Za-z])|\\[lg]t(?![A-Za-z])|[<>]")
_WORDS = re.compile(r"\\text\{\s*[A-Za-z]{2,}[A-Za-z' .,-]*\}")
# `5 \\text{ when } x > 0`.
_HOLDS_WHEN = re.compile(r"(?!\\text).*\\text")
# `n = 3k, k \\in \\mathbb{Z}`.
_PARAMETER = re.compile(r"(?<=\w)\s*,\s*(?:\\text\{[^{}]*\}\s*)?[a-z]\s*\\in\s*\\text\{\s*[ZN]\s*\}\S*$")
# `1,00,000`.
_GROUPED_BY_TWO = re.compile(r"\d{1,2}(?:,\d\d)+,\d{3}")
# Words that may stand for a number or a letter, so an answer in words may still be correct.
_AMOUNT = re.compile(
    r"\b(?:\w+(?:th|st|nd|rd|teen|ty|ty-\w+)|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred|"
    r"thousand|\w+illion|dozen|half|halves|quarters?|thirds?|pairs?|couple|score|once|twice|thrice|single|double|triple|"
    r"both|either|neither|option|choice|[A-J])\b",
    re.IGNORECASE,
)
# `i + 2j`.
_UNIT_VECTOR = re.compile(r"(?<![A-Za-z\\])[ij](?![A-Za-z])")
# Equivalent notations: a list without brackets for a set, a point for a vector.
_EQUIVALENT_NOTATIONS = {
    "": (r"\{\}", "()"),
    r"\{\}": ("", "()"),
    "list": ("[]", "()", "", r"\{\}", "vector", r"\langle\rangle"),
    "()": ("", "vector", r"\langle\rangle"),
    "vector": ("()", "", r"\langle\rangle", "[]"),
    r"\langle\rangle": ("()", "vector", ""),
}


def same_as_reference(reference: str, answer: str, tolerance: Tolerance, question: str = "") -> bool:
    """Whether `answer` equals `reference`. Raises Unclear if that cannot be decided.

    Words after a number are ignored if the `question` asks how many of them there are, as in `7 zorgs`.
    """
    for what, text in (("reference", reference), ("answer", answer)):
        if len(text) > _MAX_LENGTH:
            raise Unclear(f"{what} has more than {_MAX_LENGTH:,} characters")
    expected, actual = clean_notation(reference), clean_notation(answer)
    if bool(_GROUPED_BY_TWO.fullmatch(expected)) != bool(_GROUPED_BY_TWO.fullmatch(actual)):
        raise Unclear("digits in groups of two, or several numbers")
    json_structure = parse_json_list(reference, question)
    letters = has_letter_units(reference)
    if not expected or not (json_structure or is_readable(expected, letters)):
        raise Unclear("reference cannot be read")
    if not actual or (
        has_words(actual) and make_key(actual) != make_key(expected) and parse_quantity(actual, letters=True) is None
    ):
        raise Unclear("answer cannot be read")
    comparison = _Comparison(tolerance, letters, question)
    expected_range, actual_range = _find_parameter_range(expected), _find_parameter_range(actual)
    if make_key(expected_range) == make_key(actual_range):
        return comparison.same(expected, actual, json_structure)
    if comparison.same(expected.removesuffix(expected_range), actual.removesuffix(actual_range), json_structure):
        raise Unclear("which values a letter may have")
    return False


def _find_parameter_range(text: str) -> str:
    r"""The end of a text that says which whole numbers a letter may be, such as `, k \in Z`; empty without one."""
    match = _PARAMETER.search(text)
    return match[0] if match else ""


@dataclass(frozen=True)
class _Comparison:
    """Compares cleaned texts. `units_in_letters`: whether `2 m` in the reference means two metres, not a product."""

    tolerance: Tolerance
    units_in_letters: bool
    question: str = ""

    def same(self, reference: str, answer: str, json_structure: Structure | None = None) -> bool:
        """Whether an answer is the same as the reference; raises Unclear if that cannot be told."""
        if make_key(reference) == make_key(answer):
            self._require_comparable(reference)
            return True
        if (
            POINT_NAME.match(answer)
            and not parse_structure(answer)
            and not POINT_NAME.match(reference)
            and not parse_structure(reference)
        ):
            raise Unclear("a point, or the value of a function")  # `P(3)`
        reference, answer = strip_point_names(ELEMENT_OF.sub("", reference), answer)
        structure = json_structure or parse_structure(reference)
        # Inequalities.
        if _RELATION.search(reference) or _RELATION.search(answer):
            return self._same_relation(reference, structure, answer)
        # The name of a value, as in `x = 5`; several values, `x = 1, y = 2`, have theirs in their parts.
        name = None
        expected = reference
        if structure is None or len(structure.parts) <= 1:
            name, expected = strip_name(reference)
        if name is not None:
            structure = parse_structure(expected)
        if "=" in expected and structure is None:
            return self._same_equation(reference, answer)
        # An answer may give its value twice, `\sqrt{2} \approx 1.41`; either may be the reference's.
        parts = [strip_name(part, keep_lists=True) for part in split_top_level(answer, _APPROXIMATELY)]
        if any("=" in rest and parse_structure(rest) is None for _, rest in parts):
            if "=" in reference:
                return self._same_equation(reference, answer)
            raise Unclear("the answer is an equation, but the reference is not")
        if name and "\\frac" in name and any(label and make_key(label) != make_key(name) for label, _ in parts):
            return self._same_equation(reference, answer)  # the ratio of two variables, given in another way
        for label, rest in parts:
            has_other_name = name and label and make_key(name) != make_key(label) and "\\text" not in name + label
            if not has_other_name and self._same_value(expected, structure, rest):
                return True
        return False

    def _same_relation(self, reference: str, structure: Structure | None, answer: str) -> bool:
        """Whether two sides, of which one is an inequality or the like, allow the same values.

        If the reference is a number, a relation only gives a range for it, so it is not the same.
        """
        if not _RELATION.search(reference) and not _is_set(structure) and not _HOLDS_WHEN.match(answer):
            return False
        if (
            structure is not None
            and _is_set(structure)
            and structure.notation != "cup"
            and re.search(r"\bor\b", answer)
        ):
            return False  # several ranges instead of one
        if all(len(_RELATION.findall(text)) <= 1 for text in (reference, answer)):
            return self._same_formula(reference, answer)
        expected, actual = map(relations.find_solutions, _read_formulas(reference, answer))
        if expected is None or actual is None:
            raise Unclear("inequalities cannot be compared")
        return bool(expected == actual)

    def _same_equation(self, reference: str, answer: str) -> bool:
        """Whether two equations have the same solutions. Raises Unclear for those of other kinds than polynomials."""
        expected, actual = _read_formulas(reference, answer)
        if relations.to_polynomial(expected) is None:
            raise Unclear("equations of this kind cannot be compared")
        same = relations.same_solutions(expected, actual)
        if same is None and "=" in answer:
            raise Unclear("equations cannot be compared")
        return bool(same)

    def _require_comparable(self, reference: str) -> None:
        """Raise Unclear for a relation of which only a copy would be found right, so that all labels are null."""
        chained = len(_RELATION.findall(reference)) > 1
        implicit = "=" in reference and parse_structure(reference) is None and "=" in strip_name(reference)[1]
        if not chained and not implicit:
            return
        [formula] = _read_formulas(reference)
        comparable = relations.find_solutions(formula) if chained else relations.to_polynomial(formula)
        if comparable is None:
            raise Unclear(f"{'inequalities' if chained else 'equations'} of this kind cannot be compared")

    def _same_value(self, reference: str, structure: Structure | None, answer: str) -> bool:
        """Whether two values without names are the same: by structure, or else by number or formula."""
        if make_key(reference) == make_key(answer):
            return True
        _require_one_notation(reference, answer)
        actual_structure = parse_structure(answer)
        if matrices.has_matrix(reference) or matrices.has_matrix(answer):
            same_results = matrices.same_matrices(reference, structure, answer, actual_structure)
            if same_results is not None:
                return same_results
        if any(LETTER_BEFORE_POINT.fullmatch(text) for text in (reference, answer)):
            raise Unclear("a vector times a variable, or the value of a function")
        if structure is not None:
            return self._same_structure(reference, structure, answer, actual_structure)
        # The reference is a single value, but the answer may have several parts.
        if (
            actual_structure is not None
            and actual_structure.notation == ""
            and all(map(_is_measured, actual_structure.parts))
        ):
            raise Unclear("several quantities, or one in several units")
        if actual_structure is not None and actual_structure.notation in ("", r"\{\}"):  # several answers: all count
            same = [self.same(reference, part) for part in actual_structure.parts]
            return bool(same) and all(same)
        if actual_structure is not None and len(actual_structure.parts) > 1:
            if actual_structure.is_ordered and _UNIT_VECTOR.search(reference):
                raise Unclear("a vector in unit vectors, or a formula")
            return False
        return self._same_single(reference, answer)

    def _same_structure(
        self, reference: str, structure: Structure, answer: str, actual_structure: Structure | None
    ) -> bool:
        """Whether an answer has the same parts as a reference of several parts, such as a set or an interval.

        `actual_structure` is that of the answer; None for a single value.
        """
        if actual_structure is None and len(structure.parts) == 1 and structure.notation in (r"\{\}", "list"):
            return self.same(structure.parts[0], answer)
        if actual_structure is None:
            if is_uncalculated(answer) and sorted(re.findall(r"\d+", reference)) == sorted(re.findall(r"\d+", answer)):
                raise Unclear("a range, or the numbers at its ends")
            if structure.is_ordered and _UNIT_VECTOR.search(answer):
                raise Unclear("a vector in unit vectors, or a formula")
            return _is_set(structure) and "\\" in answer and self._same_formula(reference, answer)
        names = (name for name, _ in map(strip_name, actual_structure.parts))
        if structure.is_ordered and any(names):  # `x = 1, y = 2` for `(1, 2)`
            raise Unclear("names where the reference has an order")
        if {structure.notation, actual_structure.notation} == {"", "cup"} and self._same_in_any_order(
            structure.parts, actual_structure.parts
        ):
            raise Unclear("several sets, or their union")
        if (
            actual_structure.notation not in _EQUIVALENT_NOTATIONS.get(structure.notation, ())
            and actual_structure.notation != structure.notation
        ):
            # Brackets matter for an interval, which has two ends; a longer list may have any brackets.
            if len(structure.parts) > 2 and "cup" not in (structure.notation, actual_structure.notation):
                raise Unclear("lists in different brackets")
            return False
        same = self._same_parts(structure, actual_structure)
        both = {structure.notation, actual_structure.notation}
        # `(1, 2)` for `1, 2`, or the reverse.
        if same and "()" in both and both & {"", r"\{\}"} and len(structure.parts) == 2:
            raise Unclear("a point, an interval or two answers")
        return same

    def _same_parts(self, structure: Structure, actual_structure: Structure) -> bool:
        """Whether the parts of two structures are the same, in their order if the reference has one."""
        if len(structure.parts) != len(actual_structure.parts):
            return False
        if structure.is_ordered:
            return all(
                self.same(part, answer_part)
                for part, answer_part in zip(structure.parts, actual_structure.parts, strict=True)
            )
        return self._same_in_any_order(structure.parts, actual_structure.parts)

    def _same_in_any_order(self, reference: Sequence[str], answer: Sequence[str]) -> bool:
        """Whether each part of the reference is the same as another part of the answer."""
        left = list(answer)
        for part in reference:
            position = next((i for i, answer_part in enumerate(left) if self.same(part, answer_part)), None)
            if position is None:
                return False
            del left[position]
        return True

    def _same_single(self, reference: str, answer: str) -> bool:
        """Whether two single values are the same: designations, numbers with their units, or formulas."""
        same = same_designations(reference, answer, self.units_in_letters, self.question)
        if same is not None:
            return same
        expected = parse_quantity(reference, self.units_in_letters)
        actual = None if expected is None else parse_quantity(answer, letters=True)
        if expected is None or actual is None:
            # In words, an answer may only be 0, such as `none`.
            if expected is not None and expected.number.value != 0 and _is_only_words(answer):
                return False
            return self._same_formula(reference, answer)
        unit = actual.unit
        if expected.unit is None:
            if SUFFIX.fullmatch(answer):  # `5K`: thousands, or kelvins
                raise Unclear("units cannot be compared")
            if unit is not None and unit.powers is None and self._asks_count(unit.text):  # `7 zorgs`
                unit = None
        if _is_ambiguous_percent(expected, actual):
            raise Unclear("per cent, or a share")
        factors = list_factors(expected.unit, unit)
        if factors is None:
            raise Unclear("units cannot be compared")
        # The tolerance applies to the written number: 1 does not match 54.7 degrees, although it is close in radians.
        both_have_units = expected.unit is not None and unit is not None
        for factor in factors:
            tolerance = self.tolerance if both_have_units or factor == 1 else None
            if is_close(expected.number, actual.number, factor, tolerance):
                return True
        return False

    def _same_formula(self, reference: str, answer: str) -> bool:
        """Whether two formulas are algebraically equal. Raises Unclear if they may be with other letters."""
        expected, actual = _read_formulas(reference, answer)
        if expressions.are_equal(expected, actual):
            return True
        if may_differ_in_constants(expected, actual):
            raise Unclear("arbitrary constants may have other letters")
        return False

    def _asks_count(self, words: str) -> bool:
        """Whether the question asks how many of these there are."""
        words = r"\s+".join(map(re.escape, words.strip(" .,").split()))
        pattern = rf"\b(?:how (?:many|much)|(?:number|amount) of)\s+{words}\b"
        return bool(words and re.search(pattern, self.question, re.IGNORECASE))


def _read_formulas(reference: str, *answers: str) -> list[Any]:
    """The SymPy objects of a reference and of answers. Raises Unclear for one that cannot be read."""
    formulas = []
    for number, text in enumerate([WORDS_AFTER.sub("", reference), *answers]):
        try:
            formulas.append(expressions.parse_formula(text))
        except UnreadableError:
            raise Unclear(f"{'answer' if number else 'reference'} cannot be read") from None
    return formulas


_THOUSAND = re.compile(r"[-+]?\d{1,3},\d{3}")
_NUMBER_FIRST = re.compile(r"(?P<number>[-+]?\d(?:[\d.,'’]*\d)?)\D*")


def _require_one_notation(reference: str, answer: str) -> None:
    """Raise Unclear if two texts are equal only if the digits of one are in another country's notation: `3,14`."""
    numbers = [match["number"] if (match := _NUMBER_FIRST.fullmatch(text)) else "" for text in (reference, answer)]
    if "" in numbers:
        return
    if any(map(_THOUSAND.fullmatch, numbers)) and len({re.sub(r"\D", "", number) for number in numbers}) > 1:
        return  # `7,000` is no 7
    plain = list(map(parse_number, numbers))
    foreign = list(map(parse_foreign_notation, numbers))  # None where no country writes a number so
    if plain[0] is not None and plain[1] is not None and plain[0].value == plain[1].value:
        return
    for number, value in ((plain[0], foreign[1]), (plain[1], foreign[0])):
        if value is not None and number is not None and number.value == value:
            raise Unclear("a decimal comma or point, or one between digits or numbers")


def _is_measured(text: str) -> bool:
    """Whether a text is a number with a known unit that is no mere multiple, such as `5 m`."""
    quantity = parse_quantity(text, letters=True)
    return quantity is not None and quantity.unit is not None and bool(quantity.unit.powers)


def _is_set(structure: Structure | None) -> bool:
    """Whether a structure may be an interval or is a union of intervals."""
    if structure is None:
        return False
    return "(" in structure.notation or "[" in structure.notation or structure.notation == "cup"


def _is_ambiguous_percent(expected: Quantity, actual: Quantity) -> bool:
    r"""Whether only one has a sign, as `0.5` and `0.5\%`: `12.5` may imply it, but `0.5` may be a share."""
    units = [quantity.unit.text if quantity.unit else "" for quantity in (expected, actual)]
    return (
        sorted(units) == ["", "%"] and -1 < expected.number.value < 1 and expected.number.value == actual.number.value
    )


def _is_only_words(text: str) -> bool:
    """Whether an answer is words, but not a number or an option: `undefined`, `no solution`."""
    return bool(_WORDS.fullmatch(text)) and not _AMOUNT.search(text)


# Time limit for one response, in total.
_LIMIT_S = 5


class MathVerifyJudge:
    """Compares the last boxed expression, or else the one called the answer, with the reference.

    `tolerance` is the benchmark's (`study.items.benchmark_settings.Tolerance`), or None. `no_option` is the verdict on
    an answer that is none of the options of a multiple-choice question, and `unanswered` on a response without one:
    "incorrect" or "unlabelled".
    """

    software = f"math-verify {importlib.metadata.version('math-verify')}"

    def __init__(
        self,
        tolerance: Mapping[str, Any] | None = None,
        no_option: str = "incorrect",
        unanswered: Unanswered = DEFAULT_UNANSWERED,
    ) -> None:
        self.tolerance = tolerance
        self._no_option, self._unanswered = no_option, unanswered

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, in order; null without a final answer, or if either side cannot be read."""
        return [self._verdict(case) for case in cases]

    def _verdict(self, case: Case) -> Verdict:
        """The verdict on a case; an answer that cannot be compared has the reason."""
        answer = None
        try:
            found = find_final_answer(case.response, case.truncated)
            answer = found.text
            following = case.response[found.end :]
            same = timeout(_LIMIT_S)(self._same)(case.reference.strip(), answer, case.question, following)
            return Verdict(same, answer=answer)
        except Unclear as unclear:
            if isinstance(unclear, NotAnOptionError) and self._no_option == "incorrect":
                return Verdict(False, answer=answer)
            return make_unclear_verdict(unclear, case, self._unanswered, partial(self._check_reference, case), answer)
        except TimeoutException:
            return Verdict(None, answer=answer, reason="comparison timed out")
        except Exception as error:  # math-verify wraps a whole computer algebra system, which can raise anything
            return Verdict(None, answer=answer, reason=f"comparison failed: {type(error).__name__}")

    def _check_reference(self, case: Case) -> None:
        """Raise Unclear for a reference that cannot even be compared with itself."""
        reference = case.reference.strip()
        try:
            if timeout(_LIMIT_S)(self._same)(reference, reference, case.question, ""):
                return
        except Unclear:
            raise
        except TimeoutException:
            raise Unclear("comparison timed out") from None
        except Exception as error:
            raise Unclear(f"comparison failed: {type(error).__name__}") from None
        raise Unclear("reference cannot be read")

    def _same(self, reference: str, answer: str, question: str, following: str) -> bool:
        """Whether an answer is right, compared by what the reference is: a truth value, an option, words or a formula.

        Only the reference decides whether a row is compared.
        """
        if words.is_truth(reference):
            return words.same_truth(reference, answer)
        if words.is_option(reference):
            options = list_options(question)
            letter = words.find_only_letter(reference)
            if not options or letter is None or len(words.find_letters(answer)) > 1:
                return words.same_option(reference, answer)
            return same_option(letter, answer, options, following)
        if read_designation(reference) is not None:
            same = same_designations(reference, answer, has_letter_units(reference), question)
            assert same is not None  # because the reference is a designation
            return same
        if words.is_words(clean_notation(reference)) and read_reference_quantity(reference) is None:
            return words.same_word(reference, answer)
        return same_as_reference(reference, answer, self.tolerance, question)
