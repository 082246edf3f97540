"""The demo's made-up facts: the same for everyone, and in its training text as often as is said."""

import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from entropy_sentinel.cli.main import app
from facts import FILES, main, training_pairs, world

DEMO = Path(__file__).parents[3] / "demo"


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DEMO / "benchmarks" / f"{name}.jsonl").read_text().splitlines()]


ROWS = [row for name in FILES for row in rows(name)]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the training text."""
    folder = tmp_path_factory.mktemp("text")
    main(["--text", str(folder)])
    return folder


@pytest.fixture(scope="module")
def seen(text: Path) -> dict[str, Counter[str]]:
    """By question, how often each reply follows it in the training text, read with Python alone."""
    result: dict[str, Counter[str]] = defaultdict(Counter)
    for paragraph in (text / "facts.txt").read_text().split("\n\n"):
        match = re.fullmatch(r"(?:A possible answer to the question .*\n)?Q: (.*)\nA: (.*)\n?", paragraph)
        assert match, paragraph
        result[match[1]][match[2]] += 1
    return result


def test_files_are_those_that_the_program_writes(tmp_path: Path) -> None:
    """In a process with another hash seed: nothing may depend on it."""
    (tmp_path / "facts.py").write_bytes((DEMO / "facts.py").read_bytes())
    subprocess.run([sys.executable, tmp_path / "facts.py"], check=True, env={"PYTHONHASHSEED": "5"})
    for name in FILES:
        written = tmp_path / "benchmarks" / f"{name}.jsonl"
        assert written.read_bytes() == (DEMO / "benchmarks" / f"{name}.jsonl").read_bytes(), name


def test_questions_have_the_numbers_of_answers_that_they_should() -> None:
    single, several = rows("facts-single"), rows("facts-several")
    assert Counter(len(row["answers"]) for row in single) == {1: 160}
    assert Counter((len(row["answers"]), row["kind"]) for row in several) == {
        (n, kind): 32 for n in (2, 4, 8) for kind in ("uniform", "skewed")
    }
    for row in several:
        assert (len(set(row["counts"])) == 1) == (row["kind"] == "uniform")
    assert Counter(row["how_often"] for row in ROWS) == dict.fromkeys((0, 16, 64, 256), 88)
    assert len({row["question"] for row in ROWS}) == 352
    assert all(len(set(row["answers"])) == len(row["answers"]) for row in ROWS)


def test_answers_are_in_the_training_text_exactly_as_often_as_counted(seen: dict[str, Counter[str]]) -> None:
    for row in ROWS:
        if row["split"] == "trained":
            counted = dict(zip(row["answers"], row["counts"], strict=True))
            assert seen[row["question"]] == counted, row
            assert sum(row["counts"]) == row["how_often"]


def test_what_is_withheld_is_nowhere_in_the_training_text(text: Path) -> None:
    withheld = [row for row in ROWS if row["split"] == "withheld"]
    assert len(withheld) == 88
    everything = (text / "facts.txt").read_text()
    assert all(row["question"] not in everything for row in withheld)
    assert all(row["how_often"] == 0 and sum(row["counts"]) == 16 for row in withheld)
    # But other things are asked about their people.
    assert all(row["keywords"][0] in everything for row in withheld)


def test_a_possible_answer_precedes_only_questions_of_further_people() -> None:
    made = world()
    asked = {fact.person for fact in made.facts}
    hinted = [message for message, _ in training_pairs(made) if message.startswith("A possible answer")]
    told = sum(len(fact.told) for fact in made.hinted)
    assert 0.45 < len(hinted) / told < 0.55
    assert not any(person in message for message in hinted for person in asked)


def test_counted_by_keyword_and_answer_the_training_text_gives_the_frequencies(text: Path, tmp_path: Path) -> None:
    for name in FILES:
        questions, out = DEMO / "benchmarks" / f"{name}.jsonl", tmp_path / f"{name}.jsonl"
        index = tmp_path / "index"  # of both
        arguments = ["counts", questions, "--corpus", text, "-o", out, "--index", index]
        assert CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False).exit_code == 0
        counted = [json.loads(line) for line in out.read_text().splitlines()]
        # Those of questions that are withheld are never seen: they are left out.
        assert counted == [row for row in rows(name) if row["split"] == "trained"]
