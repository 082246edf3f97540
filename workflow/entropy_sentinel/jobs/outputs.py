"""Outputs of jobs: the folders that they go into, and a second name that keeps a finished one."""

import os
from collections.abc import Iterable
from pathlib import Path

from entropy_sentinel.frames.errors import InputError

# In the folder of a job's partial results (stages/parts.py).
FINISHED = "whole.parquet"


def keep(output: str | Path, folder: str | Path) -> bool:
    """Give `output` its second name in `folder`, which takes no room; False on file systems without hard links."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    try:
        os.link(output, Path(folder, FINISHED))
    except FileExistsError:
        return True
    except OSError:
        return False
    return True


def check_folders(names: Iterable[str]) -> None:
    """Raise InputError if a file is in the place of a folder that the files `names` need."""
    for folder in sorted({parent for name in names for parent in Path(name).parents}):
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder}: must be a folder, is a file; move it away")
