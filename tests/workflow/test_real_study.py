"""`make study-real`: the paper's plan on traces of real models, without engine and network."""

from pathlib import Path

import pytest
import yaml
from dry_runs import dry_run
from workflow_runs import Project, job_counts

from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.label_schema import LABELS

STUDY = "examples/real/study.yaml"
ROOT = Path(__file__).parents[2]
MODELS = yaml.safe_load((ROOT / STUDY).read_text())["run"]["models"]


@pytest.mark.slow
def test_it_is_planned_without_engine_and_network(tmp_path: Path) -> None:
    plan = dry_run(Project(tmp_path, []).folder, "--configfile", STUDY)
    counts = job_counts(plan.output)
    each = dict.fromkeys(("generation", "label", "feature"), 7 * len(MODELS))
    assert each.items() <= counts.items(), counts
    assert counts["benchmark"] == 7
    assert counts["accuracy_report"] == 1


@pytest.mark.slow
def test_what_asks_a_model_again_is_planned_without_an_engine(tmp_path: Path) -> None:
    plan = dry_run(Project(tmp_path, []).folder, "--configfile", "examples/real/entropy-area.yaml")
    passes = {rule: count for rule, count in job_counts(plan.output).items() if rule.startswith("pass")}
    assert passes == {"pass_forced_answer": 7}


@pytest.mark.nightly
@pytest.mark.long(minutes=3)
def test_it_runs_and_its_labels_are_those_that_are_next_to_the_traces(tmp_path: Path) -> None:
    """With one of the 48 configurations on each training group, and with the smallest and the largest of these."""
    project = Project(tmp_path, [STUDY, "few.yaml"])
    sizes = [{"size": size, "configurations": "default"} for size in (1, "all-but-one")]
    (tmp_path / "few.yaml").write_text(yaml.safe_dump({"run": {"sizes": sizes}}))
    project.run()
    results = tmp_path / "results" / "real"
    summary = (results / "math-verify" / "summary.txt").read_text()
    for model in MODELS:
        assert f"  {model}: " in summary
        for labels in (ROOT / "examples/real/labels" / model).glob("*.parquet"):
            made = results / "labels" / "math-verify" / model / labels.name
            assert LABELS.read(made).equals(LABELS.read(labels)), "make study-real example"
        traces = read_provenance(results / "generations" / model / "math.parquet")
        assert (traces["missing_items"], traces["unused_rows"]) == (0, 0)
    assert project.planned() == {}
