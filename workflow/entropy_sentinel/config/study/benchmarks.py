"""The items of a benchmark: what they depend on."""

from typing import cast

from entropy_sentinel.config.sections import Config
from entropy_sentinel.frames.benchmark import BENCHMARK_VERSION
from entropy_sentinel.sources.settings import ItemsSettings


def benchmark_settings(config: Config, benchmark: str) -> ItemsSettings:
    """What the rows of a benchmark depend on."""
    settings = config.benchmarks[benchmark]
    unset = {key for key in settings.LATER if not getattr(settings, key)}
    made = {
        "version": BENCHMARK_VERSION,
        "benchmark": benchmark,
        "limit": item_limit(config, benchmark),
        "seed": config.seed,
        **settings.model_dump(exclude={*settings.BESIDE, *unset}),
    }
    return cast(ItemsSettings, made)


def item_limit(config: Config, benchmark: str) -> int | None:
    """Items of a benchmark at most: its own limit, or else the study's; None for all."""
    own = config.benchmarks[benchmark].limit
    return config.limit if own is None else own
