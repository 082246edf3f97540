"""The package on its own: a wheel is built, installed into an empty environment and used there, without the workflow.

The environment sees the packages of this one, so that nothing is downloaded. What the package must not need is blocked.
"""

import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path

import polars as pl
import pytest
from documented import DOCUMENTS, GUIDE, blocks, has_placeholder, make_folder, named_commands, shown_commands
from extras import BLOCKED, block_packages
from forked_commands import fork_server, put_on_path

from entropy_sentinel.cli.main import COMMANDS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "workflow" / "entropy_sentinel"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

NOTEBOOK = """
import entropy_sentinel as es
example = es.example()
features = es.read_features(example.traces)
estimator = es.fit(features, es.read_labels(example.labels), estimator="logistic-10d-balanced-isotonic")
print(es.estimate(estimator, features).height)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of a copy of the tree: building in the tree would leave files there, and take up old ones."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    shutil.copytree(PACKAGE, tree / "workflow" / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", tree, tree]
    subprocess.run(command, check=True)
    (built,) = tree.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def wheel_of_papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The further papers' wheel, likewise."""
    tree = tmp_path_factory.mktemp("papers")
    shutil.copytree(ROOT / "papers", tree, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "example"))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", tree, tree]
    subprocess.run(command, check=True)
    (built,) = tree.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, wheel_of_papers: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of an environment with both wheels, beside the packages of this one."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    (site,) = folder.glob("lib/python*/site-packages")
    # A folder named here is looked through after the environment's own, and its .pth files are not followed.
    (site / "others.pth").write_text(sysconfig.get_paths()["purelib"])
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*command, wheel, wheel_of_papers], check=True)
    return python.parent


@pytest.fixture(scope="module")
def commands(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PATH with the environment's commands as forks; what the process has imported is not of `BLOCKED` either."""
    folder = tmp_path_factory.mktemp("commands")
    with fork_server(environment / "python", variables(environment, folder)) as address:
        yield put_on_path(folder, address)


def run(environment: Path, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the environment in `folder`, where nothing of `BLOCKED` can be imported."""
    return subprocess.run(
        [environment / command[0], *command[1:]],
        cwd=folder,
        env=variables(environment, folder),
        capture_output=True,
        text=True,
    )


def run_line(commands: str, folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """The same with a line, or several, as a person pastes them into a shell."""
    given = {"cwd": folder, "env": variables(Path(), folder) | {"PATH": commands}, "stdin": subprocess.DEVNULL}
    return subprocess.run(["bash", "-e", "-c", line], **given, capture_output=True, text=True)


# The key of the judge of the paper's study, which `check` looks for.
KEYS = {"XAI_API_KEY": "of-the-tests"}


def variables(environment: Path, folder: Path) -> dict[str, str]:
    blocked = folder / "blocked"
    block_packages(blocked, BLOCKED)
    return {"PATH": f"{environment}:{os.environ['PATH']}", "PYTHONPATH": str(blocked), "HOME": str(folder)} | KEYS


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    tree = {f"{PACKAGE.name}/{path.relative_to(PACKAGE).as_posix()}" for path in PACKAGE.rglob("*") if path.is_file()}
    tree = {name for name in tree if "__pycache__" not in name}
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in packed if ".dist-info/" not in name} == tree
    assert any(name.endswith(".j2") for name in tree)
    assert f"{PACKAGE.name}/py.typed" in packed
    assert wheel.stat().st_size < 2_500_000, "the example of real traces is the largest part: fewer ITEMS or BENCHMARKS"
    assert any(name.endswith("LICENSE") for name in packed)


def test_the_wheel_of_the_papers_holds_what_their_rules_need(wheel_of_papers: Path) -> None:
    packed = set(zipfile.ZipFile(wheel_of_papers).namelist())
    papers = ROOT / "papers"
    files = [path for kind in ("py", "smk", "j2", "csv") for path in papers.rglob(f"*.{kind}")]
    inside = [path.relative_to(papers) for path in files]
    needed = {f"papers/{path}" for path in inside if not {"tests", "example"} & {*path.parts}}
    assert needed - packed <= {"papers/setup.py"}
    assert not any("/tests/" in name or "/example/" in name for name in packed)


def test_what_a_package_index_shows_has_no_link_that_leads_nowhere(wheel: Path) -> None:
    (name,) = (name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("/METADATA"))
    about = message_from_bytes(zipfile.ZipFile(wheel).read(name))
    assert about["Description-Content-Type"] == "text/markdown"
    shown = about.get_payload()
    assert "estimates how accurate your language model is" in shown
    assert re.findall(r"\]\((?!https://|#)", shown) == []
    assert about["Author"] == "The Entropy Sentinel authors"
    assert about["Keywords"]
    assert "Typing :: Typed" in about.get_all("Classifier")


@pytest.mark.parametrize(
    ("repository", "link", "picture"),
    [
        (None, "see how well ([web](https://x.org), [part](#part))", ""),
        (
            "https://code.example/es",
            "see [how well](https://code.example/es/blob/HEAD/docs/a.md#b) ([web](https://x.org), [part](#part))",
            "![Alt](https://code.example/es/raw/HEAD/docs/f.png)",
        ),
    ],
)
def test_links_of_readme_lead_to_the_repository_or_are_text(repository: str | None, link: str, picture: str) -> None:
    elsewhere = runpy.run_path(str(ROOT / "setup.py"))["readme_elsewhere"]
    assert elsewhere("see [how well](docs/a.md#b) ([web](https://x.org), [part](#part))", repository) == link
    assert elsewhere("![Alt](docs/f.png)", repository) == picture


def test_a_study_in_a_clone_finds_the_papers_beside_its_config(wheel: Path, tmp_path: Path) -> None:
    """The package alone is installed, as by `pip install .`."""
    site = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", site, wheel]
    subprocess.run(command, check=True)
    clone = tmp_path / "clone"
    clone.mkdir()
    shutil.copy(ROOT / "config.yaml", clone)
    (clone / "papers").symlink_to(ROOT / "papers")
    environment = os.environ | {"PYTHONPATH": str(site)}
    command = [sys.executable, "-m", "entropy_sentinel", "plan"]
    done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_it_is_the_wheel_that_is_imported(environment: Path, tmp_path: Path) -> None:
    done = run(environment, tmp_path, "python", "-c", "import entropy_sentinel; print(entropy_sentinel.__file__)")
    assert Path(done.stdout.strip()).is_relative_to(environment.parent), done.stderr


def test_every_subcommand_has_help_without_the_extras(commands: str, tmp_path: Path) -> None:
    for subcommand in ((), *((name,) for name in COMMANDS), ("audit", "report")):
        helped = run_line(commands, tmp_path, " ".join(["entropy-sentinel", *subcommand, "--help"]))
        assert (helped.returncode, helped.stderr) == (0, ""), subcommand
        assert " ".join(["Usage: entropy-sentinel", *subcommand]) in helped.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the documented commands name."""
    made = tmp_path_factory.mktemp("documented")
    make_folder(made)
    return made


# What a command may end with: 3 says that some records could not be used, 4 is an alert.
ENDINGS = (0, 3, 4)


@pytest.mark.long
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_documented_command_runs_without_the_extras(commands: str, folder: Path, document: Path) -> None:
    """Those of blocks, and those that are named in sentences, as they stand there.

    Placeholders cannot be run, nor `serve`, which is an extra's, nor what waits for keys: their options must exist.
    """
    fitted = None  # what `mine.estimator` is at the moment
    for command in [*shown_commands(document), *named_commands(document)]:
        command = command.partition(" #")[0].replace("--watch 60", "").strip()
        subcommand = command.split()[1]
        if has_placeholder(command) or subcommand == "serve" or command in ASKING:
            helped = run_line(commands, folder, f"entropy-sentinel {subcommand} --help")
            for option in re.findall(r"--[a-z-]+", command):
                assert option in helped.stdout, command
            continue
        if "mine.estimator" in command and subcommand != "fit":
            fit = next(line for name, line in FITS.items() if name in command)
            if fit != fitted:
                done = run_line(commands, folder, fit)
                assert done.returncode == 0, done.stderr
                fitted = fit
        (folder / "state").unlink(missing_ok=True)  # a state is of one estimator
        if subcommand == "fit":
            fitted = None
        if subcommand == "init":  # it writes over no study
            (folder / "my.yaml").rename(folder / "aside.yaml")
        done = run_line(commands, folder, command)
        if subcommand == "init":
            (folder / "aside.yaml").replace(folder / "my.yaml")
        assert done.returncode in ENDINGS, f"{command}\n{done.stdout}{done.stderr}"
        assert "blocked" not in done.stderr


# What reads keys from a terminal, what compares the answers that were given there, and what asks a language model.
ASKING = ("entropy-sentinel audit", "entropy-sentinel audit report", "entropy-sentinel judge")
# By what a command reads, `mine.estimator` is fitted anew: for a study's traces, the log of the real model, other logs.
FITS = {
    "generations": "entropy-sentinel fit results/demo/generations/tiny-1m -l results/demo/labels -o mine.estimator",
    "app/logs": "entropy-sentinel fit app/logs/week-1.parquet -l app/labels.csv --domain metadata.route "
    "-o mine.estimator",
    "": "entropy-sentinel fit week-1.jsonl.gz --labels labels.csv --domain metadata.route -o mine.estimator",
}


def test_there_are_documented_commands() -> None:
    """The search finds what it should: nothing is checked where it finds nothing."""
    shown = {line.split()[1] for document in DOCUMENTS for line in shown_commands(document)}
    assert {"init", "fit", "estimate", "score", "monitor", "sample", "features"} <= shown
    assert all("entropy-sentinel" in block for block in blocks(GUIDE, "sh"))
    named = {line.split()[1] for document in DOCUMENTS for line in named_commands(document)}
    assert {"show", "audit", "plan", "progress"} <= named
    assert [has_placeholder(one) for one in ("show MODEL [ITEM]", "fit a.jsonl -l labels.csv")] == [True, False]


def test_a_judge_is_audited_and_responses_are_shown_without_the_extras(commands: str, folder: Path) -> None:
    def does(command: str) -> None:
        done = run_line(commands, folder, f"entropy-sentinel {command} -c my.yaml")
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert "blocked" not in done.stderr

    does("audit --size 10 --html audit.html")
    does("show tiny-1m averages averages-00000")
    drawn = pl.read_parquet(folder / "audits/mine/math-verify/sample.parquet")
    answers = drawn.select("model", "benchmark", "item_id", "sample", label=pl.lit("correct"))
    assert len(answers) == 10
    answers.write_csv(folder / "answers.csv")
    does("audit --answers answers.csv")
    does("audit report")


def test_the_documented_python_runs_without_the_extras(commands: str, folder: Path) -> None:
    scripts = [block for document in DOCUMENTS for block in blocks(document, "python")]
    assert len(scripts) > 0
    for block in scripts:
        (folder / "block.py").write_text(block)
        done = run_line(commands, folder, "python block.py")
        assert (done.returncode, done.stderr) == (0, ""), block


def test_windows_is_refused_with_the_reason(environment: Path, tmp_path: Path) -> None:
    code = "import sys; sys.platform = 'win32'; import entropy_sentinel"
    done = run(environment, tmp_path, "python", "-c", code)
    assert done.returncode == 1
    assert "ImportError: Entropy Sentinel runs on Linux and macOS" in done.stderr


def test_a_notebook_works_without_the_extras(environment: Path, tmp_path: Path) -> None:
    done = run(environment, tmp_path, "python", "-c", NOTEBOOK)
    assert (done.returncode, done.stdout) == (0, "5\n"), done.stderr


def test_blocked_packages_are_blocked(environment: Path, tmp_path: Path) -> None:
    for name in ("pandas", "litellm"):
        assert f"{name} is blocked" in run(environment, tmp_path, "python", "-c", f"import {name}").stderr


def names(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}


def test_the_base_is_light_and_has_lower_bounds_only() -> None:
    assert names(PROJECT["dependencies"]) == {
        *("polars", "numpy", "scipy", "scikit-learn", "threadpoolctl", "pydantic", "PyYAML"),
        *("typer", "rich", "pyarrow", "Jinja2", "latex2mathml", "prometheus_client", "orjson"),
    }
    extras = [requirement for extra in PROJECT["optional-dependencies"].values() for requirement in extra]
    for requirement in [*PROJECT["dependencies"], *extras]:
        bound = requirement.partition(";")[0]
        assert bound.startswith("entropy-sentinel[") or re.fullmatch(r"[\w.-]+(\[\w+\])?>=[\d.]+", bound)


def test_pinned_versions_are_within_the_bounds() -> None:
    from packaging.requirements import Requirement

    pinned = dict(re.findall(r"^([\w.-]+)(?:\[\w+\])?==([\w.]+)$", (ROOT / "envs" / "gpu.txt").read_text(), re.M))
    extras = [requirement for extra in PROJECT["optional-dependencies"].values() for requirement in extra]
    wanted = [Requirement(text) for text in [*PROJECT["dependencies"], *extras]]
    checked = [requirement.name for requirement in wanted if requirement.name in pinned]
    assert len(checked) > 15
    for requirement in wanted:
        if requirement.name in pinned:
            assert requirement.specifier.contains(pinned[requirement.name]), requirement
