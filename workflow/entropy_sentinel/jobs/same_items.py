"""Rows of a local file that changed, and give the same items: what was made of them stays.

A job that runs brings all that follows with it, whatever it makes: Snakemake decides before. So a benchmark whose file
has another column now, or whose mapping says the same in other words, must not run at all, for responses cost GPU time.
"""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from entropy_sentinel.frames.benchmark import BENCHMARKS
from entropy_sentinel.frames.errors import EntropySentinelError
from entropy_sentinel.jobs.content import LARGEST_BYTES, recorded_settings
from entropy_sentinel.sources.items import items_frame, read_items
from entropy_sentinel.sources.rows import local_rows


def as_made(settings: dict[str, Any], recorded_params: Sequence[str] | None, output: str) -> dict[str, Any]:
    """`settings` of the job that makes the items `output`, or those that it was made with if they give the same items.

    Only of a local file that is not large, and of items that were made by the same version; rows that cannot be read
    are left to the job, whose error says why.
    """
    made = next(recorded_settings(recorded_params), None)
    if made is None or made == settings or made.get("version") != settings["version"] or not Path(output).is_file():
        return settings
    path = settings["path"]
    if path is None or not Path(path).is_file() or Path(path).stat().st_size > LARGEST_BYTES:
        return settings
    ages = Path(path).stat().st_mtime_ns, Path(output).stat().st_mtime_ns
    return made if _gives(json.dumps(settings), output, *ages) else settings


@cache
def _gives(settings: str, output: str, *_: int) -> bool:
    """Whether settings, as JSON, give the items of `output`. Once per age of both files, for jobs are asked twice."""
    asked = json.loads(settings)
    try:
        items, _left_out = read_items(local_rows(asked["path"]), asked, asked["path"])
        return items_frame(items, asked).equals(BENCHMARKS.read(output))
    except EntropySentinelError:
        return False
