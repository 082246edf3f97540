"""Stage `features`: 17 statistics of every response's trace."""

from entropy_sentinel.features.compute import compute_features
from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.feature import FEATURE_FRAME
from entropy_sentinel.frames.generation import scan_traces


def write_features(generations: str, output: str) -> None:
    """The features of every response in the file `generations`, with its provenance."""
    frame = compute_features(scan_traces(generations))
    FEATURE_FRAME.write(frame, output, read_provenance(generations))
