"""How estimators are trained, and on what: the config's sections `estimation` and `groups`."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Literal, TypedDict

from pydantic import Field, model_validator

from entropy_sentinel.estimators.catalogue import BASELINES, COMBINATIONS, CONFIGURATION_NAMES, ESTIMATORS, RECOMMENDED
from entropy_sentinel.frames.sections import DISTINCT, Names, Number, Positive, Seed, Settings, Whole, check_names

# Stands for a named group's own estimator.
OWN = "own"
# The paper's nine baselines, the methods beyond it, and what any estimator must be compared with.
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

# The smallest benchmark of the paper has 100 items: the share kept for evaluation must leave a fold's worth of them.
_SMALL_BENCHMARK = 100


class Estimation(Settings):
    """How estimators are selected and trained."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = {
        "baselines": "is now estimators, a list of names: baseline-ppl in the place of ppl",
        "beside": "is now estimators",
    }

    default: str = Field(
        "forest-10d-balanced-isotonic",
        description="the configuration shown first: classifier-features-balancing-calibration, where classifier is "
        "logistic, forest or mlp; features 17d, 10d, 3d or 1d; balancing balanced or unbalanced; calibration "
        "isotonic or uncalibrated",
    )
    seed: Seed | None = Field(
        None,
        description="seed of all that estimation draws: the train/test split, folds, forests, MLPs; null takes the "
        "study's. Another one draws these again from the same generations and labels",
    )
    test_share: Number = Field(
        0.2,
        gt=0,
        lt=1,
        description="share of a training benchmark's items that is kept for evaluation, drawn once per benchmark; it "
        "must leave at least `folds` of 100 items, the size of the paper's smallest benchmark: one of each fold to "
        "train on",
    )
    folds: Whole = Field(
        5, ge=2, le=50, description="stratified folds of the grid search and of the isotonic calibration"
    )
    trees: Whole = Field(100, ge=1, le=10_000, description="number of trees of a random forest")
    max_depth: Annotated[list[Positive], DISTINCT] = Field(
        [3, 5, 10], min_length=1, description="grid of the random forest: depth of a tree"
    )
    min_samples_split: Annotated[list[Annotated[Positive, Field(ge=2)]], DISTINCT] = Field(
        [2, 5, 10], min_length=1, description="grid of the random forest: rows that a node must have to be split"
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
        description="training groups of a model that one job estimates, one after the other. A job takes a few "
        "seconds to start, and often less for a group: on one machine some ten at a time are done sooner. A group "
        "that is missing then brings the others of its job with it, and another number makes all estimates again. "
        "On a cluster leave it at 1: profiles/slurm joins jobs, with a log for each group",
    )
    estimators: Annotated[list[str], DISTINCT] = Field(
        list(DEFAULT_ESTIMATORS),
        description="estimators that every training group gets with its configurations, by the names of "
        "estimators/catalogue.py: baseline-SIGNAL, a logistic regression on one signal (the paper's nine); "
        "log-3d, a regression on the logarithms of max, se_sum and nll_sum; group-accuracy, the training rows' "
        "own accuracy, the floor; atc-SIGNAL, the share of responses beyond a threshold on one signal; "
        "consensus, the mean of three ATC; median-of-seven, of estimators of several kinds; recommended, the "
        "consensus, or where there are six training benchmarks or more what does better on them, leaving out one "
        "at a time; doc-SIGNAL and doc-ESTIMATOR, the training accuracy shifted by the change "
        "of the mean confidence. A change fits all of a group's estimators again",
    )
    keep: Annotated[list[str], DISTINCT] = Field(
        [OWN, RECOMMENDED, "atc-max", "atc-nll_sum", "atc-se_sum", "baseline-mtp"],
        description="estimators of a named group that are kept as files, with P(correct) of every response where "
        "they give one; `own` is the group's. The others are the recommended one, the single features that did "
        "best in the authors' later results, and the best baseline",
    )

    @model_validator(mode="after")
    def _known(self) -> "Estimation":
        check_names("configuration", [self.default], CONFIGURATION_NAMES)
        check_names("estimator in estimators:", self.estimators, ESTIMATORS)
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


class EstimationSettings(TypedDict):
    """What the estimates of a training group depend on, the observations aside: what Snakemake compares."""

    estimators: list[str]
    seed: int
    folds: int
    trees: int
    max_depth: list[int]
    min_samples_split: list[int]
    hidden_layers: list[list[int]]


@dataclass(frozen=True)
class Fitting:
    """What the fits of estimators depend on, their rows aside: keys of `Estimation`."""

    seed: int
    folds: int
    trees: int
    max_depth: Sequence[int]
    min_samples_split: Sequence[int]
    hidden_layers: Sequence[Sequence[int]]

    @classmethod
    def of(cls, settings: "Mapping[str, Any] | Fitting") -> "Fitting":
        """Those of `EstimationSettings`."""
        if isinstance(settings, Fitting):
            return settings
        return cls(**{field.name: settings[field.name] for field in fields(cls)})


class Group(Settings):
    """A named training group."""

    benchmarks: Names = Field(min_length=1, description="what the estimator is trained on; they must have references")
    estimator: str = Field(
        "forest-10d-balanced-isotonic", description="the configuration that the tables show for the group"
    )
    configurations: Literal["all", "default"] = Field(
        "default",
        description="`all` 48, or the estimator and the `default` alone; a group that run.sizes covers as well gets "
        "both",
    )

    @model_validator(mode="after")
    def _known(self) -> "Group":
        check_names("configuration", [self.estimator], CONFIGURATION_NAMES)
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
