"""The content of a small file from outside, as one of the settings that its job is compared by.

Snakemake looks into an input only where it is newer than the output: `cp -p older.jsonl rows.jsonl` goes unnoticed.
With a hash among the settings another content is another setting, whatever the dates.
"""

import ast
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

# Larger files are compared by their dates alone, as Snakemake does: max-checksum-file-size in profiles/default.
LARGEST_BYTES = 100_000_000


def with_content(
    settings: dict[str, Any],
    file: str | None,
    recorded_params: Sequence[str] | None,
    recorded_checksums: Mapping[str, str] | None,
) -> dict[str, Any]:
    """`settings` of the job that reads `file`, with the file's SHA-256 as `content`.

    Without it where there is no file or a large one, and where Snakemake has recorded that the job's output was made
    with just these settings from this content: results that are older than the setting `content` stay as they are.
    """
    if file is None or not Path(file).is_file() or (found := Path(file).stat()).st_size > LARGEST_BYTES:
        return settings
    content = _checksum(file, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    if repr(settings) in (recorded_params or []) and (recorded_checksums or {}).get(file) == content:
        return settings
    return settings | {"content": content}


def as_recorded(settings: dict[str, Any], recorded_params: Sequence[str] | None) -> dict[str, Any]:
    """`settings` of a generate job as Snakemake has recorded them, where they differ by `trace_after` alone.

    Traces were once generated with it. It concerns their features only: they are not generated again for its sake.
    """
    for text in recorded_params or []:
        try:
            made = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            continue
        if isinstance(made, dict) and "trace_after" in settings and made | {"trace_after": None} == settings:
            return made
    return settings


@cache
def _checksum(file: str, *_: int) -> str:
    """As Snakemake writes it. Read once per size and dates of the file: a job's settings are asked for twice."""
    with open(file, "rb") as opened:
        return f"sha256:{hashlib.file_digest(opened, 'sha256').hexdigest()}"
