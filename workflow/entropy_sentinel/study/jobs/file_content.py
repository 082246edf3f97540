"""The content of a small external file, as one of the settings by which Snakemake compares its job.

Snakemake reads an input only if it is newer than the output, so `cp -p older.jsonl rows.jsonl` goes unnoticed. With a
hash in the settings, different content is a different setting, regardless of the dates.

If a changed file gives the same items, the benchmark's job must not run: Snakemake would then run everything that
follows, and responses cost GPU time.
"""

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.study.items.benchmark_rows import read_local_rows
from entropy_sentinel.study.items.item_conversion import build_items_frame, read_items

# Larger files are compared only by date, as in Snakemake: max-checksum-file-size in profiles/default.
LARGEST_BYTES = 100_000_000


def add_content(
    settings: dict[str, Any],
    files: Sequence[str],
    recorded_params: Sequence[str] | None,
    recorded_checksums: Mapping[str, str] | None,
) -> dict[str, Any]:
    """`settings` of the job that reads `files`, with the SHA-256 of each of them as `content`.

    `content` is omitted if there is no file or a large one. It is also omitted if Snakemake has recorded that the
    output was made with exactly these settings from this content: results older than `content` remain valid.
    """
    checksums: list[str] = []
    recorded: list[str | None] = []
    for file in files:
        if not Path(file).is_file():
            return settings
        stat = Path(file).stat()
        if stat.st_size > LARGEST_BYTES:
            return settings
        checksums.append(compute_checksum(file, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))
        recorded.append((recorded_checksums or {}).get(file))
    is_recorded = repr(settings) in (recorded_params or []) and checksums == recorded
    if not files or is_recorded:
        return settings
    return settings | {"content": " ".join(checksums)}


def read_recorded_settings(recorded_params: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    """Yield the dicts among the params that Snakemake has recorded for an output, as the `repr` of each."""
    for text in recorded_params or []:
        try:
            settings = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            continue
        if isinstance(settings, dict):
            yield settings


@cache
def compute_checksum(file: str, *_: int) -> str:
    """The SHA-256 of a file as Snakemake writes it, `sha256:...`.

    It is cached by the further arguments, size and dates, because Snakemake asks for settings twice.
    """
    with open(file, "rb") as stream:
        return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"


def prefer_recorded_settings(
    settings: dict[str, Any], recorded_params: Sequence[str] | None, output: str
) -> dict[str, Any]:
    """`settings` of the job that makes the items `output`, or the recorded ones if both give the same items.

    This applies only to a local file that is not large and to items made by the same version. Unreadable rows are left
    to the job, whose error explains them.
    """
    recorded = next(read_recorded_settings(recorded_params), settings)
    if recorded == settings or recorded.get("version") != settings["version"] or not Path(output).is_file():
        return settings
    path = settings["path"]
    if path is None or not Path(path).is_file() or Path(path).stat().st_size > LARGEST_BYTES:
        return settings
    ages = Path(path).stat().st_mtime_ns, Path(output).stat().st_mtime_ns
    return recorded if _compare_items(json.dumps(settings), output, *ages) else settings


def can_reproduce_items(settings: Mapping[str, Any], output: str) -> bool | None:
    """Whether settings give the items of `output`, which has no record; None if there is no small local file."""
    path = settings["path"]
    if path is None or not Path(path).is_file() or not Path(output).is_file():
        return None
    stat = Path(path).stat()
    if stat.st_size > LARGEST_BYTES:
        return None
    return _compare_items(json.dumps(dict(settings)), output, stat.st_mtime_ns, Path(output).stat().st_mtime_ns)


@cache
def _compare_items(settings: str, output: str, *_: int) -> bool:
    """Whether settings, as JSON, give the items of `output`; cached by the further arguments, the files' dates."""
    decoded = json.loads(settings)
    try:
        items, _left_out = read_items(read_local_rows(decoded["path"]), decoded, decoded["path"])
        return build_items_frame(items, decoded).equals(BENCHMARKS.read(output))
    except EntropySentinelError:
        return False
