"""Measure the error of estimates when questions have several right answers, and how much the flag `ambiguous` finds.

An estimator is fitted on every other question of `facts-single`, with one right answer each; its domains are the topics
of the made-up world. It estimates slices of 40 other questions; a share of them is drawn from `facts-several`, with two
to eight right answers, any of which counts as correct. Estimates and flags are those of `monitor`, by slice. A slice is
bad if its error is above 0.1.

The answers are those of `make study-ambiguity`: ARGS="--generations results/demo-ambiguity/generations/tiny-facts".
Without it they are drawn here, by Transformers, from the same model. Run by `make bench-ambiguous`; prints tables, and
as its last line one JSON object.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from tabulate import tabulate

import entropy_sentinel as es
from entropy_sentinel.estimators.estimator_settings import Estimation
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.monitor.alert_codes import Flag
from entropy_sentinel.statistics.ambiguity import LEAST_STABLE_CLASSES, count_stable_classes
from entropy_sentinel.study.semantic_clustering.backend_interface import Question
from entropy_sentinel.study.semantic_clustering.exact_backend import ExactBackend
from entropy_sentinel.study.semantic_clustering.greedy_clustering import cluster_answers

DEMO = Path(__file__).parents[1] / "demo"
BENCHMARKS = ("facts-single", "facts-several")
PROMPT, TOP_K, MAX_TOKENS = "Q: {question}\nA:", 20, 16
AMBIGUOUS, OUTSIDE_SUPPORT = Flag.AMBIGUOUS.words, Flag.OUTSIDE_SUPPORT.words
SHARES, QUESTIONS, BAD = (0.0, 0.25, 0.5, 0.75, 1.0), 40, 0.1


def drawn(folder: Path, samples: int) -> Path:
    """Answers of tiny-facts at temperature 1 with their tokens' log-probabilities, a table per benchmark."""
    import torch  # not needed for existing answers
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.manual_seed(0)
    torch.set_num_threads(1)  # the model is tiny: a second thread would only wait for the first
    weights = DEMO / "models" / "tiny-facts"
    tokenizer, model = AutoTokenizer.from_pretrained(weights), AutoModelForCausalLM.from_pretrained(weights).float()
    for benchmark in BENCHMARKS:
        rows = [
            {"model": "tiny-facts", "benchmark": benchmark, "item_id": row["item_id"], "sample": sample, **answer}
            for row in items(benchmark).iter_rows(named=True)
            for sample, answer in enumerate(answers(model, tokenizer, PROMPT.format(**row), samples))
        ]
        pl.DataFrame(rows).write_parquet(folder / f"{benchmark}.parquet")
    return folder


def answers(model: Any, tokenizer: Any, prompt: str, samples: int) -> Iterator[dict[str, Any]]:
    """This many answers to a prompt; an answer's last log-probability is that of its end token."""
    import torch

    messages = [{"role": "user", "content": prompt}]
    asked = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True, return_tensors="pt")
    made = model.generate(
        **asked,
        do_sample=True,
        top_k=0,
        num_return_sequences=samples,
        max_new_tokens=MAX_TOKENS,
        return_dict_in_generate=True,
        output_logits=True,
    )
    logprobs = torch.stack(made.logits, dim=1).log_softmax(dim=-1)  # (samples, steps, vocabulary)
    message = made.sequences[:, asked["input_ids"].shape[1] :]
    top = logprobs.topk(TOP_K, dim=-1).values
    sampled = logprobs.gather(2, message[:, :, None])[:, :, 0]
    for row, tokens in enumerate(message.tolist()):
        ends = [place for place, token in enumerate(tokens) if token == model.generation_config.eos_token_id]
        n = ends[0] + 1 if ends else len(tokens)
        yield {
            "text": tokenizer.decode(tokens[:n], skip_special_tokens=True),
            "finish_reason": "stop" if ends else "length",
            "token_logprobs": sampled[row, :n].tolist(),
            "top_logprobs": top[row, :n].tolist(),
        }


def items(benchmark: str) -> pl.DataFrame:
    """The benchmark's questions from the demo, with the item ids of a study."""
    rows = pl.read_ndjson(DEMO / "benchmarks" / f"{benchmark}.jsonl")
    return rows.with_columns(
        item_id=pl.format("{}-{}", pl.lit(benchmark), pl.int_range(pl.len()).cast(pl.String).str.zfill(5))
    )


def responses(folder: Path, samples: int) -> pl.DataFrame:
    """Features of the first answers to each question, with `label`, `stable_classes` and the kind."""
    result = []
    for benchmark in BENCHMARKS:
        path, asked = folder / f"{benchmark}.parquet", items(benchmark)
        texts = pl.read_parquet(path, columns=["item_id", "sample", "text"]).filter(pl.col("sample") < samples)
        message = dict(texts.group_by("item_id", maintain_order=True).agg("text").iter_rows())
        right = {one: [[name] for name in names] for one, names in asked.select("item_id", "answers").iter_rows()}
        whole = [(Question(one, tuple(map(tuple, right[one]))), answers) for one, answers in message.items()]
        stable = [count_stable_classes(np.bincount(numbers)) for numbers in cluster_answers(whole, ExactBackend())]
        features = es.features(es.read_logs(path)).join(texts, on=["item_id", "sample"], maintain_order="left")
        result.append(
            features.join(pl.DataFrame({"item_id": list(message), "stable_classes": stable}), on="item_id")
            .join(asked.drop("question"), on="item_id")
            .with_columns(
                label=pl.col("text").str.strip_chars().is_in("answers"),
                topic=pl.col("keywords").list.last(),
                n_answers=pl.col("answers").list.len(),
            )
        )
    return pl.concat(result)


def slices(rows: pl.DataFrame, share: float, draws: int, rng: np.random.Generator) -> pl.DataFrame:
    """Responses of slices of QUESTIONS questions, numbered by `slice`; `share` of them have several answers."""
    by_item = rows.partition_by("item_id", as_dict=True)
    known = rows.select("item_id", several=pl.col("n_answers") > 1).unique(maintain_order=True)
    several, single = (known.filter(which)["item_id"].to_numpy() for which in (pl.col("several"), ~pl.col("several")))
    n = round(share * QUESTIONS)
    parts = []
    for number in range(draws):
        names = [*rng.choice(several, n, replace=False), *rng.choice(single, QUESTIONS - n, replace=False)]
        parts += [by_item[name,].with_columns(slice=pl.lit(f"{number}")) for name in names]
    return pl.concat(parts)


def estimated(estimator: FittedEstimator, rows: pl.DataFrame, share: float, draws: int) -> pl.DataFrame:
    """A row per slice: estimated and true accuracy, and whether it is flagged."""
    result = slices(rows, share, draws, np.random.default_rng(round(100 * share)))
    true = result.group_by("slice").agg(true=pl.col("label").mean())
    by_slice = es.monitor(estimator, result.drop("answers", "counts", "keywords"), by=["slice"]).slices
    flags = {flag.slug: pl.col("flag_codes").list.contains(flag) for flag in (Flag.AMBIGUOUS, Flag.OUTSIDE_SUPPORT)}
    bad = (pl.col("estimated_accuracy") - pl.col("true")).abs() > BAD
    return by_slice.join(true, on="slice").select("true", "estimated_accuracy", **flags, bad=bad)


def told(result: pl.DataFrame) -> dict[str, float | None]:
    """Summarise rows of `estimated`: means, and the flagged shares of bad and of good slices."""
    error = pl.col("estimated_accuracy") - pl.col("true")
    return result.select(
        pl.col("true").mean(),
        estimated=pl.col("estimated_accuracy").mean(),
        error=error.abs().mean(),
        bad=pl.col("bad").mean(),
        flagged=pl.col(Flag.AMBIGUOUS.slug).mean(),
        bad_flagged=pl.col(Flag.AMBIGUOUS.slug).filter("bad").mean(),
        good_flagged=pl.col(Flag.AMBIGUOUS.slug).filter(~pl.col("bad")).mean(),
        bad_outside=pl.col(Flag.OUTSIDE_SUPPORT.slug).filter("bad").mean(),
    ).row(0, named=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--generations", type=Path, help="folder with traces of both benchmarks")
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--draws", type=int, default=100, help="slices for each share")
    parser.add_argument("--estimator", default=Estimation().default)
    arguments = parser.parse_args()
    start, cpu = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        rows = responses(arguments.generations or drawn(Path(folder), arguments.samples), arguments.samples)
    looks = (
        rows.unique("item_id")
        .group_by("n_answers")
        .agg(
            *(
                (pl.col("stable_classes") >= LEAST_STABLE_CLASSES)
                .filter(pl.col("how_often") == often)
                .mean()
                .alias(f"seen {often}")
                for often in (0, 16, 64, 256)
            )
        )
    )
    number = pl.col("item_id").str.slice(-5).cast(pl.Int32)
    trained = (pl.col("n_answers") == 1) & (number % 2 == 0)
    training = rows.filter(trained)
    estimator = es.fit(training, training.select("item_id", "sample", "label"), arguments.estimator, domain="topic")
    others = rows.filter(~trained)
    cases = {f"{share:g}": estimated(estimator, others, share, arguments.draws) for share in SHARES}
    every = pl.concat(cases.values())
    # And without questions that the model has never seen, because these also look ambiguous.
    cases["0, none withheld"] = estimated(estimator, others.filter(pl.col("how_often") > 0), 0, arguments.draws)
    table = {share: told(one) for share, one in cases.items()} | {"all shares": told(every)}
    print(tabulate(looks.sort("n_answers").to_dicts(), headers="keys", floatfmt=".2f"))
    print(tabulate([{"share": share} | row for share, row in table.items()], headers="keys", floatfmt=".3f"))
    print(
        json.dumps(
            {
                "benchmark": "ambiguous",
                "estimator": arguments.estimator,
                "samples": arguments.samples,
                "draws": arguments.draws,
                "bad_flagged": table["all shares"]["bad_flagged"],
                "of": "slices off by more than 0.1, all shares",
                "by_share": table,
                "cpu_s": round(time.process_time() - cpu, 1),
                "wall_s": round(time.perf_counter() - start, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
