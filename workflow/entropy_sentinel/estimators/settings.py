"""How estimators are trained, and on what: the config's sections `estimation` and `groups`."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from entropy_sentinel.estimators.catalogue import BASELINES, COMBINATIONS, CONFIGURATIONS, ESTIMATORS, RECOMMENDED
from entropy_sentinel.frames.sections import DISTINCT, Names, Number, Positive, Seed, Settings, Whole, check_names

# Stands for a named group's own estimator.
OWN = "own"
# The paper's nine baselines, the methods beyond it, and what any estimator must be compared with.
BESIDE = (
    *BASELINES,
    "log-3d",
    *COMBINATIONS,
    RECOMMENDED,
    "group-accuracy",
    *(name.replace("baseline", "atc") for name in BASELINES),
    "doc-mtp",
    "doc-forest-10d-balanced-isotonic",
)
ESTIMATOR_NAMES = tuple(configuration.name for configuration in CONFIGURATIONS)

# The smallest benchmark of the paper has 100 items: the share kept for evaluation must leave a fold's worth of them.
_SMALL_BENCHMARK = 100


class Estimation(Settings):
    """How estimators are selected and trained."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = {
        "baselines": "is now beside, a list of estimators: baseline-ppl in the place of ppl",
    }

    default: str = Field("forest-10d-balanced-isotonic", description="the configuration shown first")
    seed: Seed | None = Field(None, description="seed of split, folds, forests and MLPs; null for that of the study")
    test_share: Number = Field(0.2, gt=0, lt=1, description="share of a training benchmark's items kept for evaluation")
    folds: Whole = Field(5, ge=2, le=50, description="folds of the grid search and of the calibration")
    trees: Whole = Field(100, ge=1, le=10_000, description="trees of a random forest")
    max_depth: Annotated[list[Positive], DISTINCT] = Field([3, 5, 10], min_length=1, description="grid of the forest")
    min_samples_split: Annotated[list[Annotated[Positive, Field(ge=2)]], DISTINCT] = Field(
        [2, 5, 10], min_length=1, description="grid of the forest"
    )
    hidden_layers: Annotated[
        list[Annotated[list[Annotated[Positive, Field(le=10_000)]], Field(min_length=1, max_length=20)]], DISTINCT
    ] = Field([[5], [8], [10], [15], [20], [8, 4], [10, 5], [15, 8]], min_length=1, description="grid of the MLP")
    groups_per_job: Whole = Field(
        1, ge=1, le=10_000, description="training groups of a model that one job estimates, one after the other"
    )
    beside: Annotated[list[str], DISTINCT] = Field(
        list(BESIDE), description="estimators that every group gets beside its configurations"
    )
    keep: Annotated[list[str], DISTINCT] = Field(
        [OWN, RECOMMENDED, "atc-max", "atc-nll_sum", "atc-se_sum", "baseline-mtp"],
        description="estimators of a named group that are kept as files; `own` is the group's",
    )

    @model_validator(mode="after")
    def _known(self) -> "Estimation":
        check_names("configuration", [self.default], ESTIMATOR_NAMES)
        check_names("estimator in beside:", self.beside, ESTIMATORS)
        check_names("estimator in keep:", self.keep, [OWN, *ESTIMATORS])
        return self

    @model_validator(mode="after")
    def _something_is_left_to_train_on(self) -> "Estimation":
        if (1 - self.test_share) * _SMALL_BENCHMARK < self.folds:
            raise ValueError(
                f"test_share {self.test_share} leaves fewer than folds = {self.folds} of {_SMALL_BENCHMARK} items to "
                f"train on; it must be at most {1 - self.folds / _SMALL_BENCHMARK:g}"
            )
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
        """The group in all frames: benchmark names, sorted and joined with `+`."""
        return group_id(self.benchmarks)


def group_id(benchmarks: Iterable[str]) -> str:
    """The id of a training group: its benchmarks' names, sorted and joined with `+`."""
    return "+".join(sorted(benchmarks))


# A name of a file has 255 bytes at most, and what is written beside it adds to the group's.
_LONGEST_FILE_NAME = 150


def group_file(group: str) -> str:
    """The name of a group's files (`{group}`): its id, or where that is too long a beginning and a hash."""
    if len(group) <= _LONGEST_FILE_NAME:
        return group
    digest = hashlib.sha256(group.encode()).hexdigest()[:12]
    return f"{group[: _LONGEST_FILE_NAME - 13]}-{digest}"
