"""LiteLLM's callback: what LiteLLM logs of a completion, with the log-probabilities of streams."""

import asyncio
import importlib
import types
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from fake_api import Answer, FakeApi, completion, fake_api, ok, quiet_litellm, refusal, step, user

import entropy_sentinel as es
from entropy_sentinel.core.errors import EntropySentinelError

pytestmark = [pytest.mark.slow, quiet_litellm]
STEPS = [step("4", -0.1), step("2", -0.7)]


def answer(body: dict[str, Any], _: int) -> Answer:
    if body["model"] == "strict" and "logprobs" in body:
        return refusal("this model has no logprobs")
    return ok(completion("42", STEPS if body.get("logprobs") else [], n_tokens=2))


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with fake_api(answer) as api:
        yield api


@pytest.fixture
def callback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    import litellm

    monkeypatch.setenv("ENTROPY_SENTINEL_LOGS", str(tmp_path / "logs"))
    from entropy_sentinel.capture.litellm import Callback

    callback = Callback()
    # LiteLLM copies callbacks to these lists, and keeps the first of a class.
    for name in ("success_callback", "failure_callback", "_async_success_callback", "_async_failure_callback"):
        monkeypatch.setattr(litellm, name, [])
    monkeypatch.setattr(litellm, "callbacks", [callback])
    return callback


def ask(api: FakeApi, callback: Any, model: str = "hosted_vllm/m", **options: Any) -> Any:
    import litellm

    async def once() -> Any:
        try:
            return await litellm.acompletion(
                model=model, api_base=api.base_url, api_key="none", messages=user("6*7"), num_retries=0, **options
            )
        finally:
            for _ in range(100):  # LiteLLM logs after it has returned
                await asyncio.sleep(0.05)
                if callback.writer.written or any(
                    reaction.refusals for reaction in callback._negotiator.reactions.values()
                ):
                    break

    return asyncio.run(once())


def test_a_completion_gets_log_probabilities_and_is_written(api: FakeApi, callback: Any, tmp_path: Path) -> None:
    ask(api, callback, metadata={"requester_metadata": {"route": "billing"}})
    assert (api.requests[0]["logprobs"], api.requests[0]["top_logprobs"]) == (True, 20)
    callback.writer.close()
    log = es.read_logs(tmp_path / "logs")
    assert log["text"].to_list() == ["42"]
    assert log["token_logprobs"].to_list() == [pytest.approx([-0.1, -0.7])]


def test_a_model_that_refuses_is_not_asked_again(api: FakeApi, callback: Any) -> None:
    with pytest.raises(Exception, match="no logprobs"):
        ask(api, callback, "hosted_vllm/strict")
    ask(api, callback, "hosted_vllm/strict")
    assert ["logprobs" in body for body in api.requests] == [True, False]


def test_a_provider_without_log_probabilities_is_asked_as_it_was(callback: Any) -> None:
    claude = {"model": "claude-3-5-sonnet-20240620", "custom_llm_provider": "anthropic"}
    for request in (claude, {"model": None}, {}):
        assert asyncio.run(callback.async_pre_call_deployment_hook(request, "acompletion")) is None
    reasoning = {"model": "o3", "custom_llm_provider": "openai"}
    assert asyncio.run(callback.async_pre_call_deployment_hook(reasoning, "acompletion")) is None


def test_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import litellm

    from entropy_sentinel.capture.litellm import Callback

    page = (Path(__file__).parents[2] / "docs" / "capture.md").read_text()
    proxy = yaml.safe_load(page.split("```yml\n")[1].split("```")[0])
    module, _, name = proxy["litellm_settings"]["callbacks"].rpartition(".")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENTROPY_SENTINEL_LOGS", "of-the-proxy")
    assert isinstance(getattr(importlib.import_module(module), name), Callback)
    monkeypatch.setattr(litellm, "callbacks", [])
    exec(page.split("## LiteLLM in a program")[1].split("```py\n")[1].split("```")[0], {})
    assert [type(callback) for callback in litellm.callbacks] == [Callback]
    assert {path.name for path in tmp_path.iterdir()} == {"of-the-proxy", "logs"}


@pytest.mark.parametrize(
    ("name", "value"), [("TOP_LOGPROBS", "many"), ("TOP_LOGPROBS", "0"), ("TOP_LOGPROBS", "2.5"), ("KEEP", "all")]
)
def test_a_setting_that_cannot_be_is_named(
    name: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from entropy_sentinel.capture.litellm import Callback

    monkeypatch.setenv(f"ENTROPY_SENTINEL_{name}", value)
    with pytest.raises(EntropySentinelError, match=rf"^\$ENTROPY_SENTINEL_{name}: must be .*, got '{value}'"):
        Callback(tmp_path / "logs")
    assert not (tmp_path / "logs").exists()


def test_the_log_probabilities_of_a_stream_are_added_to_what_litellm_logs(callback: Any, tmp_path: Path) -> None:
    from litellm import ModelResponseStream

    def part(choice: dict[str, Any]) -> ModelResponseStream:
        return ModelResponseStream(choices=[{"index": 1, "finish_reason": None, **choice}])

    async def stream() -> AsyncIterator[ModelResponseStream]:
        for one in STEPS:
            yield part({"delta": {"content": one["token"]}, "logprobs": {"content": [one]}})
        yield part({"delta": {}, "finish_reason": "stop"})

    async def run() -> int:
        call: dict[str, Any] = {}
        request = {"litellm_logging_obj": types.SimpleNamespace(model_call_details=call)}
        parts = [one async for one in callback.async_post_call_streaming_iterator_hook(None, stream(), request)]
        reply = {**completion("42", []), "id": "s"}
        reply["choices"][0]["index"] = 1
        entry = {"id": "s", "call_type": "acompletion", "model_parameters": {}, "response": reply}
        call["standard_logging_object"] = entry
        await callback.async_log_success_event(call, None, None, None)
        return len(parts)

    assert asyncio.run(run()) == 3
    callback.writer.close()
    log = es.read_logs(tmp_path / "logs")
    assert log["token_logprobs"].to_list() == [pytest.approx([-0.1, -0.7])]


def test_no_metadata_costs_a_reply(callback: Any, tmp_path: Path) -> None:
    circle: dict[str, Any] = {}
    circle["again"] = circle
    for metadata in ({"trace": 2**127}, circle):
        reply = {**completion("42"), "id": "s"}
        entry = {"id": f"{id(metadata)}", "call_type": "acompletion", "model_parameters": {}, "response": reply}
        entry["metadata"] = {"requester_metadata": metadata}
        callback.log_success_event({"standard_logging_object": entry}, None, None, None)
    callback.writer.close()
    assert (callback.writer.written, callback.writer.dropped, callback.writer.reduced) == (2, 0, 1)
    log = es.read_logs(tmp_path / "logs")
    assert log["metadata.trace"].to_list() == [str(2**127), None]
