"""Let one process at a time work in a folder, across machines: track the owner and whether it is alive.

A job can outlive the Snakemake that started it, and Slurm can restart a job while its old node is unreachable.

docs/design/0011 says why this is not the package filelock.
"""

import fcntl
import json
import logging
import os
import shutil
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from entropy_sentinel.core.file_locks import LOCKED_ERRORS, NO_LOCKS, WAITING, is_at
from entropy_sentinel.core.whole_files import whole_file

log = logging.getLogger(__name__)

_LOCK, _OWNER = "owner.lock", "owner.json"
# How often a waiting process looks, and how often the owner gives a sign of life.
POLL_S, SIGN_S = 1.0, 15.0
# After this long without a sign, an owner on another machine counts as dead. Longer than a network file system's
# cache and than an engine blocks Python.
SILENT_S = 120.0


class Ownership:
    """The right to use a folder: `with Ownership(folder):` waits until the owner has ended, and reports the owner.

    The owner locks a file, and the kernel releases the lock when the process ends, however it ends. Network file
    systems may limit locks to one machine or have none. If the last owner was on another machine and has not recorded
    that it finished, its signs of life decide.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock: int | None = None
        self._sign: str | None = None  # the owner's last sign of life,
        self._sign_time = 0.0  # and when it was first seen
        self._stop = threading.Event()

    def __enter__(self) -> None:
        """Wait until an earlier run's job in this folder has ended, then own the folder."""
        previous_owner = None
        while not self._try_take():
            owner = _read_owner(self.folder)
            if owner and previous_owner != _describe_owner(owner):
                previous_owner = _describe_owner(owner)
                log.warning(
                    "%s: waiting for %s, which an earlier run started and which is still working here",
                    self.folder,
                    previous_owner,
                    extra=WAITING,
                )
            time.sleep(POLL_S)
        if previous_owner:
            log.info("%s has ended", previous_owner)
        self._sign_thread = threading.Thread(target=self._write_signs, daemon=True)
        self._sign_thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._sign_thread.join()
        (self.folder / _OWNER).unlink(missing_ok=True)
        self._unlock()

    def _try_take(self) -> bool:
        """Become the owner if there is no owner or the owner is dead."""
        self.folder.mkdir(parents=True, exist_ok=True)
        has_locks = self._try_lock()
        if self._lock is not None and self._is_free(has_locks):
            self._write(0)
            return True
        self._unlock()
        return False

    def _is_free(self, has_locks: bool) -> bool:
        """Whether the last owner has ended, if its lock is free."""
        owner = _read_owner(self.folder)
        # On this machine, a living owner would still hold the lock.
        is_local = has_locks and owner.get("machine") == _read_machine_id()
        return not owner or is_local or self._is_silent()

    def _try_lock(self) -> bool:
        """Take the lock, or leave `_lock` None; return False if the file system has no locks."""
        # A POSIX lock, not `flock`: the engine's processes, which may outlive this one, do not inherit it.
        descriptor = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in LOCKED_ERRORS + NO_LOCKS:
                raise
            if error.errno in LOCKED_ERRORS:
                os.close(descriptor)
                return True
            self._lock = descriptor
            return False
        self._lock = descriptor
        if not is_at(descriptor, self.folder / _LOCK):  # its owner has deleted the folder
            self._unlock()
        return True

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _is_silent(self) -> bool:
        """Whether the owner's sign of life is too old, measured only by this machine's clock."""
        try:
            sign = (self.folder / _OWNER).read_text()
        except (OSError, UnicodeDecodeError):
            sign = ""
        now = time.monotonic()
        if sign != self._sign:
            self._sign, self._sign_time = sign, now
        return now - self._sign_time > SILENT_S

    def _write_signs(self) -> None:
        """Write a new number to the folder at intervals: a sign to other machines that the owner still lives."""
        number = 0
        while not self._stop.wait(SIGN_S):
            number += 1
            try:
                self._write(number)
            except OSError as error:  # a full disk, which the job itself will report
                log.warning("%s: %s", self.folder / _OWNER, error)

    def _write(self, sign: int) -> None:
        """Write this process as the owner, with a number that changes as its sign of life."""
        owner = {"process": os.getpid(), "host": os.uname().nodename, "machine": _read_machine_id(), "sign": sign}
        with whole_file(self.folder / _OWNER) as partial:
            partial.write_text(json.dumps(owner | {"slurm_job": os.environ.get("SLURM_JOB_ID")}))


def remove_unowned_folder(folder: Path) -> None:
    """Delete a folder that has no owner; keep it if its owner is alive, or may be alive on another machine."""
    ownership = Ownership(folder)
    if folder.is_dir() and ownership._try_take():
        shutil.rmtree(folder, ignore_errors=True)
        ownership._unlock()


def _read_owner(folder: Path) -> dict[str, Any]:
    """The last owner; empty if it has recorded that it finished, or if its file cannot be read."""
    try:
        owner = json.loads((folder / _OWNER).read_text())
    except (OSError, ValueError):
        return {}
    return owner if isinstance(owner, dict) else {}


def _describe_owner(owner: dict[str, Any]) -> str:
    slurm = f" (Slurm job {owner['slurm_job']})" if owner.get("slurm_job") else ""
    return f"process {owner.get('process')} on host {owner.get('host')}{slurm}"


def _read_machine_id() -> str:
    """An identifier of the machine since its last boot; its containers share locks, whatever their hostnames."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return os.uname().nodename
