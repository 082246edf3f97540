"""The monitor as a job for each file of the logs: the same rows as in one go, and a new file is a job of its own."""

import json
import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest
import yaml
from forked_snakemake import ForkedSnakemake
from production import line, log_file, saved
from slurm.cluster import cluster, impatient, obstacle
from workflow_runs import Project

import entropy_sentinel as es

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
OPTIONS = {"by": ["route"], "window": "day", "min_responses": 5, "fail_below": 0.99}


def snakemake(folder: Path, *arguments: str) -> dict[str, int]:
    """Run it to its end; the number of jobs by rule."""
    command = [*arguments, "-s", str(ROOT / "workflow" / "monitor.smk"), "--cores", "2", "--directory", str(folder)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow")}
    run = ForkedSnakemake([*command, "--configfile", str(folder / "monitor.yaml")], folder, environment)
    output, _ = run.communicate()
    assert run.returncode == 0, output
    return {rule: int(n) for rule, n in re.findall(r"^(monitor\w*) +(\d+)$", output, re.M)}


def test_parts_add_up_and_a_new_file_is_a_job(tmp_path: Path) -> None:
    estimator = saved(tmp_path, "atc-se_sum")
    (tmp_path / "logs").mkdir()
    config = {"estimator": estimator.name, "logs": ["logs/*.jsonl"], "folder": "result", "options": OPTIONS}
    (tmp_path / "monitor.yaml").write_text(yaml.safe_dump(config))
    for day in range(3):
        records = [line(24 * day + hour) for hour in range(24)]
        log_file(tmp_path / "logs" / f"{day}.jsonl", [*records, "{broken"] if day == 1 else records)
    assert snakemake(tmp_path) == {"monitor_part": 3, "monitor": 1}
    whole = es.monitor(estimator, str(tmp_path / "logs"), **OPTIONS)
    assert pl.read_parquet(tmp_path / "result" / "rows.parquet").equals(whole.windows)
    result = json.loads((tmp_path / "result" / "rows.json").read_text())
    assert [(row["code"], row["count"]) for row in result["provenance"]["problems"]] == [("ES201", 1)]
    alerts = [alert.to_dict() for alert in whole.alerts]
    assert json.loads((tmp_path / "result" / "alerts.json").read_text())["alerts"] == alerts != []
    # Another day; and the last one has grown.
    log_file(tmp_path / "logs" / "2.jsonl", [line(24 * 2 + hour) for hour in range(30)])
    log_file(tmp_path / "logs" / "3.jsonl", [line(24 * 3 + hour) for hour in range(10, 24)])
    assert snakemake(tmp_path) == {"monitor_part": 2, "monitor": 1}
    whole = es.monitor(estimator, str(tmp_path / "logs"), **OPTIONS)
    assert pl.read_parquet(tmp_path / "result" / "rows.parquet").equals(whole.windows)
    # What is asked of the sums changes no part.
    config["options"] = {**OPTIONS, "level": 0.5}
    (tmp_path / "monitor.yaml").write_text(yaml.safe_dump(config))
    assert snakemake(tmp_path) == {"monitor": 1}
    # The folder was moved without Snakemake's records.
    shutil.rmtree(tmp_path / ".snakemake")
    (tmp_path / "result").rename(tmp_path / "moved")
    config |= {"folder": "moved", "options": {**OPTIONS, "level": 0.8}}
    (tmp_path / "monitor.yaml").write_text(yaml.safe_dump(config))
    assert snakemake(tmp_path, "--dry-run", "--quiet", "rules") == {"monitor": 1}


@pytest.mark.nightly
@pytest.mark.skipif(obstacle() is not None, reason=obstacle() or "")
@pytest.mark.skipif(not find_spec("snakemake_executor_plugin_slurm"), reason="Snakemake has no plugin for Slurm")
def test_on_a_cluster(tmp_path: Path) -> None:
    project = Project(tmp_path, ["monitor.yaml"], profile="slurm")
    project.prepare = impatient
    # The cluster of the tests has no accounting.
    setting = "slurm-status-command: squeue"
    project.edit("profiles/slurm/config.v9+.yaml", f"# {setting}", setting)
    estimator = saved(tmp_path, "atc-se_sum")
    (tmp_path / "logs").mkdir()
    for day in range(3):
        log_file(tmp_path / "logs" / f"{day}.jsonl", [line(24 * day + hour) for hour in range(24)])
    config = {"estimator": estimator.name, "logs": ["logs/*.jsonl"], "folder": "result", "options": OPTIONS}
    (tmp_path / "monitor.yaml").write_text(yaml.safe_dump(config))
    with cluster():
        output = project.run("--snakefile", "workflow/monitor.smk")
    assert output.count("has been submitted with SLURM jobid") == 4
    whole = es.monitor(estimator, str(tmp_path / "logs"), **OPTIONS)
    assert pl.read_parquet(tmp_path / "result" / "rows.parquet").equals(whole.windows)
