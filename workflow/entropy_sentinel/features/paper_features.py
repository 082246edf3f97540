"""The 17 features of the paper, by name: its section 3 and Table 1."""

import polars as pl

from entropy_sentinel.features.feature_declaration import NLL, Feature, H, X

# Up to this standard deviation, in nats, third and fourth moments consist only of rounding errors.
FLAT_STD = 1e-6
_FLAT = X.std(ddof=0) <= FLAT_STD


def _quantile_feature(percent: int, meaning: str) -> Feature:
    """The feature `q10`, `q25`, ...: a quantile of H(t), the entropies of a response's tokens."""
    return Feature(f"q{percent}", f"Q{percent}", meaning, "nats", H(X.quantile(percent / 100, "linear")))


FEATURES: dict[str, Feature] = {
    feature.name: feature
    for feature in (
        Feature(
            "mean", "Mean", "mean of the entropy H(t) over the response's tokens", "nats", H(X.mean()), alone="SE mean"
        ),
        Feature("std", "Std dev", "population standard deviation of H(t)", "nats", H(X.std(ddof=0))),
        Feature("max", "Max", "largest H(t)", "nats", H(X.max()), alone="SE max"),
        _quantile_feature(10, "10 % quantile of H(t), linear interpolation"),
        _quantile_feature(25, "25 % quantile of H(t)"),
        _quantile_feature(50, "median of H(t)"),
        _quantile_feature(75, "75 % quantile of H(t)"),
        _quantile_feature(90, "90 % quantile of H(t)"),
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
