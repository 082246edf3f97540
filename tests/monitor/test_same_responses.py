"""One response counts once, in however many files it is: copies, cut copies, exports; other responses are not lost."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from production import line, log_file, saved, traffic, written

import entropy_sentinel as es
from entropy_sentinel.features.feature_hashes import mix_bits
from entropy_sentinel.monitor.monitor_result import Monitored
from entropy_sentinel.monitor.reading.deduplication import (
    ID_HASH,
    ID_IS_POSITION,
    RESPONSE_HASH,
    HashIndex,
    HashSet,
    hash_responses,
)
from entropy_sentinel.monitor.summing.state_file import open_state_file

SAME = "in-another-file"


@pytest.fixture(scope="module")
def estimator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("estimator"), "atc-se_sum")


def lines(first: int, last: int, **changes: Any) -> list[dict[str, Any]]:
    return [line(number, **changes) for number in range(first, last)]


def count(results: Monitored) -> int:
    return int(results.slices["n_responses"].sum())


@pytest.fixture(params=["with ids", "without ids"])
def own(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What to change of lines, so that they have ids or none."""
    return {} if request.param == "with ids" else {"id": ...}


def test_a_log_that_was_seen_cut_short_counts_once(estimator, tmp_path: Path, own: dict[str, Any]) -> None:
    path, state = tmp_path / "log.jsonl", tmp_path / "state"
    whole = lines(0, 30, **own)
    counts = []
    for records in (whole[:20], whole, whole[:10], whole, [*whole[:5], json.dumps(whole[5])[:40]], whole):
        log_file(path, records)
        counts.append(count(es.monitor(estimator, path, state=state)))
    assert counts == [20, 30, 30, 30, 30, 30]
    log_file(path, lines(0, 35, **own))
    results = es.monitor(estimator, path, by=["route"], window="day", state=tmp_path / "new")
    assert results.slices.drop("reasons").equals(
        es.monitor(estimator, path, by=["route"], window="day").slices.drop("reasons")
    )
    assert count(es.monitor(estimator, path, state=state)) == 35


def test_snapshots_beside_the_log_count_once_in_whatever_order(estimator, tmp_path: Path, own: dict[str, Any]) -> None:
    logs, state = tmp_path / "logs", tmp_path / "state"
    whole = lines(0, 40, **own)
    log_file(logs / "app.jsonl", whole[:20])
    counts = [count(es.monitor(estimator, logs, state=state))]
    log_file(logs / "b-snapshot.jsonl", whole[:20])
    log_file(logs / "app.jsonl", whole)
    # With no file changed too.
    counts += [count(es.monitor(estimator, logs, state=state)) for _ in range(3)]
    with gzip.open(logs / "z-early.jsonl.gz", "wt") as packed:
        packed.write("".join(json.dumps(one) + "\n" for one in whole[:10]))
    counts += [count(es.monitor(estimator, logs, state=state)) for _ in range(3)]
    assert counts == [20, 40, 40, 40, 40, 40, 40]
    assert count(es.monitor(estimator, logs)) == 40


def test_two_exports_of_the_same_responses(estimator, tmp_path: Path) -> None:
    """Other bytes, another order, fields more, another form of the time; half of it is new."""
    first = log_file(tmp_path / "first.jsonl", lines(0, 30))
    times = {f"req-{number:04d}": 1793577600 + 3600 * number for number in range(45)}
    second = [line | {"time": times[line["id"]], "exported": "later"} for line in reversed(lines(15, 45))]
    log_file(tmp_path / "second.jsonl", second)
    for state in (None, tmp_path / "state"):
        results = es.monitor(estimator, [first, tmp_path / "second.jsonl"], by=["route"], window="day", state=state)
        assert count(results) == 45
        assert results.problems.notes[SAME] == 15
        (note,) = [problem for problem in results.problems if problem.kind.slug == SAME]
        assert note.places == [str(tmp_path / "second.jsonl")]
        whole = es.monitor(estimator, log_file(tmp_path / "whole.jsonl", lines(0, 45)), by=["route"], window="day")
        assert results.windows.equals(whole.windows)


def test_an_id_that_stands_for_something_else_is_another_response(estimator, tmp_path: Path) -> None:
    """Numbers that begin again every day; a question that is asked every day and answered in the same words."""
    begun_again = [line(24 + number, id=f"req-{number:04d}") for number in range(24)]
    asked_again = [line(number, time=f"2026-11-03T{number:02}:30:00") for number in range(24)]
    paths = [log_file(tmp_path / "1.jsonl", lines(0, 24))]
    paths += [log_file(tmp_path / "2.jsonl", begun_again), log_file(tmp_path / "3.jsonl", asked_again)]
    results = es.monitor(estimator, paths, state=tmp_path / "state")
    assert count(results) == 72
    assert results.problems.notes == {"shared-id": 48}
    assert not results.incomplete


def test_days_that_begin_with_the_same_line_and_have_no_ids(estimator, tmp_path: Path) -> None:
    same = {"id": ..., "time": ...}
    for day in range(3):
        log_file(tmp_path / f"{day}.jsonl", [line(0, **same), *lines(10 * day + 1, 10 * day + 10, **same)])
    assert count(es.monitor(estimator, tmp_path, state=tmp_path / "state")) == 30


def test_parts_that_overlap(estimator, tmp_path: Path) -> None:
    """What is in another part whole counts once; of the rest it is said how many are the same."""
    whole = traffic(600)
    parts = {"a": whole[:200], "b": whole, "c": whole[100:300], "d": whole[250:350]}
    for name, rows in parts.items():
        path = written(rows, tmp_path / f"{name}.parquet")
        es.monitor(estimator, path, by=["route"], state=tmp_path / "parts" / name)
    for names in ("ab", "ba", "bcd", "cbd", "abcd", "dcba"):
        results = es.monitor(estimator, [tmp_path / "parts" / name for name in names], by=["route"])
        assert (count(results), results.incomplete) == (600, False), names
    results = es.monitor(estimator, [tmp_path / "parts" / name for name in "ac"], by=["route"])
    assert count(results) == 400
    assert results.problems.counts == {"in-two-parts": 100}


def test_numbers_are_the_same_on_every_machine() -> None:
    # The first numbers of splitmix64 begun at 0 and at its own step.
    step = np.uint64(0x9E3779B97F4A7C15)
    assert [hex(one) for one in mix_bits(np.array([0, step], dtype=np.uint64)).tolist()] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
    ]
    results = pl.DataFrame(hash_responses(traffic(3), "time"))
    assert results[ID_HASH].to_list() == [number_of(f"m\0{0}\0" + one) for one in ("0-0", "0-1", "0-2")]
    assert results[RESPONSE_HASH].n_unique() == 3
    assert not results[ID_IS_POSITION].any()


def test_numbers_differ_where_a_response_does() -> None:
    rows = traffic(2000)
    results = {
        name: pl.DataFrame(hash_responses(rows.with_columns(change), "time")) for name, change in CHANGES.items()
    }
    for name, changed in results.items():
        assert changed[RESPONSE_HASH].n_unique() == 2000, name
        assert len(set(changed[RESPONSE_HASH]) & set(results["nothing"][RESPONSE_HASH])) == (
            2000 if name == "nothing" else 0
        )
    assert results["time"][ID_HASH].equals(results["nothing"][ID_HASH])


CHANGES = {
    "nothing": pl.col("max"),
    "time": pl.col("time") + pl.duration(microseconds=1),
    "id": pl.format("9{}", "item_id").alias("item_id"),
    "model": pl.lit("other").alias("model"),
    "sample": pl.lit(1, pl.UInt16).alias("sample"),
    "feature": pl.col("max") + 1,
}


def number_of(text: str) -> int:
    """The number of a text, byte by byte."""

    def mixed(x: int) -> int:
        x = (x + 0x9E3779B97F4A7C15) % 2**64
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
        return x ^ x >> 31

    content = text.encode()
    return mixed(sum((byte + 1) * mixed(place) for place, byte in enumerate(content)) % 2**64 + len(content))


def test_what_was_seen() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 2**63, 10_000).astype(np.uint64)
    seen = HashSet()
    assert not seen.has(drawn).any()
    for start in range(0, 5000, 37):
        seen.add(drawn[:5000][start : start + 37])
    assert seen.has(drawn).tolist() == [True] * 5000 + [False] * 5000
    assert sum(len(one) for one in seen._runs) == 5000


def test_only_files_with_times_near_the_new_ones_are_in_memory(estimator, tmp_path: Path, monkeypatch) -> None:
    """A file a month: each is compared with its neighbours, and a repeat is found wherever it is."""
    loaded: list[str] = []
    load = HashIndex._load

    def noted(self: HashIndex, key: str) -> None:
        loaded.append(key)
        load(self, key)

    monkeypatch.setattr(HashIndex, "_load", noted)
    state, options = tmp_path / "state", {"by": ["route"], "window": "day"}
    months = [log_file(tmp_path / f"{month}.jsonl", lines(720 * month, 720 * month + 9)) for month in range(8)]
    for month, path in enumerate(months):
        loaded.clear()
        es.monitor(estimator, path, state=state, **options)
        # A month has 30 days of 24 responses: the month before is within 30 days, as is this one.
        assert len(loaded) == min(month + 1, 2)
    copy = log_file(tmp_path / "copy.jsonl", lines(720, 725))
    loaded.clear()
    result = es.monitor(estimator, copy, state=state, **options)
    assert (count(result), result.problems.notes[SAME]) == (72, 5)
    assert len(loaded) <= 4


def test_responses_without_a_time_are_compared_with_all_others(estimator, tmp_path: Path) -> None:
    state, options = tmp_path / "state", {"by": ["route"], "window": "day"}
    untimed = lines(5000, 5004, time=...)
    es.monitor(estimator, log_file(tmp_path / "a.jsonl", [*lines(0, 9), *untimed]), state=state, **options)
    es.monitor(estimator, log_file(tmp_path / "b.jsonl", lines(3000, 3009)), state=state, **options)
    result = es.monitor(
        estimator, log_file(tmp_path / "c.jsonl", [*lines(6000, 6003), *untimed]), state=state, **options
    )
    assert (count(result), result.problems.notes[SAME]) == (9 + 4 + 9 + 3, 4)


def test_a_state_of_an_earlier_version_has_no_times_of_files(estimator, tmp_path: Path) -> None:
    state, options = tmp_path / "state", {"by": ["route"], "window": "day"}
    es.monitor(estimator, log_file(tmp_path / "a.jsonl", lines(0, 9)), state=state, **options)
    with open_state_file(state) as file:
        (_, (key, about)) = sorted(file.read_file_rows().items())
        del about["span"]
        file.execute("DELETE FROM about WHERE key = ?", key)
        file.put_row(key, about)
    result = es.monitor(estimator, log_file(tmp_path / "b.jsonl", lines(5, 12)), state=state, **options)
    assert (count(result), result.problems.notes[SAME]) == (12, 4)
