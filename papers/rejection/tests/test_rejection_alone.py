"""The analysis `rejection` runs alone, from traces made elsewhere; one benchmark has no labels."""

import polars as pl
import pytest
import yaml
from papers.rejection.rejection_frames import ASSESSMENTS, MEASURES
from tiny import TINY
from workflow_runs import Project

pytestmark = pytest.mark.long

KNOWN = ["averages", "one-digit-addition", "two-digit-multiplication"]
STUDY = {
    "study": "kept",
    "run": {
        "models": ["given"],
        "judges": ["math-verify"],
        "benchmarks": [*KNOWN, "traffic"],
        "groups": ["extremes"],
        "sizes": [],
        "analyses": ["rejection"],
    },
    "estimation": {"trees": 10, "max_depth": [3], "min_samples_split": [2], "keep": ["own", "atc-max"]},
    "models": {"given": {"source": "traces", "source_logprobs_mode": "raw_logprobs"}},
    "benchmarks": {"traffic": {"path": "demo/benchmarks/averages.jsonl", "question": ["{question}"]}},
    "analyses": {"rejection": {"resamples": 50}},
}
EXHIBITS = {"rejection_figures": 1, "rejection_report": 1}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("kept"), ["demo/config.yaml", "kept.yaml"])
    (project.folder / "kept.yaml").write_text(yaml.safe_dump(STUDY))
    (project.folder / "traces").mkdir()
    for name in KNOWN:
        pl.read_parquet(TINY.traces / f"{name}.parquet").write_parquet(project.folder / "traces" / f"{name}.parquet")
    made = pl.read_parquet(TINY.traces / "averages.parquet")
    renamed = made.with_columns(pl.col("item_id").str.replace("averages", "traffic"))
    renamed.write_parquet(project.folder / "traces" / "traffic.parquet")
    project.run()
    return project


def test_it_makes_its_files_and_needs_no_other_analysis(project: Project) -> None:
    results = project.folder / "results" / "kept"
    folder = results / "math-verify" / "rejection"
    assert {path.name for path in folder.iterdir()} == {
        *("figures", "measures", "questions", "report.html", "summary.txt", "tables")
    }
    assert len(list((folder / "figures").iterdir())) == 2 * 3
    assert len(list((folder / "tables").iterdir())) == 4 * 4
    assert not (results / "estimates").exists()
    measures = MEASURES.read(folder / "measures" / "given.parquet")
    assert set(measures["assessor"]) == {"forest-10d-balanced-isotonic", "question-only"}
    scored = ASSESSMENTS.read(folder / "questions" / "given.parquet")
    assert set(scored["benchmark"]) == {*KNOWN, "traffic"}
    summary = (folder / "summary.txt").read_text()
    assert "traffic is excluded for given: no response with a label and features." in summary
    assert "ATC, SE max (all models, Extremes)" in (folder / "tables" / "table_best_pairs.md").read_text()


def test_second_run_has_nothing_to_do(project: Project) -> None:
    assert project.planned() == {}


def test_a_colour_reruns_the_analysis_and_an_accuracy_measures_again(project: Project) -> None:
    path = "papers/rejection/rejection_figures.py"
    undo = project.edit(path, "#CC79A7", "#CC79A8")
    planned = project.planned()
    assert planned.keys() >= EXHIBITS.keys()
    assert all(name.startswith("rejection_") for name in planned)
    undo()
    other = {"analyses": {"rejection": {"accuracies": [0.7]}}}
    (project.folder / "other.yaml").write_text(yaml.safe_dump(other))
    planned = project.over("other.yaml").planned()
    assert planned == {"rejection_measures": 1, "rejection_tables": 1} | EXHIBITS
