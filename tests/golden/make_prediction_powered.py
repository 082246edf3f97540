"""Write prediction_powered.json: ppi-python's power-tuned mean, for tests/statistics/test_prediction_powered.py.

Runs in an environment of its own (Python 3.11):

    python -m venv golden-venv && golden-venv/bin/pip install ppi-python==0.2.3 numpy==2.4.6
    golden-venv/bin/python tests/golden/make_prediction_powered.py
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from ppi_py import classical_mean_ci, ppi_mean_ci, ppi_mean_pointestimate
from ppi_py.ppi import _calc_lam_glm

SEED, LEVEL = 42, 0.9
# Labelled responses, all responses, and how the predictions are: right on average, far too extreme, all alike, and
# without a meaning.
SIZES, KINDS = ((30, 90), (200, 600), (2000, 4000)), ("calibrated", "too extreme", "too alike", "useless")


def case(kind: str, n: int, total: int, rng: np.random.Generator) -> dict[str, object]:
    """Labels of the first n responses, predictions of all, and what ppi-python makes of them."""
    chance = rng.beta(2, 1, total).round(4)
    labels = (rng.random(n) < chance[:n]).astype(float)
    kinds = {"calibrated": chance, "too extreme": chance > 0.6, "too alike": chance**0.2, "useless": rng.random(total)}
    predicted = kinds[kind].astype(float).round(4)
    weights = rng.choice([0.5, 1.0, 2.0], n)
    sample = labels, predicted[:n], predicted[n:]
    # What theirs calls grads; it keeps the power in [0, 1] on its own scale, which is left to the test.
    power = _calc_lam_glm(*(one[:, None] for one in sample), np.eye(1))
    return {
        "kind": kind,
        "labels": labels.astype(int).tolist(),
        "predicted": predicted.tolist(),
        "weights": weights.tolist(),
        # With the power tuned, and with one that is given; theirs is for predictions of the others alone.
        "power": power,
        "tuned": float(np.squeeze(ppi_mean_pointestimate(*sample))),
        "half": float(np.squeeze(ppi_mean_pointestimate(*sample, lam=0.5))),
        "half_weighted": float(np.squeeze(ppi_mean_pointestimate(*sample, lam=0.5, w=weights))),
        "interval": [float(np.squeeze(end)) for end in ppi_mean_ci(*sample, alpha=1 - LEVEL)],
        "interval_alone": [float(np.squeeze(end)) for end in classical_mean_ci(labels, alpha=1 - LEVEL)],
    }


def main() -> None:
    rng = np.random.default_rng(SEED)
    cases = [case(kind, n, total, rng) for n, total in SIZES for kind in KINDS]
    versions = {"python": sys.version.split()[0], **{name: version(name) for name in ("ppi-python", "numpy")}}
    target = Path(__file__).with_name("prediction_powered.json")
    target.write_text(json.dumps({"versions": versions, "seed": SEED, "level": LEVEL, "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
