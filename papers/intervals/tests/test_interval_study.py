"""Studies of intervals: the paper's is planned on any machine; made-up answers run without an engine."""

from pathlib import Path

import polars as pl
import pytest
import yaml
from fermi_answers import LEVELS, write_study
from papers.intervals.interval_frames import ADJUSTED_INTERVALS, DIFFERENCES, SCORES, SETS
from workflow_runs import Project

# A level, its repeated queries, and integers: every rule, with the demo's engine, which each job starts.
SMALL = {
    "limit": 12,
    "run": {"models": ["tiny-fermi-95", "tiny-fermi-integer"]},
    "models": {name: {"samples": 4} for name in ("tiny-fermi-95", "tiny-fermi-integer")},
    "analyses": {"intervals": {"resamples": 50}},
}

# 24 variants state intervals, 4 answer with integers; two benchmarks each.
JOBS = {
    **{"benchmark": 2, "generation": 56, "feature": 48},
    **{"intervals_stated": 24, "intervals_integers": 4},
    **{
        f"intervals_{rule}": 1
        for rule in ("beliefs", "adjusted", "scores", "sets", "tunnel_index", "tables", "figures", "report")
    },
}


@pytest.mark.slow
def test_the_papers_study_is_planned_for_a_cluster(tmp_path: Path) -> None:
    assert Project(tmp_path, ["papers/intervals/study.yaml"], "profiles/slurm").planned() == JOBS


@pytest.mark.slow
def test_made_up_answers_run_from_end_to_end_and_nothing_is_made_twice(tmp_path: Path) -> None:
    project = Project(tmp_path, ["toy.yaml"])
    raw = write_study(tmp_path, 40)
    # No judge reads an answer, and none is needed; a family that asks again is not run.
    (tmp_path / "toy.yaml").write_text(yaml.safe_dump(raw))
    project.run()
    assert project.planned() == {}
    folder = tmp_path / "results" / "toy" / "intervals"
    assert not (tmp_path / "results" / "toy" / "labels").exists()
    adjusted, scores = ADJUSTED_INTERVALS.read(folder / "adjusted.parquet"), SCORES.read(folder / "scores.parquet")
    assert set(adjusted["level"]) == set(LEVELS)
    # Each method has every question of both halves once.
    counts = adjusted.group_by("method", "level", "half").len()
    assert set(counts["len"]) == {40}
    assert scores.filter(method="base", half="test")["n"].to_list() == [36, 36]
    assert scores.filter(method="base", half="test")["n_too_far"].to_list() == [1, 1]
    assert set(DIFFERENCES.read(folder / "differences.parquet")["n"]) == {36}
    # 36 questions are too few for 99 %: the adjusted intervals are infinite, and said to be.
    infinite = scores.filter(pl.col("n_infinite") > 0, half="test")
    assert set(infinite["level"]) == {99.0}
    assert infinite["score"].is_infinite().all()
    assert "Of 36 99 % intervals by toy" in (folder / "summary.txt").read_text()
    assert len(list((folder / "figures").glob("*.png"))) == 6
    # Another number of bootstrap samples makes no interval again.
    raw["analyses"]["intervals"]["resamples"] = 50
    (tmp_path / "toy.yaml").write_text(yaml.safe_dump(raw))
    again = ("scores", "tunnel_index", "tables", "figures", "report")
    assert project.planned() == {f"intervals_{rule}": 1 for rule in again}


@pytest.mark.nightly
@pytest.mark.long(minutes=3)
def test_the_demo_asks_and_adjusts_and_nothing_is_made_twice(tmp_path: Path) -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)
    project = Project(tmp_path, ["demo/config.yaml", "papers/intervals/demo.yaml", "small.yaml"])
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(SMALL))
    project.run()
    assert project.planned() == {}
    results = tmp_path / "results" / "demo-fermi"
    methods = set(SCORES.read(results / "intervals" / "scores.parquet")["method"])
    assert {"base", "conformal", "tunnel", "sampling", "logprob"} <= methods
    # What the pass says of integers is in the table of coverage, by whole integers and by first tokens.
    sets = SETS.read(results / "intervals" / "sets.parquet")
    assert set(sets["basis"]) == {"whole", "first_token", "sampled"}
    assert (sets.filter(basis="whole")["missing"] < 0.05).all()
