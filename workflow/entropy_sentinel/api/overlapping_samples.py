"""Combine the weights of several samples of one witness that were drawn from overlapping logs.

The weights of each sample add up to the responses of its own logs. Where the logs overlap, such as those of the last
two days and of the last fourteen, all weights together would count a response twice. So in each part of a slice that
several samples cover, each sample counts with a share, and the shares add up to 1 (Hartley 1962, multiple frames).
Whatever the shares, the result is right on average; in proportion to the sampling rates, it also varies least.

A sample covers the time from its first response to its last one. Two that only touch, because the logs were divided
within a day, cover different parts of this day.
"""

import polars as pl

from entropy_sentinel.api.input_checks import WEIGHT
from entropy_sentinel.schemas.witness_schema import SAMPLE

_ROW, _SUM, _RATE, _FIRST, _LAST = "(row)", "(sum)", "(rate)", "(first)", "(last)"
# Sums of weights up to this many times as large count as equal.
_TOLERANCE = 1.02


def combine_weights(rows: pl.DataFrame, samples: str, weight: str, untimed: pl.DataFrame) -> pl.DataFrame:
    """Responses with combined weights.

    `rows` have `slice`, `grain` (their time), and the columns named `samples` and `weight`. `samples` is a list of the
    samples that a response is in, structs of SAMPLE (its number) and WEIGHT; where it is not null, `weight` is
    replaced. `untimed` has `n`, the number of responses without a time, of each `slice`.
    """
    sampled_rows = rows.select(pl.int_range(pl.len()).alias(_ROW), "slice", "grain", samples).drop_nulls(samples)
    sampled_rows = sampled_rows.explode(samples).unnest(samples)
    if sampled_rows.is_empty():
        return rows
    shares = _compute_shares(sampled_rows, untimed)
    weights = (
        sampled_rows.join(shares, on=["slice", "grain", SAMPLE], nulls_equal=True)
        .group_by(_ROW)
        .agg((pl.col(WEIGHT) * pl.col("share")).sum().alias("combined"))
    )
    combined = rows.with_columns(pl.int_range(pl.len()).alias(_ROW)).join(
        weights, on=_ROW, how="left", maintain_order="left"
    )
    # A response of samples that do not count has no weight.
    weighted = pl.when(pl.col("combined").is_null()).then(weight).when(pl.col("combined") > 0).then("combined")
    return combined.with_columns(weighted.alias(weight)).drop("combined", _ROW)


def _compute_shares(sampled_rows: pl.DataFrame, untimed: pl.DataFrame) -> pl.DataFrame:
    """The `share` of each sample in each part of a slice (`slice`, `grain`) that has a response.

    Where samples overlap, each counts with a share in proportion to its sampling rate, and the shares add up to 1: the
    weights of a sample's responses are multiplied by its share. Times tell which samples cover a part; without times,
    the sums of weights tell whether samples overlap.
    """
    grain = pl.col("grain")
    sums = sampled_rows.group_by("slice", SAMPLE).agg(pl.len(), pl.col(WEIGHT).sum().alias(_SUM))
    # Sampled responses per response of the log: a weight is the number of responses that a sampled one represents.
    rates = sums.with_columns((pl.col("len") / pl.col(_SUM)).alias(_RATE))
    timed_shares = _compute_timed_shares(sampled_rows.drop_nulls("grain"), rates)
    untimed_shares = _compute_untimed_shares(sampled_rows.filter(grain.is_null()), rates, untimed)
    return pl.concat([timed_shares, untimed_shares])


def _compute_timed_shares(sampled_rows: pl.DataFrame, rates: pl.DataFrame) -> pl.DataFrame:
    """The shares where times tell which samples cover a part of a slice.

    The share is the sample's rate over the sum of the rates of all samples that cover the part, itself included.
    """
    spans = sampled_rows.group_by(SAMPLE).agg(pl.col("grain").min().alias(_FIRST), pl.col("grain").max().alias(_LAST))
    parts = sampled_rows.select("slice", "grain").unique().join(rates, on="slice").join(spans, on=SAMPLE)
    covering = parts.filter(pl.col("grain").is_between(_FIRST, _LAST))
    pairs = covering.join(covering, on=["slice", "grain"], suffix="_other")
    pairs = pairs.filter(~(_is_touching("", "_other") | _is_touching("_other", "")))
    return pairs.group_by("slice", "grain", SAMPLE).agg(
        (pl.col(_RATE).first() / pl.col(f"{_RATE}_other").sum()).alias("share")
    )


def _compute_untimed_shares(sampled_rows: pl.DataFrame, rates: pl.DataFrame, untimed: pl.DataFrame) -> pl.DataFrame:
    """The shares of responses without a time.

    Samples overlap if a response is in two of them, or if their weights add up to more than the slice's number of
    responses. Then only those with the largest sum of weights count, which cover the most; the others have the share 0
    and only correct the witness (judge or second model).
    """
    overlaps = (
        sampled_rows.group_by("slice", _ROW).agg(n_samples=pl.len()).group_by("slice").agg(pl.col("n_samples").max())
    )
    totals = sampled_rows.group_by("slice").agg(pl.col(WEIGHT).sum().alias("total")).join(overlaps, on="slice")
    totals = totals.join(untimed, on="slice", how="left")
    is_apart = (pl.col("n_samples") == 1) & (pl.col("total") <= _TOLERANCE * pl.col("n"))
    rate = pl.when(_TOLERANCE * pl.col(_SUM) >= pl.col(_SUM).max().over("slice")).then(pl.col(_RATE)).otherwise(0.0)
    shares = (
        sampled_rows.select("slice", "grain", SAMPLE)
        .unique()
        .join(rates, on=["slice", SAMPLE])
        .join(totals, on="slice")
    )
    shares = shares.with_columns(rate.alias(_RATE))
    share = pl.when(is_apart).then(1.0).otherwise(pl.col(_RATE) / pl.col(_RATE).sum().over("slice"))
    return shares.select("slice", "grain", SAMPLE, share=share)


def _is_touching(early: str, late: str) -> pl.Expr:
    """Whether `grain` is the end of one sample and the beginning of another that goes on.

    `early` and `late` are the suffixes of the two samples' columns of first and last times.
    """
    grain = pl.col("grain")
    ends = (grain == pl.col(f"{_LAST}{early}")) & (grain == pl.col(f"{_FIRST}{late}"))
    return ends & (pl.col(f"{_FIRST}{early}") < grain) & (grain < pl.col(f"{_LAST}{late}"))
