"""Contracts of this analysis' files: statements of each variant; intervals of all models, and their scores.

The files are in `results/<study>/intervals/`. Limits of intervals and answers are powers of ten.
"""

import polars as pl

from entropy_sentinel.schemas.contract import Column, Contract
from entropy_sentinel.schemas.response_schema import BENCHMARK_COLUMN, ITEM_COLUMN, RESPONSE, RESPONSE_COLUMNS

_REASON = Column("reason", pl.String, "why there is none, a word of the catalogue's REASONS", nullable=True)
_MODEL = Column("model", pl.String, "model, as it is shown")
_METHOD = Column("method", pl.String, "method of the catalogue")
_LEVEL = Column("level", pl.Float64, "nominal level", "percent")
_HALF = Column(
    "half", pl.String, "`calibration`, where each question is adjusted by the other folds of that half, or `test`"
)
_METHOD_KEY = (_MODEL, _METHOD, _LEVEL, _HALF)
_SAMPLING_TEMPERATURE = Column("temperature", pl.Float64, "of the sampling", "1")
_CHOSEN_TEMPERATURE = Column(
    "temperature", pl.Float64, "the chosen temperature, if the method chooses one", "1", nullable=True
)
_TEMPERATURE_END = Column(
    "temperature_end", pl.String, "`smallest` or `largest` if it is the first or last candidate", nullable=True
)

STATED_INTERVALS = Contract(
    stage="intervals_stated",
    key=RESPONSE,
    columns=(
        *RESPONSE_COLUMNS,
        _LEVEL,
        Column("lower", pl.Int64, "L as the response states it", "powers of ten", nullable=True),
        Column("upper", pl.Int64, "U", "powers of ten", nullable=True),
        _REASON,
    ),
)

INTEGER_ANSWERS = Contract(
    stage="intervals_integers",
    key=RESPONSE,
    columns=(
        *RESPONSE_COLUMNS,
        _SAMPLING_TEMPERATURE,
        Column("value", pl.Int64, "the integer that the response consists of", "powers of ten", nullable=True),
        Column(
            "probability",
            pl.Float64,
            "of the response as a whole, before temperature; null without log-probabilities",
            "1",
            nullable=True,
        ),
        _REASON,
    ),
)

BELIEFS = Contract(
    stage="intervals_beliefs",
    key=("model", "basis", "benchmark", "item_id"),
    columns=(
        _MODEL,
        Column("basis", pl.String, "`whole`, `first_token` or `sampled`: its source"),
        *(BENCHMARK_COLUMN, ITEM_COLUMN),
        Column("values", pl.List(pl.Int64), "(n,) integers, rising", "powers of ten"),
        Column("probabilities", pl.List(pl.Float64), "(n,) among all possible outputs: not normalised", "1"),
        Column("missing", pl.Float64, "1 minus their sum", "1"),
    ),
)

ADJUSTED_INTERVALS = Contract(
    stage="intervals_adjusted",
    key=("model", "method", "level", "half", "item_id"),
    columns=(
        *(*_METHOD_KEY, ITEM_COLUMN),
        Column("true", pl.Int64, "the right answer", "powers of ten"),
        Column("lower", pl.Float64, "lower end, -inf if no finite one has the level", "powers of ten", nullable=True),
        Column("upper", pl.Float64, "upper end, inf likewise", "powers of ten", nullable=True),
        _CHOSEN_TEMPERATURE,
        _TEMPERATURE_END,
        Column("reason", pl.String, "why the method is left out at this level", nullable=True),
    ),
)

SCORES = Contract(
    stage="intervals_scores",
    key=("model", "method", "level", "half"),
    columns=(
        *_METHOD_KEY,
        Column("n_questions", pl.UInt32, "questions of the half", "questions"),
        Column("n", pl.UInt32, "of these, with an interval", "questions"),
        Column(
            "n_too_far",
            pl.UInt32,
            "of the questions, those whose stated interval can be read but has an end beyond `farthest`",
            "questions",
        ),
        Column("n_infinite", pl.UInt32, "of these, with an infinite one", "questions"),
        Column("n_common", pl.UInt32, "questions for which every method has an interval", "questions"),
        Column(
            "score",
            pl.Float64,
            "mean Winkler score over the common questions; inf with an infinite interval",
            "powers of ten",
            nullable=True,
        ),
        Column("median_score", pl.Float64, "median score over these", "powers of ten", nullable=True),
        Column("coverage", pl.Float64, "share of all n intervals that contain the truth", "1", nullable=True),
        Column("coverage_lower", pl.Float64, "lower limit of its 95 % interval, Wilson's", "1", nullable=True),
        Column("coverage_upper", pl.Float64, "upper limit", "1", nullable=True),
        Column("width", pl.Float64, "mean width over the common questions", "powers of ten", nullable=True),
        _CHOSEN_TEMPERATURE,
        _TEMPERATURE_END,
    ),
)

DIFFERENCES = Contract(
    stage="intervals_differences",
    key=("model", "method", "level", "half"),
    columns=(
        *_METHOD_KEY,
        Column("n", pl.UInt32, "questions for which every method has an interval", "questions"),
        Column("score", pl.Float64, "mean Winkler score over these", "powers of ten", nullable=True),
        Column("difference", pl.Float64, "from the base's score; below 0 is better", "powers of ten", nullable=True),
        Column("lower", pl.Float64, "95 % interval by bootstrap over questions", "powers of ten", nullable=True),
        Column("upper", pl.Float64, "upper limit", "powers of ten", nullable=True),
        Column("reason", pl.String, "why the difference, or its interval, is null", nullable=True),
    ),
)

SETS = Contract(
    stage="intervals_sets",
    key=("model", "basis", "level"),
    columns=(
        _MODEL,
        Column("basis", pl.String, "the source of the distributions, as in BELIEFS"),
        _LEVEL,
        Column("n", pl.UInt32, "questions of the test half with a distribution", "questions"),
        Column("missing", pl.Float64, "mean probability outside them", "1"),
        Column("in_set", pl.Float64, "share of the right answers in the smallest set", "1"),
        Column("in_hull", pl.Float64, "share within its hull", "1"),
        Column("temperature", pl.Float64, "T*, chosen on the calibration half", "1"),
        _TEMPERATURE_END,
        Column("in_scaled_hull", pl.Float64, "share within the hull at T*", "1"),
        Column("n_base", pl.UInt32, "of the n questions, those with a stated interval", "questions"),
        Column("base", pl.Float64, "share of these that contain the truth", "1", nullable=True),
    ),
)

TUNNEL_INDEX = Contract(
    stage="intervals_tunnel_index",
    key=("model", "temperature", "m"),
    columns=(
        _MODEL,
        _SAMPLING_TEMPERATURE,
        Column("m", pl.UInt32, "sampled answers that the estimate uses", "answers"),
        Column("n", pl.UInt32, "questions of the test half with m answers and a distribution", "questions"),
        Column("entropy", pl.Float64, "mean entropy of the distribution", "nats"),
        Column("index", pl.Float64, "this minus the entropy of the m answers: the empirical tunnel index", "nats"),
        Column("lower", pl.Float64, "95 % interval by bootstrap over questions", "nats"),
        Column("upper", pl.Float64, "upper limit", "nats"),
    ),
)
