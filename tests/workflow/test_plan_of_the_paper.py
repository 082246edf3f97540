"""The paper's full study is planned, quickly, without GPU, vLLM or network, and has the paper's number of jobs."""

import re
from pathlib import Path

import pytest
from dry_runs import dry_run
from workflow_runs import Project, job_counts


@pytest.mark.long
def test_full_study_has_its_jobs(tmp_path: Path) -> None:
    plan = dry_run(Project(tmp_path, []).folder)
    counts = job_counts(plan.output)
    # 9 models x 10 benchmarks; 395 training groups per model: 10 + 45 + 120 + 210 of one to four benchmarks, and 10
    # that leave one out.
    expected = {"benchmark": 10, "generation": 90, "label": 2 * 90, "feature": 90}
    # Labels of the second judge are compared with the first one's, for the four named groups.
    expected |= {"observation": 2 * 9, "estimate": 3555 + 9 * 4}
    expected["estimator"] = 2 * 9 * 4  # kept for the named groups
    analysis = ("sweep", "domains", "tables", "figures", "report")
    expected |= {f"accuracy_{rule}": 1 for rule in analysis}
    expected |= {"accuracy_validation": 9, "rejection_assessments": 9, "rejection_measures": 9, "responses_page": 9}
    expected |= {f"agreement_{rule}": 1 for rule in ("judged", "pairs", "tables", "report")}
    expected["cost"] = 1  # of the first judge
    assert counts == expected | {f"rejection_{rule}": 1 for rule in ("tables", "figures", "report")}
    assert plan.cpu_s < 30, "seconds of CPU time; see make bench-dag"


def asked(output: str) -> dict[str, set[str]]:
    """What the jobs of each rule ask for, by what a dry run prints of them."""
    result: dict[str, set[str]] = {}
    for block in re.split(r"\n *(?:local)?rule ", output)[1:]:
        rule, _, about = block.partition(":")
        message = re.findall(r"^ +(threads: \d+)$|\b((?:mem_mb|runtime|gpu)=\d+)", about, re.MULTILINE)
        result.setdefault(rule, set()).update(one or other for one, other in message)
    return result


@pytest.mark.slow
def test_jobs_ask_for_the_same_without_any_profile_and_a_profile_has_the_last_word(tmp_path: Path) -> None:
    project = Project(tmp_path, ["demo/config.yaml", "tests/workflow/tiny.yaml"])
    bare = ("--dry-run", "--workflow-profile", "none")
    plain = asked(project.run(*bare))
    usual = {"mem_mb=4000", "runtime=30"}
    assert [plain[rule] for rule in ("feature", "accuracy_sweep", "accuracy_report")] == [usual] * 3
    assert plain["generation"] == {"gpu=1", "mem_mb=4000", "runtime=240"}
    assert (plain["label"], plain["benchmark"]) == ({"mem_mb=2000", "runtime=60"}, {"mem_mb=2000", "runtime=30"})
    message = asked(
        project.run(*bare, "--cores", "2", "--set-resources", "feature:mem_mb=9000", "--set-threads", "label=2")
    )
    assert message == plain | {"feature": {"mem_mb=9000", "runtime=30"}, "label": {"threads: 2", *plain["label"]}}
