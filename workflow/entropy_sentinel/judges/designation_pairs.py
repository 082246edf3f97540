r"""Compare designations, the digits that are not calculated, as they are written.

Two of them, or one and a number, that may mean the same in another way, such as `3-1` and `2`, are not decided.
"""

import math
import re
from collections.abc import Callable
from fractions import Fraction

from entropy_sentinel.judges import reference_words
from entropy_sentinel.judges.answer_structure import strip_name
from entropy_sentinel.judges.dates import read_date, same_clock, same_date
from entropy_sentinel.judges.designations import Designation, DesignationKind, read_designation
from entropy_sentinel.judges.expressions import parse_quantity
from entropy_sentinel.judges.judge_interface import Unclear
from entropy_sentinel.judges.notation import Number, clean_notation, has_words
from entropy_sentinel.judges.units import Unit, list_factors, parse_unit

# Smaller numbers are no years.
_YEARS = 1000


def same_designations(reference: str, answer: str, units_in_letters: bool, question: str) -> bool | None:
    """Whether two answers are the same; None if neither is a designation. Raises Unclear if nobody can tell.

    A designation is digits that are not calculated, such as a date, a range, a rank or a telephone number. Digits
    without a base have that of the reference if the `question` speaks of a base. `units_in_letters`: whether `2 m` in
    the reference means two metres, not a product.
    """
    expected = read_designation(reference)
    actual = read_designation(answer, expected.kind if expected else None)
    if expected is None and actual is None:
        return None
    if expected is not None and actual is None and "=" in answer and not has_words(clean_notation(answer)):
        _, value = strip_name(clean_notation(answer))  # `t = 3:40`
        actual = read_designation(value, expected.kind)
    if expected is not None and actual is not None:
        return same_designation(expected, actual)
    if expected is not None and expected.kind is DesignationKind.NUMERAL:
        return _same_as_numeral(expected, answer, question)
    if expected is None:  # only the answer is one
        assert actual is not None
        number = parse_quantity(clean_notation(reference), units_in_letters)
        if number is None or actual.kind is DesignationKind.DIMENSIONS:
            return None
        if actual.kind is DesignationKind.NUMERAL:
            return _same_as_numeral(actual, reference, "")
        return same_as_number(actual, number.number, reference, is_reference=False)
    # Only the reference is one.
    number = parse_quantity(clean_notation(answer), letters=True)
    if (
        number is None
        and expected.kind is DesignationKind.ORDINAL
        and reference_words.is_words(clean_notation(reference))
    ):
        return reference_words.same_word(reference, answer)
    if number is None or (number.unit is not None and expected.kind is DesignationKind.CLOCK):
        raise Unclear(f"the reference is {expected.kind}, and the answer cannot be read as one")
    return same_as_number(expected, number.number, answer, is_reference=True)


def same_designation(reference: Designation, answer: Designation) -> bool:
    """Whether two designations (dates, ranges ...) are the same. Raises Unclear if that depends on their meaning."""
    if _normalise_designation(reference.text) == _normalise_designation(answer.text) and reference.base == answer.base:
        return True
    same: bool | None
    if reference.kind is answer.kind:
        same = _COMPARISONS[reference.kind](reference, answer)
    elif {reference.kind, answer.kind} == {DesignationKind.CLOCK, DesignationKind.RATIO}:
        same = _same_ratios(reference, answer)
        # `10:15` may be a time, so `2:3` may be another one.
        if same and reference.kind is DesignationKind.CLOCK:
            same = None
    else:
        same = None if _same_numbers(reference, answer) else False
    if same is None:
        raise Unclear(f"{reference.kind} and {answer.kind} that may mean the same")
    return same


def _same_as_numeral(numeral: Designation, text: str, question: str) -> bool:
    """Whether digits without a base are a numeral. Raises Unclear if that depends on the base they are in."""
    bare = re.sub(r"\\text\s*(?=\{)|[\s,${}.]", "", text).upper()
    number = parse_quantity(clean_notation(text), letters=True)
    if number is None and not re.fullmatch(r"[0-9A-Z]+", bare):
        raise Unclear(f"the reference is {numeral.kind}, and the answer cannot be read as one")
    same_digits = bare.lstrip("0") == numeral.text
    if re.search(r"\bbase\b", question):
        return same_digits
    if same_digits or (number is not None and number.number.value in numeral.numbers):
        raise Unclear("the base of a numeral is not said")
    return False


def same_as_number(designation: Designation, number: Number, text: str, is_reference: bool) -> bool:
    """Whether a number, in `text`, is what a designation is: only a telephone number can be written as one.

    `is_reference`: whether the designation is the reference. Raises Unclear if that depends on what is meant.
    """
    if designation.is_telephone and number.exact and _keep_digits(text) == designation.digits == text.strip():
        return True
    # The number is a part of it, such as the year of a date.
    is_part = number.value in designation.numbers and (
        is_reference or designation.kind in (DesignationKind.DATE, DesignationKind.ORDINAL)
    )
    # Instead of a number, an answer with a colon may be a quotient or a duration.
    may_be_calculated = designation.kind in (DesignationKind.CLOCK, DesignationKind.RATIO) and not is_reference
    is_result = any(math.isclose(number.value, result, rel_tol=1e-6) for result in designation.results)
    has_same_runs = sorted(re.findall(r"\d+", text)) == sorted(re.findall(r"\d+", designation.text))
    has_same_digits = _keep_digits(text).lstrip("0") == designation.digits.lstrip("0")
    if is_part or may_be_calculated or is_result or has_same_runs or has_same_digits:
        raise Unclear(f"{designation.kind} and a number that may mean the same")
    return False


def _keep_digits(text: str) -> str:
    """The digits of a text, without anything else."""
    return re.sub(r"\D", "", text)


def _normalise_designation(text: str) -> str:
    """A text without spaces, letter case, leading zeros in dates and times, and the `v` of versions."""
    text = re.sub(r"\s", "", text).casefold().removeprefix("v")
    return re.sub(r"(?<![\d.])0+(?=\d)", "", text) if read_date(text) or ":" in text else text


def _same_numbers(reference: Designation, answer: Designation) -> bool:
    """Whether the same numbers or digits are in both, in whatever order and notation."""
    return sorted(reference.numbers) == sorted(answer.numbers) or reference.digits == answer.digits


def _same_ranges(reference: Designation, answer: Designation) -> bool | None:
    """Whether two ranges are the same; null if it depends on what they are: a range, a score or a difference."""
    left, right = reference.numbers, answer.numbers
    factors = list_factors(_parse_last_unit(reference), _parse_last_unit(answer))
    if factors is None or (left == right and left[0] < _YEARS and reference.results != answer.results):
        return None
    for factor in factors:
        if all(math.isclose(a, float(b) * factor, rel_tol=1e-9) for a, b in zip(left, right, strict=True)):
            return True
    if left[0] >= _YEARS and left[0] == right[0] and _complete_second_year(left) == _complete_second_year(right):
        # `2003-04` may also be a month.
        return True if min(left[1], right[1]) > 12 else None
    return None if sorted(map(abs, left)) == sorted(map(abs, right)) else False


def _parse_last_unit(designation: Designation) -> Unit | None:
    """The unit after the last number of a range, in which all of it is; None without one."""
    return parse_unit(designation.units[-1]) if designation.units else None


def _complete_second_year(years: tuple[Fraction, ...]) -> Fraction:
    """2016 for the numbers of `2015-16` and of `2015-2016`."""
    first, second = years
    return first - first % 100 + second if 0 <= second < 100 else second


def _same_ratios(reference: Designation, answer: Designation) -> bool:
    """Whether the numbers of two ratios are proportional."""
    left, right = reference.numbers, answer.numbers
    return len(left) == len(right) and all(a * right[0] == b * left[0] for a, b in zip(left, right, strict=True))


def _same_codes(reference: Designation, answer: Designation) -> bool | None:
    """Whether two codes are the same; null if one may be short for the other."""
    left, right = reference.digits, answer.digits
    if left == right:
        are_telephones = reference.is_telephone and answer.is_telephone
        separators, answer_separators = (set(re.sub(r"[\dvV]", "", code.text)) for code in (reference, answer))
        return True if are_telephones or separators == answer_separators else None
    # A country's number may be left out, and a version has as many zeros at its end as one likes.
    if min(len(left), len(right)) >= 6 and (left.endswith(right.lstrip("0")) or right.endswith(left.lstrip("0"))):
        return None
    shorter = min(len(reference.numbers), len(answer.numbers))
    return None if reference.numbers[:shorter] == answer.numbers[:shorter] else False


def _same_numerals(reference: Designation, answer: Designation) -> bool | None:
    """Whether two numerals have the same digits and base; null if only their values are the same."""
    if reference.base == answer.base:
        return reference.text == answer.text
    return None if reference.numbers == answer.numbers else False


def _same_dimensions(reference: Designation, answer: Designation) -> bool | None:
    """Whether two dimensions have the same numbers in order; null if only their products are the same."""
    if reference.numbers == answer.numbers:
        return True
    return None if reference.results == answer.results else False


_COMPARISONS: dict[DesignationKind, Callable[[Designation, Designation], bool | None]] = {
    DesignationKind.DATE: lambda reference, answer: same_date(reference.days, answer.days),
    DesignationKind.CLOCK: lambda reference, answer: same_clock(reference.seconds, answer.seconds),
    DesignationKind.RATIO: _same_ratios,
    DesignationKind.RANGE: _same_ranges,
    DesignationKind.ORDINAL: lambda reference, answer: reference.numbers == answer.numbers,
    DesignationKind.CODE: _same_codes,
    DesignationKind.NUMERAL: _same_numerals,
    DesignationKind.DIMENSIONS: _same_dimensions,
}
