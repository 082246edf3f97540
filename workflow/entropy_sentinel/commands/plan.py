"""What a study will take, reckoned from the config's rates before anything runs: `snakemake plan`."""

from dataclasses import astuple, dataclass, fields
from pathlib import Path

import polars as pl

from entropy_sentinel.config.config import Config
from entropy_sentinel.config.layout import Layout
from entropy_sentinel.config.study import gpus, item_limit, training_groups
from entropy_sentinel.estimators.catalogue import CONFIGURATIONS
from entropy_sentinel.sources.rows import local_rows


@dataclass(frozen=True)
class Cost:
    """What one model, or the study, takes."""

    responses: int = 0
    tokens: float = 0
    disk_gb: float = 0
    gpu_h: float = 0
    usd: float = 0
    estimate_cpu_h: float = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


def item_counts(config: Config) -> dict[str, int | None]:
    """Items per benchmark that is run; None where neither the config, a local file nor an earlier run tells."""
    return {name: _items(config, name) for name in config.run.benchmarks}


def _items(config: Config, benchmark: str) -> int | None:
    settings = config.benchmarks[benchmark]
    made = Path(Layout(config.study).items.format(benchmark=benchmark))
    count = settings.expected_items
    if count is None and settings.path is not None:
        count = sum(1 for _ in local_rows(settings.path))
    if count is None and made.exists():
        count = pl.scan_parquet(made).select(pl.len()).collect().item()
    known = [number for number in (count, item_limit(config, benchmark)) if number is not None]
    return min(known, default=None)


def forecast(config: Config, items: dict[str, int | None]) -> dict[str, Cost]:
    """What each model takes for `items` per benchmark; those of None are left out."""
    counts = [count for count in items.values() if count is not None]
    return {model: _cost(config, model, counts) for model in config.run.models}


def _cost(config: Config, model: str, items: list[int]) -> Cost:
    rates, shared, settings = config.rates, config.generation, config.models[model]
    longest = (shared.sampling.model_dump() | settings.sampling)["max_tokens"]
    responses = sum(items) * shared.samples
    tokens = responses * min(rates.tokens_per_response, longest)
    gpu_h = (tokens / rates.tokens_per_s + len(items) * rates.engine_start_s) / 3600 * gpus(config, model)
    judges = len(config.run.judges)
    return Cost(
        responses=responses,
        tokens=tokens,
        disk_gb=tokens * rates.bytes_per_token / 1e9,
        gpu_h=gpu_h,
        usd=gpu_h * rates.gpu_usd_per_h + responses * judges * rates.judge_usd_per_response,
        estimate_cpu_h=judges * _searches(config) * rates.estimate_cpu_s / 3600,
    )


def _searches(config: Config) -> float:
    """Training groups of the study, one that runs n of the 48 configurations counted as n / 48."""
    names = {configuration.name for configuration in CONFIGURATIONS}
    return sum(len(names & set(estimators)) for estimators in training_groups(config).values()) / len(names)


def plan(config: Config) -> str:
    """The forecast as text: a table per model and in total, and what it leaves out."""
    items = item_counts(config)
    costs = forecast(config, items)
    rows = [*costs.items(), ("total", sum(costs.values(), Cost()))]
    lines = [
        f"Study '{config.study}': {len(costs)} models x {len(items)} benchmarks, {config.generation.samples} sample(s) "
        f"per item, {len(config.run.judges)} judge(s), {len(training_groups(config))} training groups",
        "",
        *_table(rows),
        "",
        "From the section `rates` of the config: tokens per response, speed, prices and CPU time are as good as those.",
    ]
    unknown = [name for name, count in items.items() if count is None]
    if unknown:
        lines.append(f"Not included, for their number of items is unknown (set expected_items): {', '.join(unknown)}.")
    elsewhere = [model for model in costs if config.models[model].api is not None]
    if elsewhere:
        lines.append(f"Without what the provider charges for: {', '.join(elsewhere)}.")
    return "\n".join(lines)


_HEADINGS = {
    "responses": "responses",
    "tokens": "tokens (M)",
    "disk_gb": "disk (GB)",
    "gpu_h": "GPU-hours",
    "usd": "USD",
    "estimate_cpu_h": "CPU-hours of estimation",
}


def _table(rows: list[tuple[str, Cost]]) -> list[str]:
    names = [field.name for field in fields(Cost)]
    cells = [["model", *(_HEADINGS[name] for name in names)]]
    for model, cost in rows:
        cells.append([model, f"{cost.responses:,}", f"{cost.tokens / 1e6:,.1f}", *_decimals(cost)])
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in cells]


def _decimals(cost: Cost) -> list[str]:
    return [f"{value:,.2f}" for value in astuple(cost)[2:]]
