"""The engine behind an API on what llama.cpp and Ollama answer: what is taken, and what is refused with what to do.

The replies are of these servers' form, not of the servers themselves (`shared/local_servers.py` says where each fact
is from); test_api_against_llama_cpp.py asks a real one.
"""

import logging
from typing import Any

import numpy as np
import polars as pl
import pytest
from api_engines import SAMPLING, engine
from fake_api import fake_api, ok, quiet_litellm, user
from local_servers import LOWEST, OTHERS, llama_chat, llama_props, llama_step, llama_text, ollama_chat

from entropy_sentinel.core.errors import ConfigError, EntropySentinelError
from entropy_sentinel.features.feature_computation import compute_features
from entropy_sentinel.study.engines.engine_interface import Asked, Response
from entropy_sentinel.study.stages.generation_stage import to_frame

pytestmark = quiet_litellm

NEUTRAL = llama_props(top_k=0, min_p=0.0)


def only(
    body: dict[str, Any], sampling: dict[str, Any] = SAMPLING, asked: Asked | None = None, props: Any = NEUTRAL
) -> Response:
    """The response that the engine makes of one reply, of a server with these `/props`."""
    with fake_api(lambda *_: ok(body)) as api:
        api.pages["/props"] = props
        ((_, response),) = engine(api, sampling=sampling).answer([asked or user("q")], [7])
    return response


def refusal(body: dict[str, Any], **options: Any) -> str:
    with pytest.raises(ConfigError) as error:
        only(body, **options)
    return str(error.value)


def test_a_reply_of_llama_cpp_is_a_trace_with_the_ids_of_its_tokens() -> None:
    # The second token was drawn from outside the 20 most likely, which are all there; the third is the 20th of them.
    steps = [
        llama_step("4", number=19),
        llama_step("2", -9.0, [-0.1, *OTHERS], number=17),
        llama_step("", OTHERS[-1], [-0.1, *OTHERS], number=151645),
    ]
    response = only(llama_chat(steps))
    assert (response.text, response.finish_reason, response.prompt_tokens) == ("42", "stop", 30)
    assert response.tokens.tolist() == ["4", "2", ""]
    assert response.token_ids.tolist() == [19, 17, 151645]
    np.testing.assert_allclose(response.token_logprobs, [-0.1, -9.0, -7.8], rtol=1e-6)
    np.testing.assert_allclose(response.top_logprobs, [[-0.1, *OTHERS]] * 3, rtol=1e-6)
    # Unlike vLLM, the sampled token takes nobody's place: a step at which it is the 20th is none that may be displaced.
    assert response.displaced_steps == 0


def test_a_reply_of_ollama_is_a_trace_without_ids() -> None:
    response = only(ollama_chat(["4", "2"]))
    assert (response.text, response.tokens.tolist(), response.token_ids) == ("42", ["4", "2"], None)
    assert response.top_logprobs.shape == (2, 20)


@pytest.mark.parametrize("given", [None, [226, 136]])
def test_bytes_of_half_a_character_do_not_matter(given: list[int] | None) -> None:
    step = llama_step("\ufffd") | {"bytes": given}
    assert only(llama_chat([step])).tokens.tolist() == ["\ufffd"]


@pytest.mark.parametrize("odd", [-1, 2**32, True, "19", None])
def test_ids_that_are_none_are_left_out(odd: Any) -> None:
    response = only(llama_chat([llama_step("4"), llama_step("2", number=odd)]))
    assert (response.tokens.tolist(), response.token_ids) == (["4", "2"], None)


def test_plain_text_of_llama_cpp_has_the_steps_of_a_chat() -> None:
    response = only(llama_text([llama_step(" 4", number=220)]), asked="2 + 2 =")
    assert (response.text, response.tokens.tolist(), response.token_ids.tolist()) == (" 4", [" 4"], [220])
    np.testing.assert_allclose(response.top_logprobs, [[-0.1, *OTHERS]], rtol=1e-6)


def test_plain_text_is_not_plain_at_ollama() -> None:
    body = llama_text([llama_step(" 4")]) | {"system_fingerprint": "fp_ollama"}
    assert "models.tiny.api: Ollama cannot continue plain text" in refusal(body, asked="2 + 2 =")


def test_a_llama_cpp_server_that_draws_as_it_likes_is_refused_with_the_options_to_start_it_with() -> None:
    drawn = refusal(llama_chat([llama_step("4")]), props=llama_props())
    assert "models.tiny.api: llama.cpp would sample with top_k 40, min_p 0.05" in drawn
    assert drawn.endswith("--top-k 0 --min-p 0, or set it for this model: `sampling: {top_k: 40, min_p: 0.05}`")
    penalised = refusal(llama_chat([llama_step("4")]), props=llama_props(top_k=-1, min_p=0, repeat_penalty=1.1))
    assert penalised.endswith("start llama-server with --repeat-penalty 1")
    # Versions before 2025 had them without `params`.
    older = {"default_generation_settings": {"top_k": 0, "min_p": 0.1}}
    assert "would sample with min_p 0.1" in refusal(llama_chat([llama_step("4")]), props=older)


def test_what_the_study_says_is_what_is_drawn_with() -> None:
    sampling = SAMPLING | {"top_k": 20, "min_p": 0.01}
    assert only(llama_chat([llama_step("4")]), sampling, props=llama_props()).text == "4"


@pytest.mark.parametrize("props", [None, {}, {"default_generation_settings": 5}])
def test_a_server_that_does_not_say_how_it_draws_is_taken_with_a_warning(
    props: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert only(llama_chat([llama_step("4")]), props=props).text == "4"
    assert "/props does not report its sampling" in caplog.text


@pytest.mark.parametrize(
    ("body", "key", "server"),
    [
        (llama_chat([llama_step("4")]), "repetition_penalty", "llama.cpp"),
        (ollama_chat(["4"]), "repetition_penalty", "Ollama"),
        (ollama_chat(["4"]), "min_p", "Ollama"),
        (ollama_chat(["4"]), "top_k", "Ollama"),
    ],
)
def test_sampling_that_a_server_reads_over_is_refused(body: dict[str, Any], key: str, server: str) -> None:
    message = refusal(body, sampling=SAMPLING | {key: 1})
    assert f"models.tiny.api: {server} ignores sampling.{key}, got 1; leave it out of this" in message
    assert "serve the model with" in message


SPECULATIVE = llama_step("4", 0.0, [])  # of a token that a draft model proposed


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            llama_chat([]),  # of a version before its OpenAI form had them
            "the server returned no log-probabilities per token, 20 are needed; llama-server returns them in versions",
        ),
        (
            llama_chat([llama_step("4"), SPECULATIVE]),
            "the server returned 0 log-probabilities per token, 20 are needed; llama-server returns them in versions "
            "from 2025 on, and not for tokens of a draft model: update it, and start it without --model-draft",
        ),
        (
            ollama_chat(["4"], has_logprobs=False),
            "the server returned no log-probabilities per token, 20 are needed; Ollama returns them from version "
            "0.12.11 on: update it",
        ),
        (
            llama_chat([llama_step("4", top=[-0.1, *OTHERS[:4]])]) | {"system_fingerprint": "fp-1"},
            "the server returned 5 log-probabilities per token, 20 are needed; start vLLM with --max-logprobs 20",
        ),
    ],
)
def test_too_few_log_probabilities_are_reported_with_what_this_server_needs(body: dict[str, Any], told: str) -> None:
    body["usage"]["completion_tokens"] = 1
    assert f"models.tiny.api: {told}" in refusal(body)


@pytest.mark.parametrize(
    ("step", "told"),
    [
        # As llama.cpp wrote them for some days of December 2024: probabilities under the name of logarithms.
        (
            llama_step("4", 0.9, [0.9, 0.05, *[0.001] * 18]),
            "top_logprobs must be logarithms of probabilities whose sum is at most 1; step 1 of a reply begins with "
            "[0.8999999761581421, ",
        ),
        # A sampled token that is outside the 20 and has the probability 1 that a server begins with.
        (
            llama_step("4", 0.0, [-0.1, *OTHERS]),
            "token_logprobs must be at most the largest of the step's top_logprobs; step 1 of a reply begins with 0.0",
        ),
    ],
)
def test_what_cannot_be_a_models_log_probabilities_is_refused(step: dict[str, Any], told: str) -> None:
    body = llama_chat([llama_step("a"), step])
    message = refusal(body)
    assert f"models.tiny.api: the server returned log-probabilities that cannot be right: {told}" in message
    assert "before temperature and sampling (llama.cpp: without post_sampling_probs); update the server" in message


def test_one_reply_that_cannot_be_right_ends_no_job_that_goes_well() -> None:
    odd = llama_chat([llama_step("b", 0.0, [-0.1, *OTHERS])])
    with fake_api(lambda body, _: ok(odd if body["seed"] else llama_chat([llama_step("a")]))) as api:
        api.pages["/props"] = NEUTRAL
        given = dict(engine(api).answer([user("q")] * 2, range(2)))
    assert [given[i].text for i in range(2)] == ["a", "b"]


def test_steps_that_a_server_leaves_out_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    """Of a character of three tokens llama.cpp gives the last; of an answer Ollama leaves out the end alone."""
    bodies = [
        llama_chat([llama_step("\u221a"), llama_step("2")]) | {"usage": {"completion_tokens": 4, "prompt_tokens": 3}},
        llama_chat([llama_step("4")]),
        ollama_chat(["4", "2"]),
    ]
    with fake_api(lambda body, _: ok(bodies[body["seed"]])) as api, caplog.at_level(logging.WARNING):
        api.pages["/props"] = NEUTRAL
        given = dict(engine(api).answer([user("q")] * 3, range(3)))
        again = dict(engine(api).answer([user("q")] * 3, range(3)))  # from the cache
    assert [len(given[i].token_logprobs) for i in range(3)] == [2, 1, 2]
    told = "models.tiny.api: in 1 of 3 responses the server gave no log-probabilities for 2 of the tokens that it count"
    assert [told in record.getMessage() for record in caplog.records] == [True, True]
    assert again[0].token_ids.tolist() == given[0].token_ids.tolist()


def test_only_the_prompt_that_is_too_long_for_llama_cpp_is_refused() -> None:
    error = {
        "code": 400,
        "message": "request (2000 tokens) exceeds the available context size (512 tokens), try increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 2000,
        "n_ctx": 512,
    }
    with fake_api(
        lambda body, _: ok(llama_chat([llama_step("4")])) if body["seed"] else (400, {}, {"error": error}, 0)
    ) as api:
        api.pages["/props"] = NEUTRAL
        given = dict(engine(api).answer([user("q")] * 2, range(2)))
    assert given[0].finish_reason == f"refused: {error['message']}"
    assert (given[1].text, given[1].finish_reason) == ("4", "stop")


@pytest.mark.parametrize("end", ["", "/"])
def test_an_address_without_v1_is_reported(end: str) -> None:
    """Ollama answers `/chat/completions` with a plain text; llama.cpp answers there as below `/v1`."""
    with fake_api(lambda *_: (404, {"Content-Type": "text/plain"}, b"404 page not found", 0)) as api:
        address = api.base_url.removesuffix("/v1")
        with pytest.raises(EntropySentinelError) as error:
            list(engine(api, base_url=address + end).answer([user("q")], [7]))
        assert f"page not found; base_url has no path, servers answer below /v1: {address}/v1; a restart" in str(
            error.value
        )
        with pytest.raises(EntropySentinelError, match="404 page not found; a restart"):
            list(engine(api).answer([user("q")], [7]))


def test_a_probability_of_zero_in_32_bits_leaves_features_finite() -> None:
    response = only(llama_chat([llama_step("4", top=[-0.1, -3.0, *[LOWEST] * 18])]))
    traces = to_frame([("a", 0)], [1], [response], 0).with_columns(model=pl.lit("m"), benchmark=pl.lit("b"))
    (features,) = compute_features(traces).select("max", "mean", "nll_sum").rows()
    # The entropy of the two tokens alone, 0.1 e^-0.1 + 3 e^-3.
    assert features == pytest.approx((0.239845, 0.239845, 0.1), rel=1e-5)
