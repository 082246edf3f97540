"""How estimators are trained, and on what: the config's sections `estimation` and `groups`."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, model_validator

from entropy_sentinel.estimators.catalogue import BASELINES, CONFIGURATIONS, ESTIMATORS
from entropy_sentinel.frames.sections import Names, Positive, Settings, Share, check_names

# Stands for a named group's own estimator.
OWN = "own"
# The paper's nine baselines, and what any estimator must be compared with.
BESIDE = (
    *BASELINES,
    "group-accuracy",
    *(name.replace("baseline", "atc") for name in BASELINES),
    "doc-lntp",
    "doc-mtp",
    "doc-forest-10d-balanced-isotonic",
)
ESTIMATOR_NAMES = tuple(configuration.name for configuration in CONFIGURATIONS)


class Estimation(Settings):
    """How estimators are selected and trained."""

    default: str = Field("forest-10d-balanced-isotonic", description="the configuration shown first")
    test_share: Share = Field(0.2, description="share of a training benchmark's items kept for evaluation")
    folds: int = Field(5, ge=2, description="folds of the grid search and of the calibration")
    trees: int = Field(100, ge=1, description="trees of a random forest")
    max_depth: list[Positive] = Field([3, 5, 10], min_length=1, description="grid of the forest")
    min_samples_split: list[Annotated[int, Field(ge=2)]] = Field(
        [2, 5, 10], min_length=1, description="grid of the forest"
    )
    hidden_layers: list[Annotated[list[Positive], Field(min_length=1)]] = Field(
        [[5], [8], [10], [15], [20], [8, 4], [10, 5], [15, 8]], min_length=1, description="grid of the MLP"
    )
    beside: list[str] = Field(list(BESIDE), description="estimators that every group gets beside its configurations")
    keep: list[str] = Field(
        [OWN, "atc-max", "atc-nll_sum", "atc-se_sum", "baseline-mtp"],
        description="estimators of a named group that are kept as files; `own` is the group's",
    )

    @model_validator(mode="after")
    def _known(self) -> "Estimation":
        check_names("configuration", [self.default], ESTIMATOR_NAMES)
        check_names("estimator in beside:", self.beside, ESTIMATORS)
        check_names("estimator in keep:", self.keep, [OWN, *ESTIMATORS])
        return self


class Group(Settings):
    """A named training group."""

    benchmarks: Names = Field(min_length=1, description="benchmarks that the estimator is trained on")
    estimator: str = Field("forest-10d-balanced-isotonic", description="the configuration shown for this group")
    configurations: Literal["all", "default"] = Field("default", description="all 48, or the estimator's alone")

    @model_validator(mode="after")
    def _known(self) -> "Group":
        check_names("configuration", [self.estimator], ESTIMATOR_NAMES)
        return self

    @property
    def group_id(self) -> str:
        """The `{group}` wildcard: benchmark names, sorted and joined with `+`."""
        return group_id(self.benchmarks)


def group_id(benchmarks: Iterable[str]) -> str:
    """The id of a training group: its benchmarks' names, sorted and joined with `+`."""
    return "+".join(sorted(benchmarks))
