"""`progress` and `plan` know the files of a study, and those to be made, as Snakemake itself plans them."""

import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from workflow_runs import Project

from entropy_sentinel.study.config.config_loading import Config, load_config, read_config
from entropy_sentinel.study.planning.file_plan import plan_files

pytestmark = pytest.mark.slow

Graph = dict[str, set[str]]  # of every file that is made, those that it is made from, in the order of the plan

STAGES = ("benchmarks", "generations", "labels", "features", "observations", "estimates", "scores")
BENCHMARKS = ["gsm8k", "math", "olympiadbench"]
STUDIES: dict[str, dict[str, Any]] = {
    "one judge": {"run": {"models": ["qwen3-4b", "qwen3-8b"], "judges": ["math-verify"]}},
    "two judges": {
        "run": {"models": ["qwen3-4b"], "judges": ["math-verify", "other"], "analyses": ["accuracy", "agreement"]},
        "judges": {"other": {"kind": "exact"}},
        "analyses": {"accuracy": {"judges": ["math-verify"]}},
    },
}


def started(folder: Path, study: Mapping[str, Any]) -> tuple[Project, Config]:
    """A copy of the project, with a study of which nothing is made, as the working directory."""
    project = Project(folder, ["study.yaml"], "profiles/default")
    text = {"study": "mine"} | study | {"run": {"benchmarks": BENCHMARKS} | study["run"]}
    (folder / "study.yaml").write_text(yaml.safe_dump(text))
    os.chdir(folder)
    return project, load_config(read_config(["config.yaml", "study.yaml"]))


def planned(project: Project) -> Graph:
    """What a run would make now, by what Snakemake says of each job."""
    graph: Graph = {}
    inputs: set[str] = set()
    for line in map(str.strip, project.run("--dry-run", "--cores", "1").splitlines()):
        if re.match(r"(local)?rule \S+:", line):
            inputs = set()
        elif line.startswith("input: "):
            inputs = set(line.removeprefix("input: ").split(", "))
        elif line.startswith("output: "):
            graph |= dict.fromkeys(line.removeprefix("output: ").split(", "), inputs)
    return graph


def origins(graph: Mapping[str, set[str]]) -> Graph:
    """Of every file all that it is made from, by whatever steps."""
    result: Graph = {}

    def of(path: str) -> set[str]:
        if path not in result:
            result[path] = set().union(*({source} | of(source) for source in graph.get(path, ())))
        return result[path]

    for path in graph:
        of(path)
    return result


def known(config: Config) -> Graph:
    return {str(path): set(map(str, sources)) for path, sources in plan_files(config).inputs.items()}


@pytest.mark.parametrize("name", STUDIES)
def test_files_and_their_inputs_match_snakemake(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    project, config = started(tmp_path, STUDIES[name])
    ours, theirs = known(config), planned(project)
    assert set(ours) == {path for path in theirs if path.split("/")[2] in STAGES and path.endswith(".parquet")} | {
        path for path in theirs if path.endswith(("math-verify/sweep.parquet", "math-verify/report.html"))
    }
    expected = origins(theirs)
    assert {path: result for path, result in origins(ours).items() if path in ours} == {
        path: expected[path] & set(ours) for path in ours
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Config]:
    """A study of which all is made, by files that hold what `progress` looks for."""
    back = Path.cwd()
    project, config = started(tmp_path_factory.mktemp("made"), STUDIES["one judge"])
    graph = planned(project)
    pairs = [(model, group) for model in config.run.models for group in plan_files(config).axes["group_id"]]
    held = {"observations": pl.DataFrame({"benchmark": BENCHMARKS})}
    held["math-verify"] = pl.DataFrame(pairs, schema=["model", "group"], orient="row")
    start = time.time() - 10_000
    of = origins(graph)
    for place, path in enumerate(sorted(graph, key=lambda path: len(of[path]))):
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".parquet":
            held.get(path.split("/")[2], pl.DataFrame({"item_id": ["x"]})).write_parquet(file)
        else:
            file.write_text("made")
        os.utime(file, (start + place, start + place))
    os.chdir(back)
    return project, config


CHANGES: dict[str, tuple[list[str], list[str]]] = {
    "a deleted file that nothing waits for": (["features/qwen3-4b/gsm8k.parquet"], []),
    "a deleted report and its items": (["math-verify/report.html", "benchmarks/gsm8k.parquet"], []),
    "newer items": ([], ["benchmarks/math.parquet"]),
    "a newer file past a deleted one": (["features/qwen3-4b/gsm8k.parquet"], ["generations/qwen3-4b/gsm8k.parquet"]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_missing_files_match_snakemake(
    name: str, made: tuple[Project, Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    project, config = made
    monkeypatch.chdir(project.folder)
    deleted, newer = ([Path("results/mine", file) for file in files] for files in CHANGES[name])
    before = {path: (path.read_bytes(), path.stat().st_mtime) for path in [*deleted, *newer]}
    try:
        for path in deleted:
            path.unlink()
        for path in newer:
            os.utime(path)
        files = plan_files(config)
        expected = {path for path in planned(project) if Path(path) in files.inputs}
        assert {str(path) for path in files.to_make} == expected
        assert bool(expected) == (name != "a deleted file that nothing waits for")
    finally:
        for path, (content, at) in before.items():
            path.write_bytes(content)
            os.utime(path, (at, at))
