"""The quality of estimates over domains: AEE and rho."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from entropy_sentinel.statistics.array_types import Numbers

# Means of the same number over different counts differ in their last bits, which must not affect ranks.
RANK_DECIMALS = 12
# Over fewer domains a rank correlation has few possible values and is often 1 by chance.
FEWEST_FOR_RHO = 5


def measure_aee(estimated: Numbers, true: Numbers) -> float:
    """The accuracy estimation error: mean |estimated - true| over domains, in [0, 1] (paper, section 4).

    Both are (n_domains,) accuracies in [0, 1], n_domains at least 1, without nulls.
    """
    return float(np.mean(np.abs(np.subtract(estimated, true))))


def mean_interval(values: Numbers, level: float) -> tuple[float, float] | None:
    """Student's interval of the mean of `values`, (n,), at `level` in (0, 1); null for fewer than two.

    It takes the values for independent and roughly normal, as differences of errors on domains are.
    """
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return None
    from scipy.stats import t  # slow to import; many jobs need only medians

    half = t.ppf((1 + level) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def measure_rho(estimated: Numbers, true: Numbers) -> tuple[float | None, str | None]:
    """Spearman's rank correlation of estimated and true accuracies over domains (paper, section 4).

    Both are (n_domains,), without nulls. They are rounded to `RANK_DECIMALS` decimals before ranking, so that values
    that differ only in their last bits are ties. Returns (rho, None), or (None, reason) if rho is undefined.
    """
    estimated, true = np.round(estimated, RANK_DECIMALS), np.round(true, RANK_DECIMALS)
    if len(estimated) < 2:
        return None, "fewer than 2 domains"
    if np.ptp(estimated) == 0:
        return None, "estimated accuracies are all equal"
    if np.ptp(true) == 0:
        return None, "true accuracies are all equal"
    from scipy.stats import spearmanr  # slow to import, as above

    return float(spearmanr(estimated, true).statistic), None


class Errors(NamedTuple):
    """AEE and rho over `n_domains` domains; `reason` says why one of them is null."""

    aee: float | None
    rho: float | None
    n_domains: int
    reason: str | None


def evaluate_estimates(estimated: Numbers, true: Numbers) -> Errors:
    """AEE and rho over the domains that have both accuracies; both are null if there are none.

    Both are (n_domains,) accuracies in [0, 1], NaN if unknown.
    """
    estimated, true = np.asarray(estimated, dtype=float), np.asarray(true, dtype=float)
    has_both = ~(np.isnan(estimated) | np.isnan(true))
    estimated, true = estimated[has_both], true[has_both]
    if not len(true):
        return Errors(None, None, 0, "no domain with labels and an estimate")
    correlation, reason = measure_rho(estimated, true)
    return Errors(measure_aee(estimated, true), correlation, len(true), reason)


def evaluate_groups(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """`evaluate_estimates` for each group of rows by the columns `by`, in the order of their first rows.

    `frame` has accuracies in the columns estimated and true, null if unknown. The result has the columns of `by` and
    the fields of `Errors`. It is for hundreds of thousands of groups, for which `evaluate_estimates` would take
    minutes.
    """
    has_both = pl.col("estimated").is_not_null() & pl.col("true").is_not_null()
    estimated = (pl.col("estimated").filter(has_both) * 10**RANK_DECIMALS).round(mode="half_to_even")
    true = (pl.col("true").filter(has_both) * 10**RANK_DECIMALS).round(mode="half_to_even")
    errors = frame.group_by(by, maintain_order=True).agg(
        aee=(pl.col("estimated") - pl.col("true")).abs().mean(),
        rho=pl.corr(estimated.rank("average"), true.rank("average")),
        n_domains=has_both.sum(),
        estimated_differ=estimated.n_unique() > 1,
        true_differ=true.n_unique() > 1,
    )
    reasons = {
        "no domain with labels and an estimate": pl.col("n_domains") == 0,
        "fewer than 2 domains": pl.col("n_domains") == 1,
        "estimated accuracies are all equal": ~pl.col("estimated_differ"),
        "true accuracies are all equal": ~pl.col("true_differ"),
    }
    first = pl.coalesce(pl.when(holds).then(pl.lit(reason)) for reason, holds in reasons.items())
    errors = errors.with_columns(reason=first)
    rho_where_defined = pl.when(pl.col("reason").is_null()).then(pl.col("rho"))
    return errors.with_columns(rho=rho_where_defined).select(*by, *Errors._fields)


def median_value(values: Numbers) -> float:
    """The median of at least one value, in the unit of the values."""
    return float(np.median(values))


def interquartile_range(values: Numbers) -> float:
    """The interquartile range of at least one value, with exclusive quartiles, at (n + 1) p.

    This definition reproduces the IQRs of the paper's Table 3 from its Table 8.
    """
    lower, upper = np.quantile(values, [0.25, 0.75], method="weibull")
    return float(upper - lower)
