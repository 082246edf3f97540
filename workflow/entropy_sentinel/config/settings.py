"""What is run: the config's section `run`."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from entropy_sentinel.frames.sections import Names, Positive, Settings, check_names
from entropy_sentinel.signals.catalogue import FAMILIES, TOKENS

ALL_BUT_ONE: Literal["all-but-one"] = "all-but-one"


class SweepSize(Settings):
    """All training groups of one size, of the benchmarks that have references."""

    size: Positive | Literal["all-but-one"] = Field(
        description="number of benchmarks in a group; all-but-one leaves out one at a time, however many there are"
    )
    configurations: Literal["all", "default"] = Field(
        "default", description="`all` 48 configurations, or the `default` alone"
    )

    def number(self, n_labelled: int) -> int:
        """The size as a number, where so many benchmarks have references."""
        return n_labelled - 1 if self.size == ALL_BUT_ONE else self.size


def _each_size_once(sizes: list[SweepSize]) -> list[SweepSize]:
    asked = [sweep.size for sweep in sizes]
    if twice := [size for size in asked if asked.count(size) > 1]:
        raise ValueError(f"size {twice[0]} is there twice; each once")
    return sizes


class Run(Settings):
    """The axes of the study: what is run. Lists, so that a second config file replaces them whole."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = {
        "tables": "is now analyses.accuracy.tables, a list of names such as 2_by_model; null for all",
        "figures": "is now analyses.accuracy.figures, a list of names such as 1_accuracies; null for all",
    }

    models: Names = Field(min_length=1, description="models to run, names of the section `models`")
    benchmarks: Names = Field(min_length=1, description="benchmarks to run, names of the section `benchmarks`")
    judges: Names = Field(
        ["math-verify"],
        min_length=1,
        description="judges to run, names of the section `judges`; the first is the primary one",
    )
    features: Names = Field(
        [TOKENS],
        description="families of signals that observations have, and estimators of this study can be made of: tokens, "
        "the features, and folders of workflow/entropy_sentinel/signals",
    )
    groups: Names = Field(
        [],
        description="named training groups to run, names of the section `groups`; one whose benchmarks are not all "
        "run is left out. May be empty",
    )
    sizes: Annotated[list[SweepSize], AfterValidator(_each_size_once)] = Field(
        [],
        description="training groups to run by size: every subset of that size of the benchmarks that have "
        "references; a size that leaves none unseen is left out",
    )
    analyses: Names = Field(
        ["accuracy"],
        min_length=1,
        description="what is read off the results: folders of workflow/entropy_sentinel/analyses, each with its "
        "section in `analyses`",
    )

    @model_validator(mode="after")
    def _families_are_known(self) -> "Run":
        check_names("family in features:", self.features, FAMILIES)
        if TOKENS not in self.features:
            raise ValueError(f"features: must have '{TOKENS}', was {', '.join(self.features) or 'empty'}")
        return self

    @property
    def further_families(self) -> list[str]:
        """The families beside `tokens`."""
        return [name for name in self.features if name != TOKENS]

    @property
    def asking_families(self) -> list[str]:
        """Those of them for which the model is asked again about its responses."""
        return [name for name in self.further_families if FAMILIES[name].asks]
