"""The estimators by name, in families: 48 configurations, and the simple ones that stand beside them.

A family is one module with a function `fit(name, rows)`; a new one is its module and its entry in `FAMILIES`. Config
check, tables and figures read names and titles from here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from entropy_sentinel.features.catalogue import CATALOGUE, FEATURE_SETS
from entropy_sentinel.frames.errors import ConfigError

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
        """The configuration as files and tables name it, `forest-10d-balanced-isotonic`."""
        parts = (self.classifier, self.features, _BALANCING[self.balanced], _CALIBRATION[self.isotonic])
        return "-".join(parts)

    @property
    def title(self) -> str:
        """The configuration in words."""
        choices = (self.features.upper(), _BALANCING[self.balanced], _CALIBRATION[self.isotonic])
        return ", ".join([CLASSIFIERS[self.classifier], *choices])


@dataclass(frozen=True)
class Family:
    """Estimators of one kind: what they do, the module that fits them, and their titles by name."""

    name: str
    meaning: str
    module: str
    titles: dict[str, str]


CONFIGURATIONS: tuple[Configuration, ...] = tuple(
    Configuration(*choice) for choice in product(CLASSIFIERS, FEATURE_SETS, (True, False), (True, False))
)
_BY_NAME = {configuration.name: configuration for configuration in CONFIGURATIONS}
_ALONE = {name: feature.alone or feature.title for name, feature in CATALOGUE.items()}
# Features with values in [0, 1], larger where the model is more certain: confidences as they are.
_CONFIDENCES = ("lntp", "mtp")
_PROBABILITIES = {name: one.title for name, one in _BY_NAME.items()} | {
    f"baseline-{feature}": title for feature, title in _ALONE.items()
}


def _classifier(name: str, meaning: str) -> Family:
    titles = {one.name: one.title for one in CONFIGURATIONS if one.classifier == name}
    return Family(name, meaning, f"{_ROOM}.{name}", titles)


FAMILIES: tuple[Family, ...] = (
    _classifier("logistic", "logistic regression of the labels on a feature set"),
    _classifier("forest", "random forest on a feature set"),
    _classifier("mlp", "multi-layer perceptron on a feature set"),
    Family(
        "baseline",
        "logistic regression on a single feature (Platt scaling)",
        f"{_ROOM}.single_feature",
        {f"baseline-{feature}": title for feature, title in _ALONE.items()},
    ),
    Family(
        "group-accuracy",
        "the training group's own accuracy, whatever the domain: the floor that every estimator must beat",
        f"{_ROOM}.group_accuracy",
        {"group-accuracy": "Training accuracy"},
    ),
    Family(
        "atc",
        "average thresholded confidence: the share of responses beyond a threshold on one feature (Garg et al. 2022)",
        f"{_ROOM}.atc",
        {f"atc-{feature}": f"ATC, {title}" for feature, title in _ALONE.items()},
    ),
    Family(
        "doc",
        "difference of confidences: training accuracy plus the change of the mean confidence (Guillory et al. 2021)",
        f"{_ROOM}.doc",
        {f"doc-{feature}": f"DoC, {_ALONE[feature]}" for feature in _CONFIDENCES}
        | {f"doc-{name}": f"DoC, {title}" for name, title in _PROBABILITIES.items()},
    ),
)
_FAMILY_OF = {name: family for family in FAMILIES for name in family.titles}
ESTIMATORS: tuple[str, ...] = tuple(_FAMILY_OF)

# The paper's nine baselines, in the order of its Table 8.
BASELINES: tuple[str, ...] = tuple(
    f"baseline-{feature}"
    for feature in ("se_sum", "max", "mean", "nll_avg", "nll_max", "nll_sum", "lntp", "mtp", "ppl")
)


def family_of(name: str) -> Family:
    """The family of an estimator; ConfigError where there is none of this name."""
    if name not in _FAMILY_OF:
        raise ConfigError(
            f"unknown estimator '{name}'; known: classifier-features-balancing-calibration ({_configurations()}), "
            "baseline-FEATURE, atc-FEATURE, doc-lntp, doc-mtp, doc-ESTIMATOR, group-accuracy; features: "
            + ", ".join(CATALOGUE)
        )
    return _FAMILY_OF[name]


def title(name: str) -> str:
    """An estimator as tables and figures show it."""
    return family_of(name).titles[name]


def modules(names: Iterable[str]) -> list[str]:
    """The modules that fit these estimators, sorted; for `doc-ESTIMATOR` the other estimator's too."""
    every = {part for name in names for part in (name, name.removeprefix("doc-"))}
    return sorted({_FAMILY_OF[name].module for name in every if name in _FAMILY_OF})


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Estimators in the order of the catalogue, each once."""
    wanted = set(names)
    return tuple(name for name in ESTIMATORS if name in wanted)


def parse(name: str) -> Configuration:
    """Read a configuration's name; ConfigError if it is none of the 48."""
    if name not in _BY_NAME:
        raise ConfigError(
            f"configuration '{name}' is unknown; it must be classifier-features-balancing-calibration: "
            + _configurations()
        )
    return _BY_NAME[name]


def _configurations() -> str:
    choices = (CLASSIFIERS, FEATURE_SETS, _BALANCING.values(), _CALIBRATION.values())
    return "; ".join(map(", ".join, choices))
