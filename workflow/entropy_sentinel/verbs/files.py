"""The files that a user names."""

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.logs.records import STANDARD_INPUT, SUFFIXES

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
            raise InputError(
                f"{path}: is no file, no folder with files of {', '.join(suffixes)}, and no pattern that a file matches"
                f"{_tables_in(path)}"
            )
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
    """The files of logs, traces or features that paths name, as `files` finds them."""
    return files(paths, SUFFIXES)


def _matches(path: str | Path, suffixes: Sequence[str]) -> Iterator[Path]:
    if str(path) == STANDARD_INPUT or Path(path).is_file():
        yield Path(path)
    elif Path(path).is_dir():
        yield from (one for one in sorted(Path(path).rglob("*")) if _ends(one.name, suffixes) and one.is_file())
    else:
        yield from sorted(one for one in map(Path, glob.glob(str(path), recursive=True)) if one.is_file())


def _tables_in(path: str | Path) -> str:
    """What to say of a folder that has CSV files: they are logs only where somebody says so."""
    if not Path(path).is_dir() or not any(_ends(one.name, (".csv",)) for one in Path(path).rglob("*")):
        return ""
    return f"; its CSV files may be labels: if they are logs, name them as '{path}/*'"


def _ends(name: str, suffixes: Sequence[str]) -> bool:
    return not name.startswith(".") and name.removesuffix(".gz").endswith(tuple(suffixes))
