"""The files that a user names."""

import glob
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.logs.csv_table import is_log
from entropy_sentinel.sources.logs.records import STANDARD_INPUT, SUFFIXES
from entropy_sentinel.sources.logs.table import TRACES

log = logging.getLogger(__name__)

# Files that a line names.
_SHOWN = 5

Paths = str | Path | Sequence[str | Path]


def files(paths: Paths, suffixes: Sequence[str] = (".parquet",)) -> list[Path]:
    """The files that paths, folders and patterns name, in their order; `-` is standard input.

    Of a folder, those whose names end with one of `suffixes`, `.gz` after it too. InputError for a path that names
    none.
    """
    found: list[Path] = []
    for path in named(paths):
        matches = list(_matches(path, suffixes))
        if not matches:
            raise InputError(f"{path}: {_nothing(path, suffixes)}")
        found += matches
    return found


def named(paths: Any) -> list[str | Path]:
    """One path, or several, as a list; InputError for what is none."""
    given = [paths] if isinstance(paths, str | Path) or not isinstance(paths, list | tuple) else list(paths)
    if wrong := [one for one in given if not isinstance(one, str | Path)]:
        raise InputError(
            f"files: must be paths, folders or patterns, one or a list of them; was {type(wrong[0]).__name__}"
        )
    return given


def log_files(paths: Paths) -> list[Path]:
    """The files of logs, traces or features that paths name, as `files` finds them.

    Of a folder, a CSV file is one where it has the columns of log-probabilities; a line says which have not.
    """
    found: list[Path] = []
    for path in named(paths):
        every = files(path, SUFFIXES)
        others = [one for one in every if _ends(one.name, (".csv",)) and not is_log(one)] if Path(path).is_dir() else []
        if others == every:
            raise InputError(f"{path}: {_nothing(path, SUFFIXES)}; {_passed_over(others)}")
        if others:
            log.warning("%s: %s", path, _passed_over(others))
        found += [one for one in every if one not in others]
    return found


def _matches(path: str | Path, suffixes: Sequence[str]) -> Iterator[Path]:
    if str(path) == STANDARD_INPUT or Path(path).is_file():
        yield Path(path)
    elif Path(path).is_dir():
        yield from (one for one in sorted(Path(path).rglob("*")) if _ends(one.name, suffixes) and one.is_file())
    else:
        yield from sorted(one for one in map(Path, glob.glob(str(path), recursive=True)) if one.is_file())


def _nothing(path: str | Path, suffixes: Sequence[str]) -> str:
    """Why a path names no file."""
    if Path(path).is_dir():
        return f"the folder has no file of responses ({', '.join(suffixes)}, or one of these with .gz)"
    return "no file matches this pattern" if glob.has_magic(str(path)) else "no such file or folder"


def _passed_over(tables: Sequence[Path]) -> str:
    names = ", ".join(one.name for one in tables[:_SHOWN]) + (", ..." if len(tables) > _SHOWN else "")
    return f"CSV files without the columns {' and '.join(TRACES)} are passed over: {names}"


def _ends(name: str, suffixes: Sequence[str]) -> bool:
    return not name.startswith(".") and name.removesuffix(".gz").endswith(tuple(suffixes))
