"""A process that makes records, for a process that was forked: Polars' threads do not survive a fork.

    python -m entropy_sentinel.capture.record_process

reads pickled functions from standard input, and writes what they return, or their error's name, to standard output.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any


class HelperProcess:
    """Calls functions in a process of its own, which starts with the first call and ends with this process."""

    def __init__(self) -> None:
        """Prepare, without starting the process."""
        self._process: subprocess.Popen[bytes] | None = None

    def call(self, function: Callable[[], Any]) -> Any:
        """Call a function, which can be pickled, in the process, and return its result.

        Raises RuntimeError if the function or the process fails.
        """
        if self._process is None or self._process.poll() is not None:
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
            )
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None  # both are pipes
        assert answers is not None
        try:
            pickle.dump(function, requests)
            requests.flush()
            is_done, result = pickle.load(answers)  # else `result` is the name of an error
        except (OSError, EOFError) as error:
            self._process.kill()
            raise RuntimeError(f"the process for features ended: {error}") from None
        if not is_done:
            raise RuntimeError(result)
        return result


def main() -> None:
    """Call each function from standard input; answer (True, result), or (False, name of the error)."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not be among the answers
    while True:
        try:
            function = pickle.load(requests)
        except EOFError:
            return
        try:
            answer = (True, function())
        except Exception as error:
            answer = (False, type(error).__name__)
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    main()
