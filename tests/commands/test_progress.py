"""How far a study is, on a made-up tree of results."""

import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import polars as pl
import pytest
import yaml

from entropy_sentinel.commands.progress import Amount, jobs, progress, responses, speed, stage_files
from entropy_sentinel.config.config import Config, load_config

ROOT = Path(__file__).parents[2]
PAPER = yaml.safe_load((ROOT / "config.yaml").read_text())
NOW = 1_800_000_000.0


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Two models on gsm8k and svamp, 100 items each, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    raw = deepcopy(PAPER) | {"limit": 100}
    raw["run"] |= {"models": ["qwen3-4b", "qwen3-8b"], "benchmarks": ["gsm8k", "svamp"], "groups": ["extremes"]}
    raw["run"]["sizes"] = [{"size": 1}]
    raw["groups"]["extremes"] = {"benchmarks": ["gsm8k"]}
    Path("config.yaml").write_text(yaml.safe_dump(raw))
    return load_config(raw)


def make(path: str, rows: int, age_s: float) -> None:
    """A Parquet file of so many rows that was last changed so many seconds before NOW."""
    file = Path("results/paper") / path
    file.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame({"item_id": ["x"] * rows}).write_parquet(file)
    os.utime(file, (NOW - age_s, NOW - age_s))


def test_stages_have_their_jobs(config: Config) -> None:
    counts = {stage: len(files) for stage, files in stage_files(config).items()}
    assert counts == {
        "benchmarks": 2,
        "generations": 4,
        "labels": 4,
        "features": 4,
        "observations": 2,
        "estimates": 4,
        "sweep": 1,
        "report": 1,
    }
    names = {path.as_posix() for files in stage_files(config).values() for path in files}
    assert "results/paper/estimates/math-verify/qwen3-8b/svamp.parquet" in names


def test_full_study_of_the_paper_has_its_jobs() -> None:
    counts = {stage: len(files) for stage, files in stage_files(load_config(PAPER)).items()}
    assert [counts[stage] for stage in ("generations", "labels", "features", "estimates")] == [90, 90, 90, 3555]


def test_empty_folder_has_nothing_done(config: Config) -> None:
    assert all(amount.done == 0 for amount in jobs(config, NOW).values())
    assert responses(config, NOW) == Amount(0, 400, None)
    assert responses(config, NOW).left_s is None


def test_responses_count_finished_files_and_parts(config: Config) -> None:
    make("generations/qwen3-4b/gsm8k.parquet", 100, 5000)
    parts = "generations/qwen3-4b/svamp.parquet.parts"
    make(f"{parts}/part-000-000000.parquet", 6, 2000)  # of an earlier run, out of the window
    make(f"{parts}/part-001-000001.parquet", 10, 160)
    make(f"{parts}/part-001-000002.parquet", 20, 110)
    make(f"{parts}/part-001-000003.parquet", 20, 60)
    amount = responses(config, NOW)
    # 40 responses in the 100 s from the first to the last part of the window; 400 - 156 are left.
    assert (amount.done, amount.total, amount.speed) == (156, 400, pytest.approx(0.4))
    assert amount.left_s == pytest.approx(244 / 0.4)
    assert jobs(config, NOW)["generations"] == Amount(1, 4, None)


def test_total_follows_the_files_that_are_there(config: Config) -> None:
    make("benchmarks/gsm8k.parquet", 90, 5000)  # 90 items, whatever was published
    make("generations/qwen3-4b/gsm8k.parquet", 80, 5000)  # traces made elsewhere may lack items
    assert responses(config, NOW) == Amount(80, 80 + 90 + 2 * 100, None)


def test_speed_starts_at_the_first_event_of_the_window() -> None:
    # 300, 200 and 100 s ago: the amounts of the last two in 300 s; the one of 700 s ago is out of the window.
    events = [(NOW - 100, 7), (NOW - 300, 9), (NOW - 200, 5), (NOW - 700, 1)]
    assert speed(events, NOW) == 12 / 300
    assert speed(events, NOW, until=NOW - 100) == 12 / 200
    assert speed(events[:1], NOW) is None
    assert speed([], NOW) is None


def test_text_names_stages_speed_and_time_left(config: Config) -> None:
    for number, benchmark in enumerate(("gsm8k", "svamp")):
        make(f"benchmarks/{benchmark}.parquet", 100, 5000)
        make(f"labels/math-verify/qwen3-4b/{benchmark}.parquet", 100, 120 - 60 * number)
    lines = {line.split()[0]: line for line in progress(config, NOW).splitlines()[2:]}
    assert lines["benchmarks"].split() == ["benchmarks", "2", "of", "2", "-", "done"]
    # One label in the 120 s since the first: two more take 4 minutes.
    assert lines["labels"].split() == ["labels", "2", "of", "4", "0.5", "4", "min"]
    assert lines["responses"].split() == ["responses", "0", "of", "400", "-", "-"]


def test_command_merges_config_files_like_snakemake(config: Config, tmp_path: Path) -> None:
    Path("more.yaml").write_text("study: second\nlimit: 7\n")
    command = [sys.executable, "-m", "entropy_sentinel.commands.progress", "--configfile", "more.yaml"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow")}
    output = subprocess.check_output(command, cwd=tmp_path, env=environment, text=True)
    assert output.startswith("Study 'second'")
    assert "0 of 28" in output
