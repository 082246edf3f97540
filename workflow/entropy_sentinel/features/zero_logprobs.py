"""Recognise log-probabilities that a server did not compute: all are 0, a probability of 1 for every token.

Some servers write 0 for every sampled token, and -9999, -inf, null or nothing for the alternatives; others do so at
temperature 0, because they return the values after sampling. A token that the model is truly certain of may have the
log-probability 0 as well, but a softmax gives every alternative a finite value, such as -17.5. So a response is `empty`
if all its sampled tokens have the value 0, and no step has an alternative between SMALLEST and 0.

With one alternative per token, a certain "Yes" is empty, too. So an empty response is refused in two cases only:

- It has more than LONGEST_CERTAIN tokens. This depends on nothing else.
- It is short, and the file shows that the server writes zeros. Of this model, the file (up to the thousand responses
  around it) has at least FEWEST_RESPONSES longer ones that are empty, or that many of any length, all of them empty.
"""

from collections import Counter

import numpy as np
import polars as pl

from entropy_sentinel.schemas.generation_schema import UNUSABLE

LONGEST_CERTAIN = 4
FEWEST_RESPONSES = 10
# The logits of a model differ by less than this; servers write -100, -9999 or less for a probability of 0.
SMALLEST = -90.0
ZERO_LOGPROBS = "all log-probabilities are 0: the server did not compute them"


def find_empty(traces: pl.DataFrame) -> pl.Series:
    """Whether the log-probabilities of each response are empty, (n,): all 0, and no alternative is finite.

    False for a response without tokens.
    """
    sampled = pl.col("token_logprobs").list
    is_zero = ((sampled.min() == 0) & (sampled.max() == 0)).fill_null(False)
    empty = traces.select(is_zero.alias("empty")).to_series()
    if not empty.any():
        return empty
    # Of the responses whose sampled tokens have the value 0, those with a finite alternative are not empty.
    rows = empty.arg_true()
    steps = traces["top_logprobs"].gather(rows)
    entries = steps.explode(empty_as_null=False, keep_nulls=False)
    width = entries.dtype.shape[0] if isinstance(entries.dtype, pl.Array) else 0
    values = entries.arr.explode().cast(pl.Float64).fill_null(-np.inf).to_numpy().reshape(-1, max(width, 1))
    is_finite = ((values > SMALLEST) & (values < 0)).any(axis=1)  # of each step
    row_by_step = np.repeat(np.arange(len(rows)), steps.list.len().fill_null(0).to_numpy())
    has_finite = np.bincount(row_by_step, weights=is_finite, minlength=len(rows)) > 0
    return empty.scatter(rows.to_numpy()[has_finite], False)


def exclude_zero_logprobs(traces: pl.DataFrame) -> pl.DataFrame:
    """Traces with ZERO_LOGPROBS as the column UNUSABLE of empty responses that are not short."""
    return _mark_excluded(traces, find_empty(traces) & (traces["n_tokens"] > LONGEST_CERTAIN))


class ZeroLogprobsFilter:
    """Excludes empty responses in the frames of a file, the short ones too if all are empty."""

    def __init__(self) -> None:
        """Start a file."""
        # Empty: all log-probabilities are 0; long: of more than LONGEST_CERTAIN tokens. By model: the number of
        # responses, all of them empty, in the frames since the last other one; and that of long empty ones, in all
        # frames.
        self._n_empty_in_a_row, self._n_long_empty = Counter[str | None](), Counter[str | None]()

    def exclude(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The next frame of the file with the reason of the excluded responses in the column UNUSABLE."""
        empty = find_empty(frame)
        excluded = empty & (frame["n_tokens"] > LONGEST_CERTAIN)
        with_tokens = frame.select("model", empty=empty, long=excluded).filter(frame["n_tokens"] > 0)
        counts = with_tokens.group_by("model").agg(pl.len(), pl.col("empty").all(), pl.col("long").sum())
        # The models whose server writes zeros: of them, short empty responses are excluded, too.
        zero_models = []
        for model, count, all_empty, n_long_empty in counts.iter_rows():
            self._n_empty_in_a_row[model] = self._n_empty_in_a_row[model] + count if all_empty else 0
            self._n_long_empty[model] += n_long_empty
            if max(self._n_empty_in_a_row[model], self._n_long_empty[model]) >= FEWEST_RESPONSES:
                zero_models.append(model)
        if zero_models:
            is_zero_model = frame["model"].is_in([model for model in zero_models if model is not None])
            # Responses of an unknown model, null, are those of one more.
            excluded |= empty & is_zero_model.fill_null(None in zero_models)
        return _mark_excluded(frame, excluded)


def _mark_excluded(frame: pl.DataFrame, excluded: pl.Series) -> pl.DataFrame:
    """The frame with ZERO_LOGPROBS in the column UNUSABLE of the responses that are `excluded`, (n,) of bool."""
    if not excluded.any():
        return frame
    columns = {UNUSABLE: pl.when(excluded).then(pl.lit(ZERO_LOGPROBS)).otherwise(UNUSABLE)}
    if "top_k_returned" in frame.columns:
        columns["top_k_returned"] = pl.when(~excluded).then("top_k_returned")
    return frame.with_columns(**columns)
