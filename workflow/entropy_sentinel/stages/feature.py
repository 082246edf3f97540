"""Stage `features`: 17 statistics of every response's trace."""

import polars as pl

from entropy_sentinel.features.compute import USED, compute_features
from entropy_sentinel.features.missing_mass import missing_mass
from entropy_sentinel.frames.batches import read_traces
from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.feature import FEATURE_FRAME


def write_features(generations: str, output: str) -> None:
    """The features of every response in the file `generations`, with its provenance."""
    parts = [compute_features(batch) for batch in read_traces(generations, USED)]
    frame = pl.concat([FEATURE_FRAME.frame([]), *parts])
    FEATURE_FRAME.write(frame, output, read_provenance(generations) | {"missing_mass": missing_mass(frame)})
