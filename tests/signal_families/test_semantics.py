"""Semantic entropy: from answers to classes, their probabilities and what is said where there is none."""

import logging
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from answered import Said, write_answered

from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.study.signal_families.semantics.answer_spread import extract_answer
from entropy_sentinel.study.signal_families.semantics.semantics_family import Semantics
from entropy_sentinel.study.stages.signal_stage import write_signals

HALF, QUARTER, EIGHTH = (math.log(2) * -power for power in (1, 2, 3))


def made(
    folder: Path, message: list[Said], answers: dict[str, Any] | None = None, **keys: Any
) -> tuple[pl.DataFrame, Any]:
    """The file of the family for responses to items `one`, `two` and `three`, and its provenance."""
    files = write_answered(folder, {"one": "Which colour?", "two": "Who?", "three": "Where?"}, message, answers)
    settings = {**Semantics(**keys).model_dump(), "revisions": ""}
    write_signals("semantics", output=str(folder / "out.parquet"), settings=settings, **files)
    return pl.read_parquet(folder / "out.parquet"), read_provenance(folder / "out.parquet")


ANSWERS = [
    Said("one", ["Red", "<end>"], [HALF, HALF], text="Red"),  # 1/4
    Said("one", ["the", " red", "."], [HALF, HALF, HALF]),  # 1/8
    Said("one", ["Blue"], [QUARTER]),  # 1/4, twice the same text
    Said("two", ["Elsa"], [HALF]),
    Said("two", ["Anna"], [EIGHTH]),
    Said("one", ["Blue"], [QUARTER]),
]


def test_by_hand(tmp_path: Path) -> None:
    result, origin = made(tmp_path, ANSWERS)
    # Red 3/8 of 7/8, blue 4/8 of 7/8. Elsa 1/2 and Anna 1/8 of 5/8.
    colours = -(3 / 7 * math.log(3 / 7) + 4 / 7 * math.log(4 / 7))
    names = -(4 / 5 * math.log(4 / 5) + 1 / 5 * math.log(1 / 5))
    items = result["item_id"].to_list()
    expected = [colours if item == "one" else names for item in items]
    assert result["semantic_entropy"].to_list() == pytest.approx(expected)
    assert result["answer_classes"].to_list() == [2.0] * 6
    assert result["answer_class"].to_list() == [0, 0, 1, 0, 1, 1]
    assert result["answer"].to_list() == ["Red", "the red.", "Blue", "Elsa", "Anna", "Blue"]
    # Log-probabilities are kept in single precision.
    assert result["probability"].to_list() == pytest.approx([1 / 4, 1 / 8, 1 / 4, 1 / 2, 1 / 8, 1 / 4], rel=1e-6)
    assert result["class_probability"].to_list() == pytest.approx([3 / 7, 3 / 7, 4 / 7, 4 / 5, 1 / 5, 4 / 7])
    few = "stable_classes: the item has {} answers, needs at least 10"
    assert result["semantics_reason"].to_list() == [few.format(4 if item == "one" else 2) for item in items]
    assert result["stable_classes"].null_count() == 6
    assert (origin["grouping"], origin["family"], origin["model"]) == ({"backend": "exact"}, "semantics", "m")


def test_frequencies_instead(tmp_path: Path) -> None:
    result, _ = made(tmp_path, ANSWERS, probabilities="frequencies")
    assert result["semantic_entropy"].to_list() == pytest.approx([math.log(2)] * 6)
    assert not result["semantics_reason"].str.contains("frequencies").any()
    assert result["probability"].null_count() == 0


def test_a_sampled_token_without_probability_leaves_frequencies_and_a_reason(tmp_path: Path) -> None:
    """-9999 is a server's word for a token of probability 0, which was sampled all the same."""
    message = [Said("one", ["Red"], [-9999.0]), Said("one", ["Red"], [HALF]), Said("one", ["Blue"], [HALF])]
    result, _ = made(tmp_path, [*message, *ANSWERS[3:5]])
    thirds = -(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3))
    assert result["semantic_entropy"].to_list()[:3] == pytest.approx([thirds] * 3)
    why = "of frequencies: a log-probability is not known of each answer to the item"
    few = [f"stable_classes: the item has {n} answers, needs at least 10" for n in (3, 2)]
    assert result["semantics_reason"].to_list() == [f"{why}; {few[0]}"] * 3 + [few[1]] * 2
    assert result["probability"].to_list()[:3] == [None, pytest.approx(0.5), pytest.approx(0.5)]


def test_right_answers_give_their_names(tmp_path: Path) -> None:
    message = [Said("two", [name], [HALF]) for name in ("Elsa", "Snow Queen", "Anna")]
    assert made(tmp_path, message)[0]["answer_class"].to_list() == [0, 1, 2]
    result, _ = made(tmp_path, message, {"two": [["Anna"], ["Elsa", "The Snow Queen"]]})
    assert result["answer_class"].to_list() == [0, 0, 1]


@pytest.mark.parametrize(
    ("counts", "stable"),
    [((10,), 1), ((9, 1), 1), ((8, 2), 2), ((2, 2, 2, 2, 2), 5), ((1,) * 10, 0), ((5, 4), None)],
)
def test_classes_that_come_again_and_again(tmp_path: Path, counts: tuple[int, ...], stable: float | None) -> None:
    """Of 10 samples, 2 have the lower limit 0.0693 and 1 has 0.0234; with 9 samples nothing is said."""
    names = [f"colour {number}" for number, count in enumerate(counts) for _ in range(count)]
    refused = Said("one", [], [], finish_reason="refused: too long")
    result, _ = made(tmp_path, [*(Said("one", [name], [HALF]) for name in names), refused])
    assert result["stable_classes"].to_list() == [stable] * len(names) + [None]
    few = "stable_classes: the item has 9 answers, needs at least 10" if stable is None else None
    assert result["semantics_reason"].to_list() == [few] * len(names) + ["refused: too long"]


def test_empty_answers_are_one_class(tmp_path: Path) -> None:
    message = [Said("one", ["<end>"], [HALF], text=""), Said("one", ["Red"], [QUARTER]), Said("one", [" "], [QUARTER])]
    result, _ = made(tmp_path, message)
    assert result["answer_class"].to_list() == [0, 1, 0]
    assert result["class_probability"].to_list() == pytest.approx([3 / 4, 1 / 4, 3 / 4])


def test_fewer_answers_than_others_and_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    refused = Said("two", [], [], finish_reason="refused: too long")
    message = [*ANSWERS[:3], ANSWERS[3], refused, refused._replace(item="three")]
    with caplog.at_level(logging.WARNING):
        result, _ = made(tmp_path, message)
    assert "1 of 2 items have fewer than 3 answers, the fewest 1" in caplog.text
    assert result["semantic_entropy"].is_null().to_list() == [False, False, False, True, True, True]
    assert result["semantics_reason"].to_list()[3:] == [
        "the item has one answer, needs at least 2",
        "refused: too long",
        "refused: too long",
    ]
    assert result["answer"].to_list()[3:] == ["Elsa", None, None]


@pytest.mark.parametrize(
    ("response", "truncated", "expected"),
    [
        (" Saturn\n", False, "Saturn"),
        ("It has rings.\nSo \\boxed{Saturn}.", False, "Saturn"),
        ("Let me see.\nThe answer is Saturn", False, "Saturn"),
        ("Let me see, of the planets", True, "Let me see, of the planets"),
        ("One line.\nAnother line.", False, "One line.\nAnother line."),
        ("", False, ""),
    ],
)
def test_the_answer_of_a_response(response: str, truncated: bool, expected: str) -> None:
    assert extract_answer(response, truncated) == expected
