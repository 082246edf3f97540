"""Stage `signals`: a family of signals of every response of a model to a benchmark, from its traces."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.generation import scan_traces
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.frames.signals import contract_of
from entropy_sentinel.signals.catalogue import FAMILIES
from entropy_sentinel.signals.computing import compute_signals


def write_signals(
    family: str, generations: str, output: str, settings: Mapping[str, Any] | None = None, **inputs: str
) -> None:
    """The signals of every response in the file `generations`, with its provenance.

    `settings` and further files, `inputs`, are what the family's `compute` takes beside the traces. What it tells of
    how they were made stands in the provenance too.
    """
    traces, origin, settings = scan_traces(generations), read_provenance(generations), dict(settings or {})
    whose = traces.select(RESPONSE).collect()
    values, told = compute_signals(family, traces, **inputs, **settings)
    contract = contract_of(FAMILIES[family])
    further = [name for name in values.columns if name not in contract.schema]
    frame = pl.concat([whose, values], how="horizontal").select(*contract.schema, *further)
    contract.write(frame, output, origin | {"family": family, "signal_settings": settings} | told)
