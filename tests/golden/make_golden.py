"""Write peers.json: what the packages of peers compute from a few random traces, for tests/features/test_compute.py.

Runs in an environment of its own, requirements.txt beside this file (Python 3.11, CPU only):

    python -m venv golden-venv && golden-venv/bin/pip install -r tests/golden/requirements.txt
    golden-venv/bin/python tests/golden/make_golden.py
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from lm_polygraph.estimators.max_probability import MaximumSequenceProbability
from lm_polygraph.estimators.perplexity import Perplexity
from lm_polygraph.estimators.token_entropy import MeanTokenEntropy
from lm_polygraph.stat_calculators.entropy import EntropyCalculator
from scipy import special, stats
from uqlm.white_box.single_logprobs import SingleLogprobsScorer
from uqlm.white_box.top_logprobs import TopLogprobsScorer

TOP_K, VOCABULARY, SEED = 20, 200, 42
LENGTHS = (1, 2, 9, 60)
PACKAGES = ("uqlm", "lm-polygraph", "scipy", "numpy", "torch", "transformers")


def random_trace(rng: np.random.Generator, n_tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """Sampled (T,) and top-20 (T, 20) log-probabilities, float32, of tokens drawn from a random softmax."""
    logits = rng.normal(scale=rng.uniform(1.0, 5.0, size=(n_tokens, 1)), size=(n_tokens, VOCABULARY))
    log_p = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    sampled = [step[rng.choice(VOCABULARY, p=np.exp(step))] for step in log_p]
    top = np.sort(log_p, axis=1)[:, ::-1][:, :TOP_K]
    return np.float32(sampled), np.float32(top)


def uqlm_scores(sampled: np.ndarray, top: np.ndarray) -> dict[str, float]:
    """LNTP (`sequence_probability`), MTP (`min_probability`) and the mean renormalised negentropy."""
    tokens = [
        {"logprob": log_p, "top_logprobs": [{"logprob": entry} for entry in entries]}
        for log_p, entries in zip(sampled, top, strict=True)
    ]
    scores = {
        **SingleLogprobsScorer(length_normalize=True).evaluate([tokens]),
        **TopLogprobsScorer(["mean_token_negentropy"], top_k_logprobs=TOP_K).evaluate([tokens]),
    }
    return {name: float(values[0]) for name, values in scores.items()}


def lm_polygraph_scores(sampled: np.ndarray, top: np.ndarray) -> dict[str, float | list[float]]:
    """Token entropies over the given top 20, their mean, and the summed and mean negative log-likelihood."""
    stats = {"greedy_log_likelihoods": [sampled], **EntropyCalculator()({"greedy_log_probs": [top]})}
    estimators = (MeanTokenEntropy(), MaximumSequenceProbability(), Perplexity())
    return {
        "entropy": [float(entropy) for entropy in stats["entropy"][0]],
        **{str(estimator): float(estimator(stats)[0]) for estimator in estimators},
    }


def scipy_scores(sampled: np.ndarray, top: np.ndarray) -> dict[str, float]:
    """Moments and quantiles of the entropies, and the geometric mean and minimum of the sampled probabilities.

    `special.entr` is -p log p, as it is; `stats.entropy` would renormalise. Kurtosis of one value is undefined.
    """
    entropy = special.entr(np.exp(top)).sum(axis=1)
    levels = (0.1, 0.25, 0.5, 0.75, 0.9)
    quantiles = stats.mstats.mquantiles(entropy, levels, alphap=1, betap=1)
    moments = {"skewness": stats.skew, "kurtosis": lambda values: stats.kurtosis(values, fisher=False)}
    return {
        "se_sum": float(entropy.sum()),
        "std": float(stats.moment(entropy, 2) ** 0.5),
        **{f"q{100 * level:.0f}": float(value) for level, value in zip(levels, quantiles, strict=True)},
        **{name: float(moment(entropy)) for name, moment in moments.items() if len(entropy) > 1},
        "lntp": float(stats.gmean(np.exp(sampled))),
        "mtp": float(np.exp(sampled).min()),
        "captured_mass": float(np.exp(special.logsumexp(top, axis=1)).mean()),
    }


def main() -> None:
    rng = np.random.default_rng(SEED)
    traces = []
    for n_tokens in LENGTHS:
        sampled, top = random_trace(rng, n_tokens)
        # The shortest decimals that read back as the same float32: the peers get exactly what the file holds.
        stored = {
            "token_logprobs": [float(str(entry)) for entry in sampled],
            "top_logprobs": [[float(str(entry)) for entry in step] for step in top],
        }
        arrays = [entries.astype(np.float64) for entries in (sampled, top)]
        traces.append(
            {
                **stored,
                "uqlm": uqlm_scores(*arrays),
                "lm-polygraph": lm_polygraph_scores(*arrays),
                "scipy": scipy_scores(*arrays),
            }
        )
    versions = {"python": sys.version.split()[0], **{package: version(package) for package in PACKAGES}}
    target = Path(__file__).with_name("peers.json")
    target.write_text(json.dumps({"versions": versions, "seed": SEED, "traces": traces}, indent=None) + "\n")


if __name__ == "__main__":
    main()
