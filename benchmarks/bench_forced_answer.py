"""Measure the cost of asking a model for its answer after each token, against generating the same responses.

Both are stages of the pipeline, with parts and files, on one loaded engine, with and without prefix caching. Each
engine is a separate process, which generates and asks, repeatedly after a warm-up round; the smallest of each CPU
time counts. With caching, the model is also asked only after every fourth or eighth token or at the ends of sentences,
and these areas are compared with those of all tokens. Run by `make bench-forced-answer`; prints one JSON object as its
last line.
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

import numpy as np
import polars as pl

from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config.generation_requests import benchmark_settings, generation_settings, pass_settings
from entropy_sentinel.study.jobs.job_logs import job_log
from entropy_sentinel.study.signal_families.forced_answer.forced_answer_frames import FORCED_ANSWERS
from entropy_sentinel.study.stages import engine_pass, generation_stage
from entropy_sentinel.study.stages.benchmark_stage import write_benchmark

ROOT = Path(__file__).parents[1]
GOAL = 3.0
SPAWN = multiprocessing.get_context("spawn")
FEWER: dict[str, str | int] = {"every_4th": 4, "every_8th": 8, "sentence_ends": "sentence-ends"}


def cpu_s(work: Callable[[], Any]) -> float:
    """The CPU seconds that `work` takes in this process, over all threads."""
    start = time.process_time()
    work()
    return time.process_time() - start


def side(folder: str, model: str, caching: bool, repeats: int) -> None:
    """Generate and ask on one engine; writes `<folder>/<caching>.json`."""
    with job_log(f"{folder}/{caching}.log"):
        config = load_config(read_config(["config.yaml", "demo/config.yaml"]))
        asked_with = generation_settings(config, model, "averages")
        asked_with["engine_args"] = asked_with["engine_args"] | {"enable_prefix_caching": caching}
        settings = pass_settings(config, "forced_answer", model, "averages") | {"asked_with": asked_with}
        engine = engine_pass.make_engine(asked_with, 1)
        generation_stage.make_engine = engine_pass.make_engine = lambda *_: engine
        items = f"{folder}/items.parquet"
        times: dict[str, list[float]] = {}
        for number in range(repeats + 1):
            study = Path(folder, f"{caching}-{number}")
            traces = study / "generations" / model / "a.parquet"
            traces.parent.mkdir(parents=True)
            taken = {
                "generating": cpu_s(lambda: generation_stage.write_generations(items, asked_with, 1, str(traces)))  # noqa: B023
            }
            for name, positions in ({"all": "all"} | (FEWER if caching else {})).items():
                output = study / "passes" / "forced_answer" / model / f"{name}.parquet"
                output.parent.mkdir(parents=True, exist_ok=True)
                own = settings | {"settings": settings["settings"] | {"positions": positions}}
                taken[name] = cpu_s(
                    lambda: engine_pass.write_engine_pass(items, str(traces), own, 1, str(output))  # noqa: B023
                )
            if number:  # the first round warms up
                for name, seconds in taken.items():
                    times.setdefault(name, []).append(seconds)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        told = {"cpu_s": {name: min(some) for name, some in times.items()}, "peak_mib": peak}
        Path(folder, f"{caching}.json").write_text(json.dumps(told))


def prepare(config: Any, prompts: int, folder: str) -> None:
    """The first items of every benchmark of the demo, `prompts` in all, as one file."""
    frames = []
    for benchmark in config.run.benchmarks:
        write_benchmark(benchmark_settings(config, benchmark), f"{folder}/items.parquet")
        frames.append(BENCHMARKS.read(f"{folder}/items.parquet").head(-(-prompts // len(config.run.benchmarks))))
    BENCHMARKS.write(pl.concat(frames).head(prompts), f"{folder}/items.parquet", {})


def areas(folder: str, model: str, name: str) -> pl.DataFrame:
    """The areas for one choice of positions, and the number of contexts."""
    path = Path(folder, "True-1", "passes", "forced_answer", model, f"{name}.parquet")
    return FORCED_ANSWERS.read(path, ["item_id", "eas", "positions"])


def against_all(folder: str, model: str, name: str, taken: Mapping[str, float]) -> dict[str, float]:
    """The error and the cost of fewer positions, compared with all of them."""
    all_of, some = areas(folder, model, "all").drop_nulls(), areas(folder, model, name).drop_nulls()
    exact, result = all_of["eas"].to_numpy(), some["eas"].to_numpy()
    contexts = [frame["positions"].list.len().sum() for frame in (some, all_of)]
    return {
        "mean_absolute_error_bits": round(float(np.abs(result - exact).mean()), 3),
        "relative_to_mean_eas": round(float(np.abs(result - exact).mean() / exact.mean()), 4),
        "bias_bits": round(float((result - exact).mean()), 3),
        "correlation": round(float(np.corrcoef(result, exact)[0, 1]), 4),
        "share_of_contexts": round(contexts[0] / contexts[1], 3),
        "ratio_to_generating": round(taken[name] / taken["generating"], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=220)
    parser.add_argument("--model", default="tiny-1m", help="model of the demo")
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    os.chdir(ROOT)
    config = load_config(read_config(["config.yaml", "demo/config.yaml"]))
    with tempfile.TemporaryDirectory() as folder:
        prepare(config, arguments.prompts, folder)
        result = {}
        for caching in (True, False):
            process = SPAWN.Process(target=side, args=(folder, arguments.model, caching, arguments.repeats))
            process.start()
            process.join()
            assert process.exitcode == 0, Path(folder, f"{caching}.log").read_text()[-3000:]
            result[caching] = json.loads(Path(folder, f"{caching}.json").read_text())
        ratios = {caching: one["cpu_s"]["all"] / one["cpu_s"]["generating"] for caching, one in result.items()}
        log = Path(folder, "True.log").read_text()
        hits = [line.rsplit("tokens of contexts, of which ")[-1] for line in log.splitlines() if "in the cache" in line]
        traces = pl.read_parquet(Path(folder, "True-1", "generations", arguments.model, "a.parquet"))
        all_of = areas(folder, arguments.model, "all")
        print(
            json.dumps(
                {
                    "benchmark": "forced_answer",
                    "ratio": round(ratios[True], 2),
                    "of": "CPU time of asking after every token over that of generating the same responses on the same "
                    "engine, with prefix caching",
                    "goal": GOAL,
                    "reached": ratios[True] <= GOAL,
                    "ratio_without_caching": round(ratios[False], 2),
                    "responses": len(traces),
                    "tokens": int(traces["n_tokens"].sum()),
                    "contexts": int(all_of["positions"].list.len().sum()),
                    "mean_eas_bits": round(float(all_of["eas"].mean()), 2),
                    "in_the_cache": hits[0] if hits else "unknown",
                    **{name: against_all(folder, arguments.model, name, result[True]["cpu_s"]) for name in FEWER},
                    "model": arguments.model,
                    "with_caching": result[True],
                    "without_caching": result[False],
                }
            )
        )


if __name__ == "__main__":
    main()
