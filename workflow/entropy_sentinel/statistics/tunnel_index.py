"""The tunnel index: how much surer of its answer a model is for having thought, in nats.

Source: Epstein et al., FermiEval (2025), Appendix G. `direct`, (k,), is what the model says of k answers without a
trace; `traces`, (m, k), what it says after each of m traces of its own. Each adds up to 1.

The paper's equation 2 takes the mean of the entropies after each trace, its Theorem 2 the entropy of the mean over m
traces. The first is `tunnel_index`, the second `self_consistency_index`; with one trace they are the same. As m grows,
the second falls in expectation to H(direct) - H(p_q), with p_q the mean over all traces, and is never below: this the
theorem's proof shows. The theorem says it of equation 2, which is where the second begins and not where it ends. Either
is sure to be at least 0 only where `direct` is p_q.
"""

import numpy as np
from scipy.stats import entropy

from entropy_sentinel.statistics.numbers import Numbers


def tunnel_index(direct: Numbers, traces: np.ndarray) -> float:
    """H(direct) less the mean entropy after a trace (equation 2)."""
    return float(entropy(np.asarray(direct, dtype=float)) - entropy(traces, axis=1).mean())


def self_consistency_index(direct: Numbers, traces: np.ndarray) -> float:
    """H(direct) less the entropy of the mean over the traces (Theorem 2)."""
    return float(entropy(np.asarray(direct, dtype=float)) - entropy(traces.mean(axis=0)))


def point_masses(answers: Numbers, values: Numbers) -> np.ndarray:
    """Traces whose distribution is not known but by the answer that was given after each, (m,): (m, k) of 0 and 1.

    `values` are the k answers that there are. Raises ValueError where an answer is none of them.
    """
    found: np.ndarray = np.asarray(answers)[:, None] == np.asarray(values)[None, :]
    if not found.any(axis=1).all():
        place = int(np.flatnonzero(~found.any(axis=1))[0])
        raise ValueError(
            f"each answer must be one of the values, {np.asarray(answers)[place]} in place {place} is none"
        )
    return found.astype(float)
