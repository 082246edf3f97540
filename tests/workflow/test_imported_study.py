"""Studies of traces and labels that were made elsewhere, from end to end; no engine, several judges."""

import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from workflow_runs import Project

from entropy_sentinel.judges.judge_kinds import MathVerify
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.generation_schema import TOP_K
from entropy_sentinel.schemas.label_schema import LABELS
from entropy_sentinel.study.analyses.agreement.measuring.agreement_frames import ERRORS, PAIRS

pytestmark = pytest.mark.long

BENCHMARKS = ("one-digit-addition", "percentages", "two-digit-multiplication")
STUDY = {
    "study": "imported",
    "limit": 150,
    "run": {"models": ["theirs"], "judges": ["people"]},
    "models": {"theirs": {"source": "given/traces", "source_logprobs_mode": "raw_logprobs"}},
    "judges": {"people": {"kind": "file", "path": "given/labels"}},
    # The fewest estimators that a report shows.
    "estimation": {"keep": [], "estimators": ["recommended", "group-accuracy", "atc-max"], "groups_per_job": 4},
}

# The judge `few` labels a part, and `cascade` is made of others.
SEVERAL = {
    "run": {"judges": ["people", "few", "cascade"], "analyses": ["agreement"], "sizes": []},
    "judges": {
        "few": {"kind": "file", "path": "given/few"},
        "cascade": {"kind": "first_of", "judges": ["few", "people"]},
    },
    "groups": {"extremes": {"configurations": "default"}},
    "estimation": {"keep": [], "estimators": ["group-accuracy", "atc-max"]},
}
TWO = {"run": {"judges": ["math-verify", "people"]}, "judges": {"math-verify": {"kind": "math-verify"}}}


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


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The study of labels by people, run to its end."""
    configs = ["demo/config.yaml", "tests/workflow/tiny.yaml", "imported.yaml"]
    project = Project(tmp_path_factory.mktemp("imported"), configs)
    for name, study in {"imported": STUDY, "several": SEVERAL, "two": TWO}.items():
        (project.folder / f"{name}.yaml").write_text(yaml.safe_dump(study))
    write_given(project.folder / "given")
    project.run()
    return project


def test_report_from_traces_and_labels_made_elsewhere(project: Project) -> None:
    results = project.folder / "results" / "imported"
    assert "theirs" in (results / "people" / "report.html").read_text()
    provenance = read_provenance(results / "generations" / "theirs" / "percentages.parquet")
    assert (provenance["engine"], provenance["missing_items"]) == ("source", 0)
    # The files have 200 items, of which the study draws 150.
    assert provenance["unused_rows"] == 50
    assert read_provenance(results / "labels" / "people" / "theirs" / "percentages.parquet")["unused_rows"] == 50
    assert project.planned() == {}
    # A file of labels that changes is read again, and nothing that does not depend on it.
    path = project.folder / "given" / "labels" / "theirs" / "percentages.parquet"
    before = path.read_bytes()
    pl.read_parquet(path).with_columns(~pl.col("label")).write_parquet(path)
    planned = project.planned()
    assert planned["label"] == 1, json.dumps(planned)
    assert not {"generation", "feature", "benchmark"} & set(planned)
    path.write_bytes(before)


@pytest.mark.nightly
def test_only_labels_that_depend_on_it_are_made_again(project: Project) -> None:
    two = project.over("two.yaml")
    two.run("--until", "label")
    assert two.planned("--until", "label") == {}
    # Other rules of math-verify: its labels, and neither those of people, the items nor the traces.
    version, now = "VERSION: ClassVar[int] = ", MathVerify.VERSION
    undo = project.edit("workflow/entropy_sentinel/judges/judge_kinds.py", f"{version}{now}", f"{version}{now + 10}")
    assert two.planned("--until", "label")["label"] == len(BENCHMARKS)
    assert not {"generation", "benchmark"} & set(two.planned("--until", "label"))
    undo()
    assert two.planned("--until", "label") == {}
    # A tolerance of one benchmark: the labels of math-verify on it.
    (project.folder / "tolerance.yaml").write_text(
        yaml.safe_dump({"benchmarks": {"percentages": {"tolerance": {"relative": 0.05}}}})
    )
    planned = two.over("tolerance.yaml").planned("--until", "label")
    assert planned["label"] == 1
    assert not {"generation", "benchmark"} & set(planned)


@pytest.mark.nightly
def test_judges_are_compared(project: Project) -> None:
    several = project.over("several.yaml")
    # The judge `few` labels one benchmark, the reverse of every other label, and of another a single response.
    for benchmark in BENCHMARKS:
        labels = pl.read_parquet(project.folder / "given" / "labels" / "theirs" / f"{benchmark}.parquet")
        number = pl.int_range(pl.len())
        known = number < 200 if benchmark == "percentages" else number == 0
        message = pl.when(known).then(pl.when(number % 2 == 0).then(~pl.col("label")).otherwise("label"))
        few = project.folder / "given" / "few" / "theirs" / f"{benchmark}.parquet"
        few.parent.mkdir(parents=True, exist_ok=True)
        labels.with_columns(label=message).write_parquet(few)
    several.run()
    results = project.folder / "results" / "imported"
    pairs = PAIRS.read(results / "agreement" / "pairs.parquet").filter(first="people", second="few")
    (percentages,) = pairs.filter(benchmark="percentages").rows(named=True)
    assert percentages["n_pairs"] == 150
    assert 0.4 < percentages["agreement"] < 0.6
    assert pairs.filter(benchmark="one-digit-addition")["n_pairs"][0] <= 1
    # The cascade says of percentages what `few` says, and elsewhere what the people say.
    cascade = results / "labels" / "cascade" / "theirs"
    assert LABELS.read(cascade / "percentages.parquet")["decided_by"].unique().to_list() == ["few"]
    counts = read_provenance(cascade / "percentages.parquet")["counts"]
    assert [counts[name]["asked"] for name in ("few", "people")] == [150, 0]
    assert read_provenance(cascade / "one-digit-addition.parquet")["counts"]["people"]["asked"] >= 149
    # `few` has next to no label of the training benchmarks: its estimator has nothing to learn from.
    errors = ERRORS.read(results / "agreement" / "errors.parquet")
    assert errors["judge"].to_list() == ["people", "few", "cascade"]
    assert errors["n_domains"].to_list() == [1, 0, 1]
    assert "Agreement of judges" in (results / "agreement" / "summary.txt").read_text()
    assert "True, cascade" in (results / "agreement" / "report.html").read_text()
    assert several.planned() == {}
    # Another file of a member's labels is another job of the judge that is made of it, whatever its date.
    path = project.folder / "given" / "few" / "theirs" / "percentages.parquet"
    stamp = path.stat().st_mtime_ns
    pl.read_parquet(path).with_columns(~pl.col("label")).write_parquet(path)
    os.utime(path, ns=(stamp, stamp))
    assert several.planned()["label"] == 2
