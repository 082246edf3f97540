"""Plants the regressions of planted.yaml one by one in a copy of the project, and runs the tests that must notice each.

    make test-planted                     # all; half an hour
    make test-planted ARGS="sign fold"    # those whose name has one of these words

A regression replaces a text that stands once in the package; where it stands now is looked up, so that a module may
move. Ends with 1 where a regression was not noticed, and where a text is no longer found: then its row needs another.
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
    tests: list[str]  # below tests/


PLANTED = [Planted(**row) for row in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())]


def place_of(planted: Planted, folder: Path) -> Path:
    """The one file of the package with the text that is replaced."""
    files = [path for path in sorted((folder / PACKAGE).rglob("*.py")) if planted.old in path.read_text()]
    if len(files) != 1 or files[0].read_text().count(planted.old) != 1:
        raise LookupError(f"{planted.name}: stands once in the package, was in {len(files)} files: {planted.old!r}")
    return files[0]


def failures(folder: Path, tests: list[str]) -> str:
    """What pytest prints of the first failing test, empty where all pass. Raises RuntimeError where it cannot run."""
    environment = os.environ | {"PYTHONPATH": str(folder / "workflow"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not long"]
    done = subprocess.run([*command, *tests], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) and "error" not in done.stdout:
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout[-3000:] if done.returncode else ""


def main(words: list[str]) -> int:
    chosen = [one for one in PLANTED if not words or any(word in one.name for word in words)]
    unnoticed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Project(Path(scratch), []).folder
        places = [place_of(planted, folder) for planted in chosen]
        if before := failures(folder, sorted({f"tests/{name}" for planted in chosen for name in planted.tests})):
            sys.exit(f"with nothing planted a test fails:\n{before}")
        for planted, place in zip(chosen, places, strict=True):
            text = place.read_text()
            place.write_text(text.replace(planted.old, planted.new))
            noticed = failures(folder, [f"tests/{name}" for name in planted.tests])
            place.write_text(text)
            unnoticed += not noticed
            print(
                "noticed    " if noticed else "NOT NOTICED", f"{planted.name} ({place.relative_to(folder)})", flush=True
            )
    print(f"{len(chosen) - unnoticed} of {len(chosen)} noticed")
    return unnoticed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
