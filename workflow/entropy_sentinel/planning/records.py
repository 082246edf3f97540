"""What Snakemake has written down of the files that it made, in `.snakemake/metadata`: the content of their inputs.

It looks at no date where the content is known to be the same: a file that is newer than what was made from it, as after
a copy without dates, is compared with the record.
"""

import json
import os
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from entropy_sentinel.jobs.content import LARGEST_BYTES, checksum

FOLDER = Path(".snakemake") / "metadata"


def is_as_recorded(source: Path, made: Path) -> bool:
    """Whether `source` has the content from which, by Snakemake's record, `made` was made; False where it has none.

    Files above LARGEST_BYTES are compared by their dates alone, as Snakemake does.
    """
    known = _inputs(made).get(str(source))
    if known is None:
        return False
    try:
        found = source.stat()
        return found.st_size <= LARGEST_BYTES and known == checksum(str(source), found.st_size, found.st_mtime_ns)
    except OSError:
        return False


def _inputs(made: Path) -> Mapping[str, str]:
    """The checksums of what a file was made from, by their names; none where there is no record that can be read."""
    try:
        record = json.loads(_place(str(made)).read_text())
    except (OSError, ValueError):
        return {}
    found = record.get("input_checksums") if isinstance(record, dict) else None
    return found if isinstance(found, dict) else {}


def _place(name: str) -> Path:
    """Where Snakemake keeps the record of a file: its name in base 64, in folders where that is too long for one."""
    text, longest = urlsafe_b64encode(name.encode()).decode(), _longest_name() - 1
    parts = [text[start : start + longest] for start in range(0, len(text), longest)]
    return FOLDER.joinpath(*[f"@{part}" for part in parts[:-1]], parts[-1])


@cache
def _longest_name() -> int:
    return (os.pathconf(FOLDER, "PC_NAME_MAX") if hasattr(os, "pathconf") and FOLDER.is_dir() else 0) or 255
