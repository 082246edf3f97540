r"""What each response states, worked out from the rule in the module's docstring.

The rule: of a response that ended by itself the last JSON object (RFC 8259) that is inside no other; keys L and U, each
once and alone; both integers of at most 18 digits; L <= U. An integer alone: nothing but such an integer and space.
"""

import time

import polars as pl
import pytest
from papers.intervals.half_questions import read_exponents
from papers.intervals.interval_exhibits import REASONS
from papers.intervals.statement_parsing import parse_integer, parse_interval

from entropy_sentinel.core.errors import InputError

PLAIN = '{"L": 3, "U": 5}'

# Name, response, and the interval or the reason.
INTERVALS: list[tuple[str, str, tuple[int, int] | str]] = [
    # One object, and nothing wrong with it.
    ("plain", PLAIN, (3, 5)),
    ("negative", '{"L": -12, "U": -3}', (-12, -3)),
    ("one number", '{"L": 7, "U": 7}', (7, 7)),
    ("minus zero is zero", '{"L": -0, "U": 0}', (0, 0)),
    ("keys as escapes", '{"\\u004c": 3, "U": 5}', (3, 5)),
    ("18 digits", '{"L": 3, "U": 999999999999999999}', (3, 999999999999999999)),
    # What stands around it.
    ("prose before", f"About a thousand. {PLAIN}", (3, 5)),
    ("prose after", f"{PLAIN} I hope this helps!", (3, 5)),
    ("a fence", f"```json\n{PLAIN}\n```", (3, 5)),
    ("a list around it", f"[{PLAIN}]", (3, 5)),
    ("LaTeX before", f"Between 10^{{3}} and 10^{{5}}: {PLAIN}", (3, 5)),
    ("doubled braces, of which the outer begin nothing", '{{"L": 3, "U": 5}}', (3, 5)),
    ("an opening brace in prose", f"{{ answer: {PLAIN}", (3, 5)),
    ("thinking before", f"<think>{{}}</think>{PLAIN}", (3, 5)),
    ("numbers in prose", f"L = 1 and U = 9. {PLAIN}", (3, 5)),
    # Several objects: the last one, whatever it is.
    ("two objects", f'{{"L": 1, "U": 2}} or rather {PLAIN}', (3, 5)),
    ("an empty object after", f"{PLAIN} {{}}", "keys"),
    ("a wrong object after", f'{PLAIN} {{"L": 9, "U": 1}}', "reversed"),
    ("a float after", f'{PLAIN} {{"L": 3.5, "U": 5}}', "no_integers"),
    ("no JSON after", f'{PLAIN} {{"L": 3.., "U": 5}}', (3, 5)),
    ("an unfinished object after", f'{PLAIN} then {{"L": 4, "U"', (3, 5)),
    # Inside others.
    ("nested", f'{{"answer": {PLAIN}}}', "keys"),
    ("nested in a list", f'{{"answers": [{PLAIN}]}}', "keys"),
    ("ends that are objects", '{"L": {"L": 1, "U": 2}, "U": 3}', "no_integers"),
    ("inside an object that is none", f'{{"answer" {PLAIN}}}', (3, 5)),
    # Keys.
    ("L is missing", '{"U": 5}', "keys"),
    ("U is missing", '{"L": 3}', "keys"),
    ("a further key", '{"L": 3, "U": 5, "unit": "m"}', "keys"),
    ("a key twice", '{"L": 1, "L": 3, "U": 5}', "keys"),
    ("a key twice and another missing", '{"L": 3, "L": 5}', "keys"),
    # Ends that are no integers.
    ("floats", '{"L": 3.0, "U": 5.0}', "no_integers"),
    ("an exponent", '{"L": 3, "U": 1e3}', "no_integers"),
    ("strings", '{"L": "3", "U": "5"}', "no_integers"),
    ("switches", '{"L": false, "U": true}', "no_integers"),
    ("null", '{"L": null, "U": 5}', "no_integers"),
    ("19 digits", '{"L": 3, "U": 1000000000000000000}', "no_integers"),
    ("so many digits that Python refuses them", '{"L": 3, "U": ' + "9" * 5000 + "}", "no_integers"),
    # The wrong way round.
    ("reversed", '{"L": 5, "U": 3}', "reversed"),
    # No JSON object at all.
    ("empty", "", "no_json"),
    ("prose", "Between 10^3 and 10^5.", "no_json"),
    ("single quotes", "{'L': 3, 'U': 5}", "no_json"),
    ("a comma too many", '{"L": 3, "U": 5,}', "no_json"),
    ("NaN", '{"L": NaN, "U": 5}', "no_json"),
    ("Infinity", '{"L": 3, "U": Infinity}', "no_json"),
    ("a leading zero", '{"L": 03, "U": 5}', "no_json"),
    ("not closed", '{"L": 3, "U": 5', "no_json"),
    ("so deep that Python gives up", '{"a":' * 3_000, "no_json"),
    ("deep and closed", '{"a":' * 3_000 + PLAIN + "}" * 3_000, "no_json"),
]


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in INTERVALS], ids=[case[0] for case in INTERVALS])
def test_what_a_whole_response_states(text: str, expected: tuple[int, int] | str) -> None:
    result = parse_interval(text, "stop")
    if isinstance(expected, str):
        assert result == (None, None, expected)
        assert expected in REASONS
    else:
        assert result == (*expected, None)
        assert {type(result.lower), type(result.upper)} == {int}


@pytest.mark.parametrize("piece", ['{"a":', '{"a":[', '{"', "{ ", '{"\\"', '{"a":1,', "[{"])
def test_the_time_is_in_proportion_to_the_text(piece: str) -> None:
    start = time.process_time()
    assert parse_interval(piece * 20_000, "stop").reason == "no_json"
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"L": -100, "U": 100}', None),
        ('{"L": 3, "U": 101}', "too_far"),
        ('{"L": -101, "U": -3}', "too_far"),
        ('{"L": 101, "U": 3}', "reversed"),
    ],
)
def test_an_end_that_is_too_far_from_zero_is_not_a_power_of_ten(text: str, reason: str | None) -> None:
    assert parse_interval(text, "stop", farthest=100).reason == reason


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("length", "cut_off"), ("content_filter", "cut_off"), ("refused: the prompt is too long", "refused")],
)
def test_a_response_that_did_not_end_by_itself_states_nothing(finish: str, reason: str) -> None:
    assert parse_interval(PLAIN, finish) == (None, None, reason)
    assert parse_integer("3", finish) == (None, reason)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("3", 3), ("-12", -12), ("0", 0), ("-0", 0), (" 7\n", 7), ("999999999999999999", 999999999999999999)),
        *((text, None) for text in ("", "3.", "3.0", "1e3", "+3", "03", "10^3", "x = 3", "3 or 4", "3, 4", "three")),
        *(
            (text, None)
            for text in ("**3**", "1,000", "\u22123", "\uff13", "- 3", '{"L": 3, "U": 3}', "1000000000000000000")
        ),
    ],
)
def test_only_an_integer_is_read(text: str, expected: int | None) -> None:
    assert parse_integer(text, "stop") == (expected, None if expected is not None else "no_integer")


def test_an_integer_that_is_too_far_is_the_number_itself() -> None:
    assert parse_integer("1000000", "stop", farthest=100) == (None, "too_far")
    assert parse_integer("-101", "stop", farthest=100) == (None, "too_far")
    assert parse_integer("-100", "stop", farthest=100) == (-100, None)


@pytest.mark.parametrize("reference", ["1_0", "１０", "10**400", "1" * 400, "1" * 5_000, "3.0", "", None])
def test_a_reference_that_is_not_a_power_of_ten_is_refused_in_a_short_message(reference: str | None) -> None:
    items = pl.DataFrame({"item_id": ["q-1"], "reference": pl.Series([reference], dtype=pl.String)})
    with pytest.raises(
        InputError, match="item 'q-1': its reference must be an integer of at most 18 digits"
    ) as refused:
        read_exponents(items)
    assert len(str(refused.value)) < 250


def test_references_are_powers_of_ten_with_or_without_a_sign() -> None:
    items = pl.DataFrame({"item_id": ["a", "b", "c"], "reference": ["-3", "+10", "7"]})
    assert read_exponents(items) == {"a": -3, "b": 10, "c": 7}
