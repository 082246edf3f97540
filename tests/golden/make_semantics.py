"""Write semantics.json: what peers make of the same arrays, for tests/statistics.

LM-Polygraph's SAR and semantic entropies, and the concordance of lifelines. Runs in an environment of its own:

    python -m venv golden-venv && golden-venv/bin/pip install lifelines==0.30.3
    golden-venv/bin/pip install --no-deps lm-polygraph==0.7.0
    golden-venv/bin/python tests/golden/make_semantics.py
"""

import json
import sys
from importlib import import_module
from importlib.metadata import distribution, version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from lifelines.utils import concordance_index

SEED = 5


def polygraph(module: str) -> ModuleType:
    """A module of LM-Polygraph's estimators, without the packages around it, which import torch and all models."""
    folder = Path(str(distribution("lm-polygraph").locate_file("lm_polygraph")))
    for name in ("", ".estimators", ".utils"):
        package = sys.modules.setdefault(f"lm_polygraph{name}", ModuleType(f"lm_polygraph{name}"))
        package.__path__ = [str(folder / name.lstrip("."))]
    # The decorator of their constructors, which only keeps the arguments.
    common = sys.modules.setdefault("lm_polygraph.utils.common", ModuleType("common"))
    common.polygraph_module_init = lambda function: function
    return import_module(f"lm_polygraph.estimators.{module}")


def sar_case(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """The SAR of n answers of one to six tokens."""
    lengths = rng.integers(1, 7, n)
    logprobs = [np.round(-rng.exponential(1.0, length), 4) for length in lengths]
    token_similarity = [np.round(rng.uniform(0, 0.99, length), 4) for length in lengths]
    similarity = np.round(rng.uniform(0, 1, (n, n)), 4)
    result = polygraph("sar").SAR()(
        {
            "sample_log_likelihoods": [logprobs],
            "sample_token_similarity": [token_similarity],
            "sample_sentence_similarity": [similarity],
        }
    )
    return {
        "token_logprobs": [one.tolist() for one in logprobs],
        "token_similarity": [one.tolist() for one in token_similarity],
        "similarity": similarity.tolist(),
        "sar": float(result[0]),
    }


def entropy_case(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Two semantic entropies of n samples: from probabilities, and from how often a class is seen."""
    numbers = rng.integers(0, max(2, n // 3), n).tolist()
    order = {number: place for place, number in enumerate(dict.fromkeys(numbers))}
    classes = [order[number] for number in numbers]
    logprobs = np.round(-rng.exponential(3.0, n), 4).tolist()
    stats = {
        "sample_log_probs": [logprobs],
        "sample_texts": [[str(place) for place in range(n)]],
        "semantic_classes_entail": {
            "sample_to_class": [dict(enumerate(classes))],
            "class_to_sample": [[[at for at in range(n) if classes[at] == one] for one in order.values()]],
        },
    }
    kind = polygraph("semantic_entropy").SemanticEntropy
    return {
        "classes": classes,
        "logprobs": logprobs,
        "sum": float(kind()(stats)[0]),
        "frequency": float(kind(class_probability_estimation="frequency")(stats)[0]),
    }


def concordance_case(rng: np.random.Generator, n: int, n_values: int) -> dict[str, Any]:
    """The concordance index, the estimator being the time and the uncertainty the score, of `n_values` each."""
    estimator = rng.integers(n_values, size=n)
    epistemic = (estimator + rng.integers(n_values, size=n)) // 2
    index = concordance_index(estimator, epistemic)
    return {"estimator": estimator.tolist(), "epistemic": epistemic.tolist(), "index": float(index)}


def main() -> None:
    rng = np.random.default_rng(SEED)
    message = {
        "versions": {name: version(name) for name in ("lm-polygraph", "lifelines", "numpy")},
        "sar": [sar_case(rng, n) for n in (1, 2, 5, 12)],
        "entropy": [entropy_case(rng, n) for n in (1, 4, 10, 30)],
        "concordance": [concordance_case(rng, n, values) for n, values in ((2, 9), (17, 4), (60, 1000), (200, 7))],
    }
    Path(__file__).with_name("semantics.json").write_text(json.dumps(message) + "\n")


if __name__ == "__main__":
    main()
