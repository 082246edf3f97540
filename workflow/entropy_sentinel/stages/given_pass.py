"""Stage `engine_pass` where what the model said is given: the file of a pass made elsewhere, taken over."""

import logging
from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict, final

import polars as pl

from entropy_sentinel.frames.contract import read_provenance, whose
from entropy_sentinel.frames.errors import ContractError
from entropy_sentinel.frames.generation import scan_traces
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.signals.catalogue import FAMILIES, asking_of
from entropy_sentinel.sources.given import import_pass

log = logging.getLogger(__name__)


@final
class GivenPass(TypedDict):
    """What such a pass depends on beside the traces; `settings`, the family's section, says how a row lacks."""

    family: str
    version: int
    source: str
    settings: dict[str, Any]
    content: NotRequired[str]  # of the source (jobs/content.py)


def write_given_pass(generations: str, settings: GivenPass, output: str) -> None:
    """Take over the rows of the file `settings["source"]` on the responses in `generations`, in their order.

    Responses without a row get one that says so; they, and rows on items that the study does not use, are counted in
    the log and in the provenance. Raises InputError for what cannot be used.
    """
    source, declared = settings["source"], FAMILIES[settings["family"]].asks
    assert declared is not None  # only such families have a pass
    responses = scan_traces(generations).select(RESPONSE).collect()
    frame, unused = import_pass(responses, source, declared)
    missing = responses.join(frame, on=RESPONSE, how="anti", maintain_order="left")
    if len(missing):
        log.warning("%s: has no row for %d of %d responses", source, len(missing), len(responses))
        why = missing.with_columns(unusable=pl.lit("no row in the file of the pass"))
        rows = pl.concat([frame, asking_of(settings["family"]).unasked(why, settings["settings"])])
        frame = responses.join(rows, on=RESPONSE, how="left", maintain_order="left_right").select(frame.columns)
    own = _own_provenance(source)
    made_with = own.get("pass", {}).get("settings", {})
    for key, value in settings["settings"].items():
        if (made := made_with.get(key, value)) != value:
            told = source, settings["family"], key, value, made
            log.warning("%s: signals.%s.%s is %s, and the file was made with %s, which counts", *told)
    origin = {key: value for key, value in read_provenance(generations).items() if key not in ("stage", "identity")}
    for model in whose(source, "model"):
        if model not in (answered := [origin[key] for key in ("model", "source_model") if origin.get(key)]):
            log.warning("%s: is of the model '%s', and the traces are of %s", source, model, " or ".join(answered))
    about = {"family": settings["family"], "pass": dict(settings), "source_pass": own}
    counts = {"missing_responses": len(missing), "unused_rows": unused}
    declared.contract.write(frame, output, {**origin, **about, **counts})


def _own_provenance(source: str) -> Mapping[str, Any]:
    """What the file says of how it was made; nothing where another tool has written it."""
    try:
        return read_provenance(source)
    except ContractError:
        return {}
