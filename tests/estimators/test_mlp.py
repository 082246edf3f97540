"""Our networks against scikit-learn's MLPClassifier: the same ones."""

import numpy as np
import pytest
from imblearn.over_sampling import RandomOverSampler
from imblearn.pipeline import make_pipeline
from sklearn.neural_network import MLPClassifier

from entropy_sentinel.estimators.mlp import Network, fit_grid

LAYERS = [[5], [8], [10], [15], [20], [8, 4], [10, 5], [15, 8], [4, 3, 2]]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(n: int, n_features: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features))
    return x, x[:, 0] + rng.normal(size=n) > 0.6


def reference(balanced: bool, layers: list[int], seed: int):
    mlp = MLPClassifier(layers, alpha=0.001, early_stopping=True, random_state=seed)
    return make_pipeline(RandomOverSampler(random_state=seed), mlp) if balanced else mlp


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize(("n", "n_features", "seed"), [(90, 1, 42), (240, 3, 0), (500, 10, 42), (700, 17, 5)])
def test_every_network_of_the_grid_is_scikit_learns(balanced: bool, n: int, n_features: int, seed: int) -> None:
    x, y = rows(n, n_features, seed)
    others = rows(450, n_features, seed + 1)[0]
    result = fit_grid(x, y, balanced, [{"hidden_layer_sizes": layers} for layers in LAYERS], seed=seed)
    for layers, p in zip(LAYERS, result.probabilities(others), strict=True):
        expected = reference(balanced, layers, seed).fit(x, y).predict_proba(others)[:, 1]
        assert np.abs(p - expected).max() < 1e-9


@pytest.mark.parametrize("rarer", [True, False])
def test_copies_of_the_rarer_class_are_scikit_learns(rarer: bool) -> None:
    x, y = rows(200, 3, 1)
    y = (x[:, 0] > 1.2) == rarer
    result = fit_grid(x, y, True, [{"hidden_layer_sizes": [5]}], seed=3).probabilities(x)[0]
    assert np.abs(result - reference(True, [5], 3).fit(x, y).predict_proba(x)[:, 1]).max() < 1e-9


def test_classes_of_one_size_are_left_alone() -> None:
    x, y = rows(200, 3, 1)
    y = np.arange(200) % 2 == 0
    balanced, plain = (fit_grid(x, y, kind, [{"hidden_layer_sizes": [5]}], seed=3).classifier(0) for kind in (1, 0))
    assert np.array_equal(balanced.parameters, plain.parameters)


def test_a_hand_made_network() -> None:
    """Two inputs, two hidden units: relu(x0 - x1 + 1) and relu(2 x1), then their difference minus 0.5."""
    network = Network(np.array([2, 2, 1]), np.array([1.0, 0, -1, 2, 1, 0, 1, -1, -0.5]))
    x = np.array([[1.0, 0.5], [0.0, 3.0]])
    logits = np.array([1.5 - 1 - 0.5, 0 - 6 - 0.5])
    assert np.allclose(network.predict_proba(x)[:, 1], 1 / (1 + np.exp(-logits)), atol=1e-15)
    assert np.allclose(network.predict_proba(x).sum(axis=1), 1)


def test_parameters_of_another_network_are_refused() -> None:
    # 2 * 2^62 + (2^62 + 1) * 2 + 3 = 2^64 + 5 parameters, which are 5 where whole numbers have 64 bits.
    for sizes, n_parameters, n_features in (([2, 2, 1], 8, 2), ([2, 2, 1], 9, 3), ([1, 2**62, 2, 1], 5, 1)):
        with pytest.raises(ValueError, match="parameters or features"):
            Network(np.array(sizes), np.zeros(n_parameters)).predict_proba(np.zeros((1, n_features)))
