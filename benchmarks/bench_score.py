"""Measure `es.score` of one reply: the short way of a usual reply against the general one, in one run.

Run by `make bench-score`. Replies have 600 tokens with 20 alternatives, as dicts and as objects of OpenAI's client.
Prints milliseconds of CPU time a reply after the first, the largest difference of P(correct), and one JSON object as
its last line.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from openai.types.chat import ChatCompletion
from tabulate import tabulate

import entropy_sentinel as es
from entropy_sentinel.monitor.reading import single_replies

TOKENS, ALTERNATIVES = 600, 20


def reply(model: str, number: int) -> dict[str, Any]:
    """A chat completion with random log-probabilities and the bytes of each token, as OpenAI's servers send."""
    draw = np.random.default_rng(number)
    tokens = [f" word{place}" for place in draw.integers(0, 3000, (TOKENS, ALTERNATIVES)).ravel()]
    logits = -np.sort(-draw.normal(scale=4, size=(TOKENS, ALTERNATIVES)), axis=1)
    values = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)) - 1e-3
    content = []
    for step, row in enumerate(values.tolist()):
        names = tokens[step * ALTERNATIVES : (step + 1) * ALTERNATIVES]
        entries = [
            {"token": name, "bytes": list(name.encode()), "logprob": value}
            for name, value in zip(names, row, strict=True)
        ]
        content.append({**entries[0], "top_logprobs": entries})
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": "".join(step["token"] for step in content)},
        "finish_reason": "stop",
        "logprobs": {"content": content},
    }
    return {"id": f"reply-{number}", "object": "chat.completion", "created": 1, "model": model, "choices": [choice]}


def measured(score: Callable[[Any], Any], given: list[Any], rounds: int) -> tuple[float, list[float]]:
    """Milliseconds of CPU time a reply, the lowest of the rounds, and P(correct) of each reply."""
    p = [score(one)["p_correct"][0] for one in given]
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        for one in given:
            score(one)
        times.append(1000 * (time.process_time() - begin) / len(given))
    return min(times), p


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replies", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    features = es.features(es.read_logs(es.example().traces))
    estimator = es.fit(features, es.read_labels(es.example().labels))
    dicts = [reply(features["model"][0], number) for number in range(arguments.replies)]
    given = {"dicts": dicts, "objects": [ChatCompletion.model_validate(one) for one in dicts]}
    begin = time.process_time()
    es.score(estimator, dicts[0])
    report: dict[str, Any] = {"benchmark": "score", "first_ms": round(1000 * (time.process_time() - begin), 1)}
    rows = []
    for name, these in given.items():
        short_ms, p = measured(lambda one: es.score(estimator, one), these, arguments.rounds)
        with mock.patch.object(single_replies, "_read_directly", return_value=None):
            general_ms, expected = measured(lambda one: es.score(estimator, one), these, 1)
        difference = float(np.abs(np.subtract(p, expected)).max())
        report[name] = {"ms": round(short_ms, 2), "general_ms": round(general_ms, 1), "largest_difference": difference}
        rows.append([name, short_ms, general_ms, general_ms / short_ms, difference])
    print(tabulate(rows, ["replies", "ms of CPU", "general way", "times", "largest difference"], floatfmt=".3g"))
    print(json.dumps(report))


if __name__ == "__main__":
    main()
