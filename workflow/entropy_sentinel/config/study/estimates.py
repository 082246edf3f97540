"""The estimates of a training group: what they depend on, the observations aside."""

from collections.abc import Iterable
from typing import Any

from entropy_sentinel.config.sections import Config


def estimation_seed(config: Config) -> int:
    """The seed of all that estimation draws: the split, folds, forests, MLPs."""
    return config.seed if config.estimation.seed is None else config.estimation.seed


def split_settings(config: Config) -> dict[str, Any]:
    """What the split of a benchmark's items depends on."""
    return {"test_share": config.estimation.test_share, "seed": estimation_seed(config)}


def estimation_settings(config: Config, estimators: Iterable[str]) -> dict[str, Any]:
    """What the estimates of a training group depend on, the observations aside."""
    return {
        "estimators": list(estimators),
        "seed": estimation_seed(config),
        **config.estimation.model_dump(
            exclude={"default", "seed", "test_share", "groups_per_job", "estimators", "keep"}
        ),
    }
