"""What is run, and what it takes: the config's sections `run` and `rates`."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from entropy_sentinel.frames.sections import Names, Number, Positive, Settings

ALL_BUT_ONE = "all-but-one"


class SweepSize(Settings):
    """All training groups of one size, of the benchmarks that have references."""

    size: Positive | Literal["all-but-one"] = Field(description="number of benchmarks in a group, or all-but-one")
    configurations: Literal["all", "default"] = Field(
        "default", description="all 48 configurations, or the default one"
    )


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

    models: Names = Field(min_length=1, description="models to run, keys of `models`")
    benchmarks: Names = Field(min_length=1, description="benchmarks to run, keys of `benchmarks`")
    judges: Names = Field(
        ["math-verify"], min_length=1, description="judges to run, keys of `judges`; the first is the primary"
    )
    groups: Names = Field([], description="named training groups to run, keys of `groups`")
    sizes: Annotated[list[SweepSize], AfterValidator(_each_size_once)] = Field(
        [], description="training groups to run by size: every subset of `benchmarks`"
    )
    analyses: Names = Field(["accuracy"], min_length=1, description="analyses to run, folders of `analyses/`")


class Rates(Settings):
    """What a study costs, for the forecast of `snakemake plan`; no result depends on them."""

    tokens_per_response: Number = Field(600, gt=0, le=1e9, description="mean length of a response, tokens")
    bytes_per_token: Number = Field(80, gt=0, le=1e9, description="disk that a trace takes")
    tokens_per_s: Number = Field(2500, ge=1e-3, le=1e9, description="speed of one generate job")
    engine_start_s: Number = Field(90, ge=0, le=1e9, description="start of one generate job, seconds")
    gpu_usd_per_h: Number = Field(2.5, ge=0, le=1e9, description="price of one GPU-hour")
    judge_usd_per_response: Number = Field(
        0, ge=0, le=1e9, description="price of one label, where its judge has no prices of its own"
    )
    tokens_per_judgement: Number = Field(300, gt=0, le=1e9, description="mean length of a judge's reply, tokens")
    estimate_cpu_s: Number = Field(
        5, ge=0, le=1e9, description="CPU-seconds of one model and group, all configurations"
    )
