"""Folders of caches."""

import os
from contextlib import suppress
from pathlib import Path


def cache_folder(name: str) -> Path:
    """Return the cache folder of one kind, without creating it; by default it is below the working directory."""
    return Path(os.environ.get("ENTROPY_SENTINEL_CACHE") or Path(".cache", "entropy_sentinel"), name)


def user_folder() -> Path:
    """Return `~/.cache/entropy-sentinel`, or the same in $XDG_CACHE_HOME, without creating it."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "entropy-sentinel")


def private_folder(folder: Path) -> None:
    """Create a folder that only its user can read, or restrict it; a folder of another user is unchanged."""
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        with suppress(PermissionError):
            folder.chmod(0o700)
