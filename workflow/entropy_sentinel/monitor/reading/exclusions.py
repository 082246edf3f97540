"""Record which responses a monitor cannot watch, and why: by code, subject, slice and window.

A code is stable. It is the kind of a missing feature's reason (`features.exclusion_reasons`), or one of
`ExclusionKind`. The subject is what the reason is about, such as the name of a model that has no estimator.
"""

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import polars as pl

from entropy_sentinel.features.exclusion_reasons import ExclusionCode, exclusion_code
from entropy_sentinel.schemas.generation_schema import REFUSED

# Columns of a frame of responses.
CODE, SUBJECT = "exclusion_code", "exclusion_subject"
# Columns of a frame of exclusions, besides the slice columns. `hash` identifies a response that no other part of the
# monitor counts, so that files that repeat it count it once; null where repeated responses were dropped before.
SCHEMA: dict[str, Any] = {
    "grain": pl.Datetime("us", "UTC"),
    "code": pl.String,
    "subject": pl.String,
    "n": pl.Int64,
    "hash": pl.UInt64,
}
# Largest numbers of subjects of a file, and of characters of a subject: a log may contain any name.
_MOST_SUBJECTS, _LONGEST_SUBJECT = 50, 200
_POOLED_SUBJECT = "(others)"
_MOST_MODELS = 1000


class ExclusionKind(StrEnum):
    """Codes of exclusions that are no missing features."""

    OTHER_MODEL = "other-model"
    OTHER_LOGPROBS = "other-logprobs"
    # The server refused to answer, or the answer has no tokens: there is nothing to estimate.
    REFUSED_REQUEST = "refused"
    NO_TOKENS = "empty"
    # Any other reason, such as one of an extension.
    NO_FEATURES = "no-features"


# Exclusions that leave no answer unwatched.
HARMLESS_CODES = frozenset({ExclusionKind.REFUSED_REQUEST, ExclusionKind.NO_TOKENS, ExclusionCode.NO_ANSWER})
_EMPTY = "empty response"


class Mismatch(NamedTuple):
    """A difference between a response and an estimator's training data: the setting, and the response's value."""

    setting: str
    value: str


def classify_reason(reason: str) -> str:
    """The code of the reason why a response has no features."""
    if reason.startswith(REFUSED):
        return ExclusionKind.REFUSED_REQUEST
    if reason.startswith(_EMPTY):
        return ExclusionKind.NO_TOKENS
    return exclusion_code(reason) or ExclusionKind.NO_FEATURES


def count_exclusions(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The exclusions of responses by slice (`keys`), window, code and subject, with the columns SCHEMA."""
    excluded = frame.filter(pl.col(CODE).is_not_null())
    groups = excluded.group_by(*keys, "grain", code=CODE, subject=SUBJECT, maintain_order=True)
    counts = groups.agg(n=pl.len().cast(pl.Int64)).with_columns(hash=pl.lit(None, pl.UInt64))
    return counts.select(*keys, *SCHEMA)


def list_unwatched_responses(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """An exclusion for each response of a model without an estimator; `frame` has `subject` and `hash`."""
    rows = frame.with_columns(code=pl.lit(ExclusionKind.OTHER_MODEL.value), n=pl.lit(1, pl.Int64))
    return rows.select(*keys, *SCHEMA)


class ExclusionCounter:
    """Adds up the exclusions of a file."""

    def __init__(self) -> None:
        """Start a file."""
        self._parts: list[pl.DataFrame] = []

    def add(self, part: pl.DataFrame) -> None:
        """Add a frame of exclusions."""
        if len(part):
            self._parts.append(part)

    def add_all(self, counter: "ExclusionCounter") -> None:
        """Add the exclusions of another counter."""
        self._parts.extend(counter._parts)

    @property
    def models(self) -> list[str]:
        """The models that have no estimator."""
        models: set[str] = set()
        for part in self._parts:
            models.update(part.filter(pl.col("code") == ExclusionKind.OTHER_MODEL)["subject"].drop_nulls())
        return sorted(models)[:_MOST_MODELS]

    def make_frame(self) -> pl.DataFrame | None:
        """The exclusions so far, with a bounded number of subjects; null if there are none."""
        if not self._parts:
            return None
        whole = pl.concat(self._parts).with_columns(pl.col("subject").str.slice(0, _LONGEST_SUBJECT))
        most = whole.group_by("code", "subject").agg(pl.col("n").sum()).sort("n", "subject", descending=[True, False])
        kept = most.head(_MOST_SUBJECTS).select("code", "subject", kept=pl.lit(True))
        whole = whole.join(kept, on=["code", "subject"], how="left", maintain_order="left", nulls_equal=True)
        subject = pl.when("kept").then("subject").otherwise(pl.lit(_POOLED_SUBJECT)).alias("subject")
        whole = whole.with_columns(subject).drop("kept")
        return whole.group_by(pl.all().exclude("n"), maintain_order=True).agg(pl.col("n").sum()).select(whole.columns)


def merge_exclusions(parts: Sequence[pl.DataFrame], models: Collection[str] = ()) -> pl.DataFrame | None:
    """The exclusions of all files, each response once, without those of `models`; null if there are none."""
    if not parts:
        return None
    whole = pl.concat(parts, how="diagonal")
    watched = (pl.col("code") == ExclusionKind.OTHER_MODEL) & pl.col("subject").is_in([*models])
    whole = whole.filter(~watched)
    # A row with a hash is a single response, which several files may have.
    hashed = pl.col("hash").is_not_null()
    return pl.concat([whole.filter(~hashed), whole.filter(hashed).unique("hash", maintain_order=True)])
