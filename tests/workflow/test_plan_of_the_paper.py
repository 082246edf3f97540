"""The paper's full study is planned, quickly, without GPU, vLLM or network, and has the paper's number of jobs."""

from pathlib import Path

import pytest
from dry_runs import dry_run
from workflow_runs import Project, job_counts


@pytest.mark.slow
def test_full_study_has_its_jobs(tmp_path: Path) -> None:
    plan = dry_run(Project(tmp_path, []).folder)
    counts = job_counts(plan.output)
    # 9 models x 10 benchmarks; 395 training groups per model: 10 + 45 + 120 + 210 of one to four benchmarks, and 10
    # that leave one out.
    expected = {"benchmark": 10, "generation": 90, "label": 90, "feature": 90, "observation": 9, "estimate": 3555}
    expected["estimator"] = 9 * 4  # kept for the named groups
    analysis = ("sweep", "domains", "tables", "figures", "report")
    expected |= {f"accuracy_{rule}": 1 for rule in analysis}
    expected |= {"accuracy_validation": 9, "rejection_assessments": 9, "rejection_measures": 9, "responses_page": 9}
    assert counts == expected | {f"rejection_{rule}": 1 for rule in ("tables", "figures", "report")}
    assert plan.cpu_s < 20, "seconds of CPU time; see make bench-dag"
