"""The folders that a run writes into."""

from collections.abc import Iterable
from pathlib import Path

from entropy_sentinel.frames.errors import InputError


def check_folders(names: Iterable[str]) -> None:
    """Raise InputError where a file is in the place of a folder that one of the files `names` goes into."""
    for folder in sorted({parent for name in names for parent in Path(name).parents}):
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder}: must be a folder, is a file; move it away")
