"""Which class of a model is which right answer, and where p* is from."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ambiguous_rows import EXACT, semantics, write_family, write_items
from papers.ambiguity.ambiguity_frames import ALIGNED_CLASSES
from papers.ambiguity.class_alignment import Classes, match_classes, read_file_p_stars, write_aligned_classes

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.study.semantic_clustering.backend_interface import Pair, Question
from entropy_sentinel.study.semantic_clustering.exact_backend import ExactBackend

TRIANGLE = Question("One of the fire triangle?", (("heat",), ("fuel", "something to burn"), ("oxygen", "O2")))


class FirstLetter:
    """Two answers mean the same where they begin with the same letter."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def same(self, pairs: Sequence[Pair]) -> list[bool]:
        self.asked += [(pair.first, pair.second) for pair in pairs]
        return [pair.first[0] == pair.second[0] for pair in pairs]

    @property
    def provenance(self) -> dict[str, Any]:
        return {}


def test_a_class_with_a_name_of_an_answer_is_that_answer() -> None:
    asked = [Classes(TRIANGLE, [["The Heat!"], ["gas", "Something to burn"], ["o2"], ["carbon"], [""]])]
    assert match_classes(asked, ExactBackend()) == [[0, 1, 2, None, None]]


def test_the_backend_compares_the_rest_with_the_first_names_in_order() -> None:
    backend = FirstLetter()
    classes = [["hydrogen", "hot"], ["oxygen"], ["foil"], ["carbon"], ["xenon", "hex"]]
    assert match_classes([Classes(TRIANGLE, classes)], backend) == [[0, 2, 1, None, None]]
    # Oxygen is a name: it is not asked about. Of the others the first text, against each answer's first name.
    assert {text for _, text in backend.asked} == {"hydrogen", "foil", "carbon", "xenon"}
    assert {name for name, _ in backend.asked} == {"heat", "fuel", "oxygen"}
    # Two answers begin alike: the first one has the class.
    twice = Question("?", (("half",), ("heat",)))
    assert match_classes([Classes(twice, [["hot"]])], FirstLetter()) == [[0]]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Three items: one with counts, one with one answer that the model never gives, one without answers."""
    items = [
        (TRIANGLE.text, [list(names) for names in TRIANGLE.answers], [30.0, 34.0, 36.0]),
        ("Where?", [["Paris"]], None),
        ("Why?", None, None),
    ]
    write_items(tmp_path / "items.parquet", "b", items)
    # Heat twice, in two classes of the model; carbon; oxygen under its other name; fuel never.
    first = [("heat", 0, 0.3), ("hot stuff", 1, 0.1), ("carbon", 2, 0.2), ("O2", 3, 0.25), ("The heat", 1, 0.15)]
    second = [("Rome", 0, 0.5), ("London", 1, 0.5), ("rome", 0, 0.5)]
    rows = semantics([first, second, [("because", 0, 1.0)]])
    write_family(tmp_path / "semantics.parquet", "semantics", "m", "b", rows)
    return {name: tmp_path / f"{name}.parquet" for name in ("items", "semantics", "aligned")}


def align(files: dict[str, Path], sources: dict[str, str]) -> list[dict[str, Any]]:
    write_aligned_classes(str(files["items"]), str(files["semantics"]), sources, "own", EXACT, str(files["aligned"]))
    return ALIGNED_CLASSES.read(files["aligned"]).rows(named=True)


def test_classes_are_next_to_the_answers(files: dict[str, Path]) -> None:
    rows = align(files, {})
    result = [
        (row["name"], row["right"], row["p_star"], row["p"], row["frequency"])
        for row in rows
        if "0" in row["item_id"][-1]
    ]
    assert [one[:2] for one in result] == [("heat", True), ("fuel", True), ("oxygen", True), ("carbon", False)]
    assert [one[2] for one in result] == pytest.approx([0.30, 0.34, 0.36, 0])
    # The two classes of heat together have 0.55 of 1.0, three of five samples.
    assert [one[3] for one in result] == [pytest.approx(0.55), None, pytest.approx(0.25), pytest.approx(0.2)]
    assert [one[4] for one in result] == [pytest.approx(0.6), None, pytest.approx(0.2), pytest.approx(0.2)]
    second = [row for row in rows if row["item_id"] == "b-00001"]
    assert [(row["name"], row["p_star"], row["p"], row["count"]) for row in second] == [
        ("Paris", 1.0, None, None),
        ("Rome", 0.0, pytest.approx(2 / 3), None),
        ("London", 0.0, pytest.approx(1 / 3), None),
    ]
    assert {row["item_id"] for row in rows} == {"b-00000", "b-00001"}
    assert {row["n_samples"] for row in second} == {3}
    assert read_provenance(files["aligned"])["grouping"] == {"backend": "exact"}


def test_further_sources_have_answers_and_counts_of_their_own(files: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    rows = [
        {"question": TRIANGLE.text, "answers": ["Oxygen", "Heat"], "counts": [3, 1]},
        {"question": "Where?", "answers": [["Paris", "Lutetia"]], "counts": [0]},
        {"question": "Asked nowhere?", "answers": ["x"], "counts": [1]},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = [row for row in align(files, {"corpus": str(path)}) if row["source"] == "corpus"]
    assert {row["item_id"] for row in result} == {"b-00000"}  # the other has a count of 0
    assert [(row["name"], row["p_star"], row["p"]) for row in result] == [
        ("Oxygen", 0.75, pytest.approx(0.25)),
        ("Heat", 0.25, pytest.approx(0.55)),
        ("carbon", 0.0, pytest.approx(0.2)),
    ]


ROW = {"question": "q", "answers": ["a"], "counts": [1]}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([ROW | {"question": "Q"}], "must have counts for .*1 rows"),
        ([ROW | {"counts": [-1]}], r"row 0: counts \(counts\) must be numbers above 0"),
        ([ROW, ROW | {"question": " q "}], "row 1: has the question of row 0; keep one row for each"),
        ([ROW | {"question": ["q"]}], "row 0: 'question' must be text, a number or a list of these"),
    ],
)
def test_a_file_of_counts_that_does_not_fit_is_refused(rows: list[dict], message: str, tmp_path: Path) -> None:
    items = write_items(tmp_path / "i.parquet", "b", [("q", [["a"]], None)])
    path = tmp_path / "counts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=rf"counts\.jsonl: {message}"):
        read_file_p_stars(str(path), items)


def test_items_that_ask_the_same_share_their_row(tmp_path: Path) -> None:
    items = write_items(tmp_path / "i.parquet", "b", [("q", [["a"]], None), ("q", [["a"], ["b"]], None)])
    path = tmp_path / "counts.jsonl"
    path.write_text('{"question": "q", "answers": ["a", "b"], "counts": [3, 1]}\n')
    result = read_file_p_stars(str(path), items)
    assert {item: p_star.counts for item, p_star in result.items()} == {"b-00000": (3, 1), "b-00001": (3, 1)}
