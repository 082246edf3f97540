"""The estimators by name, in families: 48 configurations, and simpler ones.

A family has a module with a function `fit(name, rows)` and `SAVED`, the classes in its estimators' files. A new family
is its module and its entry in `FAMILIES`; config checks, tables and figures read names and titles from here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from itertools import product
from types import ModuleType

from entropy_sentinel.features.catalogue import CATALOGUE, FEATURE_SETS, FEATURES
from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.signals.catalogue import SIGNALS

CLASSIFIERS: dict[str, str] = {"logistic": "Logistic regression", "forest": "Random forest", "mlp": "MLP"}
_BALANCING = {True: "balanced", False: "unbalanced"}
_CALIBRATION = {True: "isotonic", False: "uncalibrated"}
_ROOM = "entropy_sentinel.estimators"


@dataclass(frozen=True)
class Configuration:
    """One setting of the four design choices: classifier, feature set, balancing, calibration."""

    classifier: str
    features: str
    balanced: bool
    isotonic: bool

    @property
    def name(self) -> str:
        """The configuration's name in files and tables, such as `forest-10d-balanced-isotonic`."""
        parts = (self.classifier, self.features, _BALANCING[self.balanced], _CALIBRATION[self.isotonic])
        return "-".join(parts)

    @property
    def title(self) -> str:
        """The configuration in words."""
        choices = (self.features.upper(), _BALANCING[self.balanced], _CALIBRATION[self.isotonic])
        return ", ".join([CLASSIFIERS[self.classifier], *choices])


@dataclass(frozen=True)
class Family:
    """Estimators of one kind: their description, the module that fits them, and their titles by name.

    `signals` lists the signals that an estimator needs, by its name, in addition to those of its members.
    """

    name: str
    meaning: str
    module: str
    titles: dict[str, str]
    signals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


CONFIGURATIONS: tuple[Configuration, ...] = tuple(
    Configuration(*choice) for choice in product(CLASSIFIERS, FEATURE_SETS, (True, False), (True, False))
)
_BY_NAME = {configuration.name: configuration for configuration in CONFIGURATIONS}
CONFIGURATION_NAMES = tuple(_BY_NAME)
_ALONE = {name: signal.alone or signal.title for name, signal in SIGNALS.items()}
# DoC adds the change of a signal's mean to an accuracy, so its signals must be in [0, 1]; these are.
_SHARES = tuple(name for name, signal in SIGNALS.items() if signal.share)
# Nonnegative features that span orders of magnitude.
_LOGGED = tuple(name for name, feature in CATALOGUE.items() if not feature.confident)
# The features of regressions on logarithms, by the name of the set.
LOG_SETS: dict[str, tuple[str, ...]] = {
    "3d": FEATURE_SETS["3d"],
    "2d": ("max", "nll_max"),
    # Ranks single responses to questions about numbers better (benchmarks/bench_digits.py).
    "digits": (*FEATURE_SETS["3d"], "digit_entropy_sum", "digit_entropy_max"),
}
_LOGS = {"log-3d": "Log 3D", "log-2d": "Log 2D", "log-digits": "Log 3D and digits"} | {
    f"log-{name}": f"Log {_ALONE[name]}" for name in _LOGGED
}
_PROBABILITIES = {name: entry.title for name, entry in _BY_NAME.items()} | {
    f"baseline-{signal}": title for signal, title in _ALONE.items()
}


@dataclass(frozen=True)
class Combined:
    """A combination: its members, how their estimates are combined, and the estimators that rank responses."""

    title: str
    summary: str
    members: tuple[str, ...]
    rankers: tuple[str, ...]


COMBINATIONS: dict[str, Combined] = {
    "consensus": Combined(
        "Consensus of 3 ATC",
        "mean",
        members=("atc-max", "atc-nll_max", "atc-nll_sum"),
        rankers=("log-max", "log-nll_max", "log-nll_sum"),
    ),
    "median-of-seven": Combined(
        "Median of seven",
        "median",
        members=("log-3d", "atc-log-2d", "atc-max", "atc-nll_max", "atc-nll_sum", "baseline-mtp", "log-nll_sum"),
        rankers=("log-3d", "log-nll_sum", "baseline-mtp"),
    ),
}

# The estimator that is chosen by validation on the labelled set, and its candidates, one of each kind; the first that
# can be fitted is the default. It needs several domains; with fewer, the second is the default.
RECOMMENDED = "recommended"
CANDIDATES: tuple[str, ...] = ("median-of-seven", "consensus", "log-3d", "atc-max")
FEWEST_FOR_FIRST = 3
# With fewer labelled domains the choice is random, and worse than the first candidate.
FEWEST_TO_CHOOSE = 6


def _classifier(name: str, meaning: str) -> Family:
    own = [configuration for configuration in CONFIGURATIONS if configuration.classifier == name]
    signals = {configuration.name: FEATURE_SETS[configuration.features] for configuration in own}
    return Family(
        name, meaning, f"{_ROOM}.{name}", {configuration.name: configuration.title for configuration in own}, signals
    )


def _of_each(prefix: str, signals: Iterable[str]) -> dict[str, tuple[str, ...]]:
    return {f"{prefix}-{signal}": (signal,) for signal in signals}


FAMILIES: tuple[Family, ...] = (
    _classifier("logistic", "logistic regression of the labels on a feature set"),
    _classifier("forest", "random forest on a feature set"),
    _classifier("mlp", "multi-layer perceptron on a feature set"),
    Family(
        "baseline",
        "logistic regression on a single signal (Platt scaling)",
        f"{_ROOM}.logistic",
        {f"baseline-{signal}": title for signal, title in _ALONE.items()},
        _of_each("baseline", _ALONE),
    ),
    Family(
        "log",
        "logistic regression on the logarithms of features",
        f"{_ROOM}.logistic",
        _LOGS,
        _of_each("log", _LOGGED) | {f"log-{name}": features for name, features in LOG_SETS.items()},
    ),
    Family(
        "combination",
        "the mean or median of several estimators",
        f"{_ROOM}.combination",
        {name: entry.title for name, entry in COMBINATIONS.items()},
    ),
    Family(
        RECOMMENDED,
        "the method that does best on the labelled domains, each held out in turn",
        f"{_ROOM}.combination",
        {RECOMMENDED: "Recommended"},
    ),
    Family(
        "group-accuracy",
        "the training group's own accuracy for every domain: the floor that every estimator must beat",
        f"{_ROOM}.combination",
        {"group-accuracy": "Training accuracy"},
    ),
    Family(
        "atc",
        "average thresholded confidence: the share of responses beyond a threshold on one signal, or on P(correct) of "
        "a regression on logarithms (Garg et al. 2022)",
        f"{_ROOM}.confidence",
        {f"atc-{name}": f"ATC, {title}" for name, title in (_ALONE | _LOGS).items()},
        _of_each("atc", _ALONE),
    ),
    Family(
        "doc",
        "difference of confidences: training accuracy plus the change of the mean confidence (Guillory et al. 2021)",
        f"{_ROOM}.confidence",
        {f"doc-{signal}": f"DoC, {_ALONE[signal]}" for signal in _SHARES}
        | {f"doc-{name}": f"DoC, {title}" for name, title in _PROBABILITIES.items()},
        _of_each("doc", _SHARES),
    ),
)
_FAMILY_OF = {name: family for family in FAMILIES for name in family.titles}
ESTIMATORS: tuple[str, ...] = tuple(_FAMILY_OF)

# The paper's nine baselines, in the order of its Table 8.
BASELINES: tuple[str, ...] = tuple(
    f"baseline-{feature}"
    for feature in ("se_sum", "max", "mean", "nll_avg", "nll_max", "nll_sum", "lntp", "mtp", "ppl")
)


def is_known(name: str) -> bool:
    """Return whether an estimator has this name."""
    return name in _FAMILY_OF


def family_of(name: str) -> Family:
    """Return the family of an estimator; raise ConfigError for an unknown name."""
    if name not in _FAMILY_OF:
        raise ConfigError(
            f"unknown estimator '{name}'; known: classifier-features-balancing-calibration "
            f"({_configurations()}), baseline-SIGNAL, atc-SIGNAL, log-FEATURE, log-SET, atc-log-..., "
            f"doc-ESTIMATOR, {', '.join(f'doc-{name}' for name in _SHARES)}, {', '.join(COMBINATIONS)}, "
            f"recommended, group-accuracy; signals: {', '.join(SIGNALS)}"
        )
    return _FAMILY_OF[name]


def module_of(name: str) -> ModuleType:
    """Return the module that fits an estimator; raise ConfigError if a package that it needs is not installed."""
    try:
        return import_module(family_of(name).module)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"estimator '{name}': needs the package {error.name}; install it with: pip install "
            "'entropy-sentinel[study]'"
        ) from None


def title(name: str) -> str:
    """Return the title of an estimator for tables and figures."""
    return family_of(name).titles[name]


def made_of(name: str) -> set[str]:
    """Return the estimators that this one is fitted from: members, candidates, and the X of atc-X and doc-X."""
    combined = COMBINATIONS.get(name)
    direct = CANDIDATES if name == RECOMMENDED else (*combined.members, *combined.rankers) if combined else ()
    inner = name.removeprefix("atc-").removeprefix("doc-")
    parts = {*direct, *([inner] if inner != name and inner in _FAMILY_OF else [])}
    return parts.union(*map(made_of, parts))


def signals_of(name: str) -> tuple[str, ...]:
    """Return the signals that an estimator needs, in the order of their catalogue."""
    parts = {name, *made_of(name)}
    needed = {signal for part in parts for signal in family_of(part).signals.get(part, ())}
    return tuple(signal for signal in SIGNALS if signal in needed)


def further_signals(name: str) -> tuple[str, ...]:
    """Return the signals that an estimator needs in addition to the features."""
    return tuple(signal for signal in signals_of(name) if signal not in FEATURES)


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return the estimators in the order of the catalogue, each once."""
    wanted = set(names)
    return tuple(name for name in ESTIMATORS if name in wanted)


def parse(name: str) -> Configuration:
    """Read a configuration's name; raise ConfigError if it is not one of the 48."""
    if name not in _BY_NAME:
        raise ConfigError(
            f"configuration '{name}' is unknown; it must be classifier-features-balancing-calibration: "
            + _configurations()
        )
    return _BY_NAME[name]


def _configurations() -> str:
    choices: tuple[Iterable[str], ...] = (CLASSIFIERS, FEATURE_SETS, _BALANCING.values(), _CALIBRATION.values())
    return "; ".join(map(", ".join, choices))
