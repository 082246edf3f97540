"""The features of a response: each a named Polars expression over its tokens, with meaning, unit and sign.

Two columns of a token feed them: its entropy H(t), natural logarithm, truncated to the top 20 and not renormalised,
and its negative log-likelihood -l(t). Source: the paper, section 3 and Table 1. A new feature is one entry at the end
of `CATALOGUE`: the columns of frames, the names in the config, titles and signs are read from here.
"""

from dataclasses import dataclass

import polars as pl

H, NLL = pl.col("entropy"), pl.col("nll")
# Up to this standard deviation, in nats, third and fourth moments are float noise.
FLAT_STD = 1e-6
_FLAT = H.std(ddof=0) <= FLAT_STD


@dataclass(frozen=True)
class Feature:
    """One statistic of a response; `confident` where a larger value means more certain."""

    name: str
    title: str
    meaning: str
    unit: str
    expression: pl.Expr
    confident: bool = False
    alone: str = ""  # its title as an estimator alone, where that differs (the paper, Tables 3 and 8)


def _quantile(percent: int, meaning: str) -> Feature:
    return Feature(f"q{percent}", f"Q{percent}", meaning, "nats", H.quantile(percent / 100, "linear"))


CATALOGUE: dict[str, Feature] = {
    feature.name: feature
    for feature in (
        Feature(
            "mean", "Mean", "mean of the entropy H(t) over the response's tokens", "nats", H.mean(), alone="SE mean"
        ),
        Feature("std", "Std dev", "population standard deviation of H(t)", "nats", H.std(ddof=0)),
        Feature("max", "Max", "largest H(t)", "nats", H.max(), alone="SE max"),
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
            pl.when(_FLAT).then(0.0).otherwise(H.skew(bias=True)),
            confident=True,
        ),
        Feature(
            "kurtosis",
            "Kurtosis",
            "Pearson kurtosis of H(t), 3 for a normal distribution",
            "1",
            pl.when(_FLAT).then(0.0).otherwise(H.kurtosis(fisher=False, bias=True)),
            confident=True,
        ),
        Feature("se_sum", "SE sum (SEA)", "sum of H(t): SEA, EAS in the paper", "nats", H.sum(), alone="SE sum"),
        Feature("nll_avg", "NLL avg", "mean negative log-likelihood of the sampled tokens", "nats", NLL.mean()),
        Feature("nll_max", "NLL max", "largest negative log-likelihood of a sampled token", "nats", NLL.max()),
        Feature("nll_sum", "NLL sum", "summed negative log-likelihood of the sampled tokens", "nats", NLL.sum()),
        Feature(
            "lntp",
            "LNTP",
            "geometric mean of the sampled tokens' probabilities",
            "1",
            (-NLL.mean()).exp(),
            confident=True,
        ),
        Feature("mtp", "MTP", "smallest probability of a sampled token", "1", (-NLL.max()).exp(), confident=True),
        Feature("ppl", "PPL", "perplexity: exp(nll_avg)", "1", NLL.mean().exp()),
    )
}
FEATURES: tuple[str, ...] = tuple(CATALOGUE)
CONFIDENCE_FEATURES = frozenset(name for name, feature in CATALOGUE.items() if feature.confident)

# The paper's feature sets. A feature that is added joins none of them.
FEATURE_SETS: dict[str, tuple[str, ...]] = {
    "17d": FEATURES[:17],
    "10d": FEATURES[:10],
    "3d": ("max", "se_sum", "nll_sum"),
    "1d": ("se_sum",),
}
