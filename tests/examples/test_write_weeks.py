"""Two weeks of a log made of real responses: each is there once, as it was answered, with its question and label."""

import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from write_weeks import HERE, MONDAYS, ROUTES, SHOWN, planned, questions, trivia, write

pytestmark = pytest.mark.slow

# Added up from the program's table by hand.
WEEKS = {
    1: {"homework": 73, "practice": 78, "exam": 113, "science": 152, "contest": 114},
    2: {"homework": 41, "practice": 41, "science": 48, "contest": 40, "chat": 40},
}
TOPICS = {topic for weeks in ROUTES.values() for mix in weeks.values() for topic in mix}
ITEMS = {topic: [f"{topic}-{row:05d}" for row in range(100)] for topic in TOPICS}


def mixes(plan: pl.DataFrame) -> dict[tuple[str, int], Counter]:
    result: dict[tuple[str, int], Counter] = {}
    for route, week, item in plan.select("metadata.route", "week", "item").iter_rows():
        result.setdefault((route, week), Counter())[item.rpartition("-")[0]] += 1
    return result


def of_examples() -> pl.DataFrame:
    asked = questions(path.stem for path in (HERE / "benchmarks").glob("*.jsonl"))
    asked = pl.concat([asked, trivia(SHOWN)[0]])
    return planned(dict(asked.sort("item").group_by("topic").agg("item").iter_rows()))


def test_every_route_gets_its_mix_and_no_question_comes_twice() -> None:
    plan = planned(ITEMS)
    assert plan["item"].is_unique().all()
    assert plan["item_id"].is_unique().all()
    assert plan.equals(planned(ITEMS))
    result = mixes(plan)
    assert {(route, week): mix.total() for (route, week), mix in result.items()} == {
        (route, week): n for week, routes in WEEKS.items() for route, n in routes.items()
    }
    assert result["practice", 1] == {"svamp/subtraction": 20, "gsm8k/few steps": 28, "gsm8k/many steps": 30}
    assert plan.select(pl.format("{}/{}", "metadata.book", "metadata.topic").is_in(list(TOPICS)).all()).item()
    for week, monday in MONDAYS.items():
        days = (plan.filter(week=week)["time"].dt.date() - monday.date()).dt.total_days()
        assert (days.min(), days.max()) == (0, 6)


def test_too_few_questions_are_named() -> None:
    with pytest.raises(ValueError, match=r"^math/elementary algebra: must have 28 more items for route 'exam', has 9$"):
        planned(ITEMS | {"math/elementary algebra": ITEMS["math/elementary algebra"][:9]})


@pytest.mark.long
def test_the_log_has_the_answers_of_the_model(tmp_path: Path) -> None:
    write(tmp_path, SHOWN)
    log = pl.concat([pl.read_parquet(tmp_path / "logs" / f"week-{week}.parquet") for week in MONDAYS])
    assert len(log) == 530 + 210
    assert set(log["model"]) == {SHOWN}
    plan = of_examples()
    assert log["item_id"].to_list() == plan["item_id"].to_list()
    assert log["time"].to_list() == plan["time"].to_list()
    row = dict(zip(plan["item"], log.iter_rows(named=True), strict=True))
    columns = {"gsm8k": "question", "math": "problem", "svamp": "question_concat", "theoremqa": "Question"}
    for name, column in columns.items():
        asked = [json.loads(line)[column] for line in (HERE / f"benchmarks/{name}.jsonl").read_text().splitlines()]
        for given in pl.read_parquet(HERE / f"traces/{SHOWN}/{name}.parquet").iter_rows(named=True):
            if there := row.get(given["item_id"]):
                assert there["question"] == asked[int(given["item_id"][-5:])]
                for same in ("text", "tokens", "token_logprobs", "top_logprobs", "finish_reason"):
                    assert there[same] == given[same]


def test_labels_are_those_of_the_responses(tmp_path: Path) -> None:
    write(tmp_path, SHOWN)
    labels = dict(pl.read_csv(tmp_path / "labels.csv").iter_rows())
    given = pl.concat([pl.read_parquet(path) for path in (HERE / "labels" / SHOWN).glob("*.parquet")])
    judged = dict(given.select("item_id", "label").iter_rows()) | dict(trivia(SHOWN)[2].iter_rows())
    expected = {request: judged[item] for request, item in of_examples().select("item_id", "item").iter_rows()}
    assert labels == {request: label for request, label in expected.items() if label is not None}
    assert {True, False} == set(labels.values())
