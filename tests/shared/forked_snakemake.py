"""Snakemake as a fork of a process that has imported it: half of the CPU time of a dry run is that import."""

import multiprocessing
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Self

_CHECKOUT = Path(__file__).parents[2]
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["snakemake.cli"])


class ForkedSnakemake:
    """A run of Snakemake in a process group of its own: of `subprocess.Popen`, what tests need.

    Output and errors are on `stdout`. `prepare` is called in the process of the run, before it begins.
    """

    def __init__(
        self, arguments: list[str], folder: Path, env: Mapping[str, str], prepare: Callable[[], None] | None = None
    ) -> None:
        self.args = arguments
        reading, writing = _FORKS.Pipe(duplex=False)
        run = (arguments, folder, dict(env), writing, prepare)
        self._process = _FORKS.Process(target=_run, args=run, daemon=True)
        self._process.start()
        writing.close()
        self.pid: int = self._process.pid
        self.stdout = os.fdopen(os.dup(reading.fileno()), errors="replace")
        reading.close()

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, None]:
        """The output until its end, and None. Raises subprocess.TimeoutExpired."""
        deadline, chunks = time.monotonic() + (timeout or float("inf")), [b""]
        while len(chunks) == 1 or chunks[-1]:
            left = deadline - time.monotonic()
            if not select.select([self.stdout], [], [], max(left, 0) if timeout else None)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0, b"".join(chunks))
            chunks.append(os.read(self.stdout.fileno(), 1 << 16))
        self.stdout.close()
        self._process.join(max(deadline - time.monotonic(), 0) if timeout else None)
        return b"".join(chunks).decode(errors="replace"), None

    def kill(self) -> None:
        self._process.kill()

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.join()
        self.stdout.close()


def _run(arguments: list[str], folder: Path, env: dict[str, str], output: Connection, prepare: Callable | None) -> None:
    os.setsid()
    os.chdir(folder)
    for standard in (1, 2):
        os.dup2(output.fileno(), standard)
    output.close()
    os.environ.clear()
    os.environ.update(env)
    # As a new process would: what the environment says first, and nothing of the checkout that the tests are in.
    elsewhere = [place for place in sys.path if not Path(place).is_relative_to(_CHECKOUT) or "site-packages" in place]
    sys.path[:] = [*env.get("PYTHONPATH", "").split(os.pathsep), *elsewhere]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if prepare:
        prepare()
    from snakemake.cli import main

    main(arguments)
