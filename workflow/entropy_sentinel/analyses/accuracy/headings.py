"""Names as tables, figures and the report show them."""

from collections.abc import Mapping
from typing import Any

from entropy_sentinel.estimators.settings import group_id

STATISTICS: dict[str, str] = {
    "mean": "Mean",
    "std": "Std dev",
    "max": "Max",
    "q10": "Q10",
    "q25": "Q25",
    "q50": "Q50",
    "q75": "Q75",
    "q90": "Q90",
    "skewness": "Skewness",
    "kurtosis": "Kurtosis",
    "se_sum": "SE sum (SEA)",
    "nll_avg": "NLL avg",
    "nll_max": "NLL max",
    "nll_sum": "NLL sum",
    "lntp": "LNTP",
    "mtp": "MTP",
    "ppl": "PPL",
}
# As estimators, the statistics of the entropy are named after it, as in the paper's Tables 3 and 8.
BASELINE_TITLES = STATISTICS | {"se_sum": "SE sum", "max": "SE max", "mean": "SE mean"}
CLASSIFIER_TITLES = {"logistic": "Logistic regression", "forest": "Random forest", "mlp": "MLP"}

# Domains that AEE and rho are taken over, the headline first.
SCOPES: dict[str, str] = {"held_out": "unseen", "all": "all"}
SCOPE_NOTE = "unseen: domains outside the training group; all: also those of the group, by their test split."
ROLES: dict[str, str] = {"training": "training", "held_out": "unseen"}

Groups = Mapping[str, Mapping[str, Any]]


def baseline_title(estimator: str) -> str:
    """`baseline-max` as "SE max"."""
    feature = estimator.removeprefix("baseline-")
    return BASELINE_TITLES.get(feature, feature)


def group_title(name: str) -> str:
    """`cross-domain` as "Cross-Domain"."""
    return name.title()


def group_benchmarks(group: str) -> str:
    """A group's id, `gsm8k+math`, as "gsm8k, math": a table cell can break there."""
    return group.replace("+", ", ")


def id_of(groups: Groups, name: str) -> str:
    """The id of a named group, as the frames have it."""
    return group_id(groups[name]["benchmarks"])
