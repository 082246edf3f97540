"""Labels made elsewhere, by people or another judge: files that are checked and taken over."""

import logging

import polars as pl

from entropy_sentinel.frames.label import LABELS
from entropy_sentinel.frames.response import SAMPLE
from entropy_sentinel.sources.given_table import of_items, of_none, read_columns, refuse_rows, with_missing

log = logging.getLogger(__name__)


def import_labels(responses: pl.DataFrame, source: str) -> tuple[pl.DataFrame, int]:
    """The labels in the file `source` of `responses` (item_id, sample): a frame of contract LABELS.

    A response that the file does not label gets null, with the reason. Also the number of rows of items without a
    response, which are set aside. Raises InputError for what cannot be used.
    """
    found = read_columns(source, LABELS, {"item_id": False, "label": True})
    if "sample" in pl.read_parquet_schema(source):
        refuse_rows(found, source, {"sample": (of_none(responses), "must be that of a response of the model")})
    refuse_rows(found, source, {"item_id": (of_none(responses), "must be there as often as it was answered at most")})
    found, unused = of_items(found, responses["item_id"], source)
    frame = responses.select(SAMPLE).join(with_missing(found, LABELS), on=SAMPLE, how="left", maintain_order="left")
    labelled = frame.select(SAMPLE).join(found, on=SAMPLE, how="semi").height
    if labelled < len(frame):
        log.warning("%s: has no label for %d of %d responses", source, len(frame) - labelled, len(frame))
    reason = pl.when(pl.col("label").is_null()).then(pl.col("reason").fill_null("no label in the file"))
    return frame.with_columns(reason=reason).select(LABELS.schema.names()), unused
