"""The built-in families of estimators: 48 configurations, and simpler ones."""

from collections.abc import Callable, Iterable
from types import ModuleType

from entropy_sentinel.estimators.family_composition import (
    CANDIDATES,
    COMBINATIONS,
    CONFIGURATIONS,
    LOG_SETS,
    RECOMMENDED,
)
from entropy_sentinel.estimators.family_declaration import EstimatorFamily
from entropy_sentinel.features.feature_registry import CATALOGUE, FEATURE_SETS
from entropy_sentinel.signal_families.signal_registry import SIGNALS

# The titles of estimators that use one signal alone, by the signal.
_ALONE = {name: signal.alone or signal.title for name, signal in SIGNALS.items()}
# DoC adds the change of a signal's mean to an accuracy, so its signals must be in [0, 1]; these are.
_SHARES = tuple(name for name, signal in SIGNALS.items() if signal.share)
# Nonnegative features that span orders of magnitude.
_LOGGED = tuple(name for name, feature in CATALOGUE.items() if not feature.confident and name not in LOG_SETS)
_LOGS = {"log-3d": "Log 3D", "log-2d": "Log 2D", "log-digits": "Log 3D and digits"} | {
    f"log-{name}": f"Log {_ALONE[name]}" for name in _LOGGED
}
_PROBABILITIES = {configuration.name: configuration.title for configuration in CONFIGURATIONS} | {
    f"baseline-{signal}": title for signal, title in _ALONE.items()
}


def _load_logistic() -> ModuleType:
    from entropy_sentinel.estimators import logistic

    return logistic


def _load_forest() -> ModuleType:
    from entropy_sentinel.estimators import forest

    return forest


def _load_mlp() -> ModuleType:
    from entropy_sentinel.estimators import mlp

    return mlp


def _load_combination() -> ModuleType:
    from entropy_sentinel.estimators import combination

    return combination


def _load_confidence() -> ModuleType:
    from entropy_sentinel.estimators import confidence

    return confidence


def _declare_classifier(name: str, meaning: str, load: Callable[[], ModuleType]) -> EstimatorFamily:
    """The family of all configurations with this classifier; `load` imports the module that fits them."""
    configurations = [configuration for configuration in CONFIGURATIONS if configuration.classifier == name]
    signals = {configuration.name: FEATURE_SETS[configuration.features] for configuration in configurations}
    return EstimatorFamily(
        name, meaning, load, {configuration.name: configuration.title for configuration in configurations}, signals
    )


def _pair_with_prefix(prefix: str, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """By the estimator PREFIX-NAME, the signal or member NAME that it is made of."""
    return {f"{prefix}-{name}": (name,) for name in names}


FAMILIES: tuple[EstimatorFamily, ...] = (
    _declare_classifier("logistic", "logistic regression of the labels on a feature set", _load_logistic),
    _declare_classifier("forest", "random forest on a feature set", _load_forest),
    _declare_classifier("mlp", "multi-layer perceptron on a feature set", _load_mlp),
    EstimatorFamily(
        "baseline",
        "logistic regression on a single signal (Platt scaling)",
        _load_logistic,
        {f"baseline-{signal}": title for signal, title in _ALONE.items()},
        signals=_pair_with_prefix("baseline", _ALONE),
    ),
    EstimatorFamily(
        "log",
        "logistic regression on the logarithms of features",
        _load_logistic,
        _LOGS,
        signals=_pair_with_prefix("log", _LOGGED) | {f"log-{name}": features for name, features in LOG_SETS.items()},
    ),
    EstimatorFamily(
        "combination",
        "the mean or median of several estimators",
        _load_combination,
        {name: entry.title for name, entry in COMBINATIONS.items()},
        members={name: (*entry.members, *entry.rankers) for name, entry in COMBINATIONS.items()},
    ),
    EstimatorFamily(
        RECOMMENDED,
        "the method that does best on the labelled domains, each held out in turn",
        _load_combination,
        {RECOMMENDED: "Recommended"},
        members={RECOMMENDED: CANDIDATES},
    ),
    EstimatorFamily(
        "group-accuracy",
        "the training group's own accuracy for every domain: the floor that every estimator must beat",
        _load_combination,
        {"group-accuracy": "Training accuracy"},
    ),
    EstimatorFamily(
        "atc",
        "average thresholded confidence: the share of responses beyond a threshold on one signal, or on P(correct) of "
        "a regression on logarithms (Garg et al. 2022)",
        _load_confidence,
        {f"atc-{name}": f"ATC, {title}" for name, title in (_ALONE | _LOGS).items()},
        signals=_pair_with_prefix("atc", _ALONE),
        members=_pair_with_prefix("atc", _LOGS),
    ),
    EstimatorFamily(
        "doc",
        "difference of confidences: training accuracy plus the change of the mean confidence (Guillory et al. 2021)",
        _load_confidence,
        {f"doc-{signal}": f"DoC, {_ALONE[signal]}" for signal in _SHARES}
        | {f"doc-{name}": f"DoC, {title}" for name, title in _PROBABILITIES.items()},
        signals=_pair_with_prefix("doc", _SHARES),
        members=_pair_with_prefix("doc", _PROBABILITIES),
    ),
)
