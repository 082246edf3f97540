"""The estimates of a training group: what they depend on, the observations aside."""

from collections.abc import Iterable

from entropy_sentinel.config.sections import Config
from entropy_sentinel.estimators.settings import EstimationSettings
from entropy_sentinel.features.settings import SplitSettings


def estimation_seed(config: Config) -> int:
    """The seed of all that estimation draws: the split, folds, forests, MLPs."""
    return config.seed if config.estimation.seed is None else config.estimation.seed


def split_settings(config: Config) -> SplitSettings:
    """What the split of a benchmark's items depends on."""
    return {"test_share": config.estimation.test_share, "seed": estimation_seed(config)}


def estimation_settings(config: Config, estimators: Iterable[str]) -> EstimationSettings:
    """What the estimates of a training group depend on, the observations aside."""
    how = config.estimation
    return {
        "estimators": list(estimators),
        "seed": estimation_seed(config),
        "folds": how.folds,
        "trees": how.trees,
        "max_depth": how.max_depth,
        "min_samples_split": how.min_samples_split,
        "hidden_layers": how.hidden_layers,
    }
