"""What is run, and what it takes: the config's sections `run` and `rates`."""

from typing import Annotated, Literal

from pydantic import Field

from entropy_sentinel.frames.sections import Names, Settings


class SweepSize(Settings):
    """All training groups of one size."""

    size: int = Field(ge=1, description="number of benchmarks in a group")
    configurations: Literal["all", "default"] = Field(
        "default", description="all 48 configurations, or the default one"
    )


class Run(Settings):
    """The axes of the study: what is run. Lists, so that a second config file replaces them whole."""

    models: Names = Field(min_length=1, description="models to run, keys of `models`")
    benchmarks: Names = Field(min_length=2, description="benchmarks to run, keys of `benchmarks`")
    judges: Names = Field(min_length=1, description="judges to run, keys of `judges`; the first is the primary")
    groups: Names = Field(description="named training groups to run, keys of `groups`")
    sizes: list[SweepSize] = Field([], description="training groups to run by size: every subset of `benchmarks`")
    tables: list[Annotated[int, Field(ge=1, le=10)]] = Field(description="numbers of the tables to render")
    figures: list[Annotated[int, Field(ge=1, le=4)]] = Field(description="numbers of the figures to render")


class Rates(Settings):
    """What a study costs, for the forecast of `snakemake plan`; no result depends on them."""

    tokens_per_response: float = Field(600, gt=0, description="mean length of a response, tokens")
    bytes_per_token: float = Field(80, gt=0, description="disk that a trace takes")
    tokens_per_s: float = Field(2500, gt=0, description="speed of one generate job")
    engine_start_s: float = Field(90, ge=0, description="start of one generate job, seconds")
    gpu_usd_per_h: float = Field(2.5, ge=0, description="price of one GPU-hour")
    judge_usd_per_response: float = Field(0, ge=0, description="price of one label")
    estimate_cpu_s: float = Field(100, ge=0, description="CPU-seconds of one model and group, all configurations")
