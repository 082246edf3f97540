"""Columns that a service gives its replies, which stay on this machine."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_api import FakeApi, completion, fake_api, ok, refusal, user
from openai import AsyncOpenAI, OpenAI

import entropy_sentinel as es
from entropy_sentinel.frames.errors import InputError


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
        pytest.raises(InputError, match="tagged: 'route' must be a text, number or truth value, was list"),
        es.tagged(route=["a"]),
    ):
        pass
    client = OpenAI(base_url=api.base_url, api_key="none")
    with pytest.raises(InputError, match="metadata: 'route' must be"):
        es.capture(client, tmp_path, metadata={"route": None})
    for number in (0, 101, "x", True, 5.0):
        with pytest.raises(InputError, match="top_logprobs: must be a whole number from 1 to 100, was"):
            es.capture(client, tmp_path, top_logprobs=number)


def test_a_copy_of_a_client_is_captured_once(api: FakeApi, tmp_path: Path) -> None:
    client = es.capture(OpenAI(base_url=api.base_url, api_key="none"), tmp_path)
    es.capture(client.with_options(timeout=9), tmp_path).chat.completions.create(model="m", messages=user("6*7"))
    client._client._transport.writer.close()
    assert len(es.read_logs(tmp_path)) == 1
    for changed in ({"metadata": {"route": "b"}}, {"keep": "features"}, {"top_logprobs": 3}):
        with pytest.raises(InputError, match=r"captured already, in another way.*es\.tagged"):
            es.capture(client.with_options(timeout=9), tmp_path, **changed)
