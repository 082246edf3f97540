"""Whose the calls under way are: a locked file per ledger and process, from which others see that it lives."""

import os
import uuid
import weakref
from contextlib import suppress
from pathlib import Path

from entropy_sentinel.frames.locks import take


class Owner:
    """The owner of calls in the ledger at `ledger`, None for a ledger in memory, which nobody else sees.

    Its file lies beside the ledger, is locked as long as the process lives, and goes with it; that of a killed process
    goes when another asks for it.
    """

    def __init__(self, ledger: str | Path | None) -> None:
        self._ledger, self._name = ledger, ""

    @property
    def name(self) -> str:
        """The name, by which calls are marked; its file is made when it is first asked for. Raises OSError."""
        if not self._name:
            name = uuid.uuid4().hex
            if self._ledger is not None:
                path = self._path(name)
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
                weakref.finalize(self, _end, descriptor, path)
                take(descriptor, path)
            self._name = name
        return self._name

    def lives(self, name: str) -> bool:
        """Whether the process of an owner lives."""
        if name == self._name:
            return True
        if self._ledger is None:
            return False
        try:
            descriptor = os.open(self._path(name), os.O_RDWR)
        except FileNotFoundError:
            return False
        if not take(descriptor, self._path(name)):
            os.close(descriptor)
            return True
        _end(descriptor, self._path(name))
        return False

    def _path(self, name: str) -> Path:
        return Path(f"{self._ledger}.{name}").absolute()


def _end(descriptor: int, path: Path) -> None:
    with suppress(OSError):
        path.unlink()
    os.close(descriptor)
