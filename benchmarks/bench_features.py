"""Measure speed and memory of features, each side in a separate process on the same synthetic traces:

- `compute_features` against the obvious way, a loop over responses with numpy and scipy (features agree to 1e-9);
- against LM-Polygraph's estimators and uqlm's scorers (benchmarks/peers_features.py), in a separate environment:
  the Python that ENTROPY_SENTINEL_PEERS names, or one that is created here from tests/golden/requirements.txt;
- from a log, a flat Parquet table, to features against merely reading it, in bounded memory.

The last line printed is one JSON object. `--full` has the log of 100,000 responses of 300 tokens (some minutes).

    PYTHONPATH=workflow python benchmarks/bench_features.py --responses 400 --tokens 500
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl

from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.schemas.generation_schema import GENERATIONS, TOP_K

AGREEMENT = 1e-9
ROOT = Path(__file__).parents[1]
# Responses that a log repeats, with new ids.
BLOCK = 1000
SIDES = ("polars", "loop")


def synthetic_traces(n_responses: int, n_tokens: int, seed: int = 42) -> pl.DataFrame:
    """GENERATIONS of `n_responses` x `n_tokens` steps: softmax of 20 sorted normal logits."""
    rng = np.random.default_rng(seed)
    logits = np.sort(rng.normal(scale=4.0, size=(n_responses * n_tokens, TOP_K)))[:, ::-1]
    top = (logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)).astype(np.float32)
    chosen = np.minimum(rng.geometric(0.8, size=len(top)) - 1, TOP_K - 1)
    steps = pl.DataFrame(
        {
            "response": np.repeat(np.arange(n_responses), n_tokens),
            "token_ids": chosen.astype(np.uint32),
            "token_logprobs": top[np.arange(len(top)), chosen],
            "top_logprobs": pl.Series(top, dtype=pl.Array(pl.Float32, TOP_K)),
        }
    )
    nothing = ("top_token_ids", "top_tokens", "tokens")
    zeros = ("sample", "seed", "run", "prompt_tokens", "trace_start", "displaced_steps")
    numbers = {name: pl.lit(0) for name in zeros} | {name: pl.lit(None) for name in nothing}
    texts = {name: pl.lit("") for name in ("prompt_hash", "finish_reason", "text")}
    return (
        steps.group_by("response", maintain_order=True)
        .agg("token_ids", "token_logprobs", "top_logprobs", n_tokens=pl.len())
        .with_columns(item_id=pl.col("response").cast(pl.String), **numbers, **texts)
        .select(pl.col(column.name).cast(column.dtype) for column in GENERATIONS.columns)
    )


def write_traces(n_responses: int, n_tokens: int, path: str) -> None:
    synthetic_traces(n_responses, n_tokens).write_parquet(path)


def loop(traces: pl.DataFrame) -> np.ndarray:
    """The 17 features, (n_responses, 17), computed one response at a time."""
    from scipy.stats import kurtosis, skew

    rows = []
    for sampled, top in zip(traces["token_logprobs"], traces["top_logprobs"], strict=True):
        log_p, nll = top.to_numpy().astype(float), -sampled.to_numpy().astype(float)
        entropy = -(np.exp(log_p) * log_p).sum(axis=1)
        rows.append(
            [
                *(entropy.mean(), entropy.std(), entropy.max()),
                *np.quantile(entropy, [0.1, 0.25, 0.5, 0.75, 0.9]),
                *(skew(entropy), kurtosis(entropy, fisher=False), entropy.sum()),
                *(nll.mean(), nll.max(), nll.sum()),
                *(np.exp(-nll.mean()), np.exp(-nll).min(), np.exp(nll.mean())),
            ]
        )
    return np.array(rows)


def measure_side(side: str, traces_path: str, features_path: str, repetitions: int) -> dict[str, float]:
    """Time one side in this process, write its features, and return seconds and MiB over the loaded traces.

    Two short responses come first, so that neither side is charged for loading its libraries.
    """
    traces = pl.read_parquet(traces_path).with_columns(model=pl.lit("m"), benchmark=pl.lit("b"))
    if side == "polars":
        from entropy_sentinel.features.feature_computation import compute_features

        compute = compute_features
    else:
        compute = loop
    compute(traces.head(2))
    loaded_mib = peak_mib()
    wall_s, cpu_s = [], []
    for _ in range(repetitions):
        wall, cpu = time.perf_counter(), time.process_time()
        features = compute(traces)
        wall_s.append(time.perf_counter() - wall)
        cpu_s.append(time.process_time() - cpu)
    if side == "polars":
        features = features.select(FEATURES).to_numpy()
    np.save(features_path, features)
    return {
        "wall_s": round(min(wall_s), 4),
        "cpu_s": round(min(cpu_s), 4),
        "peak_mib": round(peak_mib(), 1),
        "peak_over_loaded_mib": round(peak_mib() - loaded_mib, 1),
    }


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def compare(
    n_responses: int, n_tokens: int, repetitions: int, folder: Path, with_peers: bool = True
) -> dict[str, object]:
    """Compare ours, the loop and the peers; raise AssertionError if features differ by more than 1e-9."""
    traces_path = str(folder / "traces.parquet")
    # Also in a separate process, because a child's peak memory starts at its parent's.
    _apart(write_traces, n_responses, n_tokens, traces_path)
    measured, features = {}, {}
    for side in SIDES:
        features_path = str(folder / f"{side}.npy")
        measured[side] = _run(sys.executable, __file__, "--side", side, traces_path, features_path, repetitions)
        features[side] = np.load(features_path)
    difference = relative_difference(features["polars"], features["loop"])
    assert difference <= AGREEMENT, f"the two sides must agree to {AGREEMENT}, differ by {difference}"
    if not with_peers:
        loop_ratio = round(measured["loop"]["cpu_s"] / max(measured["polars"]["cpu_s"], 1e-9), 2)
        return {"ratio": loop_ratio, "of": "CPU time of the loop / of compute_features", **measured}
    peers = _run(peers_python(), Path(__file__).with_name("peers_features.py"), traces_path)
    ours = features["polars"][: peers["responses"]]
    for name, values in peers.pop("values").items():
        off = relative_difference(ours[:, FEATURES.index(name)], np.array(values))
        assert off <= AGREEMENT, f"{name} must agree with the peers to {AGREEMENT}, differs by {off}"
    own = measured["polars"]["cpu_s"] / n_responses
    ratios = {name: round(peers["cpu_s_per_response"][name] / own, 1) for name in peers["cpu_s_per_response"]}
    return {
        "ratio": min(ratios.values()),
        "of": "CPU-seconds per response of the faster peer / of compute_features, all 17 features",
        "ratios": ratios,
        "ours_cpu_s_per_response": own,
        "peers": peers,
        "loop_cpu_ratio": round(measured["loop"]["cpu_s"] / measured["polars"]["cpu_s"], 2),
        "responses": n_responses,
        "tokens_per_response": n_tokens,
        "top_k": TOP_K,
        "largest_relative_difference": difference,
        **measured,
    }


def peers_python() -> str:
    """The Python of an environment with the peers' packages; create it once if none is named."""
    if named := os.environ.get("ENTROPY_SENTINEL_PEERS"):
        return named
    folder = ROOT / ".venv" / "peers"
    if not (folder / "made").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        wanted = ROOT / "tests" / "golden" / "requirements.txt"
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", "-r", wanted], check=True, stdout=sys.stderr)
        (folder / "made").touch()
    return str(folder / "bin" / "python")


def stream(n_responses: int, n_tokens: int, folder: Path) -> dict[str, object]:
    """Compare reading a log (a flat table) in batches with also computing its features."""
    path = str(folder / "log.parquet")
    _apart(write_log, n_responses, n_tokens, path)
    size = Path(path).stat().st_size
    measured = {side: _run(sys.executable, __file__, "--log", side, path) for side in ("read", "features")}
    return {
        "ratio": round(measured["features"]["cpu_s"] / measured["read"]["cpu_s"], 2),
        "of": "CPU-seconds from the log to its features / of reading the log by the batch",
        "responses": n_responses,
        "tokens_per_response": n_tokens,
        "log_probabilities": n_responses * n_tokens * (1 + TOP_K),
        "file_mib": round(size / 2**20, 1),
        **measured,
    }


def write_log(n_responses: int, n_tokens: int, path: str) -> None:
    """Write a flat table like users' logs, with `n_responses` in row groups of BLOCK."""
    import pyarrow.parquet as pq

    traces = synthetic_traces(min(BLOCK, n_responses), n_tokens)
    steps = pl.col("top_logprobs").list.eval(pl.element().arr.to_list())
    block = traces.select("text", "finish_reason", "token_logprobs", top_logprobs=steps)
    writer = None
    for start in range(0, n_responses, BLOCK):
        ids = pl.int_range(start, start + len(block), eager=True).cast(pl.String)
        table = block.with_columns(id=ids).to_arrow()
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    writer.close()


def measure_log(side: str, path: str) -> dict[str, float]:
    """CPU-seconds and peak memory of one side, after a small log that loads the libraries."""
    from entropy_sentinel.api.response_reading import compute_file_features
    from entropy_sentinel.schemas.arrow_lists import read_batches

    compute_file_features([ROOT / "workflow" / "entropy_sentinel" / "example" / "log.jsonl"])
    wall, cpu = time.perf_counter(), time.process_time()
    rows = sum(map(len, read_batches(path))) if side == "read" else len(compute_file_features([Path(path)])[0])
    return {
        "wall_s": round(time.perf_counter() - wall, 2),
        "cpu_s": round(time.process_time() - cpu, 2),
        "peak_mib": round(peak_mib(), 1),
        "rows": rows,
    }


def _apart(function: object, *arguments: object) -> None:
    process = get_context("spawn").Process(target=function, args=arguments)
    process.start()
    process.join()
    assert process.exitcode == 0, f"{function} failed"


def _run(*command: object) -> dict:
    """The JSON object that a process prints as its last line."""
    done = subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def relative_difference(left: np.ndarray, right: np.ndarray) -> float:
    return float(np.max(np.abs(left - right) / np.maximum(np.abs(right), 1.0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--responses", type=int, default=1000)
    parser.add_argument("--tokens", type=int, default=300, help="tokens per response")
    parser.add_argument("--logged", type=int, default=10_000, help="responses in the log")
    parser.add_argument("--no-peers", action="store_true", help="without uqlm and LM-Polygraph, which are installed")
    parser.add_argument("--full", action="store_true", help="100,000 responses in the log")
    parser.add_argument("--side", nargs=4, metavar=("SIDE", "TRACES", "FEATURES", "REPETITIONS"), help="one side only")
    parser.add_argument("--log", nargs=2, metavar=("SIDE", "LOG"), help="one side of the log only")
    arguments = parser.parse_args()
    if arguments.side:
        *side, repetitions = arguments.side
        print(json.dumps(measure_side(*side, int(repetitions))))
    elif arguments.log:
        print(json.dumps(measure_log(*arguments.log)))
    else:
        with tempfile.TemporaryDirectory() as folder:
            logged = stream(100_000 if arguments.full else arguments.logged, arguments.tokens, Path(folder))
            result = compare(arguments.responses, arguments.tokens, 5, Path(folder), not arguments.no_peers)
            print(json.dumps({"benchmark": "features", **result, "log": logged}))


if __name__ == "__main__":
    main()
