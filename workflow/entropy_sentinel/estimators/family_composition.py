"""What the built-in estimators consist of: the 48 configurations, sets of features, combinations and their members."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.features.feature_registry import FEATURE_SETS

CLASSIFIERS: dict[str, str] = {"logistic": "Logistic regression", "forest": "Random forest", "mlp": "MLP"}
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
        """The configuration's name in files and tables, such as `forest-10d-balanced-isotonic`."""
        parts = (self.classifier, self.features, _BALANCING[self.balanced], _CALIBRATION[self.isotonic])
        return "-".join(parts)

    @property
    def title(self) -> str:
        """The configuration in words."""
        choices = (self.features.upper(), _BALANCING[self.balanced], _CALIBRATION[self.isotonic])
        return ", ".join([CLASSIFIERS[self.classifier], *choices])


CONFIGURATIONS: tuple[Configuration, ...] = tuple(
    Configuration(*choice) for choice in product(CLASSIFIERS, FEATURE_SETS, (True, False), (True, False))
)
_BY_NAME = {configuration.name: configuration for configuration in CONFIGURATIONS}
CONFIGURATION_NAMES = tuple(_BY_NAME)
# The paper's nine baselines, in the order of its Table 8.
BASELINES: tuple[str, ...] = tuple(
    f"baseline-{feature}"
    for feature in ("se_sum", "max", "mean", "nll_avg", "nll_max", "nll_sum", "lntp", "mtp", "ppl")
)

# The features of regressions on logarithms, by the name of the set.
LOG_SETS: dict[str, tuple[str, ...]] = {
    "3d": FEATURE_SETS["3d"],
    "2d": ("max", "nll_max"),
    # Ranks single responses to questions about numbers better (benchmarks/bench_digits.py).
    "digits": (*FEATURE_SETS["3d"], "digit_entropy_sum", "digit_entropy_max"),
}


@dataclass(frozen=True)
class CombinationEntry:
    """A combination: its members, how their estimates are combined, and the estimators that rank responses."""

    title: str
    summary: str
    members: tuple[str, ...]
    rankers: tuple[str, ...]


COMBINATIONS: dict[str, CombinationEntry] = {
    "consensus": CombinationEntry(
        "Consensus of 3 ATC",
        "mean",
        members=("atc-max", "atc-nll_max", "atc-nll_sum"),
        rankers=("log-max", "log-nll_max", "log-nll_sum"),
    ),
    "median-of-seven": CombinationEntry(
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


def parse_configuration(name: str) -> Configuration:
    """Read a configuration's name; raise ConfigError if it is not one of the 48."""
    if name not in _BY_NAME:
        raise ConfigError(
            f"configuration '{name}' is unknown; it must be classifier-features-balancing-calibration: "
            + describe_choices()
        )
    return _BY_NAME[name]


def describe_choices() -> str:
    """The choices of which a configuration's name consists, for messages."""
    choices: tuple[Iterable[str], ...] = (CLASSIFIERS, FEATURE_SETS, _BALANCING.values(), _CALIBRATION.values())
    return "; ".join(map(", ".join, choices))
