"""Plants the regressions of planted.yaml one by one in a copy of the project, and runs the tests that must notice each.

    make test-planted                     # all; half an hour
    make test-planted ARGS="sign fold"    # those whose name has one of these words

A regression replaces a text that occurs once in the package, in whichever module. Exits with 1 if a regression was not
noticed, or if its text no longer occurs: then its row in planted.yaml needs another text.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import yaml
from workflow_runs import Project

PACKAGE = Path("workflow", "entropy_sentinel")


class Planted(NamedTuple):
    name: str
    old: str
    new: str
    tests: list[str]  # below tests/, or of a paper: papers/NAME/tests/...


PLANTED = [Planted(**row) for row in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())]


def place_of(planted: Planted, folder: Path) -> Path:
    """The one file of the package, or of the papers, with the text that is replaced."""
    found = sorted([*(folder / PACKAGE).rglob("*.py"), *(folder / "papers").rglob("*.py")])
    code = [path for path in found if "tests" not in path.relative_to(folder).parts]
    files = [path for path in code if planted.old in path.read_text()]
    if len(files) != 1 or files[0].read_text().count(planted.old) != 1:
        raise LookupError(
            f"{planted.name}: must occur once in the package, occurs in {len(files)} files: {planted.old!r}"
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


def main(words: list[str]) -> int:
    chosen = [planted for planted in PLANTED if not words or any(word in planted.name for word in words)]
    noticed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Project(Path(scratch), []).folder
        places = [place_of(planted, folder) for planted in chosen]
        if before := failures(folder, sorted({_path(name) for planted in chosen for name in planted.tests})):
            sys.exit(f"with nothing planted a test fails:\n{before}")
        for planted, place in zip(chosen, places, strict=True):
            text = place.read_text()
            place.write_text(text.replace(planted.old, planted.new))
            result = outcome(folder, [_path(name) for name in planted.tests])
            place.write_text(text)
            noticed += result == "noticed"
            print(f"{result:11} {planted.name} ({place.relative_to(folder)})", flush=True)
    print(f"{noticed} of {len(chosen)} noticed")
    return len(chosen) - noticed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
