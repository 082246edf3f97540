"""Worlds of made-up responses whose generator is known: ten domains from very hard to very easy, as observations.

A response to an easier question is correct more often, shorter, and of lower entropy; being correct lowers the entropy
too. `distortion` gives every domain a scale of entropy and a length of its own that say nothing about accuracy: what no
estimator can know of an unseen domain.
"""

import numpy as np
import polars as pl
from observations import BESIDE

from entropy_sentinel.features.feature_registry import CATALOGUE
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS

EASIEST = 2.2  # mean of the latent easiness, from -2.2 to 2.2; accuracies of about .1 to .9


def world(seed: int, distortion: float = 0.0, n_domains: int = 10, n: int = 200) -> pl.DataFrame:
    """A frame OBSERVATIONS of one model, n responses per domain, every fifth of them a test item."""
    rng = np.random.default_rng(seed)
    means = np.linspace(-EASIEST, EASIEST, n_domains) + 0.3 * rng.normal(size=n_domains)
    parts = [_domain(rng, f"d{place}", mean, distortion, n) for place, mean in enumerate(means)]
    return OBSERVATIONS.check(pl.concat(parts))


def _domain(rng: np.random.Generator, name: str, mean: float, distortion: float, n: int) -> pl.DataFrame:
    entropy_shift, length_shift = distortion * rng.normal(size=2)
    easy = mean + rng.normal(size=n)
    correct = rng.random(n) < 1 / (1 + np.exp(-1.3 * easy))
    confidence = 0.55 * easy + 0.45 * (2 * correct - 1) + 0.9 * rng.normal(size=n)
    lengths = np.clip(np.exp(4.2 + 2 * length_shift - 0.22 * easy + 0.4 * rng.normal(size=n)), 8, 400).astype(int)
    of_response = np.repeat(np.arange(n), lengths)
    scale = 0.25 * np.exp(entropy_shift - 0.4 * confidence)
    entropy = np.minimum(rng.gamma(0.25, scale[of_response] / 0.25), 3.0)
    tokens = pl.DataFrame(
        {"response": of_response, "entropy": entropy, "nll": 2 * rng.gamma(0.3, 1, len(entropy)) * entropy}
    )
    lists = tokens.group_by("response", maintain_order=True).agg("entropy", "nll")
    features = lists.select("response", **{key: feature.expression for key, feature in CATALOGUE.items()})
    frame = features.with_columns(
        model=pl.lit("world"),
        benchmark=pl.lit(name),
        item_id=pl.format(f"{name}-{{}}", "response"),
        sample=pl.lit(0),
        split=pl.when(pl.col("response") % 5 == 0).then(pl.lit("test")).otherwise(pl.lit("train")),
        label=pl.Series(correct),
        label_reason=pl.lit(None),
        n_tokens=pl.Series(lengths),
        finish_reason=pl.lit("stop"),
        feature_reason=pl.lit(None),
        **{name: pl.lit(value) for name, value in BESIDE.items()},
    )
    return frame.select(pl.col(column).cast(dtype) for column, dtype in OBSERVATIONS.schema.items())
