"""Machine code is kept where it can be, for one user, and a cache that is of no use is as good as none."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PACKAGE = Path(__file__).parents[2] / "workflow"
SOURCE = """
from numba import float64
from entropy_sentinel.estimators.machine_code import compile_cached

@compile_cached(float64(float64))
def times(x):
    return FACTOR * x
"""
ASK = "import json, times; print(json.dumps([times.times(4.0), sum(times.times.stats.cache_hits.values())]))"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source" / "times.py"
    path.parent.mkdir()
    path.write_text(SOURCE.replace("FACTOR", "2.0"))
    return path


def environment(source: Path, **variables: object) -> dict[str, str]:
    """That of a process which finds the source, with a home folder of its own."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    result = {"HOME": source.parents[1] / "home", "PYTHONPATH": f"{source.parent}:{PACKAGE}"} | variables
    return kept | {name: str(value) for name, value in result.items()}


def ask(source: Path, **variables: object) -> tuple[float, int]:
    """times(4.0) from a new process, and how many functions it has found in a cache."""
    command = [sys.executable, "-W", "error", "-c", ASK]
    done = subprocess.run(command, env=environment(source, **variables), capture_output=True, text=True, check=True)
    return tuple(json.loads(done.stdout))


def machine_code(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.nbc"))


def test_the_second_process_finds_it_in_the_home_folder(source: Path, tmp_path: Path) -> None:
    assert ask(source) == (8.0, 0)
    [kept] = machine_code(tmp_path)
    assert kept.is_relative_to(tmp_path / "home" / ".cache" / "entropy-sentinel")
    assert ask(source) == (8.0, 1)


@pytest.mark.long
@pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "NUMBA_CACHE_DIR"])
def test_the_environment_names_another_folder(source: Path, tmp_path: Path, variable: str) -> None:
    assert ask(source, **{variable: tmp_path / "elsewhere"}) == (8.0, 0)
    [kept] = machine_code(tmp_path)
    assert kept.is_relative_to(tmp_path / "elsewhere")
    assert ask(source, **{variable: tmp_path / "elsewhere"}) == (8.0, 1)


@pytest.mark.long
def test_a_copy_of_the_file_elsewhere_finds_it(source: Path, tmp_path: Path) -> None:
    ask(source)
    (tmp_path / "copy").mkdir()
    assert ask(source.rename(tmp_path / "copy" / "times.py")) == (8.0, 1)


def test_an_edit_is_compiled_again(source: Path) -> None:
    ask(source)
    source.write_text(SOURCE.replace("FACTOR", "3.0"))
    assert ask(source) == (12.0, 0)


@pytest.mark.long
def test_where_nothing_can_be_written_it_is_compiled_for_the_process(source: Path, tmp_path: Path) -> None:
    """The home is no folder, and beside the source a file stands in the cache's place: root is kept out too."""
    (source.parent / "__pycache__").write_bytes(b"")
    assert ask(source, HOME="/dev/null") == (8.0, 0)
    assert ask(source, HOME="/dev/null", NUMBA_CACHE_DIR="/dev/null/x") == (8.0, 0)
    assert not machine_code(tmp_path)


# Asks after each of the damages to a file, in one process: a module that is loaded anew reads its cache anew.
ASK_AFTER_DAMAGE = """
import importlib, json, pathlib, sys, times
answers = [[times.times(4.0), sum(times.times.stats.cache_hits.values())]]
for name in sys.argv[1:]:
    kept = pathlib.Path(name)
    for content in (b"", b"\\x80", kept.read_bytes()[: kept.stat().st_size // 2]):
        kept.write_bytes(content)
        module = importlib.reload(times)
        answers.append([module.times(4.0), sum(module.times.stats.cache_hits.values())])
print(json.dumps(answers))
"""


def test_a_damaged_file_is_compiled_again(source: Path, tmp_path: Path) -> None:
    ask(source)
    damaged = [kept for kind in ("*.nbc", "*.nbi") for kept in (tmp_path / "home").rglob(kind)]
    assert len(damaged) == 2
    command = [sys.executable, "-W", "error", "-c", ASK_AFTER_DAMAGE, *damaged]
    done = subprocess.run(command, env=environment(source), capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [[8.0, 1]] + [[8.0, 0]] * 6


@pytest.mark.long
def test_four_processes_at_once_compile_or_find_the_same(source: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", ASK]
    processes = [
        subprocess.Popen(command, env=environment(source), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for process in processes:
        message, errors = process.communicate()
        assert not process.returncode, errors
        assert json.loads(message)[0] == 8.0
    assert len(machine_code(tmp_path)) == 1
    assert ask(source) == (8.0, 1)


@pytest.mark.long
@pytest.mark.nightly
def test_the_package_itself_fits_without_a_cache(tmp_path: Path) -> None:
    """A read-only installation and a user without a home: the same estimates as here."""
    import shutil

    package = tmp_path / "entropy_sentinel"
    shutil.copytree(PACKAGE / "entropy_sentinel", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "estimators" / "__pycache__").write_bytes(b"")
    code = (
        "from rows import SETTINGS, rows\nfrom entropy_sentinel.estimators.training_rows import TrainingRows\n"
        "fitted = [TrainingRows(*rows(), SETTINGS).fit(f'{kind}-3d-balanced-isotonic') for kind in ('forest', 'mlp')]\n"
        "print([one.accuracy(rows(50, seed=1)[0]) for one in fitted])"
    )
    shared = Path(__file__).parents[1] / "shared"
    message = []
    for folder, home in ((tmp_path, "/dev/null"), (PACKAGE, os.environ.get("HOME", ""))):
        variables = os.environ | {"PYTHONPATH": f"{folder}:{shared}", "HOME": home, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True)
        message.append(done.stdout)
    assert message[0] == message[1] != ""
