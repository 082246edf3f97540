"""Stage `features`: 17 statistics per response, `features/{model}/{benchmark}.parquet`; and the feature sets."""

import polars as pl

from entropy_sentinel.contracts.frames import Column, Contract

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

FEATURE_FRAME = Contract(
    stage="features",
    key=("item_id", "sample"),
    columns=(
        Column("item_id", pl.String, "item of the benchmark"),
        Column("sample", pl.UInt16, "number of the response among those to the same item"),
        Column("n_tokens", pl.UInt32, "length of the response", "tokens"),
        Column(
            "displaced_steps", pl.UInt32, "steps whose entropy may lack a term (contracts/generations.py)", "tokens"
        ),
        Column("finish_reason", pl.String, "`stop` where the response is whole (contracts/generations.py)"),
        *(Column(name, pl.Float64, meaning, unit, nullable=True) for name, (meaning, unit) in MEANINGS.items()),
        Column("clamped_tokens", pl.UInt32, "sampled tokens whose log-probability was -inf or <= -9999", "tokens"),
        Column("reason", pl.String, "why the features are null; null where there are features", nullable=True),
    ),
)
