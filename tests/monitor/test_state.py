"""The state: only what is new is read, whatever happened to the files; a killed run and a second one do no harm."""

import gzip
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import polars as pl
import pytest
from calling import run as called
from production import line, log_file, saved, traffic, written

import entropy_sentinel as es
from entropy_sentinel.core.errors import ConfigError, EntropySentinelError, InputError, ProvenanceError
from entropy_sentinel.monitor.monitor_result import Monitored
from entropy_sentinel.monitor.reading.feature_stream import SourceReader
from entropy_sentinel.monitor.summing import file_reading, log_pass, state_file

pytestmark = pytest.mark.slow

ATC = "atc-se_sum"
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # of a process that runs the package


@pytest.fixture(scope="module")
def estimator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("estimator"), ATC)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files whose responses were read."""
    results: list[str] = []
    frames = SourceReader.read_frames

    def noted(self: SourceReader, source: Any) -> Iterator[pl.DataFrame]:
        results.append(Path(source).name)
        return frames(self, source)

    monkeypatch.setattr(SourceReader, "read_frames", noted)
    return results


def lines(first: int, last: int) -> list[dict[str, Any]]:
    return [line(number) for number in range(first, last)]


def run(estimator: Path, logs: Any, state: Path | None, **options: Any) -> Monitored:
    return es.monitor(estimator, logs, by=["route"], window="day", state=state, **options)


def without(state: Path, name: str) -> None:
    """Make the files of a state ones that were read before a statistic was there."""
    with state_file.open_state_file(state) as file:
        for key, about in file.read_file_rows().items():
            if key:
                del about["statistics"][name]
                file.execute("DELETE FROM about WHERE key = ?", key)
                file.put_row(key, about)


def keys(state: Path) -> list[str]:
    """The keys of the files that a state has sums of."""
    with closing(sqlite3.connect(state)) as file:
        return [key for (key,) in file.execute("SELECT DISTINCT key FROM frames WHERE part = 'sums'")]


@pytest.mark.parametrize("name", ["log.jsonl", "moved.jsonl"])
def test_a_file_is_read_again_for_a_statistic_that_is_new(
    estimator, tmp_path: Path, opened: list[str], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    log, state = log_file(tmp_path / "log.jsonl", cut_off(0, 24)), tmp_path / "state"
    first = run(estimator, log, state)
    without(state, "cut_off_share")
    again = run(estimator, log.rename(tmp_path / name), state)
    assert again.slices.equals(first.slices)
    assert dict(again.slices.select("route", "cut_off_share").rows()) == {"shop": 1, "school": 0}
    assert opened == ["log.jsonl", name]
    (message,) = caplog.messages
    assert message.startswith(f"{tmp_path / name}: ")
    assert "cut_off_share" in message
    run(estimator, tmp_path / name, state)
    assert len(opened) == 2


def test_what_is_known_of_a_file_that_is_gone_still_counts(estimator, tmp_path: Path) -> None:
    """School has responses in the first file alone, shop in both, and the second has one of neither."""
    first, state = log_file(tmp_path / "1.jsonl", cut_off(0, 24)), tmp_path / "state"
    run(estimator, first, state)
    without(state, "cut_off_share")
    others = [line(number, route="shop" if number < 30 else "support") for number in range(24, 48)]
    second = log_file(tmp_path / "2.jsonl", others)
    results = run(estimator, second, state)
    whole = run(estimator, [first, second], None)
    share = dict(results.slices.select("route", "cut_off_share").rows())
    assert share == {"school": None, "shop": None, "support": 0}
    hidden = ("cut_off_share", "flags", "flag_codes", "reasons")  # that many are cut off is a flag
    assert results.slices.drop(hidden).equals(whole.slices.drop(hidden))
    (note,) = [line for line in results.problems.lines() if "'cut_off_share'" in line]
    assert (note[:7], note.endswith(f": {first}")) == ("1 file ", True)
    # Given again, all is known.
    again = run(estimator, [first, second], state)
    assert again.slices.equals(whole.slices)
    assert not [line for line in again.problems.lines() if "not known" in line]


@pytest.mark.parametrize("newer", [True, False])
def test_a_part_brings_a_statistic_that_was_not_there(estimator, tmp_path: Path, newer: bool) -> None:
    log, part, state = log_file(tmp_path / "log.jsonl", cut_off(0, 24)), tmp_path / "part", tmp_path / "state"
    first = run(estimator, log, state)
    shutil.copy(state, part)
    without(state if newer else part, "cut_off_share")
    assert run(estimator, part, state).slices.equals(first.slices)


def cut_off(first: int, last: int) -> list[dict[str, Any]]:
    """Lines whose responses are cut off where the route is the shop."""
    return [line | ({"finish_reason": "length"} if line["route"] == "shop" else {}) for line in lines(first, last)]


def days(results: Monitored) -> list[tuple[int, int]]:
    """The day of the month of each window, and its responses."""
    rows = results.windows.group_by("window").agg(pl.col("n_responses").sum()).sort("window")
    return [(day.day, n) for day, n in rows.rows()]


def test_a_new_day_reads_only_the_new_day(estimator, tmp_path: Path, opened: list[str]) -> None:
    logs, state = tmp_path / "logs", tmp_path / "state"
    log_file(logs / "1.jsonl", lines(0, 24))
    log_file(logs / "2.jsonl", lines(24, 48))
    first = run(estimator, str(logs), state)
    assert opened == ["1.jsonl", "2.jsonl"]
    log_file(logs / "3.jsonl", lines(48, 72))
    second = run(estimator, str(logs), state)
    assert opened == ["1.jsonl", "2.jsonl", "3.jsonl"]
    assert (days(first), days(second)) == ([(2, 24), (3, 24)], [(2, 24), (3, 24), (4, 24)])
    assert second.provenance["files"] == {"read_now": 1, "known": 2, "in_all": 3}
    assert second.slices.equals(run(estimator, str(logs), None).slices)
    # Only the new day need be named.
    log_file(logs / "4.jsonl", lines(72, 96))
    assert days(run(estimator, logs / "4.jsonl", state))[-1] == (5, 24)
    assert opened[-1] == "4.jsonl"


def test_a_known_file_is_not_opened(estimator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = log_file(tmp_path / "log.jsonl", lines(0, 24))
    run(estimator, path, tmp_path / "state")
    monkeypatch.setattr(log_pass, "digest_content", Mock(side_effect=AssertionError("was opened")))
    assert days(run(estimator, path, tmp_path / "state")) == [(2, 24)]
    os.utime(path, (1, 1))
    with pytest.raises(AssertionError, match="was opened"):
        run(estimator, path, tmp_path / "state")


def test_rotated_moved_copied_and_packed_logs_count_once(estimator, tmp_path: Path, opened: list[str]) -> None:
    logs, state = tmp_path / "logs", tmp_path / "state"
    log_file(logs / "app.jsonl", lines(0, 10))
    run(estimator, str(logs), state)
    # It went on, was rotated and packed, and a new one was begun.
    log_file(logs / "app.jsonl", lines(0, 24))
    with gzip.open(logs / "app.1.jsonl.gz", "wb") as packed:
        packed.write((logs / "app.jsonl").read_bytes())
    log_file(logs / "app.jsonl", lines(24, 30))
    assert days(run(estimator, str(logs), state)) == [(2, 24), (3, 6)]
    opened.clear()
    shutil.copy(logs / "app.jsonl", logs / "copy.jsonl")
    (logs / "app.1.jsonl.gz").rename(logs / "app.2.jsonl.gz")
    assert days(run(estimator, str(logs), state)) == [(2, 24), (3, 6)]
    assert opened == []


def test_another_estimator_or_setting_is_refused(estimator, tmp_path: Path) -> None:
    path, state = log_file(tmp_path / "log.jsonl", lines(0, 24)), tmp_path / "state"
    run(estimator, path, state)
    with pytest.raises(ProvenanceError, match=rf"{state}: .*'{ATC}' with checksum \w{{12}}"):
        run(saved(tmp_path, "atc-max"), path, state)
    with pytest.raises(ProvenanceError, match=r"by = \['route'\], .*\['route', 'model'\]"):
        es.monitor(estimator, path, by=["route", "model"], window="day", state=state)
    with pytest.raises(ProvenanceError, match="grain = day, .*hour"):
        es.monitor(estimator, path, by=["route"], window="hour", state=state)
    # A week is made of days, and what is asked of the sums may change.
    assert es.monitor(estimator, path, by=["route"], window="week", state=state, level=0.5).slices["level"][0] == 0.5


RUN = """
import sys
import entropy_sentinel as es
es.monitor(sys.argv[1], sys.argv[2], by=["route"], window="day", state=sys.argv[3])
"""


def test_killed_while_it_reads(estimator, tmp_path: Path) -> None:
    logs, state = tmp_path / "logs", tmp_path / "state"
    for number in range(20):
        written(traffic(500, seed=number), logs / f"{number:02}.parquet")
    process = subprocess.Popen([sys.executable, "-c", RUN, estimator, logs, state], env=ENVIRONMENT)
    while not state.exists():
        time.sleep(0.01)
    time.sleep(0.2)
    process.kill()
    process.wait()
    results = es.monitor(estimator, str(logs), by=["route"], window="day", state=state)
    assert results.slices["n_responses"].sum() == 20 * 500
    assert results.slices.equals(es.monitor(estimator, str(logs), by=["route"], window="day").slices)


def test_a_file_that_grows_while_it_is_read_is_read_from_a_copy(estimator, tmp_path: Path, monkeypatch) -> None:
    path, state = log_file(tmp_path / "log.jsonl", lines(0, 10)), tmp_path / "state"
    sums_of = file_reading.sum_frame

    def grows(*arguments: Any) -> Any:
        if len(path.read_text().splitlines()) == 10:
            log_file(path, lines(0, 20))
        return sums_of(*arguments)

    monkeypatch.setattr(file_reading, "sum_frame", grows)
    assert run(estimator, path, state).slices["n_responses"].sum() == 20
    monkeypatch.undo()
    assert run(estimator, path, state).slices["n_responses"].sum() == 20
    assert len(keys(state)) == 1


def test_a_refused_run_leaves_the_state_unchanged(estimator, tmp_path: Path) -> None:
    path, state = log_file(tmp_path / "log.jsonl", [line(number, model="other") for number in range(9)]), tmp_path / "s"
    with pytest.raises(ProvenanceError, match="9 of model 'other'.*any_model=True"):
        run(estimator, path, state)
    assert keys(state) == []


@pytest.mark.parametrize("as_part", [False, True])
def test_a_state_that_another_process_works_on_is_waited_for(estimator, tmp_path: Path, as_part: bool) -> None:
    path, state = log_file(tmp_path / "log.jsonl", lines(0, 24)), tmp_path / "state"
    run(estimator, path, state)
    with ThreadPoolExecutor() as pool, closing(sqlite3.connect(state)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        waiting = pool.submit(run, estimator, *([state, tmp_path / "whole"] if as_part else [path, state]))
        with pytest.raises(TimeoutError):
            waiting.result(timeout=2)
        holder.execute("COMMIT")
        assert days(waiting.result(timeout=30)) == [(2, 24)]


def test_states_of_parts_of_the_logs_are_logs(estimator, tmp_path: Path) -> None:
    whole = traffic(900)
    paths = [written(whole[part::3], tmp_path / f"{part}.parquet") for part in range(3)]
    for path in paths:
        run(estimator, path, tmp_path / "parts" / path.stem)
    parts = sorted((tmp_path / "parts").iterdir())
    results = run(estimator, parts, tmp_path / "state")
    assert results.slices.equals(run(estimator, paths, None).slices)
    assert run(estimator, [*parts, *paths], tmp_path / "state").slices.equals(results.slices)
    assert run(estimator, parts, None).slices.equals(results.slices)
    with pytest.raises(ProvenanceError, match="was made with by"):
        es.monitor(estimator, parts, by=["user"], window="day")


@pytest.mark.parametrize("logs", ["", "*"])
def test_a_state_that_lies_among_the_logs_is_not_a_log(estimator, tmp_path: Path, logs: str) -> None:
    log_file(tmp_path / "log.jsonl", lines(0, 24))
    for _ in range(2):
        results = run(estimator, tmp_path / logs, tmp_path / "state")
        assert (days(results), results.incomplete) == ([(2, 24)], False)


def test_a_bad_line_is_a_problem_of_the_run_that_reads_it(estimator, tmp_path: Path, capsys) -> None:
    """Later runs say in one line that it is there, until the file is another."""
    path, state = log_file(tmp_path / "log.jsonl", [*lines(0, 60), "{broken"]), tmp_path / "state"
    call = ["monitor", estimator, path, "--min-responses", "5"]
    assert called(capsys, *call)[0] == called(capsys, *call, "--state", state)[0] == 3
    assert called(capsys, *call, "--state", state)[0] == 0
    again = es.monitor(estimator, path, state=state)
    assert again.problems.lines() == ["reported by earlier runs, in 1 file: 1 record that cannot be read"]
    assert [(row["slug"], row["count"]) for row in again.provenance["earlier_problems"]] == [("unreadable-record", 1)]
    log_file(path, lines(0, 61))
    assert not es.monitor(estimator, path, state=state).problems.earlier.problems


def test_a_folder_and_another_file_are_refused_and_stay(estimator, tmp_path: Path) -> None:
    log, other = log_file(tmp_path / "log.jsonl", lines(0, 24)), tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as file:
        file.execute("CREATE TABLE bookmarks (address TEXT)")
    before = other.read_bytes()
    for state, error, message in (
        (tmp_path, ConfigError, f"state: .*folder {tmp_path}; "),
        (Path("/proc/state"), EntropySentinelError, "/proc/state: .*unable to open database file"),
        (other, InputError, "state of the monitor, .*SQLite"),
    ):
        with pytest.raises(error, match=message):
            run(estimator, log, state)
    assert other.read_bytes() == before


DISK = """
set -e
mount -t tmpfs -o {options} disk {disk}
cp {folder}/log.jsonl {folder}/state {disk}
{then}
exec {python} -m entropy_sentinel monitor {folder}/estimator {log} --min-responses 5 --state {disk}/state
"""


def on_a_disk(folder: Path, options: str, then: str, log: str) -> subprocess.CompletedProcess:
    """Run the monitor with its state on a disk of its own, after the commands `then`."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("needs the right to mount a file system of its own (unshare -rm)")
    (disk := folder / "disk").mkdir()
    places = {"folder": folder, "disk": disk, "python": sys.executable}
    script = DISK.format(options=options, then=then.format(**places), log=log.format(**places), **places)
    return subprocess.run(["unshare", "-rm", "sh", "-c", script], env=ENVIRONMENT, capture_output=True, text=True)


@pytest.fixture
def with_state(estimator, tmp_path: Path) -> Path:
    """A folder with an estimator, a log and the state of it, and a log that is new."""
    shutil.copy(estimator, tmp_path / "estimator")
    log_file(tmp_path / "new.jsonl", lines(60, 90))
    es.monitor(tmp_path / "estimator", log_file(tmp_path / "log.jsonl", lines(0, 60)), state=tmp_path / "state")
    return tmp_path


def test_a_state_on_a_disk_that_can_only_be_read_is_read(with_state: Path) -> None:
    """The log is a copy: that it lies elsewhere cannot be noted."""
    done = on_a_disk(with_state, "size=4m", "mount -o remount,ro {disk}", "{disk}/log.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    assert "60 responses in 1 file; read now: 0" in done.stdout


@pytest.mark.parametrize(
    ("options", "then", "why"),
    [
        ("size=4m", "mount -o remount,ro {disk}", "attempt to write a readonly database"),
        ("size=4m,nr_inodes=3", "", "unable to open database file"),
        ("size=4m", "cat /dev/zero > {disk}/zeros 2> /dev/null || true", "database or disk is full"),
    ],
)
def test_a_state_that_cannot_be_written_says_why_and_is_not_called_damaged(
    with_state: Path, options: str, then: str, why: str
) -> None:
    done = on_a_disk(with_state, options, then, "{folder}/new.jsonl")
    assert done.returncode == 1
    assert done.stderr.startswith(f"EntropySentinelError: {with_state}/disk/state: ")
    assert f": {why}. " in done.stderr
