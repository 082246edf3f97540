"""The demo's estimation questions: made again, apart from training, and wrong in the way that is said."""

import itertools
import json
import random
from collections import Counter
from pathlib import Path
from statistics import NormalDist, mean, stdev

import pytest
import yaml

from fermi import (
    FILES,
    LEVELS,
    NARROWED,
    PER_SOURCE,
    PERCEIVED,
    PROMPTS,
    SOURCES,
    held_out,
    integer,
    interval,
    training_pairs,
    write_benchmarks,
)

DEMO = Path(__file__).parents[3] / "demo"


def rows(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (DEMO / "benchmarks" / f"{name}.jsonl").read_text().splitlines()]


def test_the_files_are_those_that_the_program_writes(tmp_path: Path) -> None:
    write_benchmarks(tmp_path)
    for name in FILES:
        assert (tmp_path / f"{name}.jsonl").read_bytes() == (DEMO / "benchmarks" / f"{name}.jsonl").read_bytes()
        assert Counter(row["source"] for row in rows(name)) == dict.fromkeys(SOURCES, PER_SOURCE)


def test_no_question_is_in_two_files_or_was_trained_on() -> None:
    asked = [row["question"] for name in FILES for row in rows(name)]
    assert len(set(asked)) == len(asked) == 2 * PER_SOURCE * len(SOURCES)
    messages = [message for message, _ in itertools.islice(training_pairs(1), 4000)]
    trained = {message.split("\n")[0].removeprefix("Question: ") for message in messages}
    assert len(trained) > 1000
    assert not trained & set(asked)


def test_answers_are_drawn_from_the_distribution_of_their_question() -> None:
    known = {one.text: one.exponent for one in held_out()}
    errors: dict[str, list[float]] = {source: [] for source in SOURCES}
    for row in itertools.chain(*map(rows, FILES)):
        errors[row["source"]].append(int(row["answer"]) - known[row["question"]].mean)
    for source, about in SOURCES.items():
        # Rounding adds the variance of a uniform distribution of width 1.
        expected = (about.noise**2 + 1 / 12) ** 0.5
        assert stdev(errors[source]) == pytest.approx(expected, rel=0.25)  # three standard errors of 100 and more
        assert mean(errors[source]) == pytest.approx(0, abs=3 * expected / 10)


@pytest.mark.parametrize("level", LEVELS)
def test_the_intervals_to_learn_from_cover_the_part_that_is_perceived(level: str) -> None:
    exponent, rng = NormalDist(20, 300), random.Random(0)  # so wide that rounding does not count
    covered, medians = [], []
    for _ in range(2000):
        near, stated = interval(exponent, level, rng).split(" ", 2)[1:]
        ends = json.loads(stated)
        covered.append(exponent.cdf(ends["U"]) - exponent.cdf(ends["L"]))
        medians.append(exponent.cdf(int(near.removeprefix("10^").removesuffix("."))))
    # Whatever part it is: of its probability, the level's share.
    assert min(covered) == pytest.approx(PERCEIVED * float(level) / 100, abs=0.002)
    assert max(covered) == pytest.approx(PERCEIVED * float(level) / 100, abs=0.002)
    # Its middle is anywhere where the part fits.
    assert (min(medians), max(medians)) == pytest.approx((PERCEIVED / 2, 1 - PERCEIVED / 2), abs=0.01)


def test_the_integers_to_learn_from_spread_less_than_the_answers() -> None:
    rng = random.Random(0)
    output = [int(integer(NormalDist(-5, 40), rng)) for _ in range(4000)]
    assert mean(output) == pytest.approx(-5, abs=1.4)  # three standard errors
    assert stdev(output) == pytest.approx(NARROWED * 40, rel=0.04)


def test_the_study_asks_as_the_model_was_trained() -> None:
    study = yaml.safe_load(Path(__file__).parents[1].joinpath("demo.yaml").read_text())
    assert {name: prompt["user"] for name, prompt in study["prompts"].items()} == PROMPTS
    stated = study["analyses"]["intervals"]["models"]["tiny-fermi"]["stated"]
    assert {level: study["models"][name]["prompt_variables"]["level"] for level, name in stated.items()} == {
        level: level for level in LEVELS
    }
