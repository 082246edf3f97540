"""Two weeks of the log of a deployed model: tiny-1m behind a vLLM server, asked on four routes of an application.

``python demo/write_logs.py`` starts the server, asks it, and writes ``demo/logs/week-1.jsonl.gz`` and ``week-2``:
requests and replies of an OpenAI-compatible server, side by side. Whether each reply is correct goes to
``demo/truth/logs.csv`` (item_id, label), which no monitor reads.

A route is no domain: each asks questions of several. In the second week ``shop`` and ``support`` ask harder ones, and
``school`` and ``travel`` the same mix as before. All are test problems that are in none of the benchmarks. Replies and
log-probabilities are the server's, to 4 decimals; ids, and the times that say when a request was made, are made up.
"""

import csv
import gzip
import json
import random
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from exchanges import final_number
from problems import DOMAINS, MIX, Problem, held_out, mixed, stream

DEMO = Path(__file__).parent
MODEL, TOP_LOGPROBS, DECIMALS = "tiny-1m", 20, 4
SEED, BENCHMARK_SEED, BENCHMARK_SIZE = 1109, 2026, 200
MONDAYS = {1: datetime(2026, 11, 2, tzinfo=UTC), 2: datetime(2026, 11, 9, tzinfo=UTC)}
# Requests are made in the day: from 7 to 22 o'clock.
FIRST_HOUR, LAST_HOUR = 7, 22

# Questions of each domain on a route, in the first week and in the second.
SCHOOL = {"one-digit-addition": 36, "averages": 18, "running-total": 14, "counting-on": 12}
TRAVEL = {"averages": 32, "shopping-change": 32, "one-digit-addition": 16}
ROUTES: dict[str, dict[int, dict[str, int]]] = {
    "school": {1: SCHOOL, 2: SCHOOL},
    "shop": {
        1: {"one-digit-addition": 34, "running-total": 20, "multiply-then-add": 18, "percentages": 8},
        2: {"one-digit-addition": 12, "running-total": 10, "multiply-then-add": 22, "percentages": 36},
    },
    "support": {
        1: {"one-digit-addition": 26, "averages": 26, "three-digit-subtraction": 16, "remainders": 12},
        2: {"one-digit-addition": 14, "averages": 18, "three-digit-subtraction": 28, "remainders": 20},
    },
    "travel": {1: TRAVEL, 2: TRAVEL},
}


@dataclass(frozen=True)
class Question:
    """A problem that was asked: on which route, when, and the id of the request."""

    problem: Problem
    route: str
    time: datetime
    item_id: str


def benchmark_questions() -> set[str]:
    """All questions of ``demo/benchmarks``."""
    named = [one for name in DOMAINS for one in held_out(name, BENCHMARK_SIZE, BENCHMARK_SEED)]
    return {one.question for one in named + mixed(BENCHMARK_SIZE, BENCHMARK_SEED)}


def new_problems(name: str, known: set[str]) -> Iterator[Problem]:
    """Endless test problems of a domain, no question twice and none of `known`."""
    seen = set(known)
    for problem in stream(name, SEED, test=True):
        if problem.question not in seen:
            seen.add(problem.question)
            yield problem


def questions(week: int, streams: dict[str, Iterator[Problem]]) -> list[Question]:
    """The requests of a week, in the order of their times."""
    rng = random.Random(f"{SEED} week {week}")
    asked = []
    for route, weeks in ROUTES.items():
        for name, count in weeks[week].items():
            asked += [(random_time(week, rng), route, problem) for problem in islice(streams[name], count)]
    asked.sort(key=lambda one: one[0])
    return [
        Question(problem, route, time, f"week-{week}-{number:03d}")
        for number, (time, route, problem) in enumerate(asked)
    ]


def random_time(week: int, rng: random.Random) -> datetime:
    """A second in the daytime of a week."""
    return MONDAYS[week] + timedelta(
        days=rng.randrange(7), hours=rng.randrange(FIRST_HOUR, LAST_HOUR), seconds=rng.randrange(3600)
    )


def request_of(question: Question, number: int, prompt: str, sampling: dict[str, Any]) -> dict[str, Any]:
    """The body of a request for chat completions."""
    return {
        "model": MODEL,
        "messages": [{"role": "user", "content": prompt.replace("{question}", question.problem.question)}],
        **sampling,
        "seed": SEED + number,
        "logprobs": True,
        "top_logprobs": TOP_LOGPROBS,
        "metadata": {"route": question.route},
    }


def reply_to(body: dict[str, Any], base_url: str) -> dict[str, Any]:
    """What the server answers."""
    asked = urllib.request.Request(
        f"{base_url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(asked) as reply:
        return json.load(reply)


def kept(reply: dict[str, Any], question: Question) -> dict[str, Any]:
    """What the log keeps of a reply of one choice, in the form of OpenAI's."""
    choice = reply["choices"][0]
    steps = [
        {**entry(step), "top_logprobs": [entry(other) for other in step["top_logprobs"]]}
        for step in choice["logprobs"]["content"]
    ]
    return {
        "id": question.item_id,
        "object": "chat.completion",
        "created": int(question.time.timestamp()),
        "model": reply["model"],
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": choice["message"]["content"]},
                "logprobs": {"content": steps},
                "finish_reason": choice["finish_reason"],
            }
        ],
        "usage": {name: reply["usage"][name] for name in ("prompt_tokens", "completion_tokens", "total_tokens")},
    }


def entry(token: dict[str, Any]) -> dict[str, Any]:
    """A token and its log-probability, to so many decimals as the log has room for."""
    return {"token": token["token"], "logprob": round(token["logprob"], DECIMALS)}


def write_log(path: Path, exchanges: list[dict[str, Any]]) -> None:
    """Write JSON Lines, packed, the same bytes for the same exchanges."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in exchanges)
    path.write_bytes(gzip.compress(lines.encode(), compresslevel=9, mtime=0))


def main() -> None:
    """Ask one question after the other: what is computed side by side may differ in its last digits."""
    from entropy_sentinel.study.config.config_loading import load_config, read_config
    from entropy_sentinel.study.config.generation_requests import served_settings
    from entropy_sentinel.study.engines.engine_registry import PROMPTS
    from entropy_sentinel.study.engines.vllm_server import run_server

    config = load_config(read_config([DEMO.parent / "config.yaml", DEMO / "config.yaml"]))
    settings, prompt = served_settings(config, MODEL), PROMPTS[config.generation.prompt].user
    known = benchmark_questions()
    streams, labels = {name: new_problems(name, known) for name in MIX}, []
    with run_server(settings, threads=1) as base_url:
        for week in MONDAYS:
            log = []
            for number, question in enumerate(questions(week, streams)):
                body = request_of(question, 1000 * week + number, prompt, settings["sampling"])
                reply = kept(reply_to(body, base_url), question)
                correct = final_number(reply["choices"][0]["message"]["content"]) == question.problem.answer
                labels.append((question.item_id, str(correct).lower()))
                log.append({"request": body, "response": reply})
            write_log(DEMO / "logs" / f"week-{week}.jsonl.gz", log)
    with open(DEMO / "truth" / "logs.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([("item_id", "label"), *labels])


if __name__ == "__main__":
    main()
