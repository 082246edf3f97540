"""Write rejection.json: LM-Polygraph's exact prediction-rejection area, for papers/rejection/tests/test_curves.py.

Where scores are tied, the area is the mean of theirs over every order of the tied responses. Runs in an environment of
its own (Python 3.11); of requirements.txt beside this file two packages are enough:

    python -m venv golden-venv && golden-venv/bin/pip install --no-deps lm-polygraph==0.7.0 numpy==1.26.4
    golden-venv/bin/python papers/rejection/tests/golden/make_rejection.py
"""

import json
import sys
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from itertools import groupby, permutations, product
from pathlib import Path
from types import ModuleType

import numpy as np

SEED, SIZES, TIED_SIZES = 42, (2, 5, 30, 200), (4, 7, 9)


def prediction_rejection_area() -> type:
    """LM-Polygraph's class, without the packages around it, which import torch and all models when they are loaded."""
    folder = Path(find_spec("lm_polygraph").origin).parent
    for name, path in {"lm_polygraph": folder, "lm_polygraph.ue_metrics": folder / "ue_metrics"}.items():
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__path__ = [str(path)]
    return import_module("lm_polygraph.ue_metrics.pred_rej_area").PredictionRejectionArea


def case(scores: np.ndarray, correct: np.ndarray, area: object) -> dict[str, object]:
    """Scores as confidences, labels, and the mean area over all orders of tied responses."""
    blocks = [list(rows) for _, rows in groupby(np.argsort(-scores, kind="stable"), key=lambda row: scores[row])]
    orders = [np.concatenate(order) for order in product(*(list(permutations(block)) for block in blocks))]
    uncertainty = np.arange(len(scores), dtype=float)
    areas = [float(area(uncertainty, correct[order].astype(float))) for order in orders]
    return {
        "scores": scores.tolist(),
        "correct": correct.tolist(),
        "orders": len(orders),
        "area": float(np.mean(areas)),
    }


def main() -> None:
    rng, area = np.random.default_rng(SEED), prediction_rejection_area()()
    cases = []
    for size in SIZES + TIED_SIZES:
        scores = rng.random(size) if size in SIZES else rng.integers(3, size=size) / 4
        correct = rng.random(size) < scores
        correct[:2] = [True, False]  # both classes: theirs maps labels of one class to 0.5
        cases.append(case(scores.round(6), correct, area))
    versions = {"python": sys.version.split()[0], **{name: version(name) for name in ("lm-polygraph", "numpy")}}
    target = Path(__file__).with_name("rejection.json")
    target.write_text(json.dumps({"versions": versions, "seed": SEED, "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
