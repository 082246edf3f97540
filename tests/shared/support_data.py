"""Make tests/estimators/data/support.parquet: features and labels of the demo's models at several temperatures.

Both tiny models of the demo answer its ten labelled domains, all 200 items of each at temperature 0.5 and the second
hundred at 0.7, 0.9 and 1.2. The exact judge labels them; responses without a label are left out. The engine is loaded
once per model; it takes seven minutes. Run from the root:
PYTHONPATH=workflow .venv/bin/python tests/shared/support_data.py
"""

import logging
import multiprocessing
import os
import tempfile
from pathlib import Path

import polars as pl

from entropy_sentinel.features.feature_computation import compute_features
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.judges.judge_registry import make_judge
from entropy_sentinel.llm_client.server_settings import fill_chat
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config.generation_requests import benchmark_settings, generation_settings
from entropy_sentinel.study.config.label_requests import judge_settings
from entropy_sentinel.study.engines.engine_registry import PROMPTS, make_engine
from entropy_sentinel.study.stages.benchmark_stage import write_benchmark
from entropy_sentinel.study.stages.generation_stage import derive_seed, list_request_keys, to_frame
from entropy_sentinel.study.stages.label_stage import label_responses

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "estimators" / "data" / "support.parquet"
MODELS = ("tiny-1m", "tiny-3m")
TRAINED_AT, OTHERS = 0.5, (0.7, 0.9, 1.2)
TRAINING_ITEMS = 100


def answers(model: str) -> pl.DataFrame:
    """Return all responses of one model: their keys, features and labels."""
    config = load_config(read_config(["config.yaml", "demo/config.yaml"]))
    benchmarks = {name: items(config, name) for name in config.labelled_benchmarks}
    settings = generation_settings(config, model, "")
    engine, asked = make_engine(settings, threads=1), dict(settings["sampling"])
    frames = []
    for temperature in (TRAINED_AT, *OTHERS):
        settings["sampling"] = asked | {"temperature": temperature}
        for name, every in benchmarks.items():
            chosen = every if temperature == TRAINED_AT else every[TRAINING_ITEMS:]
            traces = answer(engine, chosen, settings, f"{model}@{temperature}")
            judge = make_judge(judge_settings(config, "math-verify", name))
            labels, _ = label_responses(chosen, traces.select("item_id", "sample", "text", "finish_reason"), judge)
            rows = compute_features(traces.with_columns(model=pl.lit(model), benchmark=pl.lit(name)))
            frames.append(rows.with_columns(label=labels["label"], temperature=pl.lit(temperature)))
            print(model, temperature, name, labels["label"].mean(), flush=True)
    return pl.concat(frames)


def items(config, benchmark: str) -> pl.DataFrame:
    """Return the items of one benchmark."""
    with tempfile.TemporaryDirectory() as folder:
        write_benchmark(benchmark_settings(config, benchmark), f"{folder}/benchmarks/items.parquet")
        return BENCHMARKS.read(f"{folder}/benchmarks/items.parquet")


def answer(engine, chosen: pl.DataFrame, settings: dict, stream: str) -> pl.DataFrame:
    """Return traces of the answers to these items, in order; `stream` selects the random numbers."""
    keys, prompt = list_request_keys(chosen, 1), PROMPTS[settings["prompt"]].chat
    seeds = [derive_seed(settings["seed"], stream, *key) for key in keys]
    result = dict(engine.answer([fill_chat(prompt, question=question) for question in chosen["question"]], seeds))
    return to_frame(keys, seeds, [result[place] for place in range(len(keys))], 0)


def main() -> None:
    logging.basicConfig(level=logging.WARNING)
    os.chdir(ROOT)
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:  # one engine at a time
        frame = pl.concat(pool.map(answers, MODELS, chunksize=1))
    first = pl.int_range(pl.len()).over("model", "benchmark") < TRAINING_ITEMS  # of those at TRAINED_AT, which lead
    labelled = frame.with_columns(training=first).drop_nulls(["label", *FEATURES])
    labelled.select(
        pl.col("model", "benchmark").cast(pl.Categorical),
        pl.col("temperature").cast(pl.Float32),
        "training",
        "label",
        pl.col(FEATURES).cast(pl.Float32),
    ).write_parquet(DATA, compression_level=22)
    print(f"{len(labelled)} of {len(frame)} responses have a label and features, {DATA.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
