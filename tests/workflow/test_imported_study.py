"""A study of traces and labels that were made elsewhere runs from end to end without an engine or a judge."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from workflow_runs import Project

from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.generation import TOP_K

pytestmark = pytest.mark.long

BENCHMARKS = ("one-digit-addition", "percentages", "two-digit-multiplication")
STUDY = {
    "study": "imported",
    "limit": 150,
    "run": {"models": ["theirs"], "judges": ["people"]},
    "models": {"theirs": {"source": "given/traces", "source_logprobs_mode": "raw_logprobs"}},
    "judges": {"people": {"kind": "file", "path": "given/labels"}},
}


def write_given(folder: Path) -> None:
    """Traces of 20 tokens for the 200 items of each benchmark, and labels: wrong answers are less certain."""
    random = np.random.default_rng(3)
    for number, benchmark in enumerate(BENCHMARKS):
        ids = [f"{benchmark}-{row:05d}" for row in range(200)]
        labels = random.random(200) < 0.3 + 0.2 * number
        logits = random.normal(size=(200, 20, TOP_K)) * np.where(labels, 6, 2)[:, None, None]
        top = -np.sort(-(logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))), axis=2)
        traces = {
            "item_id": ids,
            "text": ["?"] * 200,
            "finish_reason": ["stop"] * 200,
            "token_logprobs": top[:, :, 0].tolist(),
            "top_logprobs": top.tolist(),
        }
        for kind, columns in {"traces": traces, "labels/theirs": {"item_id": ids, "label": labels.tolist()}}.items():
            (folder / kind).mkdir(parents=True, exist_ok=True)
            pl.DataFrame(columns).write_parquet(folder / kind / f"{benchmark}.parquet")


def test_report_from_traces_and_labels_made_elsewhere(tmp_path: Path) -> None:
    project = Project(tmp_path, ["demo/config.yaml", "tests/workflow/tiny.yaml", "imported.yaml"])
    (tmp_path / "imported.yaml").write_text(yaml.safe_dump(STUDY))
    write_given(tmp_path / "given")
    project.run()
    results = tmp_path / "results" / "imported"
    assert "theirs" in (results / "people" / "report.html").read_text()
    provenance = read_provenance(results / "generations" / "theirs" / "percentages.parquet")
    assert (provenance["engine"], provenance["missing_items"]) == ("source", 0)
    # The files have 200 items, of which the study draws 150.
    assert provenance["unused_rows"] == 50
    labels = read_provenance(results / "labels" / "people" / "theirs" / "percentages.parquet")
    assert labels["unused_rows"] == 50
    assert project.planned() == {}
    # A file of labels that changes is read again, and nothing that does not depend on it.
    labels = tmp_path / "given" / "labels" / "theirs" / "percentages.parquet"
    pl.read_parquet(labels).with_columns(~pl.col("label")).write_parquet(labels)
    planned = project.planned()
    assert planned["label"] == 1, json.dumps(planned)
    assert not {"generation", "feature", "benchmark"} & set(planned)
