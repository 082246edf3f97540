"""Folders of caches."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from entropy_sentinel.core.errors import InputError


def cache_folder(name: str) -> Path:
    """The cache folder of one kind, without creating it; by default it is below the working directory."""
    return Path(os.environ.get("ENTROPY_SENTINEL_CACHE") or Path(".cache", "entropy_sentinel"), name)


def user_folder() -> Path:
    """`~/.cache/entropy-sentinel`, or the same in $XDG_CACHE_HOME, without creating it."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "entropy-sentinel")


def make_private_folder(folder: Path) -> None:
    """Create a folder that only its user can read, or restrict it; a folder of another user is unchanged."""
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        with suppress(PermissionError):
            folder.chmod(0o700)


@contextmanager
def open_private_folder(folder: Path) -> Iterator[int]:
    """Open a folder that only this user can use, and yield its descriptor.

    Raises InputError if it is a link or no folder, or if another user owns it or may use it, and FileNotFoundError if
    it is missing.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP, errno.EACCES):
            raise
        raise InputError(f"{folder}: must be a folder of this user, no link: {error.strerror}; delete it") from None
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.getuid() or status.st_mode & 0o077:
            raise InputError(
                f"{folder}: must be this user's own folder (user {os.getuid()}) with mode 700, is of user "
                f"{status.st_uid} with mode {stat.S_IMODE(status.st_mode):o}; delete it"
            )
        yield descriptor
    finally:
        os.close(descriptor)


# The config file below those of a study, and the folder of the repository, if this package is in one.
BASE, TREE = "config.yaml", Path(__file__).absolute().parents[3]


def find_base() -> Path | None:
    """The config.yaml of the working folder, or else that of the repository: the paper's study."""
    if Path(BASE).is_file():
        return Path(BASE)
    paper = TREE / BASE
    return paper if (TREE / "Snakefile").is_file() and paper.is_file() else None
