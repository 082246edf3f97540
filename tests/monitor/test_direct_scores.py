"""The short way of a single reply gives the numbers of the general one, and leaves to it what it does not know."""

import json
import math
import random
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from production import fitted
from pydantic import BaseModel, ConfigDict

import entropy_sentinel as es
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.monitor.monitor_options import Slicing
from entropy_sentinel.monitor.reading import single_replies
from entropy_sentinel.monitor.response_scores import score_rows

MATCHING = {"any_model": False, "any_logprobs": False}


@pytest.fixture(scope="module", params=["log-3d", "median-of-seven", "forest-17d-balanced-isotonic"])
def estimator(request: pytest.FixtureRequest) -> FittedEstimator:
    return fitted(request.param)


def rounded(value: float, form: str) -> float:
    """A log-probability as servers write it: in full, with four decimals, as a whole number, or in bfloat16."""
    if form == "bfloat16":
        fraction, exponent = math.frexp(value)
        return math.ldexp(round(fraction * 256) / 256, exponent)
    return value if form == "full" else round(value, 4) if form == "short" else round(value)


def random_reply(draw: random.Random) -> dict[str, Any]:
    """A chat completion with what servers do: any order of alternatives, a sampled token among them or not, -9999."""
    k, n = draw.choice([20, 20, 20, 1, 5]), draw.choice([1, 2, 30, 300])
    form = draw.choice(["full", "full", "short", "short", "whole", "bfloat16"])
    content = []
    for _ in range(n):
        weights = sorted((draw.expovariate(1) ** 3 + 1e-9 for _ in range(k)), reverse=True)
        whole = sum(weights) * draw.choice([1.0, 1.01, 1.3, 0.5 if draw.random() < 0.01 else 1.0])
        values = [rounded(math.log(weight / whole), form) for weight in weights]
        if draw.random() < 0.1:
            values[-1] = draw.choice([-9999.0, -1e300, -100])
        if draw.random() < 0.2:
            draw.shuffle(values)
        top = [{"token": f"t{place}", "logprob": value, "bytes": None} for place, value in enumerate(values)]
        sampled = draw.choice(values)
        content.append({"token": "t0", "logprob": sampled, "bytes": [116, 48], "top_logprobs": top})
    if draw.random() < 0.05:
        content = [
            step | {"logprob": 0, "top_logprobs": [entry | {"logprob": 0} for entry in step["top_logprobs"]]}
            for step in content
        ]
    return unusual(draw, content) if draw.random() < 0.4 else completion(content)


def completion(content: Any, **changes: Any) -> dict[str, Any]:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": "t0" * 3, "refusal": None},
        "finish_reason": "stop",
        "logprobs": {"content": content, "refusal": None},
    }
    choice |= changes.pop("choice", {})
    usage = {"prompt_tokens": 5, "completion_tokens": 3}
    return {
        "id": "a",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    } | changes


def unusual(draw: random.Random, content: list[Any]) -> dict[str, Any]:
    """A completion with one thing that is seldom or wrong."""
    broken = json.loads(json.dumps(content))
    step = draw.choice(broken)
    damage = draw.choice(["number", "token", "alternatives", "null", "text", "true", "none"])
    if damage == "number":
        step["logprob"] = "x"
    elif damage == "token":
        del step["token"]
    elif damage == "alternatives":
        step["top_logprobs"] = step["top_logprobs"][:-1]
    elif damage == "null":
        step["top_logprobs"][-1]["logprob"] = None
    elif damage == "text":
        step["token"] = 7
    elif damage == "true":
        step["logprob"] = True
    else:
        step["top_logprobs"] = None
    return draw.choice(
        [
            completion(broken),
            completion(content, model=None),
            completion(content, model="hosted_vllm/m"),
            completion(content, model="another"),
            completion(content, id=None),
            completion(content, id="\ud800"),
            completion(content, id=""),
            completion(content, id=5),
            completion(content, object=None),
            completion(content, usage={"prompt_tokens": -1}),
            completion(content, usage=None),
            completion(content, choice={"finish_reason": draw.choice([None, "length", "MAX_TOKENS", "tool_calls", 5])}),
            completion(content, choice={"message": {"content": [{"type": "text", "text": "a"}]}}),
            completion(content, choice={"message": {"content": None, "tool_calls": [{"id": 1}]}}),
            completion(content, choice={"logprobs": {"content": content, "refusal": content[:1]}}),
            completion(content, choice={"token_ids": [1, -1]}),
            completion(content, response={"choices": []}, request={}),
            completion(content, choices=[]),
        ]
    )


class Part(BaseModel):
    """An object of a client, with the fields that the server sent."""

    model_config = ConfigDict(extra="allow")


def as_objects(content: Any) -> Any:
    if isinstance(content, dict):
        return Part(**{name: as_objects(value) for name, value in content.items()})
    return [as_objects(value) for value in content] if isinstance(content, list) else content


def by_general_way(estimator: FittedEstimator, reply: Any, monkeypatch: pytest.MonkeyPatch) -> pl.DataFrame:
    with monkeypatch.context() as patch:
        patch.setattr(single_replies, "_read_directly", lambda *_: None)
        return es.score(estimator, reply)


@pytest.mark.long
def test_both_ways_give_the_same_numbers(estimator: FittedEstimator, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, n_direct = random.Random(estimator.estimator.name), 0
    for _ in range(60):
        reply = random_reply(draw)
        expected = by_general_way(estimator, reply, monkeypatch)
        n_direct += single_replies._read_directly(estimator, [reply], Slicing.from_values(MATCHING)) is not None
        assert_frame_equal(es.score(estimator, reply), expected, check_exact=True)
        assert_frame_equal(es.score(estimator, as_objects(reply)), expected, check_exact=True)
    assert n_direct > 20


def test_a_usual_reply_goes_the_short_way(estimator: FittedEstimator) -> None:
    reply = completion([{"token": "a", "logprob": -0.5, "top_logprobs": [{"token": "a", "logprob": -0.5}] * 20}] * 5)
    steps = reply["choices"][0]["logprobs"]["content"]
    for step in steps:
        step["top_logprobs"] = [{"token": "a", "logprob": -0.5 - place} for place in range(20)]
    for given in (reply, as_objects(reply)):
        read = single_replies._read_directly(estimator, [given], Slicing.from_values(MATCHING))
        assert read is not None
        assert score_rows(estimator, read)["p_correct"].null_count() == 0
