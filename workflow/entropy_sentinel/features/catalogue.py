"""The features: names, meaning, unit and sign; and the feature sets."""

# Names of the 17 features, in the order of the paper's Table 1, with what they are and their unit.
MEANINGS: dict[str, tuple[str, str]] = {
    "mean": ("mean of the entropy H(t) over the response's tokens", "nats"),
    "std": ("population standard deviation of H(t)", "nats"),
    "max": ("largest H(t)", "nats"),
    "q10": ("10 % quantile of H(t), linear interpolation", "nats"),
    "q25": ("25 % quantile of H(t)", "nats"),
    "q50": ("median of H(t)", "nats"),
    "q75": ("75 % quantile of H(t)", "nats"),
    "q90": ("90 % quantile of H(t)", "nats"),
    "skewness": ("biased sample skewness of H(t)", "1"),
    "kurtosis": ("Pearson kurtosis of H(t), 3 for a normal distribution", "1"),
    "se_sum": ("sum of H(t): SEA, EAS in the paper", "nats"),
    "nll_avg": ("mean negative log-likelihood of the sampled tokens", "nats"),
    "nll_max": ("largest negative log-likelihood of a sampled token", "nats"),
    "nll_sum": ("summed negative log-likelihood of the sampled tokens", "nats"),
    "lntp": ("geometric mean of the sampled tokens' probabilities", "1"),
    "mtp": ("smallest probability of a sampled token", "1"),
    "ppl": ("perplexity: exp(nll_avg)", "1"),
}
FEATURES: tuple[str, ...] = tuple(MEANINGS)

# A larger value means more certain; all other features grow with uncertainty.
CONFIDENCE_FEATURES = frozenset({"skewness", "kurtosis", "lntp", "mtp"})

FEATURE_SETS: dict[str, tuple[str, ...]] = {
    "17d": FEATURES,
    "10d": FEATURES[:10],
    "3d": ("max", "se_sum", "nll_sum"),
    "1d": ("se_sum",),
}
