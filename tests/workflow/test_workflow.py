"""The real workflow on a cut-down demo: it runs once on the real engine, and then reruns what changed.

test_rerun_counts.py has more changes, on a study that only counts as finished.
"""

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from copy import copy
from pathlib import Path

import polars as pl
import pytest
from workflow_runs import Project

from entropy_sentinel.features.feature_registry import FEATURE_FRAME, FEATURES
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.study.jobs.result_reuse import was_reused

pytestmark = pytest.mark.slow(minutes=2)

PACKAGE = "workflow/entropy_sentinel"
BENCHMARKS = ("one-digit-addition", "percentages", "two-digit-multiplication")
AFTER_SWEEP = {"accuracy_sweep": 1, "accuracy_tables": 1, "accuracy_figures": 1, "accuracy_report": 1}
ESTIMATED = {"estimate": 4, "estimator": 1}
AFTER_FEATURES = (
    {"feature": 3, "observation": 1, "accuracy_domains": 1, "accuracy_validation": 1} | ESTIMATED | AFTER_SWEEP
)
AFTER_GENERATIONS = {"generation": 3, "label": 3} | AFTER_FEATURES


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The cut-down demo, run to the end. One benchmark file is larger than Snakemake's default limit for checksums."""
    project = Project(tmp_path_factory.mktemp("project"), ["demo/config.yaml", "tests/workflow/tiny.yaml"])
    large = project.folder / "demo" / "benchmarks" / "percentages.jsonl"
    rows = [json.loads(line) for line in large.read_text().splitlines()]
    large.write_text("".join(json.dumps(row | {"padding": "x" * 10_000}) + "\n" for row in rows))
    assert large.stat().st_size > 1_000_000
    project.run()
    return project


@pytest.fixture
def edit(project: Project) -> Iterator:
    """`project.edit`, undone after the test."""
    undo = []
    yield lambda *change: undo.append(project.edit(*change))
    for step in reversed(undo):
        step()


def results(project: Project) -> Path:
    return project.folder / "results" / "tiny"


def test_second_run_has_nothing_to_do(project: Project) -> None:
    assert project.planned() == {}


def test_traces_are_whole_and_say_where_they_come_from(project: Project) -> None:
    path = results(project) / "generations" / "tiny-1m" / "percentages.parquet"
    traces = GENERATIONS.check(GENERATIONS.read(path))
    assert len(traces) == 40
    assert traces["token_logprobs"].list.len().equals(traces["n_tokens"].cast(pl.UInt32), check_names=False)
    assert traces["top_logprobs"].list.len().equals(traces["n_tokens"].cast(pl.UInt32), check_names=False)
    steps = traces["top_logprobs"].explode(empty_as_null=False, keep_nulls=False).arr.to_list()
    assert steps.list.eval(pl.element().diff().drop_nulls().max() <= 0).explode().all(), "largest first"
    assert (steps.list.eval(pl.element().exp().sum()).explode() <= 1 + 1e-5).all(), "probabilities"
    provenance = read_provenance(path)
    assert provenance["engine"] == "vllm"
    assert provenance["logprobs_mode"] == "raw_logprobs"
    assert (provenance["seed"], provenance["top_k"], provenance["prompt_version"]) == (42, 20, 1)
    assert provenance["sampling"] == {"temperature": 0.5, "top_p": 1.0, "max_tokens": 256}
    for key in ("engine_version", "weights", "revision", "prompts_hash"):
        assert provenance[key], key


def test_features_follow_from_the_traces_by_the_definition(project: Project) -> None:
    """By numpy, for one response: H(t) over the top 20, its sum, and the sampled tokens' likelihood."""
    import numpy as np

    generations = results(project) / "generations" / "tiny-1m" / "percentages.parquet"
    trace = GENERATIONS.read(generations).row(7, named=True)
    feature = FEATURE_FRAME.read(results(project) / "features" / "tiny-1m" / "percentages.parquet").row(7, named=True)
    log_p = np.array(trace["top_logprobs"], dtype=np.float64)
    entropy = -(np.exp(log_p) * log_p).sum(axis=1)
    assert feature["se_sum"] == pytest.approx(entropy.sum())
    assert feature["max"] == pytest.approx(entropy.max())
    assert feature["nll_sum"] == pytest.approx(-np.sum(trace["token_logprobs"], dtype=np.float64), rel=1e-6)
    assert all(feature[name] is not None for name in FEATURES)


def test_what_jobs_took_is_measured_for_the_plan(project: Project) -> None:
    """Beside the log of each job that costs something."""
    logs = project.folder / "logs" / "tiny"
    for stage in ("generations", "labels", "features", "observations", "estimates", "estimators"):
        names = {path.relative_to(logs).with_suffix("") for path in (logs / stage).rglob("*.log")}
        assert {path.relative_to(logs).with_suffix("") for path in (logs / stage).rglob("*.tsv")} == names, stage


def test_report_and_tables_are_there(project: Project) -> None:
    judge = results(project) / "math-verify"
    assert "Extremes" in (judge / "summary.txt").read_text()
    assert (judge / "report.html").stat().st_size > 20_000
    (model,) = json.loads((judge / "summary.json").read_text())["models"]
    assert (model["model"], len(model["left_out"])) == ("tiny-1m", 3)
    assert f"  tiny-1m: {model['verdict']}\n" in (judge / "summary.txt").read_text()
    assert "differs between files" not in (judge / "report.html").read_text()
    assert sorted(path.name for path in (judge / "tables").iterdir()) == [
        f"table_{name}.{kind}" for name in ("2_by_model", "5_design_choices") for kind in ("csv", "html", "md", "tex")
    ]
    assert not list(project.folder.glob("results/**/*.partial"))


def test_refactoring_of_generation_reruns_no_response_until_its_version_is_raised(project: Project, edit) -> None:
    edit(
        f"{PACKAGE}/study/stages/generation_stage.py",
        "engine, frame = None, parts.read()",
        "frame, engine = parts.read(), None",
    )
    edit(f"{PACKAGE}/study/engines/vllm_engine.py", '"use_tqdm": False', '"use_tqdm": True')
    assert project.planned() == {}
    edit(f"{PACKAGE}/schemas/generation_schema.py", "GENERATION_VERSION = 1", "GENERATION_VERSION = 2")
    assert project.planned().items() >= AFTER_GENERATIONS.items()


def test_change_of_what_all_stages_share_never_reruns_what_costs(project: Project, edit) -> None:
    edit(f"{PACKAGE}/schemas/contract.py", 'compression="zstd"', 'compression="lz4"')
    planned = project.planned()
    assert planned == AFTER_FEATURES


def test_docstrings_comments_and_touched_files_rerun_nothing(project: Project, edit) -> None:
    edit(f"{PACKAGE}/features/feature_computation.py", '"""The features of every', '"""What is new in every')
    edit(
        f"{PACKAGE}/study/stages/estimate_stage.py",
        'RAW_MODE = "raw_logprobs"',
        '# why\nRAW_MODE = "raw_logprobs"  # because',
    )
    edit("workflow/scripts/job.py", "with job_log", "# a comment\nwith job_log")
    now = time.time() + 5
    for folder in ("demo", "workflow", "results"):
        for path in (project.folder / folder).rglob("*"):
            if path.is_file():
                os.utime(path, (now, now))
    assert project.planned() == {}


def test_pages_of_single_responses_are_made_and_linked_where_they_are_requested(project: Project) -> None:
    planned = project.planned("--config", "run={analyses: [accuracy, responses]}")
    assert planned == {"responses_page": 1, "accuracy_report": 1}


def test_a_moved_checkout_reruns_nothing(project: Project, tmp_path: Path) -> None:
    moved = copy(project)
    moved.folder = tmp_path / "elsewhere"
    shutil.copytree(project.folder, moved.folder, symlinks=True)
    assert moved.planned() == {}


def test_a_renamed_study_generates_nothing(project: Project) -> None:
    """Of one benchmark; another temperature has to ask the model."""
    files = [f"{folder}/tiny-1m/percentages" for folder in ("generations", "labels/math-verify")]
    output = project.run(f"results/renamed/{files[1]}.parquet", "--config", "study=renamed")
    assert "3 files of responses are copied from other studies" in output
    for name in files:
        old, new = (project.folder / "results" / study / f"{name}.parquet" for study in ("tiny", "renamed"))
        assert old.read_bytes() == new.read_bytes()
        log = (project.folder / "logs" / "renamed" / f"{name}.log").read_text()
        assert f"reused from results/tiny/{name}.parquet" in log
        assert was_reused(project.folder / "logs" / "renamed" / f"{name}.log")
        assert "to generate" not in log


def test_typo_in_the_config_is_refused_before_the_first_rule(project: Project) -> None:
    process = project.start("--dry-run", "--config", "estimation={tress: 30}")
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    assert re.search(
        r"demo/config.yaml.*: estimation: unknown key 'tress'; known keys: default, seed, test_share", output
    )
    assert "Traceback" not in output


def test_killed_while_it_generates_and_resumed(project: Project) -> None:
    """Snakemake and its jobs die with SIGKILL once a job has begun; the next run completes with the same result.

    tests/attack/test_attack_runs.py has the other stages.
    """
    name = "generations/tiny-1m/one-digit-addition"
    output, log = results(project) / f"{name}.parquet", project.folder / "logs" / "tiny" / f"{name}.log"
    target = str(output.relative_to(project.folder))
    before = pl.read_parquet(output)
    output.unlink()
    log.unlink()
    project.kill_when(log.exists, target)
    assert not output.exists()
    project.run("--unlock")
    assert project.planned(target)
    project.run(target)
    assert pl.read_parquet(output).drop("run", strict=False).equals(before.drop("run", strict=False))
    assert project.planned().keys() <= {
        "observation",
        "accuracy_domains",
        "accuracy_validation",
        *ESTIMATED,
        *AFTER_SWEEP,
        "feature",
        "label",
    }


def test_after_all_that_a_run_leaves_nothing_to_do(project: Project) -> None:
    tables = sorted((results(project) / "math-verify" / "tables").iterdir())
    before = [table.read_bytes() for table in tables]
    project.run()
    assert project.planned() == {}
    assert [table.read_bytes() for table in tables] == before
    assert not list(project.folder.glob("results/**/*.parts"))
