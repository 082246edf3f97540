"""Whether what was read is of use: of the model and log-probabilities of the estimator, with the columns asked for."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.monitor.reading.excluding import nothing_fits
from entropy_sentinel.monitor.reading.files import check_columns
from entropy_sentinel.monitor.reading.settings import Reading
from entropy_sentinel.monitor.summing.state import FileSums


def check_use(
    files: Collection[FileSums],
    sources: Sequence[str | Path | pl.DataFrame],
    reading: Reading,
    about: Mapping[str, Any],
) -> None:
    """Raise where nothing of `files` is of use, those of the `sources` that are given now among them.

    ProvenanceError where all responses are of another model or log-probabilities than the estimator is, by what its
    file says `about` it; InputError for a column that no response has a value in.
    """
    n_responses = sum(one.n_responses for one in files)
    seen = {name for one in files for name in one.seen}
    check_columns(reading, seen, sources, n_responses > 0)
    rejected = sum((Counter(one.rejected) for one in files), Counter[str]())
    if rejected and rejected.total() == n_responses:
        raise nothing_fits(rejected, about)
