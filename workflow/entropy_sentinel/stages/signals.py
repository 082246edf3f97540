"""Stage `signals`: a family of signals of every response of a model to a benchmark, from its traces."""

from typing import Any

import polars as pl

from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.generation import scan_traces
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.frames.signals import contract_of
from entropy_sentinel.signals.catalogue import FAMILIES
from entropy_sentinel.signals.computing import compute_signals


def write_signals(family: str, generations: str, output: str, **settings: Any) -> None:
    """The signals of every response in the file `generations`, with its provenance; `settings` go to `compute`."""
    traces, origin = scan_traces(generations), read_provenance(generations)
    whose, found = traces.select(RESPONSE).collect(), compute_signals(family, traces, **settings)
    contract = contract_of(FAMILIES[family])
    further = [name for name in found.columns if name not in contract.schema]
    frame = pl.concat([whose, found], how="horizontal").select(*contract.schema, *further)
    contract.write(frame, output, origin | settings | {"family": family})
