"""A state that somebody or something has changed is named with what to do, or says what it said before."""

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from production import line, log_file, saved

import entropy_sentinel as es
from entropy_sentinel.frames.errors import ConfigError, DamagedFileError, InputError
from entropy_sentinel.monitor.result import Monitored

pytestmark = pytest.mark.slow

LABELS = {"item_id": ["req-0001", "req-0030"], "label": [True, False], "weight": [24.0, 24.0]}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An estimator, and a folder with two days of logs and their state."""
    folder = tmp_path_factory.mktemp("made")
    estimator = saved(folder, "atc-se_sum")
    for day in range(3):
        log_file(folder / f"{day}.jsonl", [line(24 * day + hour) for hour in range(24)])
    run(estimator, folder, 2)
    return estimator, folder


def run(estimator: Path, folder: Path, n_days: int = 3) -> Monitored:
    """Read days and labels: with a day more than the state has, every file of it is needed."""
    logs = [folder / f"{day}.jsonl" for day in range(n_days)]
    return es.monitor(estimator, logs, by=["route"], window="day", state=folder / "state", labels=pl.DataFrame(LABELS))


def flip(content: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :]


def blank(content: bytes, chance: random.Random) -> bytes:
    """A block of the disk that was never written."""
    place = chance.randrange(len(content) // 512) * 512
    return content[:place] + bytes(512) + content[place + 512 :]


def cut(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(1, len(content))]


def more(content: bytes, chance: random.Random) -> bytes:
    return content + bytes(chance.randrange(256) for _ in range(chance.randrange(1, 50)))


def other(_: bytes, chance: random.Random) -> bytes:
    return chance.choice([b"null", b"[]", b"\xff\xfe", b"PAR1PAR1", b"[" * 5000, b"SQLite format 3\0"])


@pytest.mark.parametrize("damage", [flip, blank, cut, more, other])
def test_whatever_was_changed_is_named_or_changes_nothing(
    made: tuple[Path, Path], tmp_path: Path, damage: Callable[[bytes, random.Random], bytes]
) -> None:
    estimator, folder = made
    shutil.copytree(folder, whole := tmp_path / "whole")
    slices = run(estimator, whole).slices
    chance = random.Random(damage.__name__)
    for number in range(10):
        shutil.copytree(folder, copy := tmp_path / str(number))
        state = copy / "state"
        state.write_bytes(damage(state.read_bytes(), chance))
        try:
            assert run(estimator, copy).slices.equals(slices)
        except (DamagedFileError, ConfigError, InputError) as error:
            named = f"{state}" in str(error) and ("delete it" in str(error) or "name another" in str(error))
            if not named:
                raise
    # As told: without the file all is read again.
    state.unlink()
    assert run(estimator, copy).slices.equals(slices)


def test_a_checksum_is_looked_at(made: tuple[Path, Path], tmp_path: Path) -> None:
    """A byte of the compressed sums, and one of what is known of a file."""
    estimator, folder = made
    content = (folder / "state").read_bytes()
    for known, why in ((b"PAR1", "do not match their SHA-256"), (b"n_bytes", "a row does not match")):
        shutil.copytree(folder, copy := tmp_path / known.decode())
        place = content.index(known) + 5
        (copy / "state").write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(DamagedFileError, match=f"state: is damaged .*{why}.*; delete it"):
            run(estimator, copy)


def test_the_rows_of_two_files_cannot_be_swapped(made: tuple[Path, Path], tmp_path: Path) -> None:
    """Each is whole, with its own checksum, but under the key of the other."""
    shutil.copytree(made[1], folder := tmp_path / "folder")
    with closing(sqlite3.connect(folder / "state")) as state, state:
        (first, *_), (second, *_) = rows = state.execute("SELECT key, content, sha256 FROM about").fetchmany(2)
        for key, (_, content, digest) in zip((second, first), rows, strict=True):
            state.execute("UPDATE about SET content = ?, sha256 = ? WHERE key = ?", (content, digest, key))
    with pytest.raises(DamagedFileError, match="does not match its SHA-256"):
        run(made[0], folder)


@pytest.mark.parametrize("table", ["about", "frames"])
@pytest.mark.parametrize("value", ["'text'", "7", "1.5", "NULL"])
def test_content_of_another_type_is_damage(table: str, value: str, made: tuple[Path, Path], tmp_path: Path) -> None:
    """Without the cast in `_CONTENT` the checksum of a text or number raises an error of Python."""
    shutil.copytree(made[1], folder := tmp_path / "copy")
    with closing(sqlite3.connect(folder / "state")) as state, state:
        state.execute(f"UPDATE {table} SET content = {value}")
    with pytest.raises(DamagedFileError, match="state: is damaged"):
        run(made[0], folder)
