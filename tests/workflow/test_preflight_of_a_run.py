"""A run that would fail after its GPU-hours says so before its first job."""

import re
from pathlib import Path

import pytest
import yaml
from workflow_runs import Project

STUDY = {
    "run": {"judges": ["asked"]},
    "judges": {"asked": {"kind": "llm", "model": "xai/grok-4-1-fast-reasoning"}},
}


@pytest.mark.slow
def test_a_missing_key_stops_a_run_before_its_first_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XAI_API_KEY", raising=False)
    (tmp_path / "asked.yaml").write_text(yaml.safe_dump(STUDY))
    project = Project(tmp_path, ["demo/config.yaml", "tests/workflow/tiny.yaml", "asked.yaml"])
    run = project.start()
    output, _ = run.communicate(timeout=300)
    assert run.returncode == 1
    told, planned, stopped = re.split(r"^Job stats:|^WorkflowError", output, flags=re.MULTILINE)
    for text in (told, stopped):
        assert len(re.findall(r"ERROR judges\.asked: XAI_API_KEY is not set.*`run: \{judges: \[", text)) == 1
    assert "generation" in planned
    assert not list(tmp_path.glob("results/tiny/*/**/*.parquet"))
