"""Stage `signals`: compute a family of signals of a model's responses to a benchmark, from its traces."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.generation_schema import scan_traces
from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.schemas.signal_schema import signal_contract
from entropy_sentinel.signal_families.signal_computation import compute_signals
from entropy_sentinel.signal_families.signal_registry import FAMILIES


def write_signals(
    family: str, generations: str, output: str, settings: Mapping[str, Any] | None = None, **inputs: str
) -> None:
    """Write the signals of every response in the file `generations`, with its provenance.

    A family is signals that are computed together. `settings`, and further files by the name of the rule's input
    (`inputs`), are the other arguments of its function `compute`. The provenance includes the facts that it returns.
    """
    traces = scan_traces(generations)
    origin = read_provenance(generations)
    settings = dict(settings or {})
    responses = traces.select(RESPONSE).collect()
    values, facts = compute_signals(family, traces, **inputs, **settings)
    contract = signal_contract(FAMILIES[family])
    extra_columns = [name for name in values.columns if name not in contract.schema]
    frame = pl.concat([responses, values], how="horizontal").select(*contract.schema, *extra_columns)
    contract.write(frame, output, origin | {"family": family, "signal_settings": settings} | facts)
