"""The process of an engine: it loads a model and answers the jobs of a run, one at a time (engine_pool.py).

    python -m entropy_sentinel.study.engines.engine_host FOLDER DESCRIPTOR [DESCRIPTOR ...]

FOLDER has the settings and gets the socket. The first descriptor is the lock of the run's folder, the others are those
of the GPUs that it owns.
"""

import json
import logging
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from pathlib import Path
from types import GeneratorType
from typing import Any

from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.core.file_locks import try_lock
from entropy_sentinel.study.engines.engine_pool import LOCK, SETTINGS, SOCKET
from entropy_sentinel.study.engines.engine_processes import record_process, remove_engine
from entropy_sentinel.study.engines.engine_run import EngineRun
from entropy_sentinel.study.engines.gpu_devices import describe_free_memory
from entropy_sentinel.study.engines.process_connections import ForeignProcessError, accept_connection
from entropy_sentinel.study.engines.vllm_engine import VllmEngine

# Seconds between checks that the run continues, and between reports of progress to the job.
WATCH_S, REPORT_S = 1.0, 5.0


class EngineHost:
    """A loaded engine and the socket on which jobs reach it."""

    def __init__(self, folder: Path, run: EngineRun) -> None:
        self.folder, self.run = folder, run
        self._listener = socket.socket(socket.AF_UNIX)
        # Jobs take the socket for ready once it has its name.
        hidden_path = folder / f".{SOCKET}"
        self._listener.bind(str(hidden_path))
        self._listener.listen()
        hidden_path.rename(folder / SOCKET)
        self._send_lock = threading.Lock()
        self.engine: VllmEngine | None = None

    def serve(self, settings: Any, threads: int) -> None:
        """Load the model and answer until no job has arrived for a while."""
        failure = None
        try:
            self.engine = VllmEngine(settings, threads)
        except Exception as error:
            failure = self._describe_loading_error(error, settings["model"])
        while connection := self._next_job():
            if failure:
                _send_failure(connection, failure)
                return
            with suppress(OSError, EOFError):  # the job has ended between two questions
                self._answer(connection)
            connection.close()
            # `_next_job` had sent the output to the log of the job that has ended.
            _redirect_output(os.open(os.devnull, os.O_WRONLY))

    def _describe_loading_error(self, error: Exception, model: str) -> EntropySentinelError:
        """The error for the job: this package's own as it is, else one with the model and the free GPU memory."""
        if isinstance(error, EntropySentinelError):
            return error
        traceback.print_exc()
        text = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        message = f"models.{model}: vLLM cannot load it: {text}; the details are above in this log"
        if memory := describe_free_memory(os.environ):
            # vLLM's own processes fail, and do not pass on that the memory was too small.
            message += f". {memory}. If it does not fit, lower engine_args.max_model_len or use more GPUs"
        return EntropySentinelError(message)

    def _next_job(self) -> Connection | None:
        """The connection of the next job; None if none came for so long that the engine ends."""
        while True:
            self._listener.settimeout(self.run.idle_s or 0.05)
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                if self._lock_if_abandoned():
                    return None
                continue
            with suppress(OSError, EOFError, RuntimeError, ForeignProcessError):
                connection = accept_connection(client, self.run.secret)
                try:
                    _redirect_output(recv_handle(connection))  # to the log of this job
                    return connection
                except BaseException:
                    connection.close()
                    raise

    def _lock_if_abandoned(self) -> bool:
        """Lock the engine unless a job holds it; return whether that worked, after which no job can take it."""
        self._lock = (self.folder / LOCK).open()
        return try_lock(self._lock.fileno(), self.folder / LOCK)

    def _answer(self, connection: Connection) -> None:
        """Answer a job's questions until it has no more."""
        assert self.engine is not None
        while True:
            match connection.recv():
                case name, arguments:  # a method or property of the engine
                    with self._report_progress(connection):
                        self._reply(connection, getattr(self.engine, name), arguments)
                case settings:  # the first message of a job
                    self.engine = self.engine.replace_settings(settings)
                    connection.send(("ready", {"provenance": self.engine.provenance}))

    def _reply(self, connection: Connection, member: Any, arguments: tuple[Any, ...]) -> None:
        """Send a job the answers of a method of the engine, or the value of a property, one by one, and then `done`."""
        try:
            result = member(*arguments) if callable(member) else member
            answers = result if isinstance(result, GeneratorType) else [result]
            for answer in answers:
                self._send(connection, ("answer", answer))
            self._send(connection, "done")
        except EntropySentinelError as error:
            self._send(connection, ("error", error))
        except OSError:
            # The job has died, or has given up its call; the engine still has the requests.
            exit_engine(self.folder)
        except Exception:
            traceback.print_exc()
            exit_engine(self.folder)

    @contextmanager
    def _report_progress(self, connection: Connection) -> Iterator[None]:
        """Report progress to the job during the block; the engine ends if the job has died."""
        answered = threading.Event()

        def report() -> None:
            assert self.engine is not None
            while not answered.wait(REPORT_S):
                try:
                    self._send(connection, ("under way", self.engine.under_way()))
                except OSError:
                    exit_engine(self.folder)

        thread = threading.Thread(target=report, daemon=True)
        thread.start()
        try:
            yield
        finally:
            answered.set()
            thread.join()

    def _send(self, connection: Connection, message: object) -> None:
        with self._send_lock:
            connection.send(message)


def _send_failure(connection: Connection, failure: EntropySentinelError) -> None:
    """Tell a job why the model could not be loaded."""
    with suppress(OSError, EOFError):
        # The job's settings are read first: if they are still on their way when the connection closes, the job fails
        # to send them and never reads the error.
        connection.recv()
        connection.send(("error", failure))


def _redirect_output(descriptor: int) -> None:
    """Send the output of this process and of its children to a file."""
    sys.stdout.flush()
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    os.close(descriptor)


def _exit_after_run(run: EngineRun, folder: Path) -> None:
    """End this process within a second of the end of its run."""
    while run.is_alive:
        time.sleep(WATCH_S)
    exit_engine(folder)


def exit_engine(folder: Path) -> None:
    """End this engine's process and its children, and delete its folder."""
    remove_engine(folder)
    # The whole group: vLLM's own processes have their memory on the GPU.
    os.killpg(0, signal.SIGKILL)


def _close_in_forks(lock: int) -> None:
    """Close a lock in forked children: the next run ends those that outlive this process, and needs the lock."""
    locks = [lock]

    def close() -> None:
        if locks:  # not again in their own children, whose descriptor of this number is another
            os.close(locks.pop())

    os.register_at_fork(after_in_child=close)


def main() -> None:
    """Serve the engine of a folder."""
    folder, run = Path(sys.argv[1]), EngineRun.from_environment()
    run_lock, *device_locks = map(int, sys.argv[2:])
    for lock in (run_lock, *device_locks):
        os.set_inheritable(lock, False)
    _close_in_forks(run_lock)
    record_process(folder)
    threading.Thread(target=_exit_after_run, args=(run, folder), daemon=True).start()
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    stored_settings = json.loads((folder / SETTINGS).read_text())
    try:
        EngineHost(folder, run).serve(stored_settings["settings"], stored_settings["threads"])
    finally:
        exit_engine(folder)


if __name__ == "__main__":
    main()
