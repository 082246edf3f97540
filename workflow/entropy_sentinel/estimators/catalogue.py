"""Names of estimators: 48 configurations, `forest-10d-balanced-isotonic`; nine baselines, `baseline-ppl`."""

from dataclasses import dataclass
from itertools import product

from entropy_sentinel.features.catalogue import FEATURE_SETS
from entropy_sentinel.frames.errors import ConfigError

CLASSIFIERS: tuple[str, ...] = ("logistic", "forest", "mlp")
_BALANCING = {True: "balanced", False: "unbalanced"}
_CALIBRATION = {True: "isotonic", False: "uncalibrated"}


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


CONFIGURATIONS: tuple[Configuration, ...] = tuple(
    Configuration(*choice) for choice in product(CLASSIFIERS, FEATURE_SETS, (True, False), (True, False))
)
_BY_NAME = {configuration.name: configuration for configuration in CONFIGURATIONS}

# Features that are estimators alone, by a one-feature logistic regression; in the order of Table 8.
BASELINES: tuple[str, ...] = ("se_sum", "max", "mean", "nll_avg", "nll_max", "nll_sum", "lntp", "mtp", "ppl")


def parse(name: str) -> Configuration:
    """Read a configuration's name; ConfigError if it is none of the 48."""
    if name not in _BY_NAME:
        choices = (CLASSIFIERS, FEATURE_SETS, _BALANCING.values(), _CALIBRATION.values())
        raise ConfigError(
            f"estimator '{name}' is unknown; it must be classifier-features-balancing-calibration: "
            + "; ".join(map(", ".join, choices))
        )
    return _BY_NAME[name]


def baseline_name(feature: str) -> str:
    """The estimator's name of a baseline on one feature, `baseline-ppl`."""
    return f"baseline-{feature}"
