"""The features of a response: named Polars expressions over its tokens, with meaning, unit and sign.

They use two lists with one number per token: its entropy H(t) in nats, over the top 20 and not renormalised, and its
negative log-likelihood -l(t). In `H(X.mean())` X stands for the list of one response. Source: the paper, section 3 and
Table 1. A new feature is one entry at the end of `CATALOGUE`, which also gives the columns of frames, the names in the
config, titles and signs.
"""

from dataclasses import dataclass

import polars as pl

from entropy_sentinel.features.buckets import SCHEMA as BUCKET_SCHEMA
from entropy_sentinel.frames.contract import Column, Contract
from entropy_sentinel.frames.response import RESPONSE, RESPONSE_COLUMNS
from entropy_sentinel.frames.signals import Signal

X = pl.element()
H, NLL = pl.col("entropy").list.agg, pl.col("nll").list.agg
# Further lists of a response (features/tokens.py), for extra columns.
CAPTURED, BOUND = pl.col("captured").list.agg, pl.col("bound").list.agg
# Up to this standard deviation, in nats, third and fourth moments consist only of rounding errors.
FLAT_STD = 1e-6
_FLAT = X.std(ddof=0) <= FLAT_STD


@dataclass(frozen=True)
class Feature(Signal):
    """A signal that is a statistic of the response's tokens."""

    expression: pl.Expr


def _quantile(percent: int, meaning: str) -> Feature:
    return Feature(f"q{percent}", f"Q{percent}", meaning, "nats", H(X.quantile(percent / 100, "linear")))


CATALOGUE: dict[str, Feature] = {
    feature.name: feature
    for feature in (
        Feature(
            "mean", "Mean", "mean of the entropy H(t) over the response's tokens", "nats", H(X.mean()), alone="SE mean"
        ),
        Feature("std", "Std dev", "population standard deviation of H(t)", "nats", H(X.std(ddof=0))),
        Feature("max", "Max", "largest H(t)", "nats", H(X.max()), alone="SE max"),
        _quantile(10, "10 % quantile of H(t), linear interpolation"),
        _quantile(25, "25 % quantile of H(t)"),
        _quantile(50, "median of H(t)"),
        _quantile(75, "75 % quantile of H(t)"),
        _quantile(90, "90 % quantile of H(t)"),
        Feature(
            "skewness",
            "Skewness",
            "biased sample skewness of H(t)",
            "1",
            H(pl.when(_FLAT).then(0.0).otherwise(X.skew(bias=True))),
            confident=True,
        ),
        Feature(
            "kurtosis",
            "Kurtosis",
            "Pearson kurtosis of H(t), 3 for a normal distribution",
            "1",
            H(pl.when(_FLAT).then(0.0).otherwise(X.kurtosis(fisher=False, bias=True))),
            confident=True,
        ),
        Feature("se_sum", "SE sum (SEA)", "sum of H(t): SEA, EAS in the paper", "nats", H(X.sum()), alone="SE sum"),
        Feature("nll_avg", "NLL avg", "mean negative log-likelihood of the sampled tokens", "nats", NLL(X.mean())),
        Feature("nll_max", "NLL max", "largest negative log-likelihood of a sampled token", "nats", NLL(X.max())),
        Feature("nll_sum", "NLL sum", "summed negative log-likelihood of the sampled tokens", "nats", NLL(X.sum())),
        Feature(
            "lntp",
            "LNTP",
            "geometric mean of the sampled tokens' probabilities",
            "1",
            NLL((-X.mean()).exp()),
            confident=True,
            share=True,
        ),
        Feature(
            "mtp",
            "MTP",
            "smallest probability of a sampled token",
            "1",
            NLL((-X.max()).exp()),
            confident=True,
            share=True,
        ),
        Feature("ppl", "PPL", "perplexity: exp(nll_avg)", "1", NLL(X.mean().exp())),
    )
}
FEATURES: tuple[str, ...] = tuple(CATALOGUE)

# The paper's feature sets. New features do not join them.
FEATURE_SETS: dict[str, tuple[str, ...]] = {
    "17d": FEATURES[:17],
    "10d": FEATURES[:10],
    "3d": ("max", "se_sum", "nll_sum"),
    "1d": ("se_sum",),
}

# A step is open if all tokens outside the top k have more than this probability.
OPEN_MASS = 0.01
# The number of last tokens of a response for its end's mean entropy.
LAST_TOKENS = 10

# Facts about a response other than its features; estimators see them only on request.
EXTRAS: dict[str, Feature] = {
    extra.name: extra
    for extra in (
        Feature(
            "max_position",
            "Position of max",
            "the position of the largest H(t), from 0 among the tokens that the features use",
            "1",
            H(X.arg_max().cast(pl.Float64)),
        ),
        Feature(
            "last_entropy",
            "SE end",
            f"mean of H(t) over the last {LAST_TOKENS} tokens",
            "nats",
            H(X.tail(LAST_TOKENS).mean()),
        ),
        Feature(
            "captured_mass",
            "Captured mass",
            "mean probability of a step's top k together",
            "1",
            CAPTURED(X.mean()),
            confident=True,
        ),
        Feature(
            "open_steps",
            "Open steps",
            f"share of steps whose top k leave more than {OPEN_MASS} to other tokens",
            "1",
            CAPTURED((1 - X > OPEN_MASS).mean()),
        ),
        Feature(
            "entropy_error_bound",
            "SE error bound",
            "mean bound on the part of the full-vocabulary entropy that H(t) omits; null if its size is unknown",
            "nats",
            BOUND(X.mean()),
        ),
    )
}


# The words of a response (`features.buckets`), which tell unfamiliar slices; null in files of earlier versions.
WORD_COLUMNS = (
    Column("buckets", BUCKET_SCHEMA["buckets"], "hashes of the response's words", nullable=True, added=True),
    Column("buckets_of", BUCKET_SCHEMA["buckets_of"], "what they are of: tokens or words", nullable=True, added=True),
)


FEATURE_FRAME = Contract(
    stage="features",
    open=True,
    key=RESPONSE,
    columns=(
        *RESPONSE_COLUMNS,
        Column("n_tokens", pl.UInt32, "length of the response", "tokens"),
        Column("displaced_steps", pl.UInt32, "steps whose entropy may lack a term (frames/generation.py)", "tokens"),
        Column("finish_reason", pl.String, "`stop` if the response is complete (frames/generation.py)"),
        *(one.column for one in CATALOGUE.values()),
        Column("trace_tokens", pl.UInt32, "tokens that the features use: all, or those after the thinking", "tokens"),
        Column("cut_off", pl.Boolean, "whether the response was truncated (frames/generation.py)"),
        *(one.column for one in EXTRAS.values()),
        Column("clamped_tokens", pl.UInt32, "sampled tokens whose log-probability was -inf or <= -9999", "tokens"),
        Column("reason", pl.String, "why the features are null; null if there are features", nullable=True),
        *WORD_COLUMNS,
    ),
)
