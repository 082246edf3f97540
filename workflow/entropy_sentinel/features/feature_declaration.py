"""A feature of a response: a named Polars expression over its tokens.

An expression uses lists with one number per token: `H`, the token's entropy H(t) in nats, over the top 20 and not
renormalised, and `NLL`, its negative log-likelihood -l(t). In `H(X.mean())`, X stands for the list of one response.
"""

from dataclasses import dataclass

import polars as pl

from entropy_sentinel.schemas.signal_schema import Signal

X = pl.element()
H, NLL = pl.col("entropy").list.agg, pl.col("nll").list.agg
# Further lists of a response (features/token_lists.py): the probability of the step's top k, and the most that H(t)
# omits.
CAPTURED, BOUND = pl.col("captured").list.agg, pl.col("bound").list.agg


@dataclass(frozen=True)
class Feature(Signal):
    """A signal that is a statistic of the response's tokens."""

    expression: pl.Expr
