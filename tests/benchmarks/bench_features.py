"""Speed and memory of `compute_features` against the obvious way: a loop over responses with numpy and scipy.

Both sides run on the same synthetic traces, each in a process of its own, best of several repetitions; their
features must agree to 1e-9. The last line printed is one JSON object.

    PYTHONPATH=workflow python tests/benchmarks/bench_features.py --responses 400 --tokens 500
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl

from entropy_sentinel.features.catalogue import FEATURES
from entropy_sentinel.frames.generation import GENERATIONS, TOP_K

AGREEMENT = 1e-9
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
    zeros = ("sample", "seed", "run", "prompt_tokens", "trace_start", "displaced_steps")
    numbers = {name: pl.lit(0) for name in zeros} | {"top_token_ids": pl.lit(None)}
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
    """The 17 features, (n_responses, 17), one response at a time."""
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
    traces = pl.read_parquet(traces_path)
    if side == "polars":
        from entropy_sentinel.features.compute import compute_features

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


def compare(n_responses: int, n_tokens: int, repetitions: int) -> dict[str, object]:
    """Run both sides in processes of their own; AssertionError if their features differ by more than 1e-9."""
    with tempfile.TemporaryDirectory() as folder:
        traces_path = str(Path(folder, "traces.parquet"))
        # In a process of its own, too: a child's peak memory starts at its parent's.
        maker = get_context("spawn").Process(target=write_traces, args=(n_responses, n_tokens, traces_path))
        maker.start()
        maker.join()
        measured, features = {}, {}
        for side in SIDES:
            features_path = str(Path(folder, f"{side}.npy"))
            command = [sys.executable, __file__, "--side", side, traces_path, features_path]
            done = subprocess.run(
                [*command, "--repetitions", str(repetitions)], check=True, stdout=subprocess.PIPE, text=True
            )
            measured[side] = json.loads(done.stdout)
            features[side] = np.load(features_path)
    difference = relative_difference(features["polars"], features["loop"])
    assert difference <= AGREEMENT, f"the two sides must agree to {AGREEMENT}, differ by {difference}"
    return {
        "benchmark": "features",
        "ratio": round(measured["loop"]["wall_s"] / measured["polars"]["wall_s"], 2),
        "of": "wall seconds of a numpy and scipy loop over responses / wall seconds of compute_features",
        "cpu_ratio": round(measured["loop"]["cpu_s"] / measured["polars"]["cpu_s"], 2),
        "responses": n_responses,
        "tokens_per_response": n_tokens,
        "top_k": TOP_K,
        "largest_relative_difference": difference,
        **measured,
    }


def relative_difference(left: np.ndarray, right: np.ndarray) -> float:
    return float(np.max(np.abs(left - right) / np.maximum(np.abs(right), 1.0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--responses", type=int, default=400)
    parser.add_argument("--tokens", type=int, default=500, help="tokens per response")
    parser.add_argument("--repetitions", type=int, default=5, help="the best one counts")
    parser.add_argument("--side", nargs=3, metavar=("SIDE", "TRACES", "FEATURES"), help="measure one side only")
    arguments = parser.parse_args()
    if arguments.side:
        print(json.dumps(measure_side(*arguments.side, arguments.repetitions)))
    else:
        print(json.dumps(compare(arguments.responses, arguments.tokens, arguments.repetitions)))


if __name__ == "__main__":
    main()
