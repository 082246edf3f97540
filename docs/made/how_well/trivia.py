"""Answers to questions of general knowledge, from examples/ambigqa, as observations."""

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from entropy_sentinel.api.response_reading import read_logs
from entropy_sentinel.features.feature_computation import compute_features
from entropy_sentinel.study.items.row_fields import normalise_answer

EXAMPLE = Path(__file__).parents[3] / "examples" / "ambigqa"


def read_trivia(model: str, folder: Path = EXAMPLE) -> pl.DataFrame:
    """All answers of a model in the form of `fitted.read_observations`; every row is for training.

    An answer is correct if it is one of the names of a right answer, compared as SQuAD compares texts. An answer that
    was truncated has no label.
    """
    traces = read_logs(folder / "traces" / model)
    names = {item: right for path in (folder / "benchmarks").glob("*.jsonl") for item, right in _right_answers(path)}
    pairs = traces.select("item_id", "text").iter_rows()
    right = pl.Series([normalise_answer(text) in names[item] for item, text in pairs])
    rows = compute_features(traces).rename({"reason": "feature_reason"})
    labels = pl.when(~pl.col("cut_off")).then(right)
    return rows.with_columns(label=labels, split=pl.lit("train"), kind=pl.lit(None, pl.String)).filter(
        pl.col("feature_reason").is_null()
    )


def _right_answers(path: Path) -> Iterator[tuple[str, set[str]]]:
    """The benchmark, row and normalised names of the right answers of each item, by its id."""
    for number, line in enumerate(path.read_text("utf-8").splitlines()):
        answers = json.loads(line)["answers"]
        yield f"{path.stem}-{number:05d}", {normalise_answer(name) for answer in answers for name in answer}
