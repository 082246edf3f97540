"""Measure the time of peers' packages for the traces of bench_features.py, in the environment of tests/golden.

Prints one JSON object: CPU-seconds per response, and the values of quantities that are also features. The packages'
inputs are prepared before the clock starts.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from lm_polygraph.estimators.max_probability import MaximumSequenceProbability
from lm_polygraph.estimators.perplexity import Perplexity
from lm_polygraph.estimators.token_entropy import MeanTokenEntropy
from lm_polygraph.stat_calculators.entropy import EntropyCalculator
from uqlm.white_box.single_logprobs import SingleLogprobsScorer
from uqlm.white_box.top_logprobs import TopLogprobsScorer

# Responses that are measured; they are slow.
MOST = 100


def polygraph(sampled: list, top: list) -> dict[str, list[float]]:
    """Mean entropy, mean and summed negative log-likelihood, one response at a time."""
    entropies, estimators = EntropyCalculator(), (MeanTokenEntropy(), Perplexity(), MaximumSequenceProbability())
    rows = []
    for chosen, steps in zip(sampled, top, strict=True):
        stats = {"greedy_log_likelihoods": [chosen], **entropies({"greedy_log_probs": [steps]})}
        rows.append([float(estimator(stats)[0]) for estimator in estimators])
    return dict(zip(("mean", "nll_avg", "nll_sum"), map(list, zip(*rows, strict=True)), strict=True))


def uqlm(responses: list) -> dict[str, list[float]]:
    """LNTP and MTP; the entropies are renormalised, so they are not features."""
    result = SingleLogprobsScorer(length_normalize=True).evaluate(responses)
    TopLogprobsScorer(["mean_token_negentropy"], top_k_logprobs=20).evaluate(responses)
    return {
        "lntp": list(map(float, result["sequence_probability"])),
        "mtp": list(map(float, result["min_probability"])),
    }


def main() -> None:
    table = pq.read_table(Path(sys.argv[1]), columns=["token_logprobs", "top_logprobs"]).slice(0, MOST)
    sampled = [np.array(one, dtype=np.float64) for one in table["token_logprobs"].to_pylist()]
    top = [np.array(one, dtype=np.float64) for one in table["top_logprobs"].to_pylist()]
    responses = [
        [
            {"logprob": float(log_p), "top_logprobs": [{"logprob": float(entry)} for entry in entries]}
            for log_p, entries in zip(chosen, steps, strict=True)
        ]
        for chosen, steps in zip(sampled, top, strict=True)
    ]
    seconds, values = {}, {}
    for name, call in {"lm-polygraph": lambda: polygraph(sampled, top), "uqlm": lambda: uqlm(responses)}.items():
        call()
        taken = []
        for _ in range(3):
            start = time.process_time()
            values |= call()
            taken.append(time.process_time() - start)
        seconds[name] = min(taken) / len(responses)
    versions = {name: version(name) for name in ("lm-polygraph", "uqlm", "numpy")}
    print(
        json.dumps({"responses": len(responses), "versions": versions, "cpu_s_per_response": seconds, "values": values})
    )


if __name__ == "__main__":
    main()
