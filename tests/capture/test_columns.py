"""Columns that a service gives its replies, which stay on this machine."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_api import FakeApi, completion, fake_api, ok, refusal, user
from openai import AsyncOpenAI, OpenAI

import entropy_sentinel as es
from entropy_sentinel.core.errors import InputError


@pytest.fixture
def api() -> Iterator[FakeApi]:
    """A server that refuses metadata, as OpenAI's does unless a reply is stored there."""
    with fake_api(lambda body, _: refusal("metadata needs store") if "metadata" in body else ok(completion())) as api:
        yield api


def columns(client: Any, folder: Path) -> list[tuple[Any, ...]]:
    client._client._transport.writer.close()
    return es.read_logs(folder).select("metadata.route", "metadata.tier").rows()


def test_columns_of_a_block_are_in_the_log_and_not_in_the_request(api: FakeApi, tmp_path: Path) -> None:
    client = es.capture(OpenAI(base_url=api.base_url, api_key="none"), tmp_path, metadata={"route": "shop", "tier": 1})
    for given in ({"route": "billing"}, {"route": "billing", "tier": 2}):
        with es.tagged(**given):
            client.chat.completions.create(model="m", messages=user("6*7"))
    with es.tagged(route="billing"), es.tagged(route="returns"):
        client.chat.completions.create(model="m", messages=user("6*7"))
    client.chat.completions.create(model="m", messages=user("6*7"))
    assert columns(client, tmp_path) == [("billing", 1), ("billing", 2), ("returns", 1), ("shop", 1)]
    assert not any("metadata" in body for body in api.requests)


def test_tasks_have_their_own_columns(api: FakeApi, tmp_path: Path) -> None:
    client = es.capture(AsyncOpenAI(base_url=api.base_url, api_key="none"), tmp_path)

    async def one(route: str) -> None:
        with es.tagged(route=route, tier=len(route)):
            await asyncio.sleep(0)
            await client.chat.completions.create(model="m", messages=user(route))

    async def all_at_once() -> None:
        await asyncio.gather(*map(one, ["a", "bb", "ccc"] * 5))

    asyncio.run(all_at_once())
    assert sorted(columns(client, tmp_path)) == sorted([("a", 1), ("bb", 2), ("ccc", 3)] * 5)


def test_what_cannot_be_a_column_is_refused(api: FakeApi, tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="tagged: 'route' must be a text, number or truth value, got list"),
        es.tagged(route=["a"]),
    ):
        pass
    client = OpenAI(base_url=api.base_url, api_key="none")
    for metadata, problem in (
        ({"route": None}, "'route' must be a text, number or truth value, got NoneType"),
        ({1: "a"}, "the name of a column must be a text, got 1"),
        ("shop", "must be values by name, such as .*, got 'shop'"),
        (["shop"], r"must be values by name, such as .*, got \['shop'\]"),
    ):
        with pytest.raises(InputError, match=f"metadata: {problem}"):
            es.capture(client, tmp_path, metadata=metadata)
    for number in (0, 101, "x", True, 5.0):
        with pytest.raises(InputError, match="top_logprobs: must be a whole number from 1 to 100, got"):
            es.capture(client, tmp_path, top_logprobs=number)


def test_a_copy_of_a_client_is_captured_once(api: FakeApi, tmp_path: Path) -> None:
    client = es.capture(OpenAI(base_url=api.base_url, api_key="none"), tmp_path)
    es.capture(client.with_options(timeout=9), tmp_path).chat.completions.create(model="m", messages=user("6*7"))
    client._client._transport.writer.close()
    assert len(es.read_logs(tmp_path)) == 1
    for changed in ({"metadata": {"route": "b"}}, {"keep": "features"}, {"top_logprobs": 3}):
        with pytest.raises(InputError, match=r"captured already, in another way.*es\.tagged"):
            es.capture(client.with_options(timeout=9), tmp_path, **changed)


DEEP: dict[str, Any] = {}
for _ in range(400):  # deeper than orjson writes
    DEEP = {"a": DEEP}
TRACE = 2**127 + 1


@pytest.mark.parametrize("keep", ["texts", "features"])
def test_no_column_costs_a_reply(tmp_path: Path, keep: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A tag, or the request's own metadata, with what Polars, orjson or JSON have no number or text for."""
    tags: list[dict[str, Any]] = [{"x": TRACE}, {"x": -(2**64)}, {"x": "a\ud83d"}, {"x": float("nan")}, {"\ud83d": 1}]
    metadata = [{"x": TRACE}, "shop", ["shop"], 3, {"x": {"y": [1, None]}}, {"x": None}, {"x": DEEP}]
    with fake_api(lambda body, _: ok(completion())) as api:
        client = es.capture(OpenAI(base_url=api.base_url, api_key="none"), tmp_path, keep=keep)
        for given in tags:
            with es.tagged(**given):
                client.chat.completions.create(model="m", messages=user("6*7"))
        for own in metadata:
            client.chat.completions.create(model="m", messages=user("6*7"), extra_body={"metadata": own})
        with caplog.at_level(logging.WARNING), es.tagged(x=10**5000, route="shop"):  # no text for this number
            client.chat.completions.create(model="m", messages=user("6*7"))
        writer = client._client._transport.writer
        writer.close()
    log = es.read_logs(tmp_path) if keep == "texts" else es.read_features(tmp_path)
    assert (writer.dropped, writer.reduced, len(log)) == (0, 1, len(tags) + len(metadata) + 1)
    assert log["metadata.x"].to_list()[:3] == [str(TRACE), str(-(2**64)), "a\ufffd"]
    assert log["metadata.x"][len(tags)] == str(TRACE)
    [said] = [record.getMessage() for record in caplog.records]
    assert said.startswith(f"{tmp_path}: 1 replies have been written without their columns and requests so far (last: ")
