"""One process at a time works in a folder, on any number of machines: who owns it, and whether the owner lives.

A job can outlive the Snakemake that started it, and Slurm can start one again while its old node is out of reach.
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

from entropy_sentinel.frames.files import whole_file
from entropy_sentinel.frames.locks import LOCKED, NO_LOCKS, WAITING, is_at

log = logging.getLogger(__name__)

_LOCK, _OWNER = "owner.lock", "owner.json"
# How often a waiting process looks, and how often the owner gives a sign of life.
POLL_S, SIGN_S = 1.0, 15.0
# Without a sign for so long, an owner on another machine is dead. Longer than a network file system caches, and than
# an engine keeps Python busy.
SILENT_S = 120.0


class Ownership:
    """The right to a folder: `with Ownership(folder):` waits until its owner has ended, and says for whom it waits.

    The owner holds a lock on a file, which the kernel gives back when the process ends, however it ends. File systems
    between machines may keep locks to one machine, or have none: where the last owner was elsewhere and has not said
    that it was done, its signs of life decide.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock: int | None = None
        self._heard: tuple[str, float] = ("", 0.0)  # the owner's last sign, and when it was first seen
        self._end = threading.Event()

    def __enter__(self) -> None:
        told = None
        while not self._take():
            owner = _read(self.folder)
            if owner and told != (name := _name(owner)):
                log.warning(
                    "%s: waiting for %s, which an earlier run started and which still works here",
                    *(self.folder, name),
                    extra=WAITING,
                )
                told = name
            time.sleep(POLL_S)
        if told:
            log.info("%s has ended", told)
        self._signs = threading.Thread(target=self._give_signs, daemon=True)
        self._signs.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._signs.join()
        (self.folder / _OWNER).unlink(missing_ok=True)
        self._unlock()

    def _take(self) -> bool:
        """Become the owner where there is none, or a dead one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        works = self._try_lock()
        owner = _read(self.folder)
        if self._lock is not None and (not owner or (works and owner.get("machine") == _machine()) or self._silent()):
            self._write(0)
            return True
        self._unlock()
        return False

    def _try_lock(self) -> bool:
        """Take the lock, or leave `_lock` None; False where the file system knows no locks."""
        # A POSIX lock, not `flock`: the engine's processes, which may outlive this one, do not inherit it.
        descriptor = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in LOCKED + NO_LOCKS:
                raise
            if error.errno in LOCKED:
                os.close(descriptor)
                return True
            self._lock = descriptor
            return False
        self._lock = descriptor
        if not is_at(descriptor, self.folder / _LOCK):  # its owner has cleared the folder away
            self._unlock()
        return True

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _silent(self) -> bool:
        """Whether the owner's sign has stood still for too long, by this machine's clock alone."""
        try:
            sign = (self.folder / _OWNER).read_text()
        except (OSError, UnicodeDecodeError):
            sign = ""
        now = time.monotonic()
        if sign != self._heard[0] or not self._heard[1]:
            self._heard = sign, now
        return now - self._heard[1] > SILENT_S

    def _give_signs(self) -> None:
        number = 0
        while not self._end.wait(SIGN_S):
            number += 1
            try:
                self._write(number)
            except OSError as error:  # a full disk, which the job itself will report
                log.warning("%s: %s", self.folder / _OWNER, error)

    def _write(self, sign: int) -> None:
        owner = {"process": os.getpid(), "host": os.uname().nodename, "machine": _machine(), "sign": sign}
        with whole_file(self.folder / _OWNER) as partial:
            partial.write_text(json.dumps(owner | {"slurm_job": os.environ.get("SLURM_JOB_ID")}))


def clear(folder: Path) -> None:
    """Delete a folder that nobody owns; one whose owner lives, or may live on another machine, stays."""
    ownership = Ownership(folder)
    if folder.is_dir() and ownership._take():
        shutil.rmtree(folder, ignore_errors=True)
        ownership._unlock()


def _read(folder: Path) -> dict[str, Any]:
    """The last owner; empty where it has said that it was done, or where its file cannot be read."""
    try:
        owner = json.loads((folder / _OWNER).read_text())
    except (OSError, ValueError):
        return {}
    return owner if isinstance(owner, dict) else {}


def _name(owner: dict[str, Any]) -> str:
    slurm = f" (Slurm job {owner['slurm_job']})" if owner.get("slurm_job") else ""
    return f"process {owner.get('process')} on host {owner.get('host')}{slurm}"


def _machine() -> str:
    """A machine from its start to its next: containers on it share its locks, whatever their names."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return os.uname().nodename
