"""Exhibits, page and files of the analysis, and what a study must have for a strategy."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from papers.selection.selection_exhibits import FIGURES, STRATEGIES, TABLES
from papers.selection.selection_files import write_selections
from papers.selection.selection_report import write_report
from selectable import write_study_files
from study_trees import small_study

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.config.config_loading import load_config


def test_from_the_files_of_a_study_to_its_page(tmp_path: Path) -> None:
    files = write_study_files(tmp_path)
    inputs: Any = {
        "benchmarks": [file.items for file in files],
        "generations": [file.generations for file in files],
        "labels": [file.labels for file in files],
        "asked": [file.forced_answers for file in files],
        "solutions": [],
    }
    prompt: Any = {"prompt": "solve-step-by-step", "prompt_version": 1}
    training = {name: str(tmp_path / f"{name}.jsonl") for name in STRATEGIES}
    kept = (str(tmp_path / "candidates.parquet"), str(tmp_path / "selections.parquet"))
    settings: Any = {"size": 5, "seed": 0, "tries": 4, "answer": "own", "prompt": prompt}
    write_selections(*inputs.values(), "m", settings, training, *kept)
    lines = {
        name: [json.loads(line) for line in Path(path).read_text().splitlines()] for name, path in training.items()
    }
    assert {name: len(rows) for name, rows in lines.items()} == {"random": 5, "longest": 5, "pass-rate": 4, "eas": 5}
    assert lines["eas"][0]["messages"][0]["content"].startswith("Solve the following problem step by step")
    page, summary = tmp_path / "page" / "report.html", tmp_path / "page" / "summary.txt"
    shown: Any = {"label": "made up", "tables": list(TABLES), "figures": list(FIGURES), "strategies": list(STRATEGIES)}
    shown |= {"answer": "own", "tries": 4}
    write_report(kept[:1], kept[1:], ["m"], shown, str(page), str(summary))
    text = page.read_text()
    assert "4 candidates, fewer than the 5" in text
    assert text.count("<figure") == 1
    assert (page.parent / "figures/figure_selections.png").stat().st_size > 10_000
    overlap = pl.read_csv(page.parent / "tables/table_overlap.csv")
    # Longest: a-5, b-0, a-3, a-4, a-2; pass rate: a-2, b-0, a-4, a-3.
    assert overlap.filter(pl.col("Selection") == "Longest").row(0) == ("m", "Longest", "Lowest pass rate", 4, 0.8)
    first = summary.read_text().splitlines()
    assert first[1].split() == ["Model", "Selection", "Items", "Pass", "rate", "Accuracy", "Tokens", "EAS"]
    assert first[3].split() == ["m", "All", "candidates", "7", "0.458", "0.571", "37.857", "2.783"]


def loaded(samples: int, features: Sequence[str], **section: Any) -> Any:
    raw = small_study()
    raw["analyses"] = {"selection": section}
    raw["generation"]["samples"] = samples
    raw["run"] |= {"features": list(features), "analyses": ["selection"], "groups": [], "sizes": []}
    return load_config(raw, "study.yaml", raw)


def test_strategies_are_those_that_the_study_has_something_for() -> None:
    assert loaded(1, ["tokens"]).analyses.selection.strategies == ["random", "longest"]
    assert loaded(4, ["tokens", "forced_answer"]).analyses.selection.strategies == list(STRATEGIES)
    assert loaded(2, ["tokens"], tries=2).analyses.selection.strategies == ["random", "longest", "pass-rate"]


@pytest.mark.parametrize(
    ("section", "error"),
    [
        ({"strategies": ["pass-rate"]}, "pass-rate needs 4 responses to each item, got 1; set generation.samples: 4"),
        ({"strategies": ["eas"]}, r"eas needs the pass that asks the model again; set run.features: \[tokens, forced"),
        ({"strategies": ["hardest"]}, "unknown strategy 'hardest'; known: random, longest, pass-rate, eas"),
        ({"tries": 1}, "tries.*2"),
    ],
)
def test_what_is_named_and_cannot_be_is_an_error(section: dict[str, Any], error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        loaded(1, ["tokens"], **section)
