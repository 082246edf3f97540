"""Files that a user names for what a command writes: none of them may be one that it reads."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.files import is_stream

# As a path, standard input.
_STANDARD_INPUT = "-"


def check_outputs(outputs: Mapping[str, str | Path | None], inputs: Iterable[str | Path]) -> None:
    """Raise InputError where a file that is to be written is read too, lies in a folder that is, or is asked for twice.

    `outputs` are paths by the names of their options, null where nothing is asked for; `inputs` are files, and folders
    that are read as a whole, as a monitor's state. Files are told apart by what they are, through links and whatever
    they are called. Call it before anything is read: `frames.files.whole_file` then writes. Raises OSError for a path
    that cannot be written to, as of a folder.
    """
    read = {identity: one for one in inputs for identity in _identities(one)}
    asked: dict[tuple[int, int] | Path, str] = {}
    for option, path in outputs.items():
        if path is None or is_stream(path):
            continue
        for identity in _identities(path):
            if identity in read:
                raise InputError(f"{option}: {path} is read{_also(path, read[identity])}; name another file to write")
            if other := asked.get(identity):
                raise InputError(f"{option}: {path} is what {other} writes; name another file")
            asked[identity] = option
        if within := [read[above] for above in Path(os.path.realpath(path)).parents if above in read]:
            raise InputError(f"{option}: {path} lies in {within[0]}, whose files are read; name a file elsewhere")


def _identities(path: str | Path) -> Iterator[tuple[int, int] | Path]:
    """What a file is known by: its place, and what is there."""
    if str(path) != _STANDARD_INPUT:
        yield Path(os.path.realpath(path))
    try:
        found = os.fstat(0) if str(path) == _STANDARD_INPUT else os.stat(path)
    except OSError:
        return
    yield found.st_dev, found.st_ino


def _also(path: str | Path, other: str | Path) -> str:
    return "" if str(path) == str(other) else f", as {other}"
