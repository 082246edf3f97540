"""The training of estimators: the config's sections `estimation` and `groups`."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Literal, TypedDict

from pydantic import Field, model_validator

from entropy_sentinel.core.section_base import DISTINCT, Names, Number, Positive, Seed, Settings, Whole, check_names
from entropy_sentinel.estimators.estimator_registry import (
    BASELINES,
    COMBINATIONS,
    CONFIGURATION_NAMES,
    ESTIMATORS,
    RECOMMENDED,
)

# Means a named group's own estimator.
OWN = "own"
# The paper's nine baselines, further methods, and the floor that any estimator must beat.
DEFAULT_ESTIMATORS = (
    *BASELINES,
    "log-3d",
    *COMBINATIONS,
    RECOMMENDED,
    "group-accuracy",
    *(name.replace("baseline", "atc") for name in BASELINES),
    "doc-mtp",
    "doc-forest-10d-balanced-isotonic",
)

# The paper's smallest benchmark has 100 items: the share for evaluation must leave enough for a fold.
_SMALL_BENCHMARK = 100


class Estimation(Settings):
    """How estimators are selected and trained."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = {
        "baselines": "is now `estimators`, a list of names; write baseline-ppl instead of ppl",
        "beside": "is now estimators",
    }

    default: str = Field(
        "forest-10d-balanced-isotonic",
        description="the configuration shown first, classifier-features-balancing-calibration: logistic, "
        "forest or mlp; 17d, 10d, 3d or 1d; balanced or unbalanced; isotonic or uncalibrated",
    )
    seed: Seed | None = Field(
        None,
        description="seed of the estimation (train/test split, folds, forests, MLPs); null uses the study's "
        "seed. A new seed reuses generations and labels",
    )
    test_share: Number = Field(
        0.2,
        gt=0,
        lt=1,
        description="share of a training benchmark's items held out for evaluation, drawn once per "
        "benchmark. Of 100 items (the size of the paper's smallest benchmark), at least `folds` must remain "
        "for training: one in each fold",
    )
    folds: Whole = Field(
        5, ge=2, le=50, description="stratified folds of the grid search and of the isotonic calibration"
    )
    trees: Whole = Field(100, ge=1, le=10_000, description="number of trees of a random forest")
    max_depth: Annotated[list[Positive], DISTINCT] = Field(
        [3, 5, 10], min_length=1, description="grid of the random forest: depth of a tree"
    )
    min_samples_split: Annotated[list[Annotated[Positive, Field(ge=2)]], DISTINCT] = Field(
        [2, 5, 10],
        min_length=1,
        description="grid of the random forest: smallest number of rows in a node that is split",
    )
    hidden_layers: Annotated[
        list[Annotated[list[Annotated[Positive, Field(le=10_000)]], Field(min_length=1, max_length=20)]], DISTINCT
    ] = Field(
        [[5], [8], [10], [15], [20], [8, 4], [10, 5], [15, 8]],
        min_length=1,
        description="grid of the MLP: sizes of the hidden layers",
    )
    groups_per_job: Whole = Field(
        1,
        ge=1,
        le=10_000,
        description="training groups of a model that one job estimates in sequence. A job takes a few "
        "seconds to start, often longer than a group takes, so about ten per job are faster on one machine. A "
        "missing group reruns the others of its job, and a changed number reruns all estimates. On a cluster "
        "leave it at 1: profiles/slurm joins jobs, with one log per group",
    )
    estimators: Annotated[list[str], DISTINCT] = Field(
        list(DEFAULT_ESTIMATORS),
        description="estimators of every training group besides its configurations, by the names in "
        "estimators/estimator_families.py and of extensions. baseline-SIGNAL: a logistic regression on one signal "
        "(the paper's nine). log-3d: a regression on the logarithms of max, se_sum and nll_sum. group-accuracy: the "
        "accuracy of the training rows, the baseline. atc-SIGNAL: the share of responses beyond a threshold on one "
        "signal. consensus: the mean of three ATC estimates. median-of-seven: the median of estimators of several "
        "kinds. recommended: the median of seven, or with six or more training benchmarks a method that is clearly "
        "better on them, each held out in turn; the consensus with one or two. doc-SIGNAL and doc-ESTIMATOR: the "
        "training accuracy shifted by the change of the mean confidence. A change refits all estimators of each group",
    )
    keep: Annotated[list[str], DISTINCT] = Field(
        [OWN, RECOMMENDED, "atc-max", "atc-nll_sum", "atc-se_sum", "baseline-mtp"],
        description="estimators of a named group to keep as files, with P(correct) of every response if they "
        "give one; `own` is the group's own. The others are the recommended one, the best single features in "
        "the authors' later results, and the best baseline",
    )

    @model_validator(mode="after")
    def _check_names(self) -> "Estimation":
        check_names("configuration", [self.default], CONFIGURATION_NAMES)
        check_names("estimator in estimators:", self.estimators, ESTIMATORS)
        check_names("estimator in keep:", self.keep, [OWN, *ESTIMATORS])
        return self

    @model_validator(mode="after")
    def _something_is_left_to_train_on(self) -> "Estimation":
        """Raise ValueError if the training share of a small benchmark has fewer items than there are folds."""
        if (1 - self.test_share) * _SMALL_BENCHMARK < self.folds:
            raise ValueError(
                f"test_share {self.test_share} leaves fewer than folds = {self.folds} of {_SMALL_BENCHMARK} "
                f"items for training; it must be at most {1 - self.folds / _SMALL_BENCHMARK:g}"
            )
        return self


class EstimationSettings(TypedDict):
    """What a training group's estimates depend on besides the observations; Snakemake compares it."""

    estimators: list[str]
    seed: int
    folds: int
    trees: int
    max_depth: list[int]
    min_samples_split: list[int]
    hidden_layers: list[list[int]]


@dataclass(frozen=True)
class Fitting:
    """What a fit depends on besides its rows: keys of `Estimation`."""

    seed: int
    folds: int
    trees: int
    max_depth: Sequence[int]
    min_samples_split: Sequence[int]
    hidden_layers: Sequence[Sequence[int]]

    @classmethod
    def from_settings(cls, settings: "Mapping[str, Any] | Fitting") -> "Fitting":
        """The fields of a fit from a mapping that has them, such as EstimationSettings; a `Fitting` as it is."""
        if isinstance(settings, Fitting):
            return settings
        return cls(**{field.name: settings[field.name] for field in fields(cls)})


class Group(Settings):
    """A named training group."""

    benchmarks: Names = Field(
        min_length=1, description="benchmarks to train the estimator on; they must have references"
    )
    estimator: str = Field(
        "forest-10d-balanced-isotonic", description="the configuration that tables show for the group"
    )
    configurations: Literal["all", "default"] = Field(
        "default",
        description="`all` fits 48 configurations; `default` fits the group's estimator and the default. A "
        "group that run.sizes also covers gets both",
    )

    @model_validator(mode="after")
    def _check_names(self) -> "Group":
        check_names("configuration", [self.estimator], CONFIGURATION_NAMES)
        return self

    @property
    def group_id(self) -> str:
        """The id of the group in all frames: benchmark names, sorted and joined with `+`."""
        return group_id(self.benchmarks)


def group_id(benchmarks: Iterable[str]) -> str:
    """The id of a training group: its benchmarks' names, sorted and joined with `+`."""
    return "+".join(sorted(benchmarks))


# A file name has at most 255 bytes, and files beside it have longer names.
_LONGEST_FILE_NAME = 150


def group_file(group: str) -> str:
    """The name of a group's files (`{group}`): its id, or if that is too long its start and a hash."""
    if len(group) <= _LONGEST_FILE_NAME:
        return group
    digest = hashlib.sha256(group.encode()).hexdigest()[:12]
    return f"{group[: _LONGEST_FILE_NAME - 1 - len(digest)]}-{digest}"
