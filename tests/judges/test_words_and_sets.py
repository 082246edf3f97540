"""The parts of the exact judge that read words, ratios, times and sets of numbers."""

import pytest
from sympy import EmptySet, Interval, Set, Union, oo

from entropy_sentinel.judges.notation import clean
from entropy_sentinel.judges.quantities import compound
from entropy_sentinel.judges.ranges import RealSet, real_set, same_set
from entropy_sentinel.judges.ratios import ratio, same_ratio
from entropy_sentinel.judges.spelled_numbers import in_digits, mixed
from entropy_sentinel.judges.things import harmless
from entropy_sentinel.judges.words import options


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
    ("text", "numbers"),
    [
        ("(0,1]", Interval.Lopen(0, 1)),
        ("x>2", Interval.open(2, oo)),
        ("2 >= x", Interval(-oo, 2)),
        ("1 > x > 0", Interval.open(0, 1)),
        (r"x<-1 \text{ or } x>1", Union(Interval.open(-oo, -1), Interval.open(1, oo))),
        (r"x \neq 3", Union(Interval.open(-oo, 3), Interval.open(3, oo))),
        (r"[1,2] \cup [2,3]", Interval(1, 3)),
        (r"x>1 \text{ and } x<1", EmptySet),
        (r"(-\infty, \frac{1}{2}]", Interval(-oo, 0.5)),
    ],
)
def test_sets_of_numbers(text: str, numbers: Set) -> None:
    assert same_set(real_set(clean(text)), RealSet(None, numbers))


@pytest.mark.parametrize(
    ("one", "other"), [("(0,1]", "[0,1]"), ("x>2", "x>3"), ("x<1", r"x<1 \text{ or } x>2"), ("k>2", "m>2")]
)
def test_other_sets_of_numbers(one: str, other: str) -> None:
    assert not same_set(real_set(clean(one)), real_set(clean(other)))


@pytest.mark.parametrize("text", ["5", "(1,0)", "(a,b)", "x<y", "x<1, x>2", "1<x<2<3", r"x>1 \text{ or } y>1"])
def test_what_is_no_set_of_numbers(text: str) -> None:
    assert real_set(clean(text)) is None


def test_the_name_of_a_variable_is_kept() -> None:
    found = real_set("k > 2")
    assert found.name == "k"
    assert same_set(found, RealSet("k", Interval.open(2, oo)))


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
    for text in ("7 hours", "30 minutes 7 hours", "7 hours 3 kg", "7 hours 3 apples", "7 hours 3 hours"):
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
