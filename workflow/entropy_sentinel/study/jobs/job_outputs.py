"""Outputs of jobs: their folders, and a second name that keeps a finished output."""

import os
from collections.abc import Iterable
from pathlib import Path

from entropy_sentinel.core.errors import InputError

# In the folder of a job's partial results (study/stages/job_parts.py).
FINISHED_FILE = "whole.parquet"


def link_output(output: str | Path, folder: str | Path) -> bool:
    """Hard-link `output` into `folder`; return False on file systems without hard links."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    try:
        os.link(output, Path(folder, FINISHED_FILE))
    except FileExistsError:
        return True
    except OSError:
        return False
    return True


def check_folders(names: Iterable[str]) -> None:
    """Raise InputError if a file exists where the files `names` need a folder."""
    folders: set[Path] = set()
    for name in names:
        folders.update(Path(name).parents)
    for folder in sorted(folders):
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder}: must be a folder, is a file; move it away")
