"""Dry runs of Snakemake with neither network nor an engine, and what they take."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

# Python reads this file at its start: an import of what planning must not need fails, and so does a connection.
BLOCKED = """
import socket, sys

for name in ("vllm", "torch", "transformers", "datasets", "litellm"):
    sys.modules[name] = None


def refuse(*arguments):
    raise OSError("planning must not use the network")


socket.socket.connect = socket.getaddrinfo = refuse
"""


@dataclass(frozen=True)
class DryRun:
    """What a dry run printed and took."""

    output: str
    wall_s: float
    cpu_s: float
    peak_mib: int


def dry_run(folder: Path, *arguments: str) -> DryRun:
    """Plan the workflow in `folder` in a process of its own."""
    block = folder / ".blocked"
    block.mkdir(exist_ok=True)
    (block / "sitecustomize.py").write_text(BLOCKED)
    start = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--dry-run", "--quiet", "rules", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{block}:{folder / 'workflow'}", "CUDA_VISIBLE_DEVICES": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    assert process.returncode == 0, output
    return DryRun(output, time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024)
