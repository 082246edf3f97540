"""A state that somebody or something has changed is named with what to do, or says what it said before."""

import hashlib
import io
import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from production import line, log_file, saved

import entropy_sentinel as es
from entropy_sentinel.core.errors import ConfigError, DamagedFileError, EntropySentinelError, InputError
from entropy_sentinel.monitor.monitor_result import Monitored
from entropy_sentinel.monitor.monitor_run import record_alerts

pytestmark = pytest.mark.slow

LABELS = {"item_id": ["req-0001", "req-0030"], "label": [True, False], "weight": [24.0, 24.0]}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An estimator, and a folder with two days of logs and their state."""
    folder = tmp_path_factory.mktemp("made")
    estimator = saved(folder, "atc-se_sum")
    for day in range(3):
        log_file(folder / f"{day}.jsonl", [line(24 * day + hour) for hour in range(24)])
    record_alerts(run(estimator, folder, 2))
    return estimator, folder


def run(estimator: Path, folder: Path, n_days: int = 3) -> Monitored:
    """Read days and labels: with a day more than the state has, every file of it is needed."""
    options: dict[str, Any] = {"by": ["route"], "window": "day", "fail_below": 0.99, "min_responses": 3}
    logs = [folder / f"{day}.jsonl" for day in range(n_days)]
    return es.monitor(estimator, logs, state=folder / "state", labels=pl.DataFrame(LABELS), **options)


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


@pytest.mark.parametrize("table", ["about", "frames", "records"])
@pytest.mark.parametrize("value", ["'text'", "7", "1.5", "NULL"])
def test_content_of_another_type_is_damage(table: str, value: str, made: tuple[Path, Path], tmp_path: Path) -> None:
    """Without the cast in `_CONTENT` the checksum of a text or number raises an error of Python."""
    shutil.copytree(made[1], folder := tmp_path / "copy")
    with closing(sqlite3.connect(folder / "state")) as state, state:
        state.execute(f"UPDATE {table} SET content = {value}")
    with pytest.raises(DamagedFileError, match="state: is damaged"):
        run(made[0], folder)


def digest(key: str, content: bytes) -> bytes:
    return hashlib.sha256(f"{key}\0".encode() + content).digest()


def forge(state: Path, table: str, change: Callable[[Any], Any], where: str = "key != ''") -> None:
    """Change the JSON of the first row of a table, and its checksum."""
    with closing(sqlite3.connect(state)) as file, file:
        key, content = file.execute(f"SELECT key, content FROM {table} WHERE {where} ORDER BY key").fetchone()
        content = json.dumps(change(json.loads(content))).encode()
        file.execute(f"UPDATE {table} SET content = ?, sha256 = ? WHERE key = ?", (content, digest(key, content), key))


def forge_frame(state: Path, part: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Change a frame of the first file, and its checksum."""
    with closing(sqlite3.connect(state)) as file, file:
        (key,) = file.execute("SELECT min(key) FROM about WHERE key != ''").fetchone()
        where = "WHERE key = ? AND part = ?"
        (content,) = file.execute(f"SELECT content FROM frames {where}", (key, part)).fetchone()
        change(pl.read_parquet(content)).write_parquet(changed := io.BytesIO())
        file.execute(f"UPDATE frames SET content = ? {where}", (changed.getvalue(), key, part))
    checksum = hashlib.sha256(changed.getvalue()).hexdigest()
    forge(state, "about", lambda row: {**row, "checksums": {**row["checksums"], part: checksum}})


def values(name: str, *numbers: float) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Replace an array of each row."""
    kind = pl.Array(pl.Float64, len(numbers))
    return lambda frame: frame.with_columns(pl.Series(name, [list(numbers)] * len(frame), dtype=kind))


FRAMES: dict[str, tuple[str, Callable[[pl.DataFrame], pl.DataFrame]]] = {
    "no window": ("sums", lambda frame: frame.drop("grain")),
    "no slice": ("sums", lambda frame: frame.drop("by.route")),
    "a slice of numbers": ("sums", lambda frame: frame.with_columns(pl.lit(7).alias("by.route"))),
    "a window of text": ("sums", lambda frame: frame.with_columns(grain=pl.lit("Monday"))),
    "no counts": ("sums", lambda frame: frame.drop("n_responses")),
    "counts of null": ("sums", lambda frame: frame.with_columns(n_estimated=pl.lit(None, pl.Float64))),
    "counts without end": ("sums", lambda frame: frame.with_columns(n_questions=pl.lit(float("inf")))),
    "a share without end": ("sums", lambda frame: frame.with_columns(n_ambiguous=pl.lit(float("inf")))),
    "values that are none": ("sums", values("values", float("nan"))),
    "values of another estimator": ("sums", lambda frame: values("products", 1, 1, 1)(values("values", 1, 1)(frame))),
    "products of other values": ("sums", values("products", 1, 1)),
    "a list": ("sums", lambda frame: frame.with_columns(pl.col("values").arr.to_list())),
    "another histogram": ("sums", values("histogram", 1, 2)),
    "no columns": ("responses", lambda _: pl.DataFrame()),
    "a prediction of text": ("responses", lambda frame: frame.with_columns(p=pl.lit("likely"))),
    "a prediction of NaN": ("responses", lambda frame: frame.with_columns(p=pl.lit(float("nan")))),
    "hashes of text": ("numbers", lambda frame: frame.with_columns(response_number=pl.lit("x"))),
    "hashes of null": ("numbers", lambda frame: frame.with_columns(id_number=pl.lit(None, pl.UInt64))),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_table_of_another_form_is_named(name: str, made: tuple[Path, Path], tmp_path: Path) -> None:
    """It has the right checksum, as from a program that writes states itself."""
    shutil.copytree(made[1], folder := tmp_path / "copy")
    forge_frame(folder / "state", *FRAMES[name])
    with pytest.raises(DamagedFileError, match="state: is damaged .*delete it"):
        run(made[0], folder)


WRONG = (None, 7, "text", ["text"], {"a": 1}, True)
# Of these, the ones that a field may have.
RIGHT = {"span": None, "n_bytes": 7, "path": "text", "replaces": ["text"], "statistics": {"a": 1}}


@pytest.mark.parametrize("field", ["path", "key", "n_bytes", "replaces", "problems", "checksums", "statistics", "span"])
def test_a_row_of_another_form_is_named(field: str, made: tuple[Path, Path], tmp_path: Path) -> None:
    for number, wrong in enumerate(WRONG):
        if field in RIGHT and wrong == RIGHT[field]:
            continue
        shutil.copytree(made[1], folder := tmp_path / str(number))
        forge(folder / "state", "about", lambda row, wrong=wrong: {**row, field: wrong})
        with pytest.raises(DamagedFileError, match="state: is damaged .*delete it"):
            run(made[0], folder)
    forge(made_copy := shutil.copy(made[1] / "state", tmp_path / "state"), "about", lambda row: wrong, "key = ''")
    with pytest.raises(DamagedFileError, match="its own row"):
        es.monitor(made[0], made[1] / "0.jsonl", by=["route"], window="day", state=made_copy)


def test_problems_that_an_earlier_version_recorded_in_words(made: tuple[Path, Path], tmp_path: Path) -> None:
    left_out = [["route", "x", False, 3]]
    words = {"problems": {"responses without a time": 2}, "notes": {}, "places": {}, "left_out": left_out}
    shutil.copytree(made[1], tmp_path, dirs_exist_ok=True)
    forge(tmp_path / "state", "about", lambda row: {**row, "problems": words})
    result = run(made[0], tmp_path)
    assert result.problems.lines()[-1].startswith("reported by earlier runs, in ")
    assert {row["slug"] for row in result.provenance["earlier_problems"]} == {"earlier-version-problem"}
    assert "responses without a time" in result.problems.lines()[-1]


def times(since: Any, newest: Any = "2026-11-03T00:00:00+00:00", *more: Any) -> str:
    return json.dumps([since, newest, *(more or (0, False))])


BELOW, SLICE, BEGAN = "below", '["shop"]', "2026-11-03T00:00:00+00:00"
REPORTED: list[Any] = [
    7,
    ["below"],
    [BELOW, SLICE],
    [None, SLICE, times(BEGAN)],
    [BELOW, None, times(BEGAN)],
    [BELOW, "shop", times(BEGAN)],
    [BELOW, "{}", times(BEGAN)],
    [BELOW, "[1]", times(BEGAN)],
    [BELOW, SLICE, None],
    [BELOW, SLICE, "[" * 5000],
    [BELOW, SLICE, "{}"],
    [BELOW, SLICE, times("yesterday")],
    [BELOW, SLICE, times(1)],
    [BELOW, SLICE, times("2026-11-03T00:00:00")],
    [BELOW, SLICE, times(BEGAN, BEGAN)[:-1]],
    [BELOW, SLICE, times(BEGAN, BEGAN, 0, False, 1)],
    [BELOW, SLICE, times(BEGAN, BEGAN, -1, False)],
    [BELOW, SLICE, times(BEGAN, BEGAN, "0", False)],
    [BELOW, SLICE, times(BEGAN, BEGAN, 0, 1)],
]


@pytest.mark.parametrize("earlier", [False, True], ids=["this version", "an earlier one"])
def test_an_alert_of_another_form_is_named(made: tuple[Path, Path], tmp_path: Path, earlier: bool) -> None:
    """Also in the table of an earlier version, which had no checksum."""
    for number, row in enumerate(REPORTED):
        shutil.copytree(made[1], folder := tmp_path / str(number))
        if not earlier:
            forge(folder / "state", "records", lambda _, row=row: [row], "key = 'alerts'")
        elif isinstance(row, list) and len(row) == 3:
            as_before(folder / "state", [row])
        else:
            continue
        with pytest.raises(DamagedFileError, match="state: is damaged .*not an alert that was reported.*delete it"):
            run(made[0], folder)


@pytest.mark.parametrize("content", [7, {}, "text", [[1, 2, 3]]])
@pytest.mark.parametrize("record", ["alerts", "progress"])
def test_a_record_of_another_form_is_named(record: str, content: Any, made: tuple[Path, Path], tmp_path: Path) -> None:
    shutil.copytree(made[1], folder := tmp_path / "copy")
    text = json.dumps(content).encode()
    with closing(sqlite3.connect(folder / "state")) as file, file:
        file.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", (record, text, digest(record, text)))
    with pytest.raises(DamagedFileError, match="state: is damaged .*delete it"):
        run(made[0], folder)


def as_before(state: Path, rows: list[Any]) -> None:
    """Make a state one of an earlier version, whose alerts had a table of their own."""
    with closing(sqlite3.connect(state)) as file, file:
        file.execute("DROP TABLE records")
        file.execute("CREATE TABLE told (kind TEXT, slice TEXT, content TEXT, PRIMARY KEY (kind, slice))")
        file.executemany("INSERT INTO told VALUES (?, ?, ?)", rows)


def reported(state: Path) -> Any:
    with closing(sqlite3.connect(state)) as file:
        ((content,),) = file.execute("SELECT content FROM records WHERE key = 'alerts'").fetchall()
    return json.loads(content)


def test_an_edited_alert_is_damage_and_mutes_nothing(made: tuple[Path, Path], tmp_path: Path) -> None:
    """The state says that the alert of the second day was reported for the third, too."""
    shutil.copytree(made[1], folder := tmp_path / "copy")
    (before,) = [row for row in reported(folder / "state") if row[0] == BELOW]
    muted = [[*before[:2], times(BEGAN, "2027-01-01T00:00:00+00:00")]]
    with closing(sqlite3.connect(folder / "state")) as file, file:
        file.execute("UPDATE records SET content = ? WHERE key = 'alerts'", (json.dumps(muted).encode(),))
    with pytest.raises(DamagedFileError, match="a row does not match its SHA-256"):
        run(made[0], folder)


def test_alerts_of_an_earlier_version_are_read_and_get_a_checksum(made: tuple[Path, Path], tmp_path: Path) -> None:
    shutil.copytree(made[1], folder := tmp_path / "copy")
    before = reported(folder / "state")
    whole = run(made[0], shutil.copytree(folder, tmp_path / "whole"))
    as_before(folder / "state", before)
    result = run(made[0], folder)
    assert result.alerts == whole.alerts != []
    record_alerts(result)
    assert len(reported(folder / "state")) == len(whole.histories[tmp_path / "whole" / "state"].reported)
    with closing(sqlite3.connect(folder / "state")) as file:
        assert not file.execute("SELECT 1 FROM sqlite_master WHERE name = 'told'").fetchall()


def test_a_place_that_was_changed_reads_the_file_again(made: tuple[Path, Path], tmp_path: Path) -> None:
    """The path of one file with the key of another would hide it."""
    shutil.copytree(made[1], folder := tmp_path / "copy")
    run(made[0], folder)
    with closing(sqlite3.connect(folder / "state")) as file, file:
        file.execute("UPDATE places SET key = (SELECT min(key) FROM places)")
    assert run(made[0], folder).provenance["files"] == {"read_now": 0, "known": 3, "in_all": 3}


@pytest.mark.parametrize("table", ["about", "frames", "records", "places"])
@pytest.mark.parametrize("statement", ["DROP TABLE {0}", "ALTER TABLE {0} RENAME TO {0}_2", "ALTER TABLE {0} ADD x"])
def test_other_tables_are_named_or_change_nothing(
    made: tuple[Path, Path], tmp_path: Path, table: str, statement: str
) -> None:
    shutil.copytree(made[1], folder := tmp_path / "copy")
    with closing(sqlite3.connect(folder / "state")) as state, state:
        state.execute(statement.format(table))
    try:
        assert run(made[0], folder).slices["n_responses"].sum() == 72
    except DamagedFileError as error:
        assert "delete it" in str(error)  # noqa: PT017 (either is right)


def test_a_file_of_one_byte_is_not_overwritten(made: tuple[Path, Path], tmp_path: Path) -> None:
    """SQLite takes it for an empty database."""
    (tmp_path / "notes").write_text("x")
    with pytest.raises(InputError, match="notes: must be a state of the monitor or a new file"):
        es.monitor(made[0], made[1] / "0.jsonl", state=tmp_path / "notes")
    assert (tmp_path / "notes").read_text() == "x"


def test_a_link_to_itself_is_no_state(made: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "state").symlink_to(tmp_path / "state")
    with pytest.raises(EntropySentinelError, match="state: the state cannot be used"):
        es.monitor(made[0], made[1] / "0.jsonl", state=tmp_path / "state")
    with pytest.raises(EntropySentinelError, match=str(tmp_path / "state")):
        es.monitor(made[0], [made[1] / "0.jsonl", tmp_path / "state"])
