"""What a server is asked by token ids, against one on loopback."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from api_engines import engine
from fake_api import fake_api, ok, quiet_litellm, refusal, user

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.engines.api_engine import LitellmEngine

pytestmark = quiet_litellm


def reply(tokens: list[str], top: dict[str, float] | None = None, prompt_tokens: int = 3) -> dict[str, Any]:
    """What `/v1/completions` returns: the tokens, and the likely ones in place of the last."""
    tops = [None] * (len(tokens) - 1) + [top or {tokens[-1]: -0.1}]
    result = {"tokens": tokens, "token_logprobs": [-0.1] * len(tokens), "top_logprobs": tops}
    choice = {
        "index": 0,
        "text": "x",
        "finish_reason": "length",
        "logprobs": result | {"text_offset": [0] * len(tokens)},
    }
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": 1, "total_tokens": prompt_tokens + 1}
    return {"id": "1", "object": "text_completion", "created": 1, "model": "t", "choices": [choice], "usage": usage}


def ids(*numbers: int) -> list[str]:
    return [f"token_id:{number}" for number in numbers]


TOP = {f"token_id:{100 + rank}": -1.0 - rank / 10 for rank in range(20)}


def test_contexts_are_sent_as_token_ids_and_answered_by_them() -> None:
    def answer(body: dict, number: int) -> tuple:
        context = body["prompt"]
        if context == [7, 7]:
            return refusal("This model's maximum context length is 1 tokens", code="context_length_exceeded")
        # The likeliest is not the first of the reply, and a 21st entry is the token that was drawn.
        top = dict(sorted(TOP.items(), key=lambda _: hash(_[0]))) | {"token_id:1": -9.0}
        return ok(reply(ids(1), {name: value - context[0] for name, value in top.items()}, len(context)))

    contexts = [[1, 2, 3], [4, 5], [7, 7]]
    with fake_api(answer) as api:
        result = dict(engine(api).next_tokens(iter(contexts)))
    assert sorted(body["prompt"] for body in api.requests) == sorted(contexts)
    assert all((body["max_tokens"], body["temperature"], body["logprobs"]) == (1, 0, 20) for body in api.requests)
    for number in (0, 1):
        assert result[number].token_ids.tolist() == list(range(100, 120))
        np.testing.assert_allclose(
            result[number].logprobs, np.array(list(TOP.values())) - contexts[number][0], rtol=1e-6
        )
    assert "maximum context length" in result[2].refused
    assert len(result[2].logprobs) == 0


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            reply(["a"], {f"t{n}": -1.0 for n in range(20)}),
            "models.tiny.api: the server writes tokens as text, not as ids",
        ),
        (
            reply(ids(1), TOP, prompt_tokens=9),
            "read a context of 3 token ids as 9 tokens: it does not take token ids at",
        ),
        (reply(ids(1), {"token_id:1": -0.1}), "returned 1 log-probabilities per token, 20 are needed"),
    ],
)
def test_a_server_that_does_not_know_token_ids_is_refused_with_the_reason(body: dict, message: str) -> None:
    with fake_api(lambda *_: ok(body)) as api, pytest.raises(ConfigError, match="models.tiny.api") as error:
        list(engine(api).next_tokens([[1, 2, 3]]))
    assert message in str(error.value)


def test_continuations_are_what_the_server_says_of_an_echoed_prompt() -> None:
    def answer(body: dict, number: int) -> tuple:
        sent = body["prompt"]
        assert (body["echo"], body["max_tokens"], body["return_tokens_as_token_ids"]) == (True, 1, True)
        if sent[0] == 7:
            return refusal("This model's maximum context length is 1 tokens", code="context_length_exceeded")
        result = reply(ids(*sent, 99), prompt_tokens=len(sent))
        result["choices"][0]["logprobs"]["token_logprobs"] = [None, *(-one / 10 for one in sent[1:]), -5.0]
        return ok(result)

    with fake_api(answer) as api:
        result = dict(engine(api).continuations([([1, 2], [3, 4, 5]), ([7], [8]), ([1, 2, 3], [])]))
    np.testing.assert_allclose(result[0].logprobs, [-0.3, -0.4, -0.5], rtol=1e-6)
    assert "maximum context length" in result[1].refused
    assert [len(result[number].logprobs) for number in (1, 2)] == [0, 0]


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (ids(1, 5, 9), "models.tiny.api: the server does not return a prompt of 2 token ids"),
        (["a", "b", "c"], "models.tiny.api: the server writes tokens as text, not as ids"),
    ],
)
def test_a_prompt_that_comes_back_otherwise_is_an_error(tokens: list[str], message: str) -> None:
    with fake_api(lambda *_: ok(reply(tokens))) as api, pytest.raises(ConfigError) as error:
        list(engine(api).continuations([([1], [2])]))
    assert message in str(error.value)


def test_beams_of_a_server_end_with_the_tokens_and_texts_of_the_config() -> None:
    """After 1 comes 100, 101 or so; 105 ends a response, and so does the text of 101."""
    top = {f"token_id:{100 + rank}": -1.0 - rank for rank in range(20)}

    def answer(body: dict, number: int) -> tuple:
        if body.get("echo"):  # texts of tokens
            return ok(reply([*("\n" if one == 101 else "w" for one in body["prompt"]), "!"]))
        return ok(reply(ids(1), top, len(body["prompt"])))

    with fake_api(answer) as api:
        asked = engine(api, end_tokens=[105])
        ((_, result),) = asked.beams([[1]], width=3, max_tokens=2, stop=["\n"])
    assert [(one.token_ids, one.logprob, one.text, one.finish_reason) for one in result.beams] == [
        ((100, 100), -2.0, "ww", "length"),
        ((101,), -2.0, "", "stop"),
        ((100, 101), -3.0, "w", "stop"),
    ]


def test_beams_of_a_server_need_its_end_tokens() -> None:
    with fake_api(lambda *_: ok(reply(ids(1), TOP))) as api, pytest.raises(ConfigError) as error:
        list(engine(api).beams([[1]], width=1, max_tokens=1))
    assert "models.tiny.end_tokens: must be set to search beams" in str(error.value)


def test_texts_are_taken_apart_by_the_server() -> None:
    def answer(body: dict, number: int) -> tuple:
        assert (body["echo"], body["return_tokens_as_token_ids"]) == (True, isinstance(body["prompt"], str))
        if isinstance(body["prompt"], list):
            return ok(reply(["so", " it", " is", "!"]))
        special = ids(2) if body["add_special_tokens"] else []
        return ok(reply([*special, *ids(*map(ord, body["prompt"])), *ids(9)]))

    with fake_api(answer) as api:
        asked = engine(api, vocabulary=512)
        assert asked.token_ids(["ab", "c"]) == [[97, 98], [99]]
        (prompt,) = asked.prompts(["ab"])
        assert prompt.token_ids == [2, 97, 98]
        assert asked.token_texts([[11, 12, 13]]) == [["so", " it", " is"]]
        assert asked.vocabulary == 512


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda one: one.prompts([user("2 + 2")]), "models.tiny: servers do not return the token ids"),
        (lambda one: one.vocabulary, "models.tiny.vocabulary: must be set to ask for next tokens"),
    ],
)
def test_facts_that_servers_do_not_report_are_named(ask: Callable[[LitellmEngine], Any], message: str) -> None:
    with fake_api(lambda *_: ok(reply(ids(1)))) as api, pytest.raises(ConfigError, match=message):
        ask(engine(api))
