"""Stage `features`: compute 17 statistics of each response's trace."""

import polars as pl

from entropy_sentinel.features.feature_computation import INPUT_COLUMNS, compute_features, start_after, summarise_top_k
from entropy_sentinel.features.feature_registry import FEATURE_FRAME
from entropy_sentinel.features.feature_settings import FeatureSettings
from entropy_sentinel.schemas.arrow_lists import read_traces
from entropy_sentinel.schemas.contract import read_provenance


def write_features(generations: str, settings: FeatureSettings, output: str) -> None:
    """Write the features of every response in the file `generations`, with its provenance.

    The memory does not grow with the file. Raises InputError if the token that ends the thinking cannot be found.
    """
    origin = read_provenance(generations)
    parts = [FEATURE_FRAME.frame([])]
    cut_after = origin.get("trace_after")  # version 0.1.0 cut the traces when it generated them
    for batch in read_traces(generations, [*INPUT_COLUMNS, "tokens", "text"]):
        traces = start_after(batch, token=settings["trace_after"], earlier=cut_after)
        parts.append(compute_features(traces, settings["vocabulary"]))
    frame = pl.concat(parts)
    FEATURE_FRAME.write(frame, output, {**origin, **settings, "missing_mass": summarise_top_k(frame)})
