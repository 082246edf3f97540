"""Units by their definitions, and numbers with and without a tolerance."""

import math
from fractions import Fraction

import pytest

from entropy_sentinel.judges.notation import clean_notation, is_close, parse_number
from entropy_sentinel.judges.units import find_leading_unit, list_factors, parse_unit

LENGTH, ENERGY = (("m", 1),), (("g", 1), ("m", 2), ("s", -2))


@pytest.mark.parametrize(
    ("text", "size", "powers"),
    [
        (r"$\mathrm{~kJ} \mathrm{~mol}^{-1}$", 1e6, (("g", 1), ("m", 2), ("mol", -1), ("s", -2))),
        ("kJ/mol", 1e6, (("g", 1), ("m", 2), ("mol", -1), ("s", -2))),
        (r"\mu m", 1e-6, LENGTH),
        ("Å", 1e-10, LENGTH),
        ("feet", 0.3048, LENGTH),
        ("square inches", 0.0254**2, (("m", 2),)),
        ("kcal", 4.184e6, ENERGY),
        ("kilometers per hour", 1000 / 3600, (("m", 1), ("s", -1))),
        (r"m/s^2", 1.0, (("m", 1), ("s", -2))),
        (r"{ }^{\circ} \mathrm{C}", 1.0, (("degC", 1),)),
        (r"^\circ", math.pi / 180, ()),
        (r"\%", 0.01, ()),
        ("per cent", 0.01, ()),
        (r"\$", 1.0, (("dollar", 1),)),
        ("cents", 0.01, (("dollar", 1),)),
        ("min", 60.0, (("s", 1),)),
        ("mph", 1609.344 / 3600, (("m", 1), ("s", -1))),
    ],
)
def test_known_units(text: str, size: float, powers: tuple) -> None:
    unit = parse_unit(clean_notation(text))
    assert unit.powers == powers
    assert unit.size == pytest.approx(size, rel=1e-12)


@pytest.mark.parametrize("text", ["apples", "widgets", "eggs per carton", "J widgets"])
def test_unknown_units_have_no_powers(text: str) -> None:
    assert parse_unit(text).powers is None


@pytest.mark.parametrize(
    ("text", "unit"),
    [("atm in total", "atm"), ("in total", ""), ("every day", ""), ("m/s as we saw", "m/s"), ("apples", ""), ("", "")],
)
def test_the_unit_that_a_sentence_goes_on_with(text: str, unit: str) -> None:
    assert find_leading_unit(text) == unit


def test_factors_between_units() -> None:
    unit = {name: parse_unit(name) for name in ("km", "m", "kg", "K", "degC", "photons", "eggs", "%", "million")}
    assert list(list_factors(unit["m"], unit["km"])) == [1000]
    assert list(list_factors(unit["m"], unit["kg"])) == []
    assert (
        list(list_factors(unit["m"], None))
        == list(list_factors(None, unit["m"]))
        == list(list_factors(None, None))
        == [1]
    )
    assert list_factors(unit["K"], unit["degC"]) is None
    assert list_factors(unit["photons"], unit["eggs"]) is None
    assert list(list_factors(unit["photons"], unit["photons"])) == [1]
    assert list(list_factors(unit["%"], None)) == [1, 100]
    assert list(list_factors(None, unit["million"])) == [1e6]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234.5", Fraction("1234.5")),
        ("-0.25", Fraction(-1, 4)),
        (".5", Fraction(1, 2)),
        (r"1.5 \times 10^{-3}", Fraction(3, 2000)),
        (r"\frac{3}{4}", Fraction(3, 4)),
        (r"-\frac34", Fraction(-3, 4)),
        (r"2\frac{1}{2}", Fraction(5, 2)),
        ("2 1/2", Fraction(5, 2)),
        ("1 234 567", Fraction(1234567)),
    ],
)
def test_plain_numbers(text: str, value: Fraction) -> None:
    assert parse_number(text).value == value


@pytest.mark.parametrize("text", ["1 2", "1,23", "12,34", "", "x", r"\frac{1}{0}", "1.2.3", "1/0", "3 + 4"])
def test_text_that_is_no_plain_number_is_null(text: str) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize(
    ("reference", "answer", "tolerance", "expected"),
    [
        ("18", "18.0", None, True),
        ("0.333333", r"\frac{1}{3}", None, True),
        ("0.3333", r"\frac{1}{3}", None, False),
        ("100000000000000000001", "100000000000000000000", None, False),
        (r"1 \times 10^{-30}", r"1.00001 \times 10^{-30}", None, True),
        (r"1 \times 10^{-30}", r"1.01 \times 10^{-30}", None, False),
        ("100", "105", {"relative": 0.05}, True),
        ("100", "105.1", {"relative": 0.05}, False),
        ("-100", "-95", {"relative": 0.05}, True),
        ("-100", "95", {"relative": 0.05}, False),
        ("0.0250", "0.02504", {"significant_digits": "reference"}, True),
        ("0.0250", "0.02506", {"significant_digits": "reference"}, False),
        ("123456", "123000", {"significant_digits": 3}, True),
        ("123456", "124000", {"significant_digits": 3}, False),
        ("100", "101", {"relative": 0.05, "whole_numbers": False}, False),
        ("100.0", "101", {"relative": 0.05, "whole_numbers": False}, True),
    ],
)
def test_close_enough(reference: str, answer: str, tolerance: dict | None, expected: bool) -> None:
    assert is_close(parse_number(reference), parse_number(answer), 1.0, tolerance) is expected
