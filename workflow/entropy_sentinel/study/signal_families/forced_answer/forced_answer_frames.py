"""Family `forced_answer`: the entropy of an answer inserted after each token of a response, and its area.

The pass writes `passes/forced_answer/{model}/{benchmark}.parquet`, a row per response and kind of answer.
"""

import polars as pl

from entropy_sentinel.schemas.contract import Column, Contract
from entropy_sentinel.schemas.response_schema import RESPONSE, RESPONSE_COLUMNS

FORCED_ANSWERS = Contract(
    stage="forced_answers",
    key=(*RESPONSE, "answer"),
    columns=(
        *RESPONSE_COLUMNS,
        Column("answer", pl.String, "which answer is inserted: `own`, `reference` or `none`"),
        Column(
            "answer_text",
            pl.String,
            "its text, as it would stand in `\\boxed{}`; null for `none`, or without an answer",
            nullable=True,
        ),
        Column(
            "answer_tokens", pl.UInt32, "L, its length; 0 for `none`, null without an answer", "tokens", nullable=True
        ),
        Column(
            "tokens_to_answer",
            pl.UInt32,
            "T, length of the response up to the last token of its own final answer; null without one",
            "tokens",
            nullable=True,
        ),
        Column(
            "positions",
            pl.List(pl.UInt32),
            "(P,) tokens t after which the answer was inserted, of 1 .. T - 1; null with a reason",
            "tokens",
            nullable=True,
        ),
        Column(
            "entropies",
            pl.List(pl.Float32),
            "(P,) H(t) of the next token after x_1 .. x_t, `\\boxed{` and the answer's first L - 1 tokens, over the 20 "
            "most likely tokens, not renormalised",
            "bits",
            nullable=True,
        ),
        Column("missing_masses", pl.List(pl.Float32), "(P,) eps, probability of all other tokens", "1", nullable=True),
        Column(
            "bounds",
            pl.List(pl.Float32),
            "(P,) largest error of H(t), which may be too small: eps log2((V - 20) / eps), V the model's vocabulary",
            "bits",
            nullable=True,
        ),
        Column(
            "options",
            pl.List(pl.String),
            "(O,) letters of the question's options; null unless signals.forced_answer.options is set, if the "
            "question has none, and if L is above 1",
            nullable=True,
        ),
        Column(
            "option_probabilities",
            pl.List(pl.List(pl.Float32)),
            "(O, P) probability of each letter right after the brace; null if it is not among the 20 most likely",
            "1",
            nullable=True,
        ),
        Column(
            "eas",
            pl.Float64,
            "entropy area score: sum of H(t) over t = 1 .. T - 1, interpolated at positions that were not asked",
            "bits",
            nullable=True,
        ),
        Column("mean_eas", pl.Float64, "eas / (T - 1)", "bits", nullable=True),
        Column("eas_bound", pl.Float64, "largest amount by which eas may be too small", "bits", nullable=True),
        Column("reason", pl.String, "why there is no trajectory; null if there is one", nullable=True),
    ),
)
