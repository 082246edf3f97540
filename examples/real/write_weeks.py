"""Two weeks of the log of a deployed model, put together from what a real model answered to real questions.

    python examples/real/write_weeks.py app

writes ``app/logs/week-1.parquet`` and ``week-2.parquet``, and ``app/labels.csv`` (item_id, label).

Questions, answers and log-probabilities are those of ``benchmarks`` and ``traces`` beside this file, labels those of
``labels``; trivia are those of ``../ambigqa``. A request has a topic, which is a kind of question of a benchmark, and
a book, the benchmark. **Who asked what, and when, is made up**: routes, times and ids of requests. No question comes
twice. In the second week ``homework`` asks harder questions, nobody has an exam, and a new route, ``chat``, asks
trivia.
"""

import argparse
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import polars as pl

from entropy_sentinel.study.items.row_fields import normalise_answer

HERE = Path(__file__).parent
# The model that the walk-through, the notebook and the package's example show.
SHOWN = "qwen2.5-coder-1.5b"
SEED = 1109
MONDAYS = {1: datetime(2026, 11, 2, tzinfo=UTC), 2: datetime(2026, 11, 9, tzinfo=UTC)}
# Requests are made in the day: from 7 to 22 o'clock.
FIRST_HOUR, LAST_HOUR = 7, 22

# Questions of general knowledge with one answer, which are unlike all others.
TRIVIA, TRIVIA_FILE = "trivia/one answer", "ambigqa-single"
TRIVIA_FOLDER = HERE.parent / "ambigqa"

# Questions of each topic on a route, in the first week and in the second.
ROUTES: dict[str, dict[int, dict[str, int]]] = {
    "homework": {
        1: {"svamp/subtraction": 16, "svamp/addition": 21, "svamp/products": 26, "gsm8k/few steps": 10},
        2: {"svamp/subtraction": 4, "gsm8k/few steps": 4, "math/numbers": 7, "livemathbench/competition": 26},
    },
    "practice": {
        1: {"svamp/subtraction": 20, "gsm8k/few steps": 28, "gsm8k/many steps": 30},
        2: {"svamp/subtraction": 13, "gsm8k/few steps": 20, "gsm8k/many steps": 8},
    },
    "exam": {
        1: {"math/numbers": 30, "math/elementary algebra": 28, "math/advanced": 35, "livemathbench/competition": 20},
        2: {},
    },
    "science": {
        1: {
            **{"theoremqa/decimal": 36, "theoremqa/integer": 26, "theoremqa/other": 13},
            **{"scibench/chemistry": 34, "scibench/physics": 32, "scibench/mathematics": 11},
        },
        2: {
            **{"theoremqa/decimal": 15, "theoremqa/other": 10},
            **{"scibench/chemistry": 11, "scibench/physics": 2, "scibench/mathematics": 10},
        },
    },
    "contest": {
        1: {
            **{"olympiadbench/algebra": 34, "olympiadbench/geometry": 25, "olympiadbench/discrete": 33},
            "livemathbench/competition": 22,
        },
        2: {"olympiadbench/discrete": 8, "livemathbench/competition": 32},
    },
    "chat": {1: {}, 2: {TRIVIA: 40}},
}

# What a row of a benchmark calls its question: the first of these that it has.
QUESTIONS = ("question_concat", "problem_text", "problem", "question", "Question")
FROM_TRACES = ("item_id", "text", "finish_reason", "tokens", "token_logprobs", "top_logprobs")


def planned(items: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Which item is asked in which week, on which route and when: a row per request, in the order of their times.

    `items` are the ids of each topic. Raises ValueError if a topic has too few.
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
                book, topic = name.split("/")
                asked += [(random_time(monday, rng), route, topic, book, item) for item in drawn]
        rows += [(week, f"week-{week}-{number:03d}", *one) for number, one in enumerate(sorted(asked))]
    columns = ["week", "item_id", "time", "metadata.route", "metadata.topic", "metadata.book", "item"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def random_time(monday: datetime, rng: random.Random) -> datetime:
    """A second in the daytime of the week that begins on `monday`."""
    return monday + timedelta(
        days=rng.randrange(7), hours=rng.randrange(FIRST_HOUR, LAST_HOUR), seconds=rng.randrange(3600)
    )


def questions(names: Iterable[str]) -> pl.DataFrame:
    """The questions of benchmarks: `item`, `topic`, `question`. An item is called by its benchmark and row.

    `topic` is BENCHMARK/KIND.
    """
    result = []
    for name in names:
        lines = (HERE / "benchmarks" / f"{name}.jsonl").read_text("utf-8").splitlines()
        for number, row in enumerate(map(json.loads, lines)):
            topic = f"{name}/{row['kind']}"
            result.append(
                (f"{name}-{number:05d}", topic, next(row[question] for question in QUESTIONS if row.get(question)))
            )
    return pl.DataFrame(result, schema=["item", "topic", "question"], orient="row")


def trivia(model: str) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The questions of general knowledge, a model's first answer to each, and the labels.

    An answer is right if it is one of the names of a right answer, compared as SQuAD compares texts.
    """
    lines = (TRIVIA_FOLDER / "benchmarks" / f"{TRIVIA_FILE}.jsonl").read_text("utf-8").splitlines()
    rows = {f"{TRIVIA_FILE}-{number:05d}": json.loads(line) for number, line in enumerate(lines)}
    traces = pl.read_parquet(TRIVIA_FOLDER / "traces" / model / f"{TRIVIA_FILE}.parquet").unique(
        "item_id", keep="first"
    )
    traces = traces.sort("item_id").select(FROM_TRACES)
    asked = [(item, TRIVIA, rows[item]["question"]) for item in traces["item_id"]]
    right = {item: {normalise_answer(name) for names in row["answers"] for name in names} for item, row in rows.items()}
    labels = [normalise_answer(text) in right[item] for item, text in traces.select("item_id", "text").iter_rows()]
    return (
        pl.DataFrame(asked, schema=["item", "topic", "question"], orient="row"),
        traces,
        traces.select("item_id", label=pl.Series(labels)),
    )


def write(folder: Path, model: str) -> list[str]:
    """Write both weeks of a model's log, and the labels, into `folder`; the result has a line about each file."""
    files = sorted((HERE / "traces" / model).glob("*.parquet"))
    about_trivia, answers, verdicts = trivia(model)
    traces = pl.concat([*(pl.read_parquet(file, columns=list(FROM_TRACES)) for file in files), answers])
    labels = pl.concat(
        pl.read_parquet(HERE / "labels" / model / file.name).select("item_id", "label") for file in files
    )
    labels = pl.concat([labels, verdicts])
    asked = pl.concat([questions(file.stem for file in files), about_trivia])
    plan = planned({topic: part["item"].to_list() for (topic,), part in asked.group_by("topic", maintain_order=True)})
    log = (
        plan.join(asked.drop("topic"), on="item", validate="1:1", maintain_order="left")
        .join(traces.rename({"item_id": "item"}), on="item", validate="1:1", maintain_order="left")
        .with_columns(model=pl.lit(model))
    )
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    lines = []
    for week in MONDAYS:
        rows = log.filter(pl.col("week") == week).drop("week", "item")
        path = folder / "logs" / f"week-{week}.parquet"
        rows.write_parquet(path)
        lines.append(f"{path}: {len(rows)} responses on {', '.join(rows['metadata.route'].unique().sort())}")
    named = labels.select("label", item="item_id")
    answered = plan.select("item_id", "item").join(named, on="item", validate="1:1", maintain_order="left")
    # What the judge could not read has no label, as in a log of which a person has labelled a part.
    labels = answered.select("item_id", "label").drop_nulls()
    labels.write_csv(folder / "labels.csv")
    return [*lines, f"{folder / 'labels.csv'}: {len(labels)} labels, for the programs that play people and a judge"]


def main() -> None:
    """Read folder and model from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default=SHOWN, help=f"a folder of examples/real/traces; {SHOWN} unless given")
    arguments = parser.parse_args()
    print(*write(arguments.folder, arguments.model), sep="\n")


if __name__ == "__main__":
    main()
