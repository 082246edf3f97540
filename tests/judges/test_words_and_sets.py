"""The parts of the exact judge that read words, ratios, times and sets of numbers."""

import math

import pytest

from entropy_sentinel.judges.notation import clean
from entropy_sentinel.judges.quantities import compound
from entropy_sentinel.judges.ranges import Range, Ranges, real_set
from entropy_sentinel.judges.ratios import ratio, same_ratio
from entropy_sentinel.judges.spelled_numbers import in_digits, mixed
from entropy_sentinel.judges.things import harmless
from entropy_sentinel.judges.words import options

INFINITY = math.inf


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("twelve", "12"),
        ("twenty-one apples", "21 apples"),
        ("one hundred and five", "105"),
        ("twelve hundred", "1200"),
        ("two million five hundred thousand and six", "2500006"),
        ("two thirds", "2/3"),
        ("seven and a half", "7 1/2"),
        (r"\text{twelve}", "12"),
        (r"\text{twelve apples}", r"12 \text{ apples}"),
        ("one of them", "one of them"),
        ("seventh", "seventh"),
        ("twenty eleven", "twenty eleven"),
        ("x", "x"),
    ],
)
def test_numbers_in_words(text: str, digits: str) -> None:
    assert in_digits(text) == digits


def test_a_number_and_a_part_of_one() -> None:
    assert mixed("7 and a half hours") == "7 1/2 hours"
    assert mixed(r"7 \text{ and three quarters}") == "7 3/4"
    assert mixed("7 and a hat") == "7 and a hat"


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("(0,1]", [Range(0, 1, False, True)]),
        ("x>2", [Range(2, INFINITY, False, False)]),
        ("2 >= x", [Range(-INFINITY, 2, False, True)]),
        ("1 > x > 0", [Range(0, 1, False, False)]),
        (r"x<-1 \text{ or } x>1", [Range(-INFINITY, -1, False, False), Range(1, INFINITY, False, False)]),
        (r"x \neq 3", [Range(-INFINITY, 3, False, False), Range(3, INFINITY, False, False)]),
        (r"[1,2] \cup [2,3]", [Range(1, 3, True, True)]),
        (r"x>1 \text{ and } x<1", []),
        (r"(-\infty, \frac{1}{2}]", [Range(-INFINITY, 0.5, False, True)]),
    ],
)
def test_sets_of_numbers(text: str, ranges: list[Range]) -> None:
    assert real_set(clean(text)).ranges == tuple(ranges)


@pytest.mark.parametrize("text", ["5", "(1,0)", "(a,b)", "x<y", "x<1, x>2", "1<x<2<3", r"x>1 \text{ or } y>1"])
def test_what_is_no_set_of_numbers(text: str) -> None:
    assert real_set(clean(text)) is None


def test_the_name_of_a_variable_is_kept() -> None:
    assert real_set("k > 2") == Ranges("k", (Range(2, INFINITY, False, False),))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("3:4", "6:8", True),
        ("3:4", "4:3", False),
        ("3:4:5", "3:4", False),
        ("10:15", "2:3", None),
        ("3:40 PM", "15:40", True),
        ("3:40 PM", "3:40 AM", False),
        ("12:10 AM", "0:10", True),
        ("12:10 PM", "0:10", False),
        ("3:40", "3:40 PM", True),
    ],
)
def test_ratios_and_times(one: str, other: str, same: bool | None) -> None:
    assert same_ratio(ratio(one), ratio(other)) is same


def test_several_units_are_one_quantity() -> None:
    found = compound("7 hours and 30 minutes")
    assert (found.number.value, found.unit.size) == (7.5, 3600)
    assert compound("5 ft 3 in").number.value == pytest.approx(5.25)
    for text in (
        "7 hours",
        "30 minutes 7 hours",
        "7 hours 3 kg",
        "7 hours 3 apples",
        "7 hours 3 hours",
        "1 1/0 hours 30 minutes",
    ):
        assert compound(text) is None, text


@pytest.mark.parametrize(
    "words", ["apples", "red marbles left", "in total", "cookies per day", "distinct integer solutions"]
)
def test_words_that_only_name_what_is_counted(words: str) -> None:
    assert harmless(words)


@pytest.mark.parametrize("words", ["", "or more", "squared", "halves", "pairs", "zorgs", "apples or more", "red"])
def test_other_words_may_change_the_number(words: str) -> None:
    assert not harmless(words)


def test_what_the_question_counts_changes_nothing() -> None:
    assert harmless("zorgs", "How many zorgs are there?")
    assert not harmless("zorgs", "Are there zorgs?")
    assert not harmless("or more", "How many or more?")


@pytest.mark.parametrize(
    ("text", "letters"),
    [("(A)", "A"), ("A, C and D", "ACD"), ("(A)(B)", "AB"), ("A. twelve", "A"), ("not A", ""), ("A or maybe B", "")],
)
def test_letters_of_options(text: str, letters: str) -> None:
    assert options(text) == set(letters)
