"""Programs that run in a process of their own with an extension, because a process reads its declarations once."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def extension(folder: Path, init: str, **modules: str) -> Path:
    """Write the folder of an extension: `__init__.py` and further modules by name."""
    folder.mkdir()
    for name, text in {"__init__": init, **modules}.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def printed(folder: Path, code: str, *extensions: Path) -> Any:
    """Return what a program in `folder`, with these extensions, prints as JSON."""
    found = ran(folder, code, *extensions)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def ran(folder: Path, code: str, *extensions: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in `folder` with these extensions; warnings are errors, as in the tests."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "ENTROPY_SENTINEL_EXTENSIONS": os.pathsep.join(map(str, extensions)),
    }
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
