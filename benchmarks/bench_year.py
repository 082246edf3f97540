"""Measure the monitor's 366th night: its time and memory beside those of the second night, on a file of the same size.

The state of a year is simulated: the first day's file is read, and its sums are added for 364 further days with other
hashes. Each night runs in a process of its own. Run by `make bench-year`; the last line is one JSON object.
"""

import argparse
import json
import sqlite3
import sys
import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bench_features import _apart, _run, peak_mib

OPTIONS: dict[str, Any] = {"by": ["route"], "window": "day", "reference": "2026-11-02..2026-11-08"}
MOST_MIB = 1024


def write(n: int, days: int, folder: str) -> None:
    """Write the estimator, and a file of `n` features for each of the days 0, 1 and `days`."""
    from production import BEGIN, saved, traffic

    from entropy_sentinel.api.response_reading import write_features

    saved(Path(folder), "consensus")
    for day in (0, 1, days):
        moved = pl.lit(BEGIN + timedelta(days=day)) + (pl.int_range(pl.len()) % 86_000) * timedelta(seconds=1)
        rows = pl.concat([traffic(10_000, seed=day * 1000 + part) for part in range(-(-n // 10_000))]).head(n)
        rows = rows.with_columns(time=moved, item_id=pl.format("{}-{}", pl.lit(f"day{day}"), pl.int_range(pl.len())))
        write_features(rows, Path(folder) / f"{day}.parquet")


def simulate(days: int, folder: str) -> None:
    """Add the sums of the first day's file to the state for the other days before the last."""
    from entropy_sentinel.monitor.monitor_options import MonitorOptions
    from entropy_sentinel.monitor.reading.deduplication import ID_HASH, RESPONSE_HASH
    from entropy_sentinel.monitor.reading.feature_stream import load_with_checksum
    from entropy_sentinel.monitor.summing.monitor_state import HASHES, SUMS, State

    saved, checksum = load_with_checksum(f"{folder}/consensus.estimator", f"{folder}/year")
    reading = MonitorOptions.from_values(OPTIONS).to_dict()
    whose = {"estimator": saved.estimator.name, "checksum": checksum, "reading": reading}
    rng = np.random.default_rng(0)
    with State.open(Path(folder) / "year", whose) as state:
        ((key, first),) = state.files.items()
        sums, hashes = [part.to_frame() for part in state.sums(key)], state.read_hashes(key)
        for day in range(1, days):
            moved = timedelta(days=day)
            about = replace(first, path=f"{day}.parquet", key=sha256(str(day).encode()).hexdigest(), checksums={})
            about.span = None
            with state.writing(about) as writer:
                for part in sums:
                    later = part.with_columns(pl.col("grain") + moved)
                    about.add_times(later["grain"])
                    writer.add_frame(SUMS, later)
                drawn = rng.integers(0, 2**63, (2, len(hashes)), dtype=np.uint64)
                writer.add_frame(
                    HASHES, hashes.with_columns(pl.Series(RESPONSE_HASH, drawn[0]), pl.Series(ID_HASH, drawn[1]))
                )


def night(estimator: str, log: str, state: str) -> dict[str, object]:
    """The time and the peak memory of one night."""
    import entropy_sentinel as es

    start, cpu = time.perf_counter(), time.process_time()
    result = es.monitor(estimator, log, state=state, **OPTIONS)
    return {
        "wall_s": round(time.perf_counter() - start, 2),
        "cpu_s": round(time.process_time() - cpu, 2),
        "peak_mib": round(peak_mib(), 1),
        "read_now": result.provenance["responses"]["read_now"],
        "in_all": result.provenance["responses"]["in_all"],
    }


def table(responses: int, days: int, folder: str) -> dict[str, float]:
    """The obvious way: a table of all responses by their hash. Without an index of ids, which it would need as well."""
    rng = np.random.default_rng(0)
    path = Path(folder) / "table"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA cache_size = -65536")
        database.execute(
            "CREATE TABLE seen (hash INTEGER PRIMARY KEY, id_hash INTEGER, day INTEGER, file INTEGER) WITHOUT ROWID"
        )
        hashes = np.sort(rng.integers(-(2**63), 2**63 - 1, responses * days, dtype=np.int64))
        for part in np.array_split(hashes, max(len(hashes) // 1_000_000, 1)):
            rows = ((one, one ^ 1, place % days, place % days) for place, one in enumerate(part.tolist()))
            database.executemany("INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?)", rows)
    new = rng.integers(-(2**63), 2**63 - 1, responses, dtype=np.int64).tolist()
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA cache_size = -65536")
        cpu = time.process_time()
        database.executemany(
            "INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?)", ((one, one ^ 1, days, days) for one in new)
        )
        database.commit()
        cpu = time.process_time() - cpu
    return {"inserts_of_a_night_cpu_s": round(cpu, 2), "table_mib": round(path.stat().st_size / 2**20, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--responses", type=int, default=100_000, help="responses a day")
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--night", nargs=3, metavar=("ESTIMATOR", "LOG", "STATE"), help="one night only")
    parser.add_argument("--table", action="store_true", help="compare with a table of all responses: 1 GiB, a minute")
    arguments = parser.parse_args()
    if arguments.night:
        print(json.dumps(night(*arguments.night)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _apart(write, arguments.responses, arguments.days, name)

        def run(day: int, state: str) -> dict[str, Any]:
            paths = [str(folder / part) for part in ("consensus.estimator", f"{day}.parquet", state)]
            return _run(sys.executable, __file__, "--night", *paths)

        first = run(0, "year")
        (folder / "year").rename(folder / "two")
        second = run(1, "two")
        run(0, "year")
        _apart(simulate, arguments.days, name)
        last = run(arguments.days, "year")
        size = (folder / "year").stat().st_size / 2**20
        obvious = table(arguments.responses, arguments.days, name) if arguments.table else {}
    print(json.dumps({"night_1": first, "night_2": second, f"night_{arguments.days + 1}": last}, indent=1))
    print(
        json.dumps(
            {
                "benchmark": "year",
                "ratio": round(last["peak_mib"] / second["peak_mib"], 2),
                "of": f"peak memory of night {arguments.days + 1} / of night 2",
                "peak_mib": last["peak_mib"],
                "reached": last["peak_mib"] <= MOST_MIB,
                "cpu_s": last["cpu_s"],
                "state_mib": round(size, 1),
                **obvious,
            }
        )
    )


if __name__ == "__main__":
    main()
