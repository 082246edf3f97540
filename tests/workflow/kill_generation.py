"""A generate job that is killed with SIGKILL at random points, and resumed each time, ends with the same file.

    PYTHONPATH=workflow python tests/workflow/kill_generation.py --points 20 --seed 0

On the demo's model, its real engine and one of its benchmarks, in small parts. A point is a number of parts on disk
and a short pause after the last of them; where no part is to come before it, it lies in the engine's start. Prints one
JSON object as its last line, and fails where the resumed file differs from that of an uninterrupted run.
"""

import argparse
import json
import multiprocessing
import os
import random
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config.generation_requests import benchmark_settings, generation_settings
from entropy_sentinel.study.config.study_paths import get_parts_folder
from entropy_sentinel.study.jobs.job_logs import job_log
from entropy_sentinel.study.stages import generation_stage
from entropy_sentinel.study.stages.benchmark_stage import write_benchmark

ROOT = Path(__file__).parents[2]
MODEL, BENCHMARK = "tiny-1m", "percentages"
PART_RESPONSES = 4
# Few requests at a time spread the ends of the responses over the run.
ENGINE = {"max_num_seqs": 4}
# Seconds: the longest pause after a part, and the longest wait in the engine's start.
PAUSE_S, START_S = 0.2, 10.0
TOLERANCE = 1e-4
SPAWN = multiprocessing.get_context("spawn")


def job(items: str, settings: Mapping[str, Any], output: str) -> None:
    """One run of the generate job, in a process of its own."""
    with job_log(f"{output}.log"):
        generation_stage.PART_RESPONSES = PART_RESPONSES
        generation_stage.write_generations(items, settings, 1, output)


def kill_at(process: Any, output: str, parts_before: int, new_parts: int, draw: random.Random) -> None:
    """Kill the job once it has written `new_parts` more parts and a moment has passed."""
    folder = Path(get_parts_folder(output))
    while len(list(folder.glob("part-*.parquet"))) < parts_before + new_parts and process.is_alive():
        time.sleep(0.005)
    time.sleep(draw.uniform(0, PAUSE_S if new_parts else START_S))
    assert process.is_alive(), f"the job ended before it could be killed, see {output}.log"
    process.kill()
    process.join()


def run_with_kills(
    items: str, settings: Mapping[str, Any], output: str, n_responses: int, points: int, seed: int
) -> list:
    """Run, kill and resume until all points are through and the job completes; responses on disk after each kill."""
    draw = random.Random(seed)
    total = n_responses // PART_RESPONSES
    marks = sorted(draw.choices(range(total * 9 // 10), k=points))
    kept, folder = [], Path(get_parts_folder(output))
    for mark in marks:
        before = len(list(folder.glob("part-*.parquet")))
        process = SPAWN.Process(target=job, args=(items, settings, output))
        process.start()
        kill_at(process, output, before, max(mark - before, 0), draw)
        assert not Path(output).exists()
        files = sorted(folder.glob("part-*.parquet"))
        kept.append(sum(GENERATIONS.read(path, ["item_id"]).height for path in files))
        print(f"killed with {len(files)} parts and {kept[-1]} of {n_responses} responses on disk", flush=True)
    process = SPAWN.Process(target=job, args=(items, settings, output))
    process.start()
    process.join()
    assert process.exitcode == 0, Path(f"{output}.log").read_text()
    return kept


def compare(resumed: pl.DataFrame, whole: pl.DataFrame, kept: list[int]) -> float:
    """Fail where the two files differ in anything but the run; the largest difference of log-probabilities."""
    exact = ["item_id", "sample", "seed", "prompt_hash", "n_tokens", "finish_reason", "text", "token_ids"]
    for column in exact:
        assert resumed[column].equals(whole[column]), f"column {column} differs"
    # No response that was on disk was generated again: the runs' shares are those found after the kills.
    gains = [int(gain) for gain in np.diff([0, *kept, len(resumed)]) if gain]
    assert resumed.group_by("run").len().sort("run")["len"].to_list() == gains, "responses were lost or made again"
    differences = [
        np.abs(_flat(resumed[column]) - _flat(whole[column])).max() for column in ("token_logprobs", "top_logprobs")
    ]
    assert max(differences) <= TOLERANCE, f"log-probabilities differ by {max(differences)}"
    return float(max(differences))


def _flat(column: pl.Series) -> np.ndarray:
    return column.explode(empty_as_null=False, keep_nulls=False).to_numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=20, help="kills")
    parser.add_argument("--seed", type=int, default=0, help="of the points")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    config = load_config(read_config(["config.yaml", "demo/config.yaml"]))
    settings = generation_settings(config, MODEL, BENCHMARK)
    settings["engine_args"] = settings["engine_args"] | ENGINE
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        items, whole, resumed = (str(Path(scratch, name)) for name in ("items", "whole", "resumed"))
        write_benchmark(benchmark_settings(config, BENCHMARK), items)
        ids = pl.read_parquet(items)["item_id"]
        reference = SPAWN.Process(target=job, args=(items, settings, whole))
        reference.start()
        kept = run_with_kills(items, settings, resumed, len(ids), arguments.points, arguments.seed)
        reference.join()
        assert reference.exitcode == 0, Path(f"{whole}.log").read_text()
        frame = GENERATIONS.check(GENERATIONS.read(resumed))
        assert frame["item_id"].equals(ids), "every item once, in benchmark order"
        difference = compare(frame, GENERATIONS.read(whole), kept)
        summary = {
            "kills": len(kept),
            "seed": arguments.seed,
            "responses": len(frame),
            "on_disk_at_kills": kept,
            "resumed_responses": read_provenance(resumed)["resumed_responses"],
            "largest_logprob_difference": difference,
            "texts_equal": True,
            "parts_left": len(list(Path(get_parts_folder(resumed)).glob("part-*"))),
            "wall_s": round(time.monotonic() - start),
        }
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
