"""Measure speed and memory of the monitor against only reading the same file in batches, each in a separate process:

- responses as features: slices by route and day, and by user, with one user per response;
- raw responses with 20 alternatives to each of 300 tokens, a flat Parquet table;
- a state of 30 days, and a run that adds one.

The last line printed is one JSON object. `--full` has 1,000,000 responses as features and 100,000 raw (some minutes).

    PYTHONPATH=workflow:tests/shared python benchmarks/bench_monitor.py
"""

import argparse
import json
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl

from bench_features import _apart, _run, peak_mib, synthetic_traces

BLOCK, DAYS, ROUTES = 1000, 30, 20
BEGIN_S = int(datetime(2026, 11, 2, tzinfo=UTC).timestamp())
MOST_MIB = 2048


def write_features_file(n: int, path: str) -> None:
    """Features of `n` responses over 30 days, by 20 routes and `n` users, in row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from production import traffic
    from rows import rows

    from entropy_sentinel.features.feature_registry import FEATURES
    from entropy_sentinel.schemas.contract import PROVENANCE_KEY

    block = traffic(50 * BLOCK).drop("route", "user", "time")
    rng, writer = np.random.default_rng(0), None
    message = {PROVENANCE_KEY: json.dumps({"stage": "features", "logprobs_mode": "raw_logprobs", "top_k_returned": 20})}
    for start in range(0, n, len(block)):
        part = block.head(n - start)
        number = start + np.arange(len(part))
        values, _ = rows(len(part), seed=start)
        table = part.with_columns(
            *(values[name] for name in FEATURES),
            item_id=pl.Series(number).cast(pl.String),
            route=pl.Series(rng.integers(0, ROUTES, len(part))),
            user="user-" + pl.Series(number).cast(pl.String),
            time=pl.Series(times(number, n)),
        ).drop("logprobs_mode", "top_k_returned")
        arrow = table.to_arrow()
        if writer is None:
            writer = pq.ParquetWriter(path, arrow.schema.with_metadata(message), compression="zstd")
        writer.write_table(pa.table(arrow).cast(writer.schema))
    writer.close()


def write_estimator(folder: str) -> None:
    """Write the estimator that `fit` chooses with few domains."""
    from production import saved

    saved(Path(folder), "consensus")


def times(number: np.ndarray, n: int) -> np.ndarray:
    """Seconds since 1970 of responses spread over DAYS."""
    return BEGIN_S + number * DAYS * 86_400 // n


def write_raw_log(n: int, n_tokens: int, path: str) -> None:
    """Write a flat table like users' logs, with a route and a time."""
    import pyarrow.parquet as pq

    traces = synthetic_traces(min(BLOCK, n), n_tokens)
    steps = pl.col("top_logprobs").list.eval(pl.element().arr.to_list())
    block = traces.select("text", "token_logprobs", top_logprobs=steps, finish_reason=pl.lit("stop"), model=pl.lit("m"))
    rng, writer = np.random.default_rng(0), None
    for start in range(0, n, BLOCK):
        number = start + np.arange(len(block))
        table = block.with_columns(
            id=pl.Series(number).cast(pl.String),
            route=pl.Series(rng.integers(0, ROUTES, len(block))),
            time=pl.Series(times(number, n)),
        ).to_arrow()
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    writer.close()


def write_days(n: int, folder: str) -> None:
    """Write one file of features per day."""
    from production import traffic

    from entropy_sentinel.api.response_reading import write_features

    for day in range(DAYS + 1):
        write_features(traffic(n // DAYS, seed=day, days=1), Path(folder) / f"{day:02}.parquet")


def measure(side: str, estimator: str, path: str, by: str, state: str) -> dict[str, object]:
    """CPU-seconds and peak memory of one side, after a small frame that loads the libraries."""
    from production import traffic

    import entropy_sentinel as es
    from entropy_sentinel.schemas.arrow_lists import read_batches

    options = {"by": [by], "window": "day"}
    es.monitor(estimator, traffic(90), by=["route"], window="day")
    wall, cpu = time.perf_counter(), time.process_time()
    if side == "read":
        n = sum(map(len, read_batches(path, rows=20_000)))
    else:
        result = es.monitor(estimator, path, state=state or None, **options)
        n = result.provenance["responses"]["read_now"]
    cpu_s, wall_s = time.process_time() - cpu, time.perf_counter() - wall
    return {
        "wall_s": round(wall_s, 2),
        "cpu_s": round(cpu_s, 2),
        "responses_per_cpu_s": round(n / max(cpu_s, 1e-9)),
        "peak_mib": round(peak_mib(), 1),
        "responses": n,
    }


def compare(n_features: int, n_raw: int, n_tokens: int, folder: Path) -> dict[str, object]:
    """Compare both sides of each log; raise AssertionError if the monitor needs too much memory."""
    _apart(write_estimator, str(folder))
    estimator = str(folder / "consensus.estimator")
    features, raw, days = str(folder / "features.parquet"), str(folder / "raw.parquet"), folder / "days"
    days.mkdir()
    _apart(write_features_file, n_features, features)
    _apart(write_raw_log, n_raw, n_tokens, raw)
    _apart(write_days, n_features // 5, str(days))
    state = str(folder / "state")

    def side(name: str, path: str, by: str = "route", state: str = "") -> dict[str, object]:
        return _run(sys.executable, __file__, "--side", name, estimator, path, by, state)

    measured = {
        "features": {"read": side("read", features), "monitor": side("monitor", features)},
        "features_by_user": {"read": side("read", features), "monitor": side("monitor", features, "user")},
        "raw": {"read": side("read", raw), "monitor": side("monitor", raw)},
    }
    last = days / f"{DAYS:02}.parquet"
    held = last.rename(folder / "last.parquet")
    thirty = side("monitor", str(days), state=state)
    held.rename(last)
    measured["state"] = {"thirty_days": thirty, "one_more_day": side("monitor", str(days), state=state)}
    peak = max(one["peak_mib"] for pair in measured.values() for one in pair.values())
    assert peak < MOST_MIB, f"must stay under {MOST_MIB} MiB, needed {peak}"
    ratios = {
        name: round(pair["monitor"]["cpu_s"] / max(pair["read"]["cpu_s"], 0.01), 2)
        for name, pair in measured.items()
        if "read" in pair
    }
    return {
        "ratio": ratios["raw"],
        "of": "CPU-seconds from the raw log to slices and windows / of reading the log in batches",
        "ratios": ratios,
        "peak_mib": peak,
        "tokens_per_response": n_tokens,
        "slices": {"route": ROUTES, "user": n_features, "days": DAYS},
        "file_mib": {Path(one).stem: round(Path(one).stat().st_size / 2**20, 1) for one in (features, raw)},
        **measured,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--features", type=int, default=200_000, help="responses as features")
    parser.add_argument("--raw", type=int, default=5000, help="raw responses")
    parser.add_argument("--tokens", type=int, default=300, help="tokens per raw response")
    parser.add_argument("--full", action="store_true", help="1,000,000 responses as features, 100,000 raw")
    parser.add_argument("--side", nargs=5, metavar=("SIDE", "ESTIMATOR", "LOG", "BY", "STATE"), help="one side only")
    arguments = parser.parse_args()
    if arguments.side:
        print(json.dumps(measure(*arguments.side)))
        return
    sizes = (1_000_000, 100_000) if arguments.full else (arguments.features, arguments.raw)
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps({"benchmark": "monitor", **compare(*sizes, arguments.tokens, Path(folder))}))


if __name__ == "__main__":
    main()
