"""Made-up questions whose answers are powers of ten, and what a model that is too sure of itself says of them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from papers.intervals.integer_beliefs import write_beliefs
from papers.intervals.interval_methods import write_adjusted
from papers.intervals.interval_scores import write_scores, write_sets, write_tunnel_index
from papers.intervals.statement_parsing import write_integers, write_stated

from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.study.config import generation_requests
from entropy_sentinel.study.config.config_loading import Config
from entropy_sentinel.study.items.trace_import import import_generations
from entropy_sentinel.study.stages.benchmark_stage import write_benchmark
from entropy_sentinel.study.stages.feature_stage import write_features

LEVELS = (90.0, 99.0)
TEMPERATURES = (1.0, 0.5)
SAMPLES = {"interval": 3, "integer": 12}
# What a stated interval reaches to either side of the model's best guess, by level: too little.
REACH = {90.0: 1, 99.0: 2}


def variant(level: float) -> str:
    """The variant that states an interval of this level."""
    return f"toy-{level:g}"


def at(temperature: float) -> str:
    """The variant that answers with an integer at this temperature."""
    return f"toy-integer-t{temperature:g}"


def questions(number: int, seed: int) -> pl.DataFrame:
    """Rows of a benchmark: question, answer, kind."""
    answers = np.random.default_rng(seed).integers(-5, 20, number)
    kinds = ["odd" if place % 2 else "even" for place in range(number)]
    return pl.DataFrame({"question": [f"How many {n}?" for n in range(number)], "answer": answers, "kind": kinds})


def texts(answers: np.ndarray, level: float, seed: int) -> list[list[str]]:
    """By question what each query states: guesses are off by a few; three cannot be read, and one is too far from 0."""
    random, message = np.random.default_rng([seed, int(level)]), []
    for answer in answers:
        guesses = answer + random.normal(0, 2, SAMPLES["interval"]).round().astype(int)
        ends = [(int(guess - REACH[level]), int(guess + REACH[level])) for guess in guesses]
        message.append([f'About 10^{low + 1}. {{"L": {low}, "U": {high}}}' for low, high in ends])
    message[0][0], message[1][0], message[2][0] = "I do not know.", '{"L": 3, "U": 1}', '{"L": 3.5, "U": 7}'
    message[4][0] = '{"L": 3, "U": 1000}'
    return message


def integers(answers: np.ndarray, temperature: float, seed: int) -> list[list[str]]:
    """By question sampled integers, the wider the higher the temperature; one text is none."""
    random = np.random.default_rng([seed, int(10 * temperature)])
    message = [
        [str(v) for v in answer + random.normal(0, temperature, SAMPLES["integer"]).round().astype(int)]
        for answer in answers
    ]
    message[3][0] = "3 or 4"
    return message


def traces(benchmark: str, message: list[list[str]]) -> pl.DataFrame:
    """Texts as traces of two steps, whose probabilities fall with the length of the text."""
    rows: list[dict[str, Any]] = []
    for number, of_item in enumerate(message):
        for sample, text in enumerate(of_item):
            top = float(np.log(0.5 + 0.4 / (1 + len(text))))
            rest = float(np.log((1 - np.exp(top)) / 25))
            rows.append(
                {"item_id": f"{benchmark}-{number:05}", "sample": sample, "text": text, "finish_reason": "stop"}
                | {"token_logprobs": [top, top], "top_logprobs": [[top, *[rest] * 19]] * 2}
            )
    schema = {
        "sample": pl.UInt16,
        "token_logprobs": pl.List(pl.Float32),
        "top_logprobs": pl.List(pl.Array(pl.Float32, 20)),
    }
    return pl.DataFrame(rows, schema_overrides=schema)


def write_study(folder: Path, number: int = 60) -> dict[str, Any]:
    """Write benchmarks and traces to `folder`; returns the study's config, which names them from there."""
    sources = [*((variant(level), texts, level) for level in LEVELS), *((at(t), integers, t) for t in TEMPERATURES)]
    for seed, benchmark in enumerate(("known", "new")):
        rows = questions(number, seed)
        (folder / f"{benchmark}.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in rows.iter_rows(named=True))
        )
        for name, of, axis in sources:
            (folder / "traces" / name).mkdir(parents=True, exist_ok=True)
            message = of(rows["answer"].to_numpy(), axis, seed)
            traces(benchmark, message).write_parquet(folder / "traces" / name / f"{benchmark}.parquet")
    models = {name: {"source": f"traces/{name}", "source_logprobs_mode": "raw_logprobs"} for name, _, _ in sources}
    for name, of, _ in sources:
        models[name]["samples"] = SAMPLES["interval" if of is texts else "integer"]
    columns = {"question": ["{question}"], "reference": ["{answer}"], "group": ["{kind}"]}
    return {
        "study": "toy",
        "run": {
            **{"models": list(models), "benchmarks": ["known", "new"], "analyses": ["intervals"]},
            **{"groups": [], "sizes": [], "judges": ["math-verify"]},
        },
        "models": models,
        "benchmarks": {name: {"path": f"{name}.jsonl", **columns} for name in ("known", "new")},
        "analyses": {
            "intervals": {
                **{"calibration": "known", "test": "new", "farthest": 100, "resamples": 100},
                "models": {
                    "toy": {
                        "stated": {f"{level:g}": variant(level) for level in LEVELS},
                        "integers": {f"{t:g}": at(t) for t in TEMPERATURES},
                        "distribution": at(1.0),
                    }
                },
            }
        },
    }


def make_all(folder: Path, config: Config) -> dict[str, Any]:
    """Run the stages before the exhibits in this process, from the folder of the study; their files by kind."""
    shown, results = config.analyses.intervals, Path(f"results/{config.study}")
    items, stated, integers, features, read = {}, [], [], [], []
    for benchmark in shown.halves:
        items[benchmark] = str(results / "benchmarks" / f"{benchmark}.parquet")
        write_benchmark(generation_requests.benchmark_settings(config, benchmark), items[benchmark])
    levels, temperatures = shown.numbers_by_variant("stated"), shown.numbers_by_variant("integers")
    for model in config.run.models:
        made = []
        for benchmark in shown.halves:
            made.append(str(results / "generations" / model / f"{benchmark}.parquet"))
            settings = generation_requests.generation_settings(config, model, benchmark)
            import_generations(BENCHMARKS.read(items[benchmark]), settings, made[-1])
            if model in levels:
                features.append(str(results / "features" / model / f"{benchmark}.parquet"))
                write_features(made[-1], generation_requests.feature_settings(config, model), features[-1])
        output = str(results / f"{model}.parquet")
        if model in levels:
            write_stated(made, levels[model], shown.farthest, output)
            stated.append(output)
        else:
            write_integers(made, temperatures[model], shown.farthest, output)
            integers.append(output)
        if model == next(iter(shown.models.values())).distribution:
            read = [output], made
    models = {variant: name for name, asked in shown.models.items() for variant in asked.variants}
    result: dict[str, Any] = {"stated": stated, "integers": integers, "features": features}
    result |= dict(zip(("calibration", "test"), items.values(), strict=True)) | {"benchmarks": list(items.values())}
    result |= {
        name: str(results / f"{name}.parquet")
        for name in ("beliefs", "adjusted", "scores", "differences", "sets", "tunnel_index")
    }
    write_beliefs(read[0], read[1], [], models, shown.farthest, result["beliefs"])
    about = {"models": models, "levels": levels, "covariates": shown.covariates}
    about |= {"undercoverage": shown.undercoverage, "seed": 42}
    halves = {half: result[half] for half in ("calibration", "test")}
    write_adjusted(stated, integers, features, result["beliefs"], **halves, settings=about, output=result["adjusted"])
    drawn = {"resamples": shown.resamples, "seed": 42}
    write_scores(result["adjusted"], stated, models, drawn, result["scores"], result["differences"])
    write_sets(result["beliefs"], result["adjusted"], **halves, output=result["sets"])
    write_tunnel_index(result["beliefs"], integers, result["test"], models, drawn, result["tunnel_index"])
    return result
