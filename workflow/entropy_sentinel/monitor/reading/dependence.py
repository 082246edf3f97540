"""Which responses depend on each other: those to the same request, or with the same value of a column.

A cluster is a 64-bit hash, so it reveals neither questions nor users. Equal texts have equal hashes on every machine,
because states keep them.
"""

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import polars as pl

# The column of frames with the cluster of each response; null if the response depends on no other.
CLUSTER = "cluster"
# The column of frames with the stratum of each response: its values of the columns by which labels were drawn.
STRATUM = "stratum"
# Names of columns that identify a conversation, in the last part of a dotted name.
_CONVERSATION = re.compile(r"(conversation|thread|session|dialog|dialogue|chat)([_-]?(id|uuid|key))?", re.IGNORECASE)


def hash_texts(texts: pl.Series) -> pl.Series:
    """A 64-bit hash of each text, (n,), null for null."""
    distinct = texts.drop_nulls().unique()
    hashes = [int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()) for text in distinct]
    numbers = pl.Series(hashes, dtype=pl.UInt64)
    return texts.replace_strict(distinct, numbers, default=None, return_dtype=pl.UInt64).alias(CLUSTER)


def hash_values(columns: Sequence[pl.Series]) -> pl.Series:
    """A 64-bit hash of the values of one text column or several, (n,); null where all are null."""
    frame = pl.DataFrame([column.alias(str(place)) for place, column in enumerate(columns)])
    # Control characters tell null from an empty text, and the values from each other.
    texts = pl.concat_str(pl.all().fill_null("\1"), separator="\0")
    has_value = pl.any_horizontal(pl.all().is_not_null())
    return hash_texts(frame.select(pl.when(has_value).then(texts)).to_series()).alias(STRATUM)


def make_item_texts(batch: pl.DataFrame) -> pl.Series:
    """A text for the item of each response if items have several responses, (n,); else null.

    Ids that are places in a file are different for different requests.
    """
    if not (batch["sample"] > 0).any():
        return pl.Series(CLUSTER, [None] * len(batch), dtype=pl.String)
    is_place = pl.col("item_id").str.starts_with(pl.format("{}-", "benchmark"))
    item = pl.when(~is_place).then(pl.format("{}\0{}", "benchmark", "item_id"))
    return batch.select(item.alias(CLUSTER)).to_series()


def find_conversation_column(names: Iterable[str]) -> str | None:
    """The first of a log's columns that seems to identify a conversation; null if none does."""
    return next((name for name in names if _CONVERSATION.fullmatch(name.rpartition(".")[2])), None)
