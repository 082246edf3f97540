"""Plants the regressions of planted/ one by one in copies of the project, and runs the tests that must notice each.

    make test-planted                       # all
    make test-planted ARGS="sign monitor"   # those whose name or file has one of these words

planted/ has a file for each room. A regression replaces a text that occurs once in the package, in whichever module.
Exits with 1 if a regression was not noticed. A test sees that each text occurs once.
"""

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

import yaml
from workflow_runs import Project

PACKAGE = Path("workflow", "entropy_sentinel")
COPIES = os.cpu_count() or 1


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
    """Return the end of pytest's output if a test fails, else nothing. Raises RuntimeError if pytest cannot run."""
    environment = os.environ | {"PYTHONPATH": str(folder / "workflow"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not long"]
    done = subprocess.run([*command, *tests], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) and "error" not in done.stdout:
        raise RuntimeError(f"pytest exited with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout[-3000:] if done.returncode else ""


def outcome(folder: Path, tests: list[str]) -> str:
    """Return whether these tests notice what is planted."""
    try:
        return "noticed" if failures(folder, tests) else "NOT NOTICED"
    except RuntimeError as error:
        print(error)
        return "NOT RUN"


def outcome_of(planted: Planted, folder: Path) -> str:
    """Plant one regression in a copy of the project, and return whether its tests notice it."""
    code = code_of(folder)
    place = place_of(planted, code)
    text = code[place]
    place.write_text(text.replace(planted.old, planted.new))
    result = outcome(folder, [_path(name) for name in planted.tests])
    place.write_text(text)
    print(f"{result:11} {planted.name} ({place.relative_to(folder)})", flush=True)
    return result


def main(words: list[str]) -> int:
    chosen = [row for row in PLANTED if not words or any(word in row.name or word == row.room for word in words)]
    with tempfile.TemporaryDirectory() as scratch:
        folders = [Project(Path(scratch, f"{copy}"), []).folder for copy in range(COPIES)]
        if before := failures(folders[0], sorted({_path(name) for planted in chosen for name in planted.tests})):
            sys.exit(f"with nothing planted a test fails:\n{before}")
        free = SimpleQueue[Path]()
        for folder in folders:
            free.put(folder)

        def planted_in_free_copy(planted: Planted) -> bool:
            folder = free.get()
            try:
                return outcome_of(planted, folder) == "noticed"
            finally:
                free.put(folder)

        with ThreadPoolExecutor(COPIES) as pool:
            noticed = sum(pool.map(planted_in_free_copy, chosen))
    print(f"{noticed} of {len(chosen)} noticed")
    return len(chosen) - noticed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
