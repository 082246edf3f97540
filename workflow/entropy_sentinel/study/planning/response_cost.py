"""Responses of a study: how many are planned, how many exist, and the cost of each.

Rates are measured in finished files if there are any, and otherwise taken from the config.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import astuple, dataclass
from itertools import product
from operator import add
from pathlib import Path

import polars as pl

from entropy_sentinel.core.errors import ContractError
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.study.config.generation_requests import find_item_limit, select_sampling
from entropy_sentinel.study.config.study_config import Config
from entropy_sentinel.study.config.study_paths import get_parts_folder
from entropy_sentinel.study.engines.generation_section import Rates
from entropy_sentinel.study.items.benchmark_rows import read_local_rows
from entropy_sentinel.study.jobs.reuse_plan import find_reusable
from entropy_sentinel.study.planning.file_plan import (
    StudyFiles,
    count_rows,
    find_generations_file,
    read_frame,
    read_modification_time,
)

# When a file was last changed, seconds since the epoch, and the amount of work in it, such as responses.
WorkDone = tuple[float, int]


@dataclass(frozen=True)
class ResponseCount:
    """Responses of one model to one benchmark; `total` is None if the number of items is unknown.

    `work_done` has the time and the number of responses of the finished file, or of each part of a running job.
    """

    total: int | None
    work_done: tuple[WorkDone, ...]
    is_finished: bool

    @property
    def done(self) -> int:
        """Responses in the finished file, or in the parts of a running job."""
        if self.is_finished:
            return self.total or 0
        return sum(amount for _, amount in self.work_done)

    @property
    def left(self) -> int:
        """Responses still to be generated; 0 if unknown."""
        return max((self.total or 0) - self.done, 0)


def count_responses(
    config: Config, files: StudyFiles, reusable: Collection[tuple[str, str]] = ()
) -> dict[tuple[str, str], ResponseCount]:
    """The responses by model and benchmark that are run; those of `reusable` are only copied, and count as finished."""
    items = count_items(config)
    counts = {}
    for model, benchmark in product(config.run.models, items):
        n_items = items[benchmark]
        path = find_generations_file(config, model, benchmark)
        planned = n_items and n_items * config.count_samples(model)  # None if the number of items is unknown
        if (model, benchmark) in reusable:
            counts[model, benchmark] = ResponseCount(planned, (), is_finished=True)
        else:
            counts[model, benchmark] = _count_file(path, files, planned)
    return counts


def _count_file(path: Path, files: StudyFiles, planned: int | None) -> ResponseCount:
    """The responses in a file, or if it is to be made, in its parts; `planned` is the number that it will have."""
    if path in files.to_make:
        return ResponseCount(planned, tuple(_list_written_parts(path)), is_finished=False)
    if path not in files.modification_times:  # deleted, and no other file needs it
        return ResponseCount(planned, (), is_finished=True)
    rows = count_rows(path)
    return ResponseCount(rows, ((files.modification_times[path], rows),), is_finished=True)


def _list_written_parts(output: Path) -> Iterator[WorkDone]:
    """The parts that a running job has written so far: when, and the number of rows in each."""
    for path in Path(get_parts_folder(str(output))).glob("part-*.parquet"):
        changed_at = read_modification_time(path)
        if changed_at is not None:
            yield changed_at, count_rows(path)


class Outlook:
    """The data of a forecast: a config, its files, and each model's responses and rates.

    `responses` are by (model, benchmark), `reusable` the files that are copied from other studies, by the same, and
    `rates` by model, each with the source of its response lengths.
    """

    def __init__(self, config: Config, files: StudyFiles) -> None:
        """Read the number and length of responses from the metadata of files."""
        self.config, self.files = config, files
        self.reusable = find_reusable(config)
        self.responses, self.rates = count_responses(config, files, self.reusable), find_model_rates(config, files)

    def max_response_tokens(self, model: str) -> int:
        """The longest response of a model, tokens."""
        return int(select_sampling(self.config, model)["max_tokens"])

    def is_to_make(self, template: str, **names: str) -> bool:
        """Whether a template's file is still to be made."""
        return Path(template.format(**names)) in self.files.to_make


def count_items(config: Config) -> dict[str, int | None]:
    """The number of items per benchmark; None if no earlier run, config key or local file gives it."""
    return {name: _count_benchmark_items(config, name) for name in config.run.benchmarks}


def _count_benchmark_items(config: Config, benchmark: str) -> int | None:
    """From an earlier run, else from the local file, else from the config; at most the config's limit."""
    settings = config.benchmarks[benchmark]
    count = _read_item_count(Path(config.layout.items.format(benchmark=benchmark)))
    if count is None and settings.path is not None:
        count = sum(1 for _ in read_local_rows(settings.path))
    if count is None:
        count = settings.expected_items
    limit = find_item_limit(config, benchmark)
    upper_limits = [number for number in (count, limit) if number is not None]
    return min(upper_limits, default=None)


def _read_item_count(path: Path) -> int | None:
    """The number of usable items in the source of a finished benchmark, whatever its limit was."""
    try:
        provenance: Mapping[str, int] = read_provenance(path)
    except (OSError, ContractError, ValueError, pl.exceptions.PolarsError):
        return None
    return provenance.get("items_in_source")


@dataclass(frozen=True)
class Traces:
    """The size of finished generations: numbers of responses and tokens, and bytes on disk."""

    responses: int = 0
    tokens: int = 0
    size: int = 0

    def __add__(self, other: "Traces") -> "Traces":
        return Traces(*map(add, astuple(self), astuple(other)))

    @property
    def rates(self) -> dict[str, float]:
        """Tokens per response and bytes per token; empty if there are no tokens."""
        if not self.tokens:
            return {}
        return {"tokens_per_response": self.tokens / self.responses, "bytes_per_token": self.size / self.tokens}


def find_model_rates(config: Config, files: StudyFiles) -> dict[str, tuple[Rates, str]]:
    """The rates of each model that is run, and the source of its response lengths as text, such as `own files`.

    The model's own files come first, then its settings in the config, then the files of the study's other models, then
    the config's settings for all models.
    """
    traces = {model: _measure_traces(config, model, files) for model in config.run.models}
    all_traces = sum(traces.values(), Traces())
    rates = {}
    for model, model_traces in traces.items():
        model_settings = config.models[model].rates
        # The later ones replace the earlier ones.
        values = config.rates.model_dump() | all_traces.rates | model_settings | model_traces.rates
        origin = "config"
        if model_traces.tokens:
            origin = "own files"
        elif all_traces.tokens and "tokens_per_response" not in model_settings:
            origin = "others' files"
        rates[model] = (Rates(**values), origin)
    return rates


def _measure_traces(config: Config, model: str, files: StudyFiles) -> Traces:
    """The size of a model's finished generations."""
    traces = Traces()
    for benchmark in config.run.benchmarks:
        path = find_generations_file(config, model, benchmark)
        if path not in files.modification_times:
            continue
        sums = read_frame(pl.scan_parquet(path).select(responses=pl.len(), tokens=pl.col("n_tokens").sum()))
        if sums is not None:
            traces += Traces(sums["responses"].item(), sums["tokens"].item(), path.stat().st_size)
    return traces
