"""Servers that do not answer as they should: `servers.yaml`. Through the whole generate job."""

import gzip
import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from a_study import Study
from attack_cases import PLANTED, Case, attack, cases, expand, text
from fake_api import Answer, completion, fake_api, ok, quiet_litellm

from entropy_sentinel.llm_client.request_sending import Sender
from entropy_sentinel.llm_client.spending.ledger import Ledger, Terms
from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.study.config.generation_requests import announce_servers

pytestmark = [quiet_litellm, pytest.mark.slow]


@pytest.fixture(autouse=True, scope="module")
def _loaded() -> None:
    """A sender loads LiteLLM, which takes seconds that are none of the first case's."""
    Sender("models.theirs.api", "hosted_vllm/tiny", None, 1, 0, Ledger(None, Terms()))


def answer(data: dict[str, Any]) -> Answer:
    """What a server sends: a completion with changes by path, or a body of its own."""
    content: Any = completion()
    for path, value in data.get("change", {}).items():
        _change(content, path.split("."), expand(value))
    if "body" in data:
        content = data["body"]
    if "text" in data:
        content = text(data["text"]).encode("utf-8", "surrogatepass")
    if "hex" in data:
        content = bytes.fromhex(data["hex"])
    if "hangs_up" in data:
        content = _hang_up()
    return data.get("status", 200), data.get("headers", {}), content, data.get("after_s", 0)


def _change(thing: Any, path: list[str], value: Any) -> None:
    *parents, last = [int(key) if key.isdigit() else key for key in path]
    for key in parents:
        thing = thing[key]
    thing[last] = value


def _hang_up() -> Iterator[bytes]:
    raise ConnectionError("the server hangs up")
    yield b""


def files_below(folder: Path) -> Iterator[tuple[Path, str]]:
    """Every file that a run has left, as text, unpacked."""
    for path in folder.rglob("*"):
        if path.suffix == ".parquet" and path.is_file():
            yield path, json.dumps(pl.read_parquet_metadata(path)) + pl.read_parquet(path).write_json()
        elif path.is_file():
            content = path.read_bytes()
            content = gzip.decompress(content) if path.suffix == ".gz" else content
            yield path, content.decode(errors="replace")


@cases("servers.yaml")
def test_server(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ENTROPY_SENTINEL_SERVERS", "{}")
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", PLANTED)
    monkeypatch.setattr(Sender, "FIRST_PAUSE_S", 0.01)
    answers = case["answers"]
    api = {"model": "hosted_vllm/tiny", "concurrency": 2, "timeout_s": 5, "retries": 2} | case.get("api", {})

    def run(base_url: str) -> pl.DataFrame:
        study = Study(tmp_path, 2, {"api": api | {"base_url": base_url}})
        announce_servers(study.config)
        study.make_items()
        study.make_generations()
        return GENERATIONS.check(GENERATIONS.read(study.generations))

    expect, start = case["expect"], time.monotonic()
    with fake_api(lambda _, number: answer(answers[min(number, len(answers) - 1)])) as server:
        frame = attack(expect, lambda: run(server.base_url))
        assert time.monotonic() - start < expect.get("within_s", 20)
        if "requests" in expect:
            assert len(server.requests) == expect["requests"]
    if frame is not None:
        for column in ("text", "finish_reason", "n_tokens"):
            if column in expect:
                assert frame[column].to_list() == expect[column]
    if "again" in expect:
        with fake_api(lambda *_: ok(completion())) as good:
            assert len(run(good.base_url)) == 2
            assert len(good.requests) == expect["again"]
    nothing_leaks(tmp_path, caplog.text + "".join(capfd.readouterr()))


def nothing_leaks(folder: Path, shown: str) -> None:
    assert PLANTED not in shown
    for path, content in files_below(folder):
        assert PLANTED not in content, f"{path} holds the key"
    cache = folder / "cache"
    if cache.is_dir():
        loose = [path for path in cache.rglob("*") if path.stat().st_mode & 0o077]
        assert not loose, "prompts are for their user alone"
        assert not list(cache.rglob("*.partial"))
