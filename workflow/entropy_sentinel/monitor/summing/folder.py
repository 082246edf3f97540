"""The folder of a state: whose sums it holds, and that they are of what is asked now."""

import json
from pathlib import Path
from typing import Any

from entropy_sentinel.frames.errors import ProvenanceError
from entropy_sentinel.monitor.reading.settings import Reading
from entropy_sentinel.monitor.summing.stored import damaged, read_json, write_json

# How the folder is laid out. Which statistics the sums of a file have, it says itself.
VERSION = 2
_ABOUT, FILES = "state.json", "files"
SUMS, RESPONSES, NUMBERS = "sums", "responses", "numbers"
PARTS = (SUMS, RESPONSES, NUMBERS)


def is_state(path: str | Path) -> bool:
    """Whether this is the folder of a state."""
    return (Path(path) / _ABOUT).is_file()


def open_folder(folder: Path, estimator: str, checksum: str, reading: Reading) -> None:
    """Open the folder of a state, or begin one.

    ProvenanceError where it holds sums of something else, DamagedFileError where it is not as it was written.
    """
    path = folder / _ABOUT
    about = {"version": VERSION, "estimator": estimator, "checksum": checksum, "reading": reading.as_dict()}
    if path.exists():
        _check(path, about)
    elif any((folder / FILES).glob("*")) or any((folder / SUMS).glob("*")):
        raise damaged(folder, path, "it is not there")
    else:
        write_json(path, about)
    for part in (FILES, *PARTS):
        try:
            (folder / part).mkdir(exist_ok=True)
        except OSError as error:
            raise damaged(folder, folder / part, error) from None


def _check(path: Path, about: dict[str, Any]) -> None:
    folder = path.parent
    remedy = f"name another folder, or delete {folder} and give all the logs again"
    if _is_first_version(path):
        raise ProvenanceError(f"{folder}: is of an earlier release; {remedy}")
    found = read_json(path, folder)
    if found["version"] != VERSION:
        raise ProvenanceError(f"{folder}: is of another release (version {found['version']}); {remedy}")
    if found["checksum"] != about["checksum"]:
        raise ProvenanceError(
            f"{folder}: holds what the estimator '{found['estimator']}' of checksum {found['checksum'][:12]} "
            f"found, and this one is {about['checksum'][:12]}: the two do not add up; {remedy}"
        )
    then_read = found["reading"]
    if "any_signal" in then_read:  # its name in states written before
        then_read["any_logprobs"] = then_read.pop("any_signal")
    for name, now in about["reading"].items():
        if (then := then_read.get(name)) != now:
            raise ProvenanceError(
                f"{folder}: was made with {name} = {then!r}, and this run has {now!r}: the two do not add up; {remedy}"
            )


def _is_first_version(path: Path) -> bool:
    """Whether it is of a release whose files had no checksums."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("version") == 1
