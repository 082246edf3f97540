"""What `es.example()` gives: a part of the real traces that is small enough to come with the package.

    python examples/real/write_example.py

writes ``workflow/entropy_sentinel/example``: the first responses to each of some benchmarks with the log-probabilities
of the 20 most likely tokens, their labels, a log of the shortest ones, and where all of it comes from. And the features
of all responses to all benchmarks, each with its kind of question and its label.

To be small, log-probabilities are rounded: a probability moves by 0.00012 at most, and a log-probability by 0.25. Token
ids are left out: only an engine can be asked with them. Features have five digits.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

import entropy_sentinel as es
from entropy_sentinel.features.feature_registry import FEATURE_FRAME
from entropy_sentinel.schemas.arrow_lists import flatten_lists, split_lists
from entropy_sentinel.schemas.contract import PROVENANCE_KEY, read_provenance
from entropy_sentinel.schemas.generation_schema import GENERATIONS, LOGPROBS, TOP_K
from entropy_sentinel.schemas.label_schema import LABELS
from write_weeks import HERE, SHOWN, questions

EXAMPLE = HERE.parents[1] / "workflow" / "entropy_sentinel" / "example"
BENCHMARKS = ("svamp", "gsm8k", "math", "theoremqa", "scibench")
ITEMS = 30
# The log: so many of the shortest responses to each benchmark, with so many alternatives to a token.
IN_LOG, ALTERNATIVES = 3, 5
# About how far rounding may move a probability, and the coarsest step of a log-probability.
MOVED, COARSEST_STEP = 1e-4, 0.5
# How Parquet is smallest: no statistics for readers that skip rows, and a column in one page.
SMALLEST: dict[str, Any] = {
    "compression": "brotli",
    "compression_level": 11,
    "statistics": False,
    "data_page_size": 1 << 26,
}
ROUNDED = "to powers of two: a probability moves by 0.00012 at most, a log-probability by 0.25"


def rounded(log_probabilities: np.ndarray) -> np.ndarray:
    """Log-probabilities in nats, of any shape, to steps that are the coarser the less probable the token is."""
    exact = log_probabilities.astype(np.float64)
    widest = np.minimum(2 * MOVED * np.exp(np.minimum(-exact, 50)), COARSEST_STEP)
    step = np.exp2(np.floor(np.log2(widest)))
    return (np.round(exact / step) * step + 0.0).astype(np.float32)  # + 0.0: no minus zero


def shortened(traces: pl.DataFrame) -> pl.DataFrame:
    """Traces with rounded log-probabilities and without token ids."""
    lengths = traces["n_tokens"].to_list()
    sampled = rounded(flatten_lists(traces["token_logprobs"]).to_numpy())
    top = rounded(flatten_lists(traces["top_logprobs"]).to_numpy().reshape(-1, TOP_K))
    return traces.with_columns(
        token_logprobs=split_lists(pl.Series(sampled), lengths),
        top_logprobs=split_lists(pl.Series(top, dtype=pl.Array(pl.Float32, TOP_K)), lengths),
        token_ids=pl.lit(None, dtype=GENERATIONS.schema["token_ids"]),
    )


def log_of(traces: pl.DataFrame, model: str, route: str) -> list[str]:
    """Lines of a log: a table as JSON Lines, with fewer alternatives to a token."""
    lines = []
    for row in traces.sort("n_tokens", "item_id").head(IN_LOG).iter_rows(named=True):
        same = {name: row[name] for name in ("item_id", "text", "finish_reason", "tokens", "token_logprobs")}
        top = [list(step[:ALTERNATIVES]) for step in row["top_logprobs"]]
        line = {**same, "top_logprobs": top, "model": model, "metadata": {"route": route}}
        lines.append(json.dumps(line, separators=(",", ":")) + "\n")
    return lines


def kinds(model: str) -> pl.DataFrame:
    """The features of all responses of a model, with the columns `kind` (of question) and `label`."""
    files = sorted((HERE / "traces" / model).glob("*.parquet"))
    features = es.read_features(files).select(FEATURE_FRAME.schema.names())
    kind = pl.col("topic").str.split("/").list.last()
    asked = questions(file.stem for file in files).select(item_id="item", kind=kind)
    labels = es.read_labels([HERE / "labels" / model / file.name for file in files]).select("item_id", "label")
    rows = features.join(asked, on="item_id", validate="1:1", maintain_order="left")
    return rows.join(labels, on="item_id", validate="1:1", maintain_order="left")


def sources(model: str, benchmarks: Sequence[str]) -> str:
    """Where models and questions come from, and their licences: these lines of the README beside this file."""
    lines = (HERE / "README.md").read_text("utf-8").splitlines()
    tables = [line for line in lines if line.startswith("|")]
    of_model = [line for line in tables if "huggingface.co" in line and model.lower() in line.lower()]
    sourced = [line.split("|") for line in tables if line.count("|") == 5]  # name, data set, rows, licence
    of_benchmarks = ["|".join(cells) for cells in sourced if cells[1].strip() in benchmarks]
    if len(of_model) != 1 or len(of_benchmarks) != len(benchmarks):
        raise ValueError(f"README.md: must name '{model}' and each of {', '.join(benchmarks)} in a table, once")
    return "\n".join(
        [
            "# Where the example comes from",
            "",
            f"What {model} answered to questions of these benchmarks, as they stand in `examples/real`: `traces` has",
            f"the first {ITEMS} answers to {', '.join(BENCHMARKS)}, `features.parquet` the features of all answers.",
            f"Log-probabilities are rounded {ROUNDED}.",
            "`write_example.py` there made these files.",
            "",
            "| model | weights | how |",
            "|---|---|---|",
            *of_model,
            "",
            "| name | data set | rows taken from | licence |",
            "|---|---|---|",
            *of_benchmarks,
            "",
        ]
    )


def write(folder: Path, model: str, benchmarks: Sequence[str], items: int = ITEMS) -> None:
    """Write the example into `folder`; what stood there goes."""
    (folder / "traces").mkdir(parents=True, exist_ok=True)
    for old in (folder / "traces").glob("*.parquet"):
        old.unlink()
    labels, log, judge = [], [], ""
    for name in benchmarks:
        source = HERE / "traces" / model / f"{name}.parquet"
        traces = shortened(GENERATIONS.read(source).sort("item_id", "sample").head(items))
        about = read_provenance(source) | {"rounded": ROUNDED}
        metadata = {PROVENANCE_KEY: json.dumps(about, sort_keys=True)}
        target = folder / "traces" / f"{name}.parquet"
        GENERATIONS.check(traces).write_parquet(target, metadata=metadata, **SMALLEST)
        judged = HERE / "labels" / model / f"{name}.parquet"
        labels.append(
            LABELS.read(judged).join(traces.select("item_id", "sample"), on=["item_id", "sample"], how="semi")
        )
        judge = read_provenance(judged)["judge"]
        log += log_of(traces, model, name)
    whole = kinds(model).with_columns(cs.float().round_sig_figs(5))
    facts = {"stage": FEATURE_FRAME.stage, **{name: about[name] for name in LOGPROBS}}
    whole.write_parquet(folder / "features.parquet", metadata={PROVENANCE_KEY: json.dumps(facts)}, **SMALLEST)
    LABELS.write(pl.concat(labels), folder / "labels.parquet", {"judge": judge, "model": model})
    (folder / "log.jsonl").write_text("".join(log), encoding="utf-8")
    (folder / "SOURCES.md").write_text(sources(model, whole["benchmark"].unique().sort().to_list()), encoding="utf-8")


def main() -> None:
    """Read model and benchmarks from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=SHOWN, help=f"a folder of examples/real/traces; {SHOWN} unless given")
    parser.add_argument("--benchmarks", nargs="+", default=list(BENCHMARKS))
    arguments = parser.parse_args()
    write(EXAMPLE, arguments.model, arguments.benchmarks)


if __name__ == "__main__":
    main()
