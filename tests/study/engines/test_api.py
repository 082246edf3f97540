"""The engine behind an API, against a server on loopback."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from api_engines import engine
from fake_api import completion, fake_api, ok, quiet_litellm, refusal, step, user

from entropy_sentinel.core.errors import ConfigError, EntropySentinelError
from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.study.engines.api_engine import LitellmEngine
from entropy_sentinel.study.engines.engine_interface import Response
from entropy_sentinel.study.stages.generation_stage import to_frame

pytestmark = quiet_litellm

TOP = [-float(rank) for rank in range(1, 21)]


def answers(engine: LitellmEngine, n: int = 1, first_seed: int = 0) -> dict[int, Response]:
    given = list(engine.answer([user(f"question {i}") for i in range(n)], range(first_seed, first_seed + n)))
    assert len({position for position, _ in given}) == len(given)
    return dict(given)


def only(body: dict[str, Any], **changes: Any) -> Response:
    """The response that an engine makes of one reply."""
    with fake_api(lambda *_: ok(body)) as api:
        return answers(engine(api, **changes))[0]


def cached(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache").rglob("*.json.gz"))


def test_each_position_gets_its_own_answer_in_whatever_order_they_come() -> None:
    def reply(body: dict, number: int) -> tuple:
        return ok(completion(body["messages"][0]["content"]), delay_s=0.02 * (7 - number % 8))

    with fake_api(reply) as api:
        given = list(engine(api, concurrency=8).answer([user(f"question {i}") for i in range(17)], range(100, 117)))
    assert [position for position, _ in given] != list(range(17))
    assert {position: response.text for position, response in given} == {i: f"question {i}" for i in range(17)}
    assert {body["messages"][0]["content"]: body["seed"] for body in api.requests} == {
        f"question {i}": 100 + i for i in range(17)
    }
    sent = api.requests[0]
    assert (sent["logprobs"], sent["top_logprobs"], sent["temperature"], sent["max_tokens"]) == (True, 20, 0.5, 16)


def test_requests_at_a_time_are_bounded() -> None:
    with fake_api(lambda *_: ok(completion(), delay_s=0.05)) as api:
        assert len(answers(engine(api, concurrency=3), 14)) == 14
    assert api.most_running == 3


def test_after_a_failure_what_is_under_way_is_given_and_kept(tmp_path: Path) -> None:
    def reply(body: dict, number: int) -> tuple:
        return (400, {}, {}, 0) if body["seed"] == 2 else ok(completion(), delay_s=0.2 if number else 0)

    given: list[tuple[int, Response]] = []
    with (
        fake_api(reply) as api,
        pytest.raises(EntropySentinelError, match="did not answer request 2"),
    ):
        given.extend(engine(api, concurrency=4).answer([user("q")] * 40, range(40)))
    assert {0, 1, 3, 4} <= {position for position, _ in given}
    assert len(api.requests) < 12
    assert len(cached(tmp_path)) == len(given)


def test_nothing_is_asked_twice() -> None:
    with fake_api(lambda body, _: ok(completion(f"seed {body['seed']}"))) as api:
        first = answers(engine(api), 6)
        again = answers(engine(api, concurrency=1, timeout_s=5), 6)
        assert len(api.requests) == 6
        assert {i: first[i].text for i in range(6)} == {i: again[i].text for i in range(6)}
        assert all((first[i].top_logprobs == again[i].top_logprobs).all() for i in range(6))
        assert answers(engine(api), 6, first_seed=1).keys() == set(range(6))
        # The seed belongs to the request, and so does how it is sampled: the questions are others now.
        assert len(api.requests) == 12
        answers(engine(api, sampling={"temperature": 0.6, "top_p": 1.0, "max_tokens": 16}))
        assert len(api.requests) == 13


@pytest.mark.parametrize(
    ("steps", "told"),
    [([step(), step(top=[-0.5, -2.0, -3.0, -4.0, -5.0])], "5 log-probabilities"), ([], "no log-probabilities")],
)
def test_missing_log_probabilities_are_reported_after_one_request(tmp_path: Path, steps: list, told: str) -> None:
    with (
        fake_api(lambda *_: ok(completion(steps=steps, n_tokens=2))) as api,
        pytest.raises(ConfigError, match=f"models.tiny.api: the server returned {told} per token, 20 are needed"),
    ):
        answers(engine(api, concurrency=8), 30)
    assert len(api.requests) == 1
    assert not cached(tmp_path)


def test_an_empty_reply_says_nothing_about_the_server() -> None:
    replies = [completion("", []), completion("", []), completion(steps=[step(top=TOP[:19])])]
    with fake_api(lambda _, number: ok(replies[number])) as api, pytest.raises(ConfigError, match="returned 19"):
        answers(engine(api, concurrency=8), 30)
    assert len(api.requests) == 3


def test_empty_reply_is_a_response_of_no_tokens() -> None:
    response = only(completion("", []))
    assert (response.text, response.token_logprobs.shape, response.top_logprobs.shape) == ("", (0,), (0, 20))
    assert (len(response.tokens), response.displaced_steps, response.prompt_tokens) == (0, 0, 11)


def test_top_20_are_sorted_and_kept_as_they_are() -> None:
    shuffled = [-5.0, -9999.0, *(-float(rank) for rank in range(6, 24))]
    response = only(completion(steps=[step(logprob=-5.0, top=shuffled)]))
    assert response.top_logprobs.dtype == response.token_logprobs.dtype == np.float32
    assert response.top_logprobs.tolist() == [[-5.0, *(-float(rank) for rank in range(6, 24)), -9999.0]]
    assert response.token_ids is response.top_token_ids is None


def test_texts_of_the_top_20_are_kept_in_the_order_of_their_log_probabilities(tmp_path: Path) -> None:
    """And asked for again where they were not kept before."""
    values = [-3.0, -3.0, -1.0, *(-float(rank) for rank in range(4, 22))]  # a provider's 21, not in order
    body = completion(steps=[step("t1", -3.0, values), step()])
    kept = {"keep_top_tokens": True}
    with fake_api(lambda *_: ok(body)) as api:
        assert answers(engine(api))[0].top_tokens is None
        texts = answers(engine(api, **kept))[0].top_tokens
        assert len(api.requests) == len(cached(tmp_path)) == 2
        assert (answers(engine(api, **kept))[0].top_tokens == texts).all()
        assert len(api.requests) == 2
    assert texts.tolist() == [["t2", "t0", "t1", *(f"t{rank}" for rank in range(3, 20))], [f"t{n}" for n in range(20)]]
    frame = to_frame([("a-00000", 0)], [0], [only(body, **kept)], 0)
    assert GENERATIONS.check(frame)["top_tokens"].to_list() == [texts.tolist()]
    assert only(completion("", []), **kept).top_tokens.shape == (0, 20)


def test_steps_whose_sampled_token_may_have_displaced_the_20th_are_counted() -> None:
    steps = [
        step(logprob=-9.0, top=[-9.0, *TOP[:8], *TOP[9:19], -8.5]),  # among the others
        step(logprob=-31.0, top=[-31.0, *TOP[:19]]),  # as vLLM returns it: first, in the place of the 20th
        step(logprob=-20.0, top=TOP),  # really the 20th: looks the same
        step(logprob=-31.0, top=TOP),  # left out by the provider
        step(logprob=-31.0, top=[*TOP, -31.0]),  # as a 21st
    ]
    response = only(completion(steps=steps))
    assert response.displaced_steps == 2
    assert response.top_logprobs[4].tolist() == TOP
    assert response.token_logprobs.tolist() == [-9.0, -31.0, -20.0, -31.0, -31.0]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("content_filter", "content_filter"),
        ("tool_calls", "tool_calls"),
        ("MAX_TOKENS", "length"),
        ("eos_token", "stop"),
        ("abort", "abort"),  # unknown to LiteLLM, which makes it `stop`
        ("limit", "limit"),
        ("error", "error"),  # known to LiteLLM, as `stop`
        (None, "unknown"),  # which LiteLLM makes `stop`, too
        ("", "unknown"),
    ],
)
def test_a_response_that_is_not_whole_does_not_look_so(sent: str | None, kept: str) -> None:
    body = completion()
    body["choices"][0]["finish_reason"] = sent
    assert only(body).finish_reason == kept


def test_template_variables_are_sent_and_belong_to_the_prompt() -> None:
    with fake_api(lambda *_: ok(completion())) as api:
        off = answers(engine(api, chat_template_kwargs={"enable_thinking": False}))[0]
        assert api.requests[-1]["chat_template_kwargs"] == {"enable_thinking": False}
        plain = answers(engine(api))[0]
    assert "chat_template_kwargs" not in api.requests[-1]
    assert len(api.requests) == 2
    assert off.prompt_hash != plain.prompt_hash
    assert len(plain.prompt_hash) == 16


def test_provenance_names_engine_and_server() -> None:
    with fake_api(lambda *_: ok(completion())) as api:
        asked = engine(api)
        answers(asked, 3)
    assert asked.provenance["engine"] == "api:hosted_vllm/tiny"
    assert asked.provenance["engine_version"].startswith("litellm 1.")
    assert asked.provenance["engine_version"].endswith(", tiny-2025 fp-7")
    assert asked.provenance["logprobs_mode"] == "raw_logprobs"


def test_a_question_that_is_too_long_is_a_response_without_text_that_says_why() -> None:
    def reply(body: dict, number: int) -> tuple:
        return refusal("This model's maximum context length is 64 tokens.") if body["seed"] == 1 else ok(completion())

    with fake_api(reply) as api:
        given = answers(engine(api), 3)
    assert given[1].finish_reason == "refused: This model's maximum context length is 64 tokens."
    assert (given[1].text, given[1].top_logprobs.shape) == ("", (0, 20))
    assert len({response.prompt_hash for response in given.values()}) == 3
    assert [given[i].finish_reason for i in (0, 2)] == ["stop", "stop"]


def test_no_more_is_sent_after_the_caller_has_gone() -> None:
    with fake_api(lambda *_: ok(completion(), delay_s=0.02)) as api:
        coming = engine(api, concurrency=2).answer([user("q")] * 50, range(50))
        next(coming)
        next(coming)
        coming.close()
        sent = len(api.requests)
    assert sent < 10
    assert len(api.requests) == sent


TWENTY = {f"token_id:{rank}": -float(rank) for rank in range(1, 21)}


def continuation(tokens: list[str], sampled: list[float], top: list[dict[str, float]]) -> dict[str, Any]:
    """What `/v1/completions` returns; of vLLM the sampled token comes first, and the top 20 with it or after it."""
    logprobs = {"tokens": tokens, "token_logprobs": sampled, "top_logprobs": top, "text_offset": [0] * len(tokens)}
    choice = {"index": 0, "text": " 4", "finish_reason": "stop", "logprobs": logprobs}
    usage = {"prompt_tokens": 3, "completion_tokens": len(tokens), "total_tokens": 3 + len(tokens)}
    about = {"id": "1", "object": "text_completion", "created": 1, "model": "tiny-2025"}
    return about | {"choices": [choice], "usage": usage}


def test_plain_text_goes_to_completions_without_a_chat_template() -> None:
    body = continuation(
        ["token_id:1", "token_id:20", "token_id:77"],
        [-1.0, -20.0, -31.0],
        [TWENTY, TWENTY, {"token_id:77": -31.0} | TWENTY],
    )
    with fake_api(lambda *_: ok(body)) as api:
        ((_, response),) = engine(api, sampling={"temperature": 0.5, "max_tokens": 16, "stop": ["\n"]}).answer(
            ["2 + 2 ="], [7]
        )
    assert api.requests == [
        {
            "model": "tiny",
            "prompt": "2 + 2 =",
            "seed": 7,
            "logprobs": 20,
            "temperature": 0.5,
            "max_tokens": 16,
            "stop": ["\n"],
            "return_tokens_as_token_ids": True,
        }
    ]
    assert (response.text, response.finish_reason, response.prompt_tokens) == (" 4", "stop", 3)
    assert response.token_ids.tolist() == [1, 20, 77]
    assert response.tokens is None
    assert response.token_logprobs.tolist() == [-1.0, -20.0, -31.0]
    # The sampled token stands beside the top 20 where it is none of them, and so takes no place.
    assert response.top_logprobs.tolist() == [TOP] * 3
    assert response.displaced_steps == 0
    assert only(completion()).prompt_hash != response.prompt_hash
