"""Read times in any form: dates, ISO 8601 texts, and numbers since 1970."""

from datetime import UTC, datetime

import polars as pl

DTYPE = pl.Datetime("us", "UTC")
_ISO = ("%+", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d")


def parse_times(column: pl.Series) -> pl.Series:
    """Convert dates, ISO 8601 texts (UTC without a zone) and numbers since 1970 to UTC times, (n,); else null.

    A number is in seconds, milliseconds, microseconds or nanoseconds, whichever gives a plausible date.
    """
    if isinstance(column.dtype, pl.Datetime):
        zoned = column.dt.replace_time_zone("UTC") if column.dtype.time_zone is None else column
        return zoned.dt.convert_time_zone("UTC").cast(DTYPE)
    if column.dtype == pl.Date:
        return column.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    if column.dtype.is_numeric():
        return _parse_numbers(column)
    if column.dtype == pl.String:
        return _parse_texts(column)
    return pl.Series(column.name, [None] * len(column), dtype=DTYPE)


def _parse_numbers(column: pl.Series) -> pl.Series:
    """Numbers since 1970 as times, (n,): below 1e11 they are seconds, below 1e14 milliseconds, and so on."""
    number = column.cast(pl.Float64).alias("number").to_frame()
    x, size = pl.col("number"), pl.col("number").abs()
    microseconds = (
        pl.when(size < 1e11).then(x * 1e6).when(size < 1e14).then(x * 1e3).when(size < 1e17).then(x).otherwise(x / 1e3)
    )
    whole = number.select(pl.when(x.is_finite()).then(microseconds).cast(pl.Int64, strict=False))
    return whole.to_series().cast(pl.Datetime("us")).dt.replace_time_zone("UTC").alias(column.name)


def _parse_texts(column: pl.Series) -> pl.Series:
    """Texts as times, (n,): the usual forms of all texts at once, rarer ones one by one; null for any other text."""
    text = column.str.strip_chars().str.replace(r"^(\d{4}-\d\d-\d\d)[ t]", "${1}T")
    tries = [text.str.to_datetime(form, time_unit="us", time_zone="UTC", strict=False) for form in _ISO]
    times = pl.select(pl.coalesce(*tries)).to_series()
    if (times.is_null() & text.is_not_null()).any():
        rarer = text.filter(times.is_null()).unique().drop_nulls()
        rarer_times = pl.Series([_parse_text(form) for form in rarer], dtype=DTYPE)
        rare_values = text.replace_strict(rarer, rarer_times, default=None, return_dtype=DTYPE)
        times = pl.select(pl.coalesce(times, rare_values)).to_series()
    return times.alias(column.name)


def _parse_text(text: str) -> datetime | None:
    """The time of a rarer form of ISO 8601 or of a number as text, or null."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    try:
        number: datetime | None = _parse_numbers(pl.Series([float(text)])).item()
    except (ValueError, OverflowError):
        return None
    return number
