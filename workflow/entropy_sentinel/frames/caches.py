"""Where what is expensive is kept between jobs and studies: $ENTROPY_SENTINEL_CACHE, or `.cache/entropy_sentinel`.

What follows from the code alone, and would be made again in seconds, is kept per user.
"""

import os
from contextlib import suppress
from pathlib import Path


def cache_folder(name: str) -> Path:
    """The folder of one kind of thing; nothing is made. Without the variable it is below the working directory."""
    return Path(os.environ.get("ENTROPY_SENTINEL_CACHE") or Path(".cache", "entropy_sentinel"), name)


def user_folder() -> Path:
    """`~/.cache/entropy-sentinel`, or in $XDG_CACHE_HOME; nothing is made."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "entropy-sentinel")


def private_folder(folder: Path) -> None:
    """Make a folder that only its user can look into, or make it so; one of another user stays as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        with suppress(PermissionError):
            folder.chmod(0o700)
