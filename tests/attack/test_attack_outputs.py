"""Outputs that are inputs, links, devices, on full disks: by every command that writes a file."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from calling import run
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.api.response_reading import write_features
from entropy_sentinel.core.errors import InputError

pytestmark = pytest.mark.slow

# A call by what it writes, with OUT in the place of the file; each ends well where OUT is a new file.
CALLS = {
    "features": "features log.jsonl -o OUT",
    "features by the number of alternatives": "features log.jsonl --split -o OUT",
    "fit": "fit traces --labels labels.csv --estimator log-3d -o OUT",
    "estimate": "estimate log-3d.estimator traces --labels labels.csv -o OUT",
    "monitor's rows": "monitor log-3d.estimator traces --labels labels.csv --by benchmark -o OUT",
    "monitor's metrics": "monitor log-3d.estimator traces --labels labels.csv --metrics OUT",
    "monitor's alerts": "monitor log-3d.estimator traces --labels labels.csv --alerts OUT",
    "monitor's page": "monitor log-3d.estimator traces --labels labels.csv --by benchmark --page OUT",
    "sample": "sample log-3d.estimator traces --budget 20 -o OUT",
    "schema": "schema -o OUT",
}
# What the name of a file must end with.
SUFFIX = {"estimate": ".csv", "monitor's rows": ".csv", "sample": ".csv"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log, traces, labels and an estimator."""
    folder = tmp_path_factory.mktemp("made")
    shutil.copytree(TINY.traces, folder / "traces")
    shutil.copy(TINY.log, folder / "log.jsonl")
    labels = es.read_labels(TINY.labels)
    labels.write_csv(folder / "labels.csv")
    es.save(es.fit(es.read_features(TINY.traces), labels, "log-3d"), folder / "log-3d.estimator")
    (folder / "config.yaml").write_text("study: mine\n")
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it that is the working folder."""
    shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def call(what: str, out: str | Path, capsys: pytest.CaptureFixture) -> tuple[int, str]:
    """Exit status and errors."""
    status, _, errors = run(capsys, *(out if word == "OUT" else word for word in CALLS[what].split()))
    return status, errors


def inputs(what: str) -> Iterator[str]:
    """The files that a call reads."""
    if what == "schema":
        yield "config.yaml"
    for word in CALLS[what].split():
        if word == "traces":
            yield from (f"traces/{path.name}" for path in TINY.traces.iterdir())
        elif Path(word).suffix in (".jsonl", ".csv", ".estimator"):
            yield word


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("what", CALLS)
def test_no_input_is_overwritten(what: str, here: Path, capsys: pytest.CaptureFixture) -> None:
    """By a link to it; names and hard links are in tests/core/test_checked_outputs.py."""
    for number, read in enumerate(inputs(what)):
        out = Path(f"out-{number}{SUFFIX.get(what, '')}")
        out.symlink_to(here / read)
        before = contents(here)
        status, message = call(what, out, capsys)
        assert (status, message.count("\n")) == (1, 1)
        assert f": {out} is an input" in message
        assert contents(here) == before
        assert out.is_symlink()


def test_a_name_that_is_made_is_not_an_input(here: Path, capsys: pytest.CaptureFixture) -> None:
    """`--split` writes `mine-top5.parquet` and `mine-top20.parquet` in the place of `mine.parquet`."""
    assert run(capsys, "features", "log.jsonl", "traces", "--split", "-o", "mine.parquet")[0] == 0
    os.replace("log.jsonl", "mine-top20.parquet.jsonl")
    os.replace("mine-top20.parquet", "log.parquet")
    os.link("log.parquet", "mine-top20.parquet")
    before = contents(here)
    again = ("features", "log.parquet", "traces", "mine-top20.parquet.jsonl", "--split", "-o", "mine.parquet")
    assert run(capsys, *again)[0] == 1
    assert contents(here) == before


def test_two_kinds_of_features_are_not_written_to_one_name(tmp_path: Path) -> None:
    """As many alternatives, of other log-probabilities: both would be `both-top20.parquet`."""
    raw = es.read_features(TINY.traces)
    both = pl.concat([raw, raw.with_columns(logprobs_mode=pl.lit("processed_logprobs"), benchmark=pl.lit("x"))])
    with pytest.raises(InputError, match=r"both-top20.parquet .*20 alternatives"):
        write_features(both, tmp_path / "both.parquet", split=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("what", CALLS)
def test_links_stay(what: str, here: Path, capsys: pytest.CaptureFixture) -> None:
    real, link = here / f"real{SUFFIX.get(what, '')}", here / f"link{SUFFIX.get(what, '')}"
    link.symlink_to(real)
    assert call(what, link, capsys)[0] == 0
    assert link.is_symlink()
    assert real.stat().st_size > 0


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own without a free page, with an old file that all can be written over."""
    if os.geteuid() != 0:
        pytest.skip("mounts a file system, as root can")
    folder = tmp_path / "full"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", folder], capture_output=True).returncode:
        pytest.skip("mounts a file system, which is not allowed here")
    try:
        for suffix in ("", ".csv"):
            (folder / f"old{suffix}").write_text("item_id,label\n")
        with (folder / "filler").open("wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(512))
            except OSError:
                pass
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("what", CALLS)
def test_a_full_disk_leaves_what_was_there(what: str, full: Path, here: Path, capsys: pytest.CaptureFixture) -> None:
    before, out = contents(full), full / f"old{SUFFIX.get(what, '')}"
    status, message = call(what, out, capsys)
    assert status == 1
    assert re.fullmatch(rf"OSError: \[Errno 28\] no space left on the disk.*: '{out}'", message.splitlines()[-1])
    assert "Traceback" not in message
    assert contents(full) == before


def test_labels_are_not_emptied_by_the_next_sample(here: Path, capsys: pytest.CaptureFixture) -> None:
    assert call("sample", "to_label.csv", capsys)[0] == 0
    rows = pl.read_csv("to_label.csv", infer_schema=False)
    rows.with_columns(label=pl.lit("true")).write_csv("to_label.csv")
    assert call("sample", "to_label.csv", capsys)[0] == 0
    assert pl.read_csv("to_label.csv")["label"].to_list() == [True] * 20
    # Another budget chooses others: nothing is written, and it is said why.
    before = contents(here)
    status, _, message = run(capsys, "sample", "log-3d.estimator", "traces", "--budget", 10, "-o", "to_label.csv")
    assert (status, "of its 20 completed rows" in message) == (1, True)
    assert contents(here) == before


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["--output", "log.jsonl/rows.csv"], "is inside a file, must be in a folder: 'log.jsonl/rows.csv'"),
        (["--state", "log.jsonl"], "state: must be a state of the monitor or a new file, got log.jsonl; name another"),
    ],
)
def test_a_file_is_not_a_folder(asked: list[str], message: str, here: Path, capsys: pytest.CaptureFixture) -> None:
    before = contents(here)
    status, _, told = run(capsys, "monitor", "log-3d.estimator", "log.jsonl", *asked)
    assert (status, told.count("\n")) == (1, 1)
    assert message in told
    assert contents(here) == before


def test_a_state_is_not_an_output(here: Path, capsys: pytest.CaptureFixture) -> None:
    watch = ["monitor", "log-3d.estimator", "traces", "--state", "state"]
    assert run(capsys, *watch)[0] == 0
    before = contents(here)
    status, _, message = run(capsys, *watch, "--alerts", "state")
    assert (status, "InputError: --alerts: state is an input" in message) == (1, True)
    assert contents(here) == before
