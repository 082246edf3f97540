"""The demo's logs: read without a complaint, of the questions that the program draws, right where the truth says so."""

import re
from collections import Counter, defaultdict
from functools import cache
from itertools import islice
from pathlib import Path

import polars as pl
import pytest

from entropy_sentinel.sources.logs.records import records
from entropy_sentinel.verbs.labels import read_labels
from entropy_sentinel.verbs.reading import open_logs
from problems import DOMAINS, held_out, mixed
from write_logs import MONDAYS, ROUTES, benchmark_questions, new_problems, questions

DEMO = Path(__file__).parents[2] / "demo"
QUESTION = re.compile(r"Question: (.*)\n\nSolution:")
# Counted from the program's table by hand: 80 requests on each of four routes.
A_WEEK = 320


@cache
def exchanges(week: int) -> list[dict]:
    return [found.content for found in records(str(DEMO / "logs" / f"week-{week}.jsonl.gz"))]


def asked(week: int) -> list[str]:
    return [QUESTION.search(one["request"]["messages"][0]["content"])[1] for one in exchanges(week)]


def test_logs_are_read_whole() -> None:
    logs = open_logs(DEMO / "logs")
    frame = pl.concat(list(logs))
    summary = dict(logs.summary.rows())
    assert set(summary) == {
        *("files", "responses", "tokens", "format", "model", "alternatives per token", "log-probabilities", "columns"),
        "steps sorted",  # a server lists the sampled token first
    }
    assert (summary["responses"], summary["format"], summary["model"]) == ("640", "openai-pairs (640)", "tiny-1m (640)")
    assert summary["alternatives per token"] == "20"
    assert frame["item_id"].n_unique() == 2 * A_WEEK
    days = frame.group_by("benchmark").agg(first=pl.col("time").dt.date().min(), last=pl.col("time").dt.date().max())
    for week, monday in MONDAYS.items():
        row = days.row(by_predicate=pl.col("benchmark") == f"week-{week}", named=True)
        assert (row["first"] - monday.date()).days == 0
        assert (row["last"] - monday.date()).days == 6


def test_questions_are_new_and_those_that_the_program_draws() -> None:
    known = {one.question for name in DOMAINS for one in held_out(name, 200, 2026)}
    known |= {one.question for one in mixed(200, 2026)}
    assert known == benchmark_questions()
    streams = {name: new_problems(name, known) for name in DOMAINS}
    both = []
    for week, weeks in {week: [routes[week] for routes in ROUTES.values()] for week in MONDAYS}.items():
        drawn = questions(week, streams)
        assert [one.problem.question for one in drawn] == asked(week)
        assert all(one.problem.is_test for one in drawn)
        assert Counter(one.problem.domain for one in drawn) == sum(map(Counter, weeks), Counter())
        both += asked(week)
    assert len(both) == len(set(both)) == 2 * A_WEEK
    assert not known & set(both)


def test_the_truth_is_what_the_replies_end_in() -> None:
    labels = dict(read_labels(DEMO / "truth" / "logs.csv").select("item_id", "label").iter_rows())
    streams = {name: new_problems(name, benchmark_questions()) for name in DOMAINS}
    right, total = 0, 0
    for week in MONDAYS:
        for one, exchange in zip(questions(week, streams), exchanges(week), strict=True):
            reply = exchange["response"]
            said = reply["choices"][0]["message"]["content"]
            assert labels[reply["id"]] == said.endswith(f"\\boxed{{{one.problem.answer}}}"), said
            right, total = right + labels[reply["id"]], total + 1
    assert (total, right) == (640, 474)


def test_two_routes_drift() -> None:
    labels = dict(read_labels(DEMO / "truth" / "logs.csv").select("item_id", "label").iter_rows())
    found = defaultdict(list)
    for week in MONDAYS:
        for one in exchanges(week):
            found[one["request"]["metadata"]["route"], week].append(labels[one["response"]["id"]])
    accuracy = {key: sum(values) / len(values) for key, values in found.items()}
    assert set(map(len, found.values())) == {80}
    drop = {route: accuracy[route, 1] - accuracy[route, 2] for route in ROUTES}
    assert drop == pytest.approx({"school": 0.025, "shop": 0.35, "support": 0.2125, "travel": -0.0125})


def test_no_question_comes_twice_from_a_stream() -> None:
    """One-digit sums are few: their stream must leave out what it has given."""
    drawn = [one.question for one in islice(new_problems("one-digit-addition", set()), 300)]
    assert len(set(drawn)) == 300
    assert drawn[0] not in {one.question for one in islice(new_problems("one-digit-addition", {drawn[0]}), 300)}
