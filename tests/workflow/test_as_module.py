"""The workflow as a module, from another folder, for the catalogue of workflows, and in Snakemake's report."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from forked_snakemake import ForkedSnakemake
from snakemake_report import read_results
from workflow_runs import Project, job_counts

ROOT = Path(__file__).parents[2]
STUDY = yaml.safe_load((ROOT / "examples" / "real" / "study.yaml").read_text())
SMALL = {
    **STUDY,
    "study": "small",
    "limit": 25,
    "run": {
        "models": ["qwen2.5-coder-0.5b"],
        "benchmarks": ["svamp", "gsm8k", "math"],
        "judges": ["math-verify"],
        "groups": ["extremes"],
        "sizes": [{"size": 1, "configurations": "default"}],
        "analyses": ["accuracy"],
    },
    "analyses": {"accuracy": {"figures": ["1_accuracies"], "tables": ["2_by_model"]}},
}
OUTER = """
configfile: "study.yaml"


module sentinel:
    snakefile:
        "{snakefile}"
    {prefix}
    config:
        config


use rule * from sentinel as sentinel_*


rule mine:
    default_target: True
    input:
        rules.sentinel_all.input,
    output:
        "mine.txt",
    shell:
        "echo done > {{output}}"
"""


def snakemake(folder: Path, *arguments: str, environment: dict[str, str] | None = None) -> str:
    """What Snakemake prints in a folder; the package is that of the checkout if no environment says otherwise."""
    done = ForkedSnakemake(list(arguments), folder, environment or os.environ | {"PYTHONPATH": str(ROOT / "workflow")})
    output, _ = done.communicate()
    assert done.returncode == 0, output[-3000:]
    return output


def write_outer(folder: Path, prefix: str = "") -> None:
    """Another workflow, in a folder of its own; its config's paths begin there, also with a prefix."""
    (folder / "Snakefile").write_text(OUTER.format(snakefile=ROOT / "Snakefile", prefix=prefix))


@pytest.fixture
def outer(tmp_path: Path) -> Path:
    """The folder of another workflow, with the study's inputs."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(SMALL))
    write_outer(tmp_path)
    return tmp_path


@pytest.mark.long
def test_another_workflow_runs_it_and_has_nothing_to_do_the_second_time(outer: Path) -> None:
    write_outer(outer, 'prefix: "inner"')
    snakemake(outer, "--cores", "2")
    results = outer / "inner" / "results" / "small" / "math-verify"
    assert not (outer / "results").exists()
    assert (outer / "mine.txt").read_text() == "done\n"
    assert (results / "report.html").stat().st_size > 10_000
    assert "Nothing to be done" in snakemake(outer, "--cores", "2")
    # Snakemake's own report has the page, the summary, the table and the figure, with their captions.
    snakemake(outer, "--report", "report.html")
    shown = read_results(outer / "report.html")
    folder = "inner/results/small/math-verify"
    titles = {path.removeprefix(f"{folder}/"): entry["labels"]["Exhibit"] for path, entry in shown.items()}
    errors, accuracies = "Table 2: Errors by model", "Figure 1: Estimated against true accuracy, one model"
    assert titles == {
        "report.html": "How accurate each domain is",
        "summary.txt": "Summary",
        "tables/table_2_by_model.html": errors,
        "tables/table_2_by_model.csv": errors,
        "figures/figure_1_accuracies.png": accuracies,
    }
    caption = shown[f"{folder}/figures/figure_1_accuracies.png"]["caption"]
    assert f"<b>{accuracies}.</b> Benchmarks used for training" in caption
    assert "This analysis shows how accurate each domain is." in shown[f"{folder}/summary.txt"]["caption"]
    assert "Study: small. Judge: math-verify." in caption
    assert "System Message" not in "".join(entry["caption"] for entry in shown.values())


@pytest.mark.slow
def test_it_plans_the_same_jobs_as_by_itself(outer: Path) -> None:
    inner = Project(outer / "inner", [])
    (inner.folder / "study.yaml").write_text(yaml.safe_dump(SMALL))
    planned = snakemake(inner.folder, "-n", "--cores", "2", "--configfile", "study.yaml", environment=inner.environment)
    alone = job_counts(planned)
    expected = {f"sentinel_{name}": count for name, count in alone.items() if name not in ("all", "total")}
    for prefix in ("", 'prefix: "inner"'):
        write_outer(outer, prefix)
        module = job_counts(snakemake(outer, "-n", "--cores", "2"))
        assert {name: count for name, count in module.items() if name not in ("mine", "total")} == expected


@pytest.mark.slow
def test_it_runs_in_another_folder_and_the_catalogue_finds_it(tmp_path: Path) -> None:
    project, elsewhere = Project(tmp_path / "tree", []), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "examples").symlink_to(ROOT / "examples")
    (elsewhere / "study.yaml").write_text(yaml.safe_dump(SMALL))
    study = ["-n", "--cores", "2", "--configfile", "study.yaml"]
    calls = [
        (elsewhere, ["-s", "../tree/Snakefile", *study]),
        (elsewhere, ["-s", "../tree/workflow/Snakefile", *study]),
        (project.folder, ["--directory", str(elsewhere), *study[:-1], str(elsewhere / "study.yaml")]),
    ]
    plans = [job_counts(snakemake(folder, *call, environment=project.environment)) for folder, call in calls]
    assert plans[0] == plans[1] == plans[2] != {}


DEPLOYED = """
configfile: "config/config.yaml"


module entropy_sentinel:
    snakefile:
        "{snakefile}"
    config:
        config


use rule * from entropy_sentinel
"""


@pytest.mark.slow
def test_what_snakedeploy_writes_runs_with_the_flags_of_the_catalogue(tmp_path: Path) -> None:
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    for name in ("config", "profiles"):  # what `snakedeploy deploy-workflow` copies
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "workflow").mkdir()
    snakefile = tmp_path / "workflow" / "Snakefile"
    flags = usage["mandatory-flags"]["flags"].split()
    # It writes the address of the repository, here of one on this machine; the path of a clone must replace it.
    clone = tmp_path / "repository" / "workflow"
    clone.mkdir(parents=True)
    shutil.copy2(ROOT / "workflow" / "Snakefile", clone)
    author = ["-c", "user.name=me", "-c", "user.email=me@example.com"]
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "first"]):
        subprocess.run(["git", *command], cwd=clone.parent, check=True)
    snakefile.write_text(DEPLOYED.format(snakefile=f"git+file://{clone}/Snakefile@HEAD"))
    refused = ForkedSnakemake(["-n", *flags], tmp_path, os.environ)
    output, _ = refused.communicate()
    assert (refused.returncode, "clone the repository, and set `snakefile:`" in output) == (1, True), output
    snakefile.write_text(DEPLOYED.format(snakefile=ROOT / "workflow" / "Snakefile"))
    assert job_counts(snakemake(tmp_path, "-n", "--cores", "2", *flags))["generation"] == 3
