"""The demo's judge on the real thing: a vLLM server of its label job, LiteLLM, structured output; and its end."""

import json
import os
import re
import signal
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psutil
import pytest
import yaml
from workflow_runs import ROOT, Project

from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.generation_schema import TOP_K

pytestmark = [
    pytest.mark.long(minutes=2),
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed"),
]

BENCHMARKS, ITEMS = ("averages", "three-digit-subtraction"), 100
FILES = [f"results/judged/labels/tiny-judge/theirs/{benchmark}.parquet" for benchmark in BENCHMARKS]
LOG = "logs/judged/labels/tiny-judge/theirs.log"
STUDY = {
    "study": "judged",
    "limit": ITEMS,
    "run": {
        "models": ["theirs"],
        "judges": ["tiny-judge"],
        "benchmarks": list(BENCHMARKS),
        "groups": [],
        "sizes": [{"size": 1}],
    },
    "models": {"theirs": {"source": "given", "source_logprobs_mode": "raw_logprobs"}},
    "analyses": {"accuracy": {"headline_group": None}},
}


def items(benchmark: str) -> list[dict[str, str]]:
    lines = (ROOT / "demo" / "benchmarks" / f"{benchmark}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def final(answer: str, row: int) -> str:
    """Right in two rows of three; else the last digit is another one."""
    return answer if row % 3 else answer[:-1] + str((int(answer[-1]) + 1 + row % 8) % 10)


def response(item: dict[str, str], row: int) -> str:
    """The worked solution, which ends in `final`, as its last step does."""
    return re.sub(rf"\b{item['answer']}(?=\.? Answer|\}}$)", final(item["answer"], row), item["solution"])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A study of responses made elsewhere, which the demo's judge labels."""
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path / "cache"))
    project = Project(tmp_path / "project", ["demo/config.yaml", "judged.yaml"])
    (project.folder / "judged.yaml").write_text(yaml.safe_dump(STUDY))
    (project.folder / "given").mkdir()
    steps = np.tile(-np.arange(1.0, TOP_K + 1), (200, 2, 1))
    for benchmark in BENCHMARKS:
        columns: dict[str, Any] = {
            "item_id": [f"{benchmark}-{row:05d}" for row in range(200)],
            "text": [response(item, row) for row, item in enumerate(items(benchmark))],
            "finish_reason": ["stop"] * 200,
            "token_logprobs": steps[:, :, 0].tolist(),
            "top_logprobs": steps.tolist(),
        }
        pl.DataFrame(columns).write_parquet(project.folder / "given" / f"{benchmark}.parquet")
    return project


def processes_in(folder: Path) -> list[psutil.Process]:
    """Those that work in a folder: of a run, its jobs, and the servers that these have started."""
    result = []
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()) == folder and process.status() != psutil.STATUS_ZOMBIE:
                result.append(process)
        except psutil.Error:
            continue
    return result


def test_one_server_judges_all_benchmarks_of_a_model(project: Project) -> None:
    project.run(*FILES)
    log = (project.folder / LOG).read_text()
    assert len(re.findall(r"the server of tiny-judge is up after \d+ s", log)) == 1
    right = 0
    for file in FILES:
        labels = pl.read_parquet(project.folder / file)
        assert len(labels) == ITEMS
        assert labels["label"].null_count() == 0
        rows = labels["item_id"].str.slice(-5).cast(pl.Int64)
        right += int((labels["label"] == (rows % 3 != 0)).sum())
        message = read_provenance(project.folder / file)
        assert (message["llm"]["model"], message["server"]["weights"]) == (
            "hosted_vllm/tiny-judge",
            "demo/models/tiny-judge",
        )
    assert right / (ITEMS * len(BENCHMARKS)) > 0.95
    assert not processes_in(project.folder)
    assert project.planned(*FILES) == {}


@pytest.mark.nightly
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_server_outlives_its_run(project: Project, how: signal.Signals) -> None:
    """Killed outright, the jobs with it; and by Ctrl-C, which the terminal sends to Snakemake and its jobs."""
    run, log = project.start(*FILES), project.folder / LOG
    deadline = time.monotonic() + 400
    while not (log.exists() and "the server of tiny-judge is up" in log.read_text()):
        assert run.poll() is None, run.stdout.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert [process for process in processes_in(project.folder) if "api_server" in " ".join(process.cmdline())]
    os.killpg(run.pid, how)
    try:
        run.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        run.kill()
        raise
    _, left = psutil.wait_procs(processes_in(project.folder), timeout=30)
    assert not left
