"""The words of a response as a set of buckets: hashes of its tokens, from which no text can be restored.

A bucket is crc32 of a token without surrounding white space, in lower case, modulo BUCKETS. Tokens are text in one
spelling whatever the server: `Ġthe` and `▁the` are ` the`. Marks of the end of a text and of a turn are left out. A log
without tokens has the words of its text instead; the two kinds of buckets are not compared with each other.

What they reveal: whether a response contains one of the words of a bucket. Hundreds of words share a bucket, so a set
tells kinds of texts apart, not texts; it can confirm a guess of a whole text.
"""

import re
import zlib
from functools import lru_cache

import numpy as np
import polars as pl

from entropy_sentinel.schemas.arrow_lists import split_lists

BUCKETS = 256
# The column with the buckets of a response, sorted, and the column with what they were made of.
COLUMN, KIND = "buckets", "buckets_of"
SCHEMA: dict[str, pl.DataType] = {COLUMN: pl.List(pl.UInt8), KIND: pl.String()}
TOKENS, WORDS = "tokens", "words"
# Marks such as <|im_end|>, </s>, <eos>, <end_of_turn>, [/INST].
_MARK = re.compile(r"<\|[^<>|]*\|>|</?s>|<(?:eos|bos|pad|unk|end_of_turn|start_of_turn|end_of_text)>|\[/?INST\]")
# How tokenizers write a space and a line break: GPT-2's bytes, and SentencePiece.
_SPELLINGS = str.maketrans({"Ġ": " ", "Ċ": "\n", "ĉ": "\t", "▁": " "})
_WORD = r"\w+|[^\w\s]"


@lru_cache(maxsize=1 << 19)
def hash_token(token: str) -> int:
    """The bucket of a token, a hash of its text below BUCKETS; -1 for an empty token, and for a mark like `</s>`."""
    if not token or _MARK.fullmatch(token.strip()):
        return -1
    text = token.translate(_SPELLINGS).strip().lower()
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) % BUCKETS


def hash_responses(traces: pl.DataFrame) -> pl.DataFrame:
    """The columns of SCHEMA for rows of GENERATIONS: the buckets of each response's words, and what these were.

    They are its tokens from `trace_start` on, as for features, or else the words of its text; null without both.
    """
    tokens = pl.Series([None] * len(traces), dtype=pl.List(pl.String))
    if "tokens" in traces.columns:
        used = pl.col("tokens").cast(pl.List(pl.String)).list.slice(pl.col("trace_start"))
        tokens = traces.select(used).to_series()
    kinds = pl.select(pl.when(tokens.list.len() > 0).then(pl.lit(TOKENS))).to_series()
    # Responses without tokens have the words of their text.
    if "text" in traces.columns and kinds.null_count():
        text = traces["text"].cast(pl.String)
        words = pl.select(pl.when(kinds.is_null() & (text != "")).then(text.str.extract_all(_WORD))).to_series()
        kinds = kinds.fill_null(pl.select(pl.when(words.list.len() > 0).then(pl.lit(WORDS))).to_series())
        tokens = pl.select(pl.coalesce(pl.when(kinds == TOKENS).then(tokens), words)).to_series()
    bits = _bucket_matrix(tokens)
    # The true columns of each row, as one list for each response.
    lists = split_lists(pl.Series(np.nonzero(bits)[1].astype(np.uint8)), bits.sum(axis=1))
    rows = pl.DataFrame({COLUMN: lists.cast(SCHEMA[COLUMN]), KIND: kinds.cast(pl.String)})
    return rows.with_columns(pl.when(pl.col(KIND).is_not_null()).then(COLUMN))


def count_buckets(buckets: pl.Series, slices: np.ndarray, n_slices: int) -> np.ndarray:
    """For each slice the number of its responses, and of those that contain each bucket, (n_slices, 1 + BUCKETS).

    `buckets` (n_rows,) are lists, null if unknown; such rows do not count. `slices` (n_rows,) is the number of the
    slice of each row, below `n_slices`.
    """
    has_buckets = buckets.is_not_null().to_numpy()
    slices = np.asarray(slices, dtype=np.int64)[has_buckets]
    lengths = buckets.list.len().drop_nulls().to_numpy().astype(np.int64)
    flat = buckets.drop_nulls().explode(empty_as_null=False, keep_nulls=False).to_numpy().astype(np.int64)
    width = 1 + BUCKETS
    # Of each response one place in the column 0 of its slice, and one in the column of each of its buckets.
    places = np.concatenate([slices * width, np.repeat(slices * width + 1, lengths) + flat])
    return np.bincount(places, minlength=n_slices * width).reshape(n_slices, width)


def _bucket_matrix(tokens: pl.Series) -> np.ndarray:
    """Which buckets each response contains, (n_responses, BUCKETS) of bool."""
    lengths = tokens.list.len().fill_null(0).to_numpy().astype(np.int64)
    # The last column is for tokens without a bucket (-1).
    bits = np.zeros((len(tokens), BUCKETS + 1), dtype=bool)
    flat = tokens.explode(empty_as_null=False, keep_nulls=False)
    if len(flat):
        # Each different token is hashed once.
        codes = flat.fill_null("").cast(pl.Categorical(pl.Categories.random())).to_physical().to_numpy()
        different, first = np.unique(codes, return_index=True)
        table = np.zeros(int(codes.max()) + 1, dtype=np.int64)
        table[different] = [hash_token(text or "") for text in flat.gather(first).to_list()]
        bits[np.repeat(np.arange(len(tokens)), lengths), table[codes]] = True
    return bits[:, :BUCKETS]
