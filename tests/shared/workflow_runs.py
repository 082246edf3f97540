"""Runs of Snakemake on a copy of the project, for the tests of the workflow."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from copy import copy
from pathlib import Path

from forked_snakemake import ForkedSnakemake

ROOT = Path(__file__).parents[2]


class Project:
    """A copy of the tracked and new files in `folder`, with a study to run.

    The large files in `examples/` and in examples of papers, which nothing writes to, are links. Bytecode comes along:
    it is that of the copies.
    """

    prepare: Callable[[], None] | None = None  # what is called in the process of each run before it begins

    def __init__(self, folder: Path, configs: list[str], profile: str = "profiles/demo") -> None:
        self.folder, self.configs, self.profile = folder, configs, profile
        listed = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, text=True)
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file() or (ROOT / name).is_symlink():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                if name.startswith("examples/") or "/example/" in name:
                    (folder / name).symlink_to(ROOT / name)
                else:
                    shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
        for bytecode in (ROOT / "workflow").rglob("__pycache__"):
            shutil.copytree(bytecode, folder / bytecode.relative_to(ROOT), dirs_exist_ok=True)

    def over(self, config: str) -> "Project":
        """The same folder, with one more config file over the others."""
        other = copy(self)
        other.configs = [*self.configs, config]
        return other

    @property
    def environment(self) -> dict[str, str]:
        """Of a run. The copy comes before the project that this is a copy of, installed or on PYTHONPATH."""
        path = os.environ.get("PYTHONPATH")
        if path in (None, str(ROOT / "workflow")):
            path = str(self.folder / "workflow")
        return os.environ | {"PYTHONPATH": path, "PYTHONWARNINGS": "default"}

    def arguments(self, *further: str) -> list[str]:
        """What Snakemake is told."""
        return ["--profile", self.profile, *further, "--configfile", *self.configs]

    def start(self, *arguments: str) -> ForkedSnakemake:
        """Snakemake in a process group of its own, its output on a pipe."""
        return ForkedSnakemake(self.arguments(*arguments), self.folder, self.environment, self.prepare)

    def run(self, *arguments: str) -> str:
        """Run to the end and return the output; fails with it where Snakemake fails."""
        process = self.start(*arguments)
        output, _ = process.communicate(timeout=900)
        assert process.returncode == 0, output
        return output

    def planned(self, *arguments: str) -> dict[str, int]:
        """Jobs per rule that a run would execute now."""
        return job_counts(self.run("--dry-run", *arguments))

    def kill_when(self, condition: Callable[[], bool], *arguments: str, timeout_s: float = 300) -> None:
        """Start a run and, once `condition` holds, kill Snakemake and all its jobs with SIGKILL."""
        process = self.start(*arguments)
        try:
            deadline = time.monotonic() + timeout_s
            while not condition():
                assert process.poll() is None, process.stdout.read()
                assert time.monotonic() < deadline, "the condition for the kill never held"
                time.sleep(0.05)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    def edit(self, name: str, old: str, new: str) -> Callable[[], None]:
        """Replace `old` by `new` in a file; returns what undoes it."""
        path = self.folder / name
        before = path.read_text()
        assert old in before, f"{name} has no {old!r}"
        path.write_text(before.replace(old, new))
        return lambda: path.write_text(before) and None


def job_counts(output: str) -> dict[str, int]:
    """Jobs per rule in what a dry run prints."""
    table = re.search(r"^job\s+count\n-+\s+-+\n(.*?)\n\n", output, re.MULTILINE | re.DOTALL)
    if table is None:
        assert "Nothing to be done" in output, output
        return {}
    counts = dict(line.split() for line in table[1].splitlines())
    return {rule: int(count) for rule, count in counts.items() if rule not in ("total", "all")}
