"""Passes made elsewhere: what a model said where it was asked again about its responses, checked and taken over."""

import polars as pl

from entropy_sentinel.frames.contract import Contract
from entropy_sentinel.frames.response import RESPONSE, SAMPLE
from entropy_sentinel.sources.given_table import of_items, of_none, read_columns, refuse_rows, with_missing


def import_pass(responses: pl.DataFrame, source: str, contract: Contract) -> tuple[pl.DataFrame, int]:
    """The rows of the file `source` on `responses` (columns RESPONSE), in their order: a frame of `contract`.

    A response may have no row. Also the number of rows on items without a response, which are set aside. Raises
    InputError for what cannot be used.
    """
    required = {
        column.name: column.nullable
        for column in contract.columns
        if not column.added and (column.name in SAMPLE or column.name not in RESPONSE)
    }
    found = read_columns(source, contract, required)
    refuse_rows(found, source, {"sample": (of_none(responses), "must be that of a response of the model")})
    found, unused = of_items(found, responses["item_id"], source)
    rows = with_missing(found, contract).drop("model", "benchmark")
    frame = responses.join(rows, on=SAMPLE, how="inner", maintain_order="left_right")
    return frame.select(contract.schema.names()), unused
