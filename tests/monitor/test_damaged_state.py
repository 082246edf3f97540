"""A state that somebody or something has changed: it is named with what to do, whatever was changed, and never read."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from production import line, log_file, saved

import entropy_sentinel as es
from entropy_sentinel.frames.errors import DamagedFileError, EntropySentinelError, ProvenanceError
from entropy_sentinel.monitor.result import Monitored

LABELS = {"item_id": ["req-0001", "req-0030"], "label": [True, False], "weight": [24.0, 24.0]}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An estimator, and a folder with two days of logs and their state."""
    folder = tmp_path_factory.mktemp("made")
    estimator = saved(folder, "atc-se_sum")
    run(estimator, folder, 2)
    return estimator, folder


def run(estimator: Path, folder: Path, n_days: int = 3) -> Monitored:
    """Read days and labels: with a day more than the state has, every file of it is needed."""
    for day in range(n_days):
        if not (folder / f"{day}.jsonl").exists():
            log_file(folder / f"{day}.jsonl", [line(24 * day + hour) for hour in range(24)])
    logs = sorted(folder.glob("*.jsonl"))
    return es.monitor(estimator, logs, by=["route"], window="day", state=folder / "state", labels=pl.DataFrame(LABELS))


def flip(content: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :]


def cut(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content))]


def more(content: bytes, chance: random.Random) -> bytes:
    return content + bytes(chance.randrange(256) for _ in range(chance.randrange(1, 50)))


def other(_: bytes, chance: random.Random) -> bytes:
    return chance.choice([b"", b"null", b"[]", b"{}", b"7", b"\xff\xfe", b"PAR1PAR1", b"[" * 5000, b'{"sha256": 1}'])


def changed(content: bytes, chance: random.Random) -> bytes:
    """A JSON object that lacks a key, or has a value of another type; other files are incomplete."""
    try:
        whole = json.loads(content)
    except ValueError:
        return cut(content, chance)
    holders: list[Any] = [whole]
    while chance.random() < 0.7:
        below = [one for one in _values(holders[-1]) if isinstance(one, dict | list) and one]
        if not below:
            break
        holders.append(chance.choice(below))
    holder = holders[-1]
    key = chance.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    if chance.random() < 0.5:
        del holder[key]
    else:
        holder[key] = chance.choice([one for one in (None, -1, "x", [], {}, 1.5, True) if one != holder[key]])
    return json.dumps(whole).encode()


def _values(holder: Any) -> list[Any]:
    return list(holder.values() if isinstance(holder, dict) else holder)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [flip, cut, more, other, changed])
@pytest.mark.parametrize("part", ["state.json", "places.json", "files", "sums", "responses", "numbers"])
def test_whatever_was_changed_is_named(
    made: tuple[Path, Path], tmp_path: Path, part: str, damage: Callable[[bytes, random.Random], bytes]
) -> None:
    estimator, folder = made
    chance = random.Random(f"{part} {damage.__name__}")
    for number in range(5):
        shutil.copytree(folder, copy := tmp_path / str(number))
        files = [path for path in sorted((copy / "state").rglob("*")) if part in (path.name, path.parent.name)]
        files = [path for path in files if path.is_file()]
        path = chance.choice(files)
        content = path.read_bytes()
        new = damage(content, chance)
        same = part.endswith("json") and _is_same(new, content)
        path.write_bytes(new)
        if same:
            run(estimator, copy)
            continue
        with pytest.raises(
            DamagedFileError, match=f"{path}: is damaged .*; delete the folder {copy / 'state'} and give"
        ):
            run(estimator, copy)
    # As told: without the folder all is read again.
    shutil.rmtree(copy / "state")
    assert run(estimator, copy).slices["n_responses"].sum() == 72


def _is_same(new: bytes, content: bytes) -> bool:
    """Whether a change was of white space alone."""
    try:
        return json.loads(new) == json.loads(content)
    except (ValueError, RecursionError):
        return False


@pytest.mark.parametrize("part", ["state.json", "files", "sums", "responses", "numbers"])
def test_what_is_not_there_and_what_is_of_another_kind(made: tuple[Path, Path], tmp_path: Path, part: str) -> None:
    estimator, folder = made
    for number, kind in enumerate(["gone", "folder", "file"]):
        shutil.copytree(folder, copy := tmp_path / f"{number}")
        place = copy / "state" / part
        first = place if place.is_file() else sorted(place.iterdir())[0]
        if kind == "file" and place.is_dir():
            shutil.rmtree(place)
            place.write_text("{}")
        elif kind != "file":
            first.unlink()
            if kind == "folder":
                first.mkdir()
        elif place.is_file():
            continue
        if part == "files" and kind == "gone":  # a file is forgotten, and read again
            assert run(estimator, copy).slices["n_responses"].sum() == 72
            continue
        with pytest.raises(DamagedFileError, match="delete the folder"):
            run(estimator, copy)


def test_a_state_of_an_earlier_release_says_so(made: tuple[Path, Path], tmp_path: Path) -> None:
    estimator, folder = made
    shutil.copytree(folder, copy := tmp_path / "copy")
    first = {"version": 1, "estimator": "atc-se_sum", "checksum": "0", "reading": {}}
    (copy / "state" / "state.json").write_text(json.dumps(first))
    with pytest.raises(ProvenanceError, match="is of an earlier release; name another folder, or delete"):
        run(estimator, copy)


def test_errors_are_such_that_the_command_shows() -> None:
    assert issubclass(DamagedFileError, EntropySentinelError)
