"""Two weeks of the log of a deployed model, put together from what a real model answered to real questions.

    python examples/real/write_weeks.py app

writes ``app/logs/week-1.parquet`` and ``week-2.parquet``, and ``app/labels.csv`` (item_id, label).

Questions, answers and log-probabilities are those of ``benchmarks`` and ``traces`` beside this file, labels those of
``labels``. **Made up is who asked what, and when**: routes, times and ids of requests. A route is a kind of question;
no question comes twice. In the second week ``homework`` is asked harder ones, and all others the same mix as before.
"""

import argparse
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import polars as pl

HERE = Path(__file__).parent
# The model that the walk-through, the notebook and the package's example show.
SHOWN = "qwen2.5-coder-1.5b"
SEED = 1109
MONDAYS = {1: datetime(2026, 11, 2, tzinfo=UTC), 2: datetime(2026, 11, 9, tzinfo=UTC)}
# Requests are made in the day: from 7 to 22 o'clock.
FIRST_HOUR, LAST_HOUR = 7, 22

# Questions of each benchmark on a route, in the first week and in the second.
PRACTICE = {"svamp": 20, "gsm8k": 30}
EXAM = {"math": 30, "livemathbench": 20}
SCIENCE = {"scibench": 40, "theoremqa": 10}
THEOREMS = {"theoremqa": 40, "scibench": 10}
CONTEST = {"olympiadbench": 30, "livemathbench": 25}
ROUTES: dict[str, dict[int, dict[str, int]]] = {
    "homework": {
        1: {"svamp": 40, "gsm8k": 20},
        2: {"svamp": 10, "gsm8k": 10, "math": 20, "olympiadbench": 20},
    },
    "practice": {1: PRACTICE, 2: PRACTICE},
    "exam": {1: EXAM, 2: EXAM},
    "science": {1: SCIENCE, 2: SCIENCE},
    "theorems": {1: THEOREMS, 2: THEOREMS},
    "contest": {1: CONTEST, 2: CONTEST},
}

# What a row of a benchmark calls its question: the first of these that it has.
QUESTIONS = ("question_concat", "problem_text", "problem", "question", "Question")
FROM_TRACES = ("item_id", "text", "finish_reason", "tokens", "token_logprobs", "top_logprobs")


def planned(items: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Which item is asked in which week, on which route and when: a row per request, in the order of their times.

    `items` are the ids of each benchmark. Raises ValueError where a benchmark has too few.
    """
    dealt = {name: iter(random.Random(f"{SEED} {name}").sample(ids, len(ids))) for name, ids in items.items()}
    rows = []
    for week, monday in MONDAYS.items():
        rng, asked = random.Random(f"{SEED} week {week}"), []
        for route, weeks in ROUTES.items():
            for name, count in weeks[week].items():
                drawn = list(islice(dealt[name], count))
                if len(drawn) < count:
                    raise ValueError(f"{name}: must have {count} more items for route '{route}', has {len(drawn)}")
                asked += [(random_time(monday, rng), route, item) for item in drawn]
        rows += [(week, f"week-{week}-{number:03d}", *one) for number, one in enumerate(sorted(asked))]
    return pl.DataFrame(rows, schema=["week", "item_id", "time", "metadata.route", "item"], orient="row")


def random_time(monday: datetime, rng: random.Random) -> datetime:
    """A second in the daytime of the week that begins on `monday`."""
    return monday + timedelta(
        days=rng.randrange(7), hours=rng.randrange(FIRST_HOUR, LAST_HOUR), seconds=rng.randrange(3600)
    )


def questions(names: Iterable[str]) -> pl.DataFrame:
    """The questions of benchmarks: `item`, `question`. An item is called by its benchmark and row."""
    found = []
    for name in names:
        lines = (HERE / "benchmarks" / f"{name}.jsonl").read_text("utf-8").splitlines()
        for number, row in enumerate(map(json.loads, lines)):
            found.append((f"{name}-{number:05d}", next(row[one] for one in QUESTIONS if row.get(one))))
    return pl.DataFrame(found, schema=["item", "question"], orient="row")


def write(folder: Path, model: str) -> None:
    """Write both weeks of a model's log, and the labels, into `folder`."""
    files = sorted((HERE / "traces" / model).glob("*.parquet"))
    traces = pl.concat([pl.read_parquet(one, columns=list(FROM_TRACES)) for one in files])
    labels = pl.concat([pl.read_parquet(HERE / "labels" / model / one.name) for one in files])
    plan = planned({one.stem: pl.read_parquet(one, columns=["item_id"])["item_id"].to_list() for one in files})
    log = (
        plan.join(questions(one.stem for one in files), on="item", validate="1:1", maintain_order="left")
        .join(traces.rename({"item_id": "item"}), on="item", validate="1:1", maintain_order="left")
        .with_columns(model=pl.lit(model))
    )
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    for week in MONDAYS:
        rows = log.filter(pl.col("week") == week).drop("week", "item")
        rows.write_parquet(folder / "logs" / f"week-{week}.parquet")
    named = labels.select("label", item="item_id")
    answered = plan.select("item_id", "item").join(named, on="item", validate="1:1", maintain_order="left")
    # What the judge could not read has no label, as in a log of which a person has labelled a part.
    answered.select("item_id", "label").drop_nulls().write_csv(folder / "labels.csv")


def main() -> None:
    """Read folder and model from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default=SHOWN, help=f"a folder of examples/real/traces; {SHOWN} unless given")
    arguments = parser.parse_args()
    write(arguments.folder, arguments.model)


if __name__ == "__main__":
    main()
