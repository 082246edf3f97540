"""Measure tokens per second of the generation stage against a bare vLLM run, side by side in one run.

Both sides answer the same prompts with the same seeds, sampling and engine arguments, and ask for the 20 largest
log-probabilities in vLLM's flat form. The bare side throws the outputs away; the stage also writes parts, hashes,
joins and compresses. Each run is a separate process, in the order stage, bare, bare, stage, and the smaller of each
time counts. For information, there is a bare run with vLLM's default form, a dict per token. Run by
`make bench-generate`; prints one JSON object as its last line. On a busy machine compare the CPU-seconds.
"""

import argparse
import json
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.generation_schema import TOP_K
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config.generation_requests import benchmark_settings, generation_settings
from entropy_sentinel.study.engines.engine_registry import PROMPTS
from entropy_sentinel.study.jobs.job_logs import job_log
from entropy_sentinel.study.stages import generation_stage
from entropy_sentinel.study.stages.benchmark_stage import write_benchmark

ROOT = Path(__file__).parents[1]
GOAL, GOAL_BYTES = 0.9, 100


class Clock:
    """Wall and CPU seconds since the start of the run, and the time when the engine was ready."""

    def __init__(self) -> None:
        self.start = self.ready = self.now()

    @staticmethod
    def now() -> tuple[float, float]:
        return time.perf_counter(), time.process_time()

    def engine_is_ready(self) -> None:
        self.ready = self.now()

    def measured(self, tokens: int, **more: Any) -> dict[str, Any]:
        wall, cpu = self.now()
        return {
            "tokens": tokens,
            "wall_s": wall - self.ready[0],
            "cpu_s": cpu - self.ready[1],
            "start_wall_s": self.ready[0] - self.start[0],
            "start_cpu_s": self.ready[1] - self.start[1],
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            **more,
        }


def stage(items: str, settings: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Run the whole of `write_generations`."""
    output, clock, make_engine = f"{folder}/out.parquet", Clock(), generation_stage.make_engine

    def timed(*arguments: Any) -> Any:
        engine = make_engine(*arguments)
        clock.engine_is_ready()
        return engine

    generation_stage.make_engine = timed
    generation_stage.write_generations(items, settings, 1, output)
    tokens = pl.scan_parquet(output).select(pl.col("n_tokens").sum()).collect().item()
    return clock.measured(tokens, bytes_per_token=Path(output).stat().st_size / tokens)


def bare(items: str, settings: Mapping[str, Any], folder: str, *, flat: bool = True) -> dict[str, Any]:
    """`LLM.chat` on the same requests."""
    clock = Clock()
    os.environ.update({"OMP_NUM_THREADS": "1", **settings["environment"]})
    import vllm

    engine = vllm.LLM(settings["weights"], max_logprobs=TOP_K, seed=settings["seed"], **settings["engine_args"])
    clock.engine_is_ready()
    frame = BENCHMARKS.read(items)
    prompt = PROMPTS[settings["prompt"]]
    chats = [prompt.render(question=question) for question in frame["question"]]
    sampling = [
        vllm.SamplingParams(**settings["sampling"], seed=seed, logprobs=TOP_K, flat_logprobs=flat)
        for seed in (
            generation_stage.derive_seed(settings["seed"], settings["model"], item, 0) for item in frame["item_id"]
        )
    ]
    outputs = engine.chat(chats, sampling, use_tqdm=False)
    return clock.measured(sum(len(output.outputs[0].token_ids) for output in outputs))


def bare_dicts(items: str, settings: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """`LLM.chat` with a dict of log-probabilities per token."""
    return bare(items, settings, folder, flat=False)


def run(side: Callable, items: str, settings: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Run one side, with its output in a log."""
    with job_log(f"{folder}/{side.__name__}.log"):
        return side(items, settings, folder)


def prepare(config: Any, prompts: int, folder: str) -> str:
    """The first items of every benchmark of the demo, `prompts` in all, as one file."""
    frames = []
    for benchmark in config.run.benchmarks:
        write_benchmark(benchmark_settings(config, benchmark), f"{folder}/items.parquet")
        frames.append(BENCHMARKS.read(f"{folder}/items.parquet").head(-(-prompts // len(config.run.benchmarks))))
    BENCHMARKS.write(pl.concat(frames).head(prompts), f"{folder}/items.parquet", {})
    return f"{folder}/items.parquet"


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Combine the runs of a side: the smallest of each time, because other work on the machine only adds to it."""
    tokens = runs[0]["tokens"]
    least = {key: min(one[key] for one in runs) for key in ("wall_s", "cpu_s", "start_wall_s", "start_cpu_s")}
    return {
        "tokens": tokens,
        "tokens_per_s": round(tokens / least["wall_s"], 1),
        "tokens_per_cpu_s": round(tokens / least["cpu_s"], 1),
        "tokens_per_s_with_start": round(tokens / (least["wall_s"] + least["start_wall_s"]), 1),
        "tokens_per_cpu_s_with_start": round(tokens / (least["cpu_s"] + least["start_cpu_s"]), 1),
        **{key: round(value, 2) for key, value in least.items()},
        "peak_mib": max(one["peak_mib"] for one in runs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=400)
    parser.add_argument("--model", default="tiny-3m", help="model of the demo")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    config = load_config(read_config(["config.yaml", "demo/config.yaml"]))
    settings = generation_settings(config, arguments.model, config.run.benchmarks[0])
    runs: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        items = prepare(config, arguments.prompts, folder)
        for side in (stage, bare, bare, stage, bare_dicts):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                one = pool.apply(run, (side, items, settings, folder))
            runs.setdefault(side.__name__, []).append(one)
            print(side.__name__, {key: round(value, 2) for key, value in one.items()}, flush=True)
    sides = {name: summary(side) for name, side in runs.items()}
    ours, theirs = sides["stage"], sides["bare"]
    bytes_per_token = runs["stage"][0]["bytes_per_token"]
    ratio, ratio_of_cpu = (ours[key] / theirs[key] for key in ("tokens_per_s", "tokens_per_cpu_s"))
    print(
        json.dumps(
            {
                "benchmark": "generate",
                "ratio": round(ratio, 3),
                "of": "tokens per second of the generate stage over those of LLM.chat, flat log-probabilities, "
                "engine start aside",
                "ratio_of_cpu": round(ratio_of_cpu, 3),
                "ratio_with_start": round(ours["tokens_per_s_with_start"] / theirs["tokens_per_s_with_start"], 3),
                "goal": GOAL,
                "reached": ratio >= GOAL,
                "reached_in_cpu": ratio_of_cpu >= GOAL,
                "bytes_per_token": round(bytes_per_token, 1),
                "bytes_goal": GOAL_BYTES,
                "prompts": arguments.prompts,
                "model": arguments.model,
                "same_tokens": ours["tokens"] == theirs["tokens"],
                **sides,
            }
        )
    )


if __name__ == "__main__":
    main()
