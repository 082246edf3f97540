"""Where the part of a response begins that its features are over: after the thinking."""

import polars as pl

from entropy_sentinel.features.catalogue import X
from entropy_sentinel.frames.errors import InputError


def start_after(traces: pl.DataFrame, asked: str | None, found: str | None) -> pl.DataFrame:
    """The traces with `trace_start` after the last token `asked`, at the end where it never came; 0 if none is asked.

    `found` is the token after which the file of the traces says that they begin: earlier versions wrote that down, and
    not the tokens. Where neither is given, `trace_start` stays as whoever made the traces has set it. Raises InputError
    where the tokens are not known.
    """
    if asked == found:
        return traces
    if asked is None:
        return traces.with_columns(trace_start=pl.lit(0, pl.UInt32))
    unknown = traces.filter(pl.col("tokens").is_null(), pl.col("n_tokens") > 0)
    if len(unknown):
        first = unknown.row(0, named=True)
        raise InputError(
            f"models.{first['model']}.trace_after: '{asked}' must be looked for among the texts of the tokens, which "
            f"the traces on {first['benchmark']} do not hold (item '{first['item_id']}'): they come from an earlier "
            "version or from elsewhere; set the key back, or delete their file to generate them again"
        )
    last = pl.col("tokens").list.agg(X.eq(asked).arg_true().last())
    return traces.with_columns(trace_start=(last + 1).fill_null(pl.col("n_tokens")).cast(pl.UInt32))
