"""Options of multiple-choice questions: how rows give them, and which one a reference names."""

from collections import Counter
from typing import Any

import pytest
from item_files import item_settings

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.judges import text_judges
from entropy_sentinel.judges.judge_interface import Case
from entropy_sentinel.study.items.item_conversion import draw_order, match_references, read_items, read_options

GASES = ["Helium", "Neon", "Hydrogen", "Argon"]


def settings(**changes: Any) -> dict[str, Any]:
    return item_settings(benchmark="gases", options=["choices"], **changes)


@pytest.mark.parametrize(
    ("columns", "row"),
    [
        (["choices"], {"choices": GASES}),
        (["choices"], {"choices": [*GASES, None, " "]}),
        (["choices[text]"], {"choices": {"text": GASES, "label": list("ABCD")}}),
        (["o"], {"o": dict(zip("ABCD", GASES, strict=True))}),
        (["w", "x", "y", "z"], dict(zip("wxyz", GASES, strict=True))),
        (["w", "more"], {"w": " Helium ", "more": ["Neon", "Hydro\n gen", "Argon"]}),
    ],
)
def test_options_in_all_forms(columns: list[str], row: dict[str, Any]) -> None:
    assert [text.replace("Hydro gen", "Hydrogen") for text in read_options(columns, row, "rows: row 3")] == GASES


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["Helium"], r"rows: row 3: options \(choices\) must be 2 to 10, got 1"),
        (list("abcdefghijk"), "must be 2 to 10, got 11"),
        (["Helium", "", "Neon"], "B is empty"),
        ({"x": "Helium", "y": "Neon"}, "A, B, ..., has x, y"),
        ([["Helium"], ["Neon"]], "must be .*got list"),
    ],
)
def test_invalid_options_are_refused(value: Any, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        read_options(["choices"], {"choices": value}, "rows: row 3")


@pytest.mark.parametrize(
    ("references", "right"),
    [
        (["C", "(a)", "B."], [2, 0, 1]),
        (["2", "0", "1"], [2, 0, 1]),  # from 0: one of them is 0
        (["3", "1", "4"], [2, 0, 3]),  # from 1: one of them is 4
        (["hydrogen", "Helium", " NEON "], [2, 0, 1]),
        (["C", None, "A"], [2, None, 0]),
    ],
)
def test_a_reference_is_letter_number_or_text(references: list[str | None], right: list[int | None]) -> None:
    places = [f"rows: row {number}" for number in range(3)]
    assert match_references(references, [GASES] * 3, None, places) == right


def test_two_readings_that_differ_are_asked_about() -> None:
    numbers, places = ["1", "2", "3", "4"], ["rows: row 0", "rows: row 1"]
    assert match_references(["1", "2"], [GASES] * 2, "index", places) == [1, 2]
    assert match_references(["1", "2"], [GASES] * 2, "number", places) == [0, 1]
    # From 1 and as a text it is the same option: nothing to ask, since 4 cannot be counted from 0.
    assert match_references(["1", "4"], [numbers] * 2, None, places) == [0, 3]
    for references, form, message in (
        (["1", "2"], None, "row 0: in all 2 rows .*number from 0 or the number from 1"),
        (["Neon", "Xenon"], None, "row 1: reference 'Xenon' .* 4 options"),
        (["Neon", "Neon"], "letter", "row 0: reference 'Neon' .*letter"),
    ):
        with pytest.raises(InputError, match=message):
            match_references(references, [GASES] * 2, form, places)


def test_items_ask_with_options_and_the_judge_knows_them() -> None:
    rows = [
        {"q": "Lightest?\nA. by mass\nB. by volume", "choices": GASES, "a": 2},
        {"q": "No options?", "choices": [], "a": 7},
    ]
    items, _ = read_items(rows, settings(reference_is="index"), "rows.jsonl")
    assert [item["reference"] for item in items] == ["(C)", "7"]
    assert items[0]["question"] == f"{rows[0]['q']}\nA. Helium\nB. Neon\nC. Hydrogen\nD. Argon"
    assert items[1]["question"] == "No options?"
    output = {r"\boxed{C}": True, "The answer is hydrogen.": True, r"\boxed{B}": False, "The answer is Neon.": False}
    cases = [Case(items[0]["question"], text, items[0]["reference"], truncated=False) for text in output]
    assert [verdict.label for verdict in text_judges.make({"kind": "choice"}).judge(cases)] == list(output.values())


def test_drawn_orders_move_the_right_option_about_and_stay_the_same() -> None:
    rows = [{"q": f"Question {number}?", "choices": GASES, "a": "Helium"} for number in range(400)]
    items, _ = read_items(rows, settings(shuffle_options=True), "rows.jsonl")
    assert items == read_items(rows, settings(shuffle_options=True), "rows.jsonl")[0]
    assert items != read_items(rows, settings(shuffle_options=True, seed=43), "rows.jsonl")[0]
    for item in items:
        letter = item["reference"].strip("()")
        assert f"\n{letter}. Helium" in item["question"]
    counts = Counter(item["reference"] for item in items)
    # 100 each by chance, with a standard deviation of 8.7.
    assert sorted(counts) == ["(A)", "(B)", "(C)", "(D)"]
    assert min(counts.values()) > 65
    assert sorted(draw_order(10, 42, "gases-00000")) == list(range(10))
