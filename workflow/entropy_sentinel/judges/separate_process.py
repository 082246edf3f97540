"""A judge in a separate process, for computations that cannot be interrupted."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from select import select
from typing import IO, Any

from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.core.extensions import find_roots
from entropy_sentinel.judges.judge_base import JudgeSettings
from entropy_sentinel.judges.judge_interface import DEFAULT_UNANSWERED, Case, Judge, Unanswered, Verdict

_ROOT = Path(__file__).parents[2]
# Time to import a computer algebra system on a busy machine.
_START_LIMIT_S = 300


class SeparateProcess:
    """Runs the judge that `make(*arguments)` returns, one case at a time.

    `make` is a function or class at the top of a module; a function imports what this process need not import. The
    arguments are JSON.

    A case that takes more than `limit_s` seconds is null, and a new process continues with the next case. An alarm
    within the process would wait for the end of the computation, and 9^(9^(9^9)) never ends. Use it as a context
    manager, or `close` it. Raises EntropySentinelError with the process's last error line if it cannot start.
    """

    def __init__(self, make: Callable[..., Judge], *arguments: Any, limit_s: float = 10) -> None:
        self._command = json.dumps([make.__module__, make.__qualname__, arguments])
        self._limit_s = limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self.software: str = self._start()

    def __enter__(self) -> "SeparateProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, in order."""
        return [self._judge(case) for case in cases]

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._errors.close()
            self._process = None

    __del__ = close

    def _start(self) -> str:
        """Start the process, whose first line is the judge's `software`."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (its stderr; goes with the process)
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, self._command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), os.environ.get("PYTHONPATH", "")])},
        )
        try:
            software = self._read_line(_START_LIMIT_S)
        except (TimeoutError, EOFError):
            self._errors.seek(0)
            words = self._errors.read().decode(errors="replace").strip().splitlines()[-1:]
            self.close()
            raise EntropySentinelError(
                f"the process of the judge {self._command} did not start: {' '.join(words)}"
            ) from None
        return str(software)

    @property
    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        """The pipes to and from the process."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        return process.stdin, process.stdout

    def _judge(self, case: Case) -> Verdict:
        """The verdict of the process, which is ended if it takes too long."""
        if self._process is None:
            self._start()
        try:
            to_process, _ = self._pipes
            to_process.write(json.dumps(asdict(case)).encode() + b"\n")
            to_process.flush()
            return Verdict(**self._read_line(self._limit_s))
        except TimeoutError:
            reason = f"comparison took more than {self._limit_s:g} s"
        except (BrokenPipeError, EOFError):
            reason = "the comparison ended its process"
        self.close()
        return Verdict(None, reason=reason)

    def _read_line(self, limit_s: float) -> Any:
        """The process's next whole line. Raises TimeoutError, and EOFError if the process ends."""
        _, replies = self._pipes
        ready, _, _ = select([replies], [], [], limit_s)
        if not ready:
            raise TimeoutError
        if not (line := replies.readline()):
            raise EOFError
        return json.loads(line)


def make(settings: JudgeSettings) -> SeparateProcess:
    """The judge `math-verify` with any tolerance of the benchmark; this process does not need math-verify."""
    no_option, unanswered = settings.get("no_option", "incorrect"), settings.get("unanswered", DEFAULT_UNANSWERED)
    return SeparateProcess(_make_math_verify, settings.get("tolerance"), no_option, unanswered)


def _make_math_verify(tolerance: dict[str, Any] | None, no_option: str, unanswered: Unanswered) -> Judge:
    """Make the judge in its own process, the only one that imports math-verify."""
    from entropy_sentinel.judges.math_verify import MathVerifyJudge

    return MathVerifyJudge(tolerance, no_option, unanswered)


def main(what: str) -> None:
    """Answer every case on standard input; output of libraries goes to standard error.

    `what` is JSON: the module and the name of the function that makes the judge, and its arguments.
    """
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    module, name, arguments = json.loads(what)
    find_roots()  # the folders of extensions can then be imported from
    judge = getattr(import_module(module), name)(*arguments)
    print(json.dumps(judge.software), file=out, flush=True)
    for line in sys.stdin.buffer:
        [verdict] = judge.judge([Case(**json.loads(line))])
        print(json.dumps(asdict(verdict)), file=out, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
