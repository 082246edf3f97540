"""Jobs of one output at a time: an orphan that works on, one that dies, several that start at once."""

import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from test_generation import SETTINGS, benchmark, response

from entropy_sentinel.core.whole_files import whole_file
from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.study.engines.engine_interface import Response
from entropy_sentinel.study.jobs import folder_ownership
from entropy_sentinel.study.jobs.folder_ownership import Ownership, remove_unowned_folder
from entropy_sentinel.study.jobs.job_logs import job_log
from entropy_sentinel.study.stages import generation_stage

pytestmark = pytest.mark.slow

SPAWN = multiprocessing.get_context("spawn")
N_ITEMS, N_RESPONSES = 10, 20


class SlowEngine:
    """Answers a message every `pause_s` and records it; fails after `fail_after`; from `held_at` on waits for `go`."""

    provenance = {"engine": "slow", "engine_version": "1", "logprobs_mode": "raw_logprobs"}

    def __init__(
        self, asked: Path, pause_s: float = 0.0, fail_after: int | None = None, held_at: int | None = None
    ) -> None:
        self.asked, self.pause_s, self.fail_after, self.held_at = asked, pause_s, fail_after, held_at

    def answer(self, messages: Sequence[str], seeds: Sequence[int]) -> Iterator[tuple[int, Response]]:
        for position, seed in enumerate(seeds):
            if position == self.fail_after:
                raise RuntimeError("the engine fails")
            if position == self.held_at:
                wait_for(self.asked.with_name("go").exists)
            time.sleep(self.pause_s)
            with self.asked.open("a") as file:
                file.write(f"{seed}\n")
            yield position, response(seed % 7)

    def under_way(self) -> list[int]:
        return []


def job(items: str, output: str, log: str, engine: dict[str, Any]) -> None:
    """One run of the generate job, in a process of its own."""
    with job_log(log):
        generation_stage.PART_RESPONSES = 2
        asked = Path(output).with_name("asked")
        generation_stage.make_engine = lambda settings, threads: SlowEngine(asked, **engine)
        generation_stage.write_generations(items, SETTINGS, 1, output)


class Jobs:
    """Processes that make the same output; `asked` has the seeds of all requests that any engine was asked."""

    def __init__(self, folder: Path) -> None:
        self.items, self.output = benchmark(folder, N_ITEMS), folder / "out.parquet"
        self.parts, self.asked = Path(f"{self.output}.parts"), folder / "asked"

    def start(self, name: str, **engine: Any) -> Any:
        log = str(self.output.with_name(f"{name}.log"))
        process = SPAWN.Process(target=job, args=(self.items, str(self.output), log, engine))
        process.start()
        return process

    def start_orphan(self, **engine: Any) -> Any:
        """A job that has left some parts, and works on only after `go_on`."""
        process = self.start("orphan", held_at=5, **engine)
        wait_for(lambda: len(list(self.parts.glob("part-*"))) >= 2)
        return process

    def go_on(self) -> None:
        self.asked.with_name("go").touch()

    def log(self, name: str) -> str:
        path = self.output.with_name(f"{name}.log")
        return path.read_text() if path.exists() else ""

    def check_whole(self) -> None:
        frame = GENERATIONS.check(GENERATIONS.read(self.output))
        assert frame["seed"].to_list() == [
            generation_stage.derive_seed(42, "tiny", f"a-{item:05d}", sample)
            for item in range(N_ITEMS)
            for sample in (0, 1)
        ]

    def n_asked(self) -> int:
        seeds = self.asked.read_text().splitlines()
        assert len(seeds) - len(set(seeds)) <= 2, "more than a part was generated again"
        return len(seeds)


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    return Jobs(tmp_path)


def wait_for(condition: Callable[[], bool], timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.02)


def end(*processes) -> list[int]:
    wait_for(lambda: all(process.exitcode is not None for process in processes))
    return [process.exitcode for process in processes]


def test_a_job_waits_for_an_orphan_and_ends_with_its_output(jobs: Jobs, capfd: pytest.CaptureFixture) -> None:
    orphan = jobs.start_orphan()
    other = jobs.start("other")
    wait_for(lambda: "waiting" in jobs.log("other"))
    assert orphan.is_alive()
    jobs.go_on()
    assert end(orphan, other) == [0, 0]
    jobs.check_whole()
    assert jobs.n_asked() == N_RESPONSES
    told = f"waiting for process {orphan.pid} on host {os.uname().nodename}"
    assert told in jobs.log("other")
    assert told in capfd.readouterr().err, "seen on the terminal"


def test_an_output_that_snakemake_deletes_is_not_generated_again(jobs: Jobs) -> None:
    """It deletes one that it did not see completed, before it starts the job anew."""
    assert end(jobs.start("orphan")) == [0]
    before = jobs.output.read_bytes()
    jobs.output.unlink()
    assert end(jobs.start("other")) == [0]
    assert jobs.output.read_bytes() == before
    assert jobs.n_asked() == N_RESPONSES
    remove_unowned_folder(jobs.parts)
    assert not jobs.parts.exists()
    assert jobs.output.read_bytes() == before


def test_an_output_without_hard_links_is_not_generated_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output, asked = tmp_path / "out.parquet", tmp_path / "asked"
    items = benchmark(tmp_path, 3)
    monkeypatch.setattr(generation_stage, "make_engine", lambda *_: SlowEngine(asked))
    monkeypatch.setattr(os, "link", Mock(side_effect=OSError("no hard links here")))
    for _ in range(2):
        generation_stage.write_generations(items, SETTINGS, 1, str(output))
        assert GENERATIONS.read(output).height == 6
        output.unlink()
    assert len(asked.read_text().splitlines()) == 6


@pytest.mark.parametrize(("fail_after", "status", "again"), [(None, -signal.SIGKILL, 2), (7, 1, 0)])
def test_what_a_killed_or_failed_job_has_answered_is_taken_over(
    jobs: Jobs, fail_after: int | None, status: int, again: int
) -> None:
    orphan = jobs.start_orphan(fail_after=fail_after)
    other = jobs.start("other")
    wait_for(lambda: "waiting" in jobs.log("other"))
    if fail_after is None:
        orphan.kill()
    else:
        jobs.go_on()
    assert end(orphan, other) == [status, 0]
    jobs.check_whole()
    assert N_RESPONSES <= jobs.n_asked() <= N_RESPONSES + again


def test_jobs_that_start_at_once_generate_each_response_once(jobs: Jobs) -> None:
    assert end(*[jobs.start(f"job-{number}", pause_s=0.02) for number in range(4)]) == [0] * 4
    jobs.check_whole()
    assert jobs.n_asked() == N_RESPONSES


def elsewhere(folder: Path, sign: int) -> None:
    """What an owner on another machine writes, whose lock does not reach this one."""
    owner = {"process": 17, "host": "node7", "machine": "another", "sign": sign, "slurm_job": "99"}
    with whole_file(folder / "owner.json") as partial:
        partial.write_text(json.dumps(owner))


def test_an_owner_elsewhere_is_waited_for_while_it_gives_signs_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(folder_ownership, "POLL_S", 0.02)
    monkeypatch.setattr(folder_ownership, "SILENT_S", 2.0)
    elsewhere(tmp_path, 0)
    signs = iter(range(1, 11))
    last_sign = 0.0

    def live() -> None:
        nonlocal last_sign
        for sign in signs:
            time.sleep(0.1)
            elsewhere(tmp_path, sign)
            last_sign = time.monotonic()

    thread = threading.Thread(target=live)
    thread.start()
    with Ownership(tmp_path):
        assert time.monotonic() - last_sign >= 2.0
        assert next(signs, None) is None
        remove_unowned_folder(tmp_path)
    thread.join()
    assert "waiting for process 17 on host node7 (Slurm job 99)" in caplog.text
    assert not (tmp_path / "owner.json").exists()


def test_an_owner_elsewhere_that_has_said_it_was_done_is_not_waited_for(tmp_path: Path) -> None:
    begin = time.monotonic()
    with Ownership(tmp_path):
        owner = json.loads((tmp_path / "owner.json").read_text())
        assert (owner["process"], owner["host"]) == (os.getpid(), os.uname().nodename)
    with Ownership(tmp_path):
        pass
    assert time.monotonic() - begin < 1


def test_garbage_in_the_owners_file_counts_as_none(tmp_path: Path) -> None:
    for garbage in (b"", b"{", b"[1]", b"\xff\xfe", b"null"):
        (tmp_path / "owner.json").write_bytes(garbage)
        begin = time.monotonic()
        with Ownership(tmp_path):
            assert time.monotonic() - begin < 1


def test_parts_of_a_living_job_are_not_cleared(jobs: Jobs) -> None:
    orphan = jobs.start_orphan()
    remove_unowned_folder(jobs.parts)
    assert len(list(jobs.parts.glob("part-*"))) >= 2
    jobs.go_on()
    assert end(orphan) == [0]
    assert jobs.n_asked() == N_RESPONSES
