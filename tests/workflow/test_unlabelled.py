"""The demo's benchmark without references: its estimate against the truth that is kept aside for this test alone."""

import json
from pathlib import Path

import polars as pl
import pytest
import yaml
from workflow_runs import ROOT, Project

from entropy_sentinel.judges.judge_interface import Case
from entropy_sentinel.judges.separate_process import make

STUDY = {
    "study": "unlabelled",
    "limit": 100,
    "run": {
        "models": ["tiny-1m"],
        "judges": ["math-verify"],
        "benchmarks": [
            "averages",
            "multiply-then-add",
            "one-digit-addition",
            "percentages",
            "two-digit-multiplication",
            "mixed",
        ],
        "groups": ["extremes"],
        "sizes": [],
        "analyses": ["accuracy", "responses"],
    },
    "groups": {"extremes": {"configurations": "default"}},
    "analyses": {"accuracy": {"tables": ["estimates"], "figures": [], "auroc_models": None}},
}


@pytest.mark.nightly
@pytest.mark.long(minutes=2)
def test_the_estimate_is_as_near_to_the_truth_as_the_report_says(tmp_path: Path) -> None:
    (tmp_path / "unlabelled.yaml").write_text(yaml.safe_dump(STUDY))
    project = Project(tmp_path, ["demo/config.yaml", "unlabelled.yaml"])
    project.run()
    results = tmp_path / "results" / "unlabelled"
    true = true_accuracy(results / "generations" / "tiny-1m" / "mixed.parquet")
    row = pl.read_csv(results / "math-verify" / "tables" / "table_estimates.csv").row(
        by_predicate=pl.col("Domain") == "mixed", named=True
    )
    assert (row["Responses"], row["True"], row["Error"]) == (100, None, None)
    (model,) = json.loads((results / "math-verify" / "summary.json").read_text())["models"]
    (mixed,) = model["unlabelled"]
    assert mixed["lower"] < true < mixed["upper"]
    assert mixed["upper"] - mixed["lower"] < 0.6, "an interval that says something"
    assert abs(mixed["estimated"] - true) < 0.1
    unlabelled, labelled = (
        (results / "math-verify" / "summary.txt").read_text().split("Accuracy estimated from entropy")
    )
    line = f"{mixed['estimated']:.2f} {mixed['lower']:.2f} to {mixed['upper']:.2f} {model['verdict']}"
    assert " ".join(unlabelled.split("mixed")[1].split()[1:]) == line
    assert "mixed" not in labelled


def true_accuracy(generations: Path) -> float:
    """Of the responses in a file, by the answers that the demo keeps aside."""
    known = [json.loads(line) for line in (ROOT / "demo" / "truth" / "mixed.jsonl").read_text().splitlines()]
    answers = {f"mixed-{row:05d}": one for row, one in enumerate(known)}
    responses = pl.read_parquet(generations, columns=["item_id", "text", "finish_reason"]).rows()
    cases = [
        Case(answers[item]["question"], text, answers[item]["answer"], finish_reason != "stop")
        for item, text, finish_reason in responses
    ]
    verdicts = [verdict.label for verdict in make({}).judge(cases)]
    assert len(verdicts) == 100
    return sum(label is True for label in verdicts) / sum(label is not None for label in verdicts)
