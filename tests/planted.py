"""Plants the regressions of planted/ one by one in copies of the project, and runs the tests that must notice each.

    make test-planted                       # all
    make test-planted ARGS="sign monitor"   # those whose name or file has one of these words

planted/ has a file for each room. A regression replaces a text that occurs once in the package, in whichever module.
Exits with 1 if a regression was not noticed. A test sees that each text occurs once.
"""

import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest
import yaml
from workflow_runs import ROOT, Project

PACKAGE = Path("workflow", "entropy_sentinel")
# What tests import besides the project.
LIBRARIES = [
    "numpy",
    "polars",
    "pandas",
    "pyarrow.parquet",
    "pydantic",
    "sklearn.ensemble",
    "scipy.stats",
    "typer",
    "rich",
]
# After which a regression's tests are ended, in seconds: a regression may loop.
LONGEST_S = 900
OWN = tuple(str(ROOT / name) for name in ("workflow", "tests", "papers", "demo", "docs", "examples"))


class Planted(NamedTuple):
    room: str
    name: str
    old: str
    new: str
    tests: list[str]  # below tests/, or of a paper: papers/NAME/tests/...


PLANTED = [
    Planted(file.stem, **row)
    for file in sorted(Path(__file__).with_suffix("").glob("*.yaml"))
    for row in yaml.safe_load(file.read_text())
]


def code_of(folder: Path) -> dict[Path, str]:
    """The text of each module of the package and of the papers."""
    found = sorted([*(folder / PACKAGE).rglob("*.py"), *(folder / "papers").rglob("*.py")])
    return {path: path.read_text() for path in found if "tests" not in path.relative_to(folder).parts}


def place_of(planted: Planted, code: dict[Path, str]) -> Path:
    """The one file with the text that is replaced."""
    files = [path for path, text in code.items() if planted.old in text]
    if len(files) != 1 or code[files[0]].count(planted.old) != 1:
        raise LookupError(
            f"{planted.room}.yaml: {planted.name}: must occur once in the package, "
            f"occurs in {len(files)} files: {planted.old!r}"
        )
    return files[0]


def _path(name: str) -> str:
    return name if name.startswith("papers/") else f"tests/{name}"


def failures(folder: Path, tests: list[str]) -> str:
    """Return the end of pytest's output if a test fails, else nothing. Raises RuntimeError if pytest cannot run.

    Pytest runs in a fork of this process, in which libraries are imported already, and the project is not.
    """
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if not child:
            _run_pytest(folder, tests, output.fileno())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        text = output.read().decode(errors="replace")
    if code not in (0, 1) and "error" not in text:
        raise RuntimeError(f"pytest exited with {code}:\n{text[-3000:]}")
    return text[-3000:] if code else ""


def _run_pytest(folder: Path, tests: list[str], output: int) -> NoReturn:
    code = 3
    try:
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(folder)
        os.environ |= {"PYTHONPATH": str(folder / "workflow"), "PYTHONDONTWRITEBYTECODE": "1"}
        sys.dont_write_bytecode = True
        for name, module in list(sys.modules.items()):
            if name != "__main__" and str(getattr(module, "__file__", None)).startswith(OWN):
                del sys.modules[name]
        sys.path[:] = [str(folder / "workflow"), *(path for path in sys.path if not path.startswith(OWN))]
        signal.alarm(LONGEST_S)
        code = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-m", "not long", *tests])
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def outcome(folder: Path, planted: Planted) -> str:
    """Plant one regression in a copy of the project, and return whether its tests notice it."""
    code = code_of(folder)
    place = place_of(planted, code)
    place.write_text(code[place].replace(planted.old, planted.new))
    try:
        result = "noticed" if failures(folder, [_path(name) for name in planted.tests]) else "NOT NOTICED"
    except RuntimeError as error:
        print(error)
        result = "NOT RUN"
    place.write_text(code[place])
    print(f"{result:11} {planted.name} ({place.relative_to(folder)})", flush=True)
    return result


def in_free_copy(planted: Planted) -> str:
    """The outcome in this process's own copy of the project."""
    copy = Path(os.environ["PLANTED_COPIES"], multiprocessing.current_process().name)
    return outcome(copy if copy.exists() else new_copy(copy), planted)


def new_copy(folder: Path) -> Path:
    """Copy the project to a folder, as a repository: some tests copy what it tracks."""
    Project(folder, [])
    for command in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def main(words: list[str]) -> int:
    chosen = [row for row in PLANTED if not words or any(word in row.name or word == row.room for word in words)]
    for library in LIBRARIES:
        importlib.import_module(library)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["PLANTED_COPIES"] = scratch
        untouched = new_copy(Path(scratch, "untouched"))
        if before := failures(untouched, sorted({_path(name) for planted in chosen for name in planted.tests})):
            sys.exit(f"with nothing planted a test fails:\n{before}")
        with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
            outcomes = pool.map(in_free_copy, chosen, chunksize=1)
    noticed = outcomes.count("noticed")
    print(f"{noticed} of {len(chosen)} noticed")
    return len(chosen) - noticed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
