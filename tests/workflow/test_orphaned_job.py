"""Snakemake alone is killed while a job generates; the next run loses nothing that the job answers."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import polars as pl
import pytest
from fake_api import Answer, FakeApi, completion, fake_api, ok
from forked_snakemake import ForkedSnakemake
from workflow_runs import Project

LONGEST_S = 300  # a bound for a busy machine
OUTPUT = "results/orphan/generations/served/percentages.parquet"
STUDY = {
    "study": "orphan",
    "run": {"models": ["served"]},
    "analyses": {"accuracy": {"auroc_models": ["served"], "figure_model": "served"}},
}


@pytest.fixture
def released() -> Iterator[Event]:
    """What lets the server answer all but the first few of 40 questions."""
    event = Event()
    yield event
    event.set()


@pytest.fixture
def api(released: Event) -> Iterator[FakeApi]:
    def reply(body: dict[str, Any], number: int) -> Answer:
        if number > 8:
            released.wait(LONGEST_S)
        return ok(completion(), 0.1)

    with fake_api(reply) as api:
        yield api


@pytest.fixture
def project(tmp_path: Path, api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> Project:
    server = {"model": "openai/tiny", "base_url": api.base_url, "concurrency": 4}
    (tmp_path / "orphan.yaml").write_text(json.dumps(STUDY | {"models": {"served": {"api": server}}}))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    return Project(tmp_path, ["demo/config.yaml", "tests/workflow/tiny.yaml", "orphan.yaml"])


def wait_for(condition: Callable[[], bool], run: ForkedSnakemake | None = None) -> None:
    """Until `condition` holds; fails with what `run` has said where that ends before."""
    deadline = time.monotonic() + LONGEST_S
    while not condition():
        assert run is None or run.poll() is None, run.communicate()[0][-1500:]
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.05)


@pytest.mark.long
def test_nothing_is_generated_twice(
    project: Project, api: FakeApi, released: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second run finds the orphan at work. One that has ended is in tests/study/stages/test_orphan.py."""
    output = project.folder / OUTPUT
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(project.folder / "first"))
    first = project.start(OUTPUT)
    try:
        wait_for(lambda: len(api.requests) > 4, first)
    finally:
        first.kill()
    # Without its replies, what is generated again is asked again.
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(project.folder / "second"))
    project.run("--unlock")
    shown = shown_until(project.start(OUTPUT), "waiting for process", released)
    first.communicate()
    assert "waiting for process" in shown
    assert pl.read_parquet(output)["text"].to_list() == ["42"] * 40
    assert len(api.requests) == 40
    assert project.planned(OUTPUT) == {}
    assert not list(output.parent.glob("*.parts"))


def shown_until(run: ForkedSnakemake, message: str, event: Event) -> str:
    """All that a run says; `event` is set as soon as it says `said`."""
    shown = ""
    with run:
        for line in run.stdout:
            shown += line
            if message in line:
                event.set()
    assert run.returncode == 0, shown
    return shown


@pytest.mark.slow
def test_questions_that_did_not_change_are_not_asked_again(
    project: Project, api: FakeApi, released: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another reference makes the items again and brings the generate job with it, which finds its answers."""
    released.set()
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(project.folder / "first"))
    project.run(OUTPUT)
    asked, before = len(api.requests), pl.read_parquet(project.folder / OUTPUT)
    rows = project.folder / "demo" / "benchmarks" / "percentages.jsonl"
    changed = [json.loads(line) | {"answer": "none of these"} for line in rows.read_text().splitlines()]
    rows.write_text("".join(json.dumps(row) + "\n" for row in changed))
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(project.folder / "second"))
    assert project.planned(OUTPUT) == {"benchmark": 1, "generation": 1}
    project.run(OUTPUT)
    assert (asked, len(api.requests)) == (40, 40)
    assert pl.read_parquet(project.folder / OUTPUT).equals(before)
    items = pl.read_parquet(project.folder / "results" / "orphan" / "benchmarks" / "percentages.parquet")
    assert items["reference"].unique().to_list() == ["none of these"]
    assert not (project.folder / f"{OUTPUT}.parts").exists(), "Snakemake has accepted the output"
