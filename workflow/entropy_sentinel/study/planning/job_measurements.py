"""What finished jobs took, as Snakemake measured it: `benchmark:` files beside their logs.

A job that only copied its output from another study is left out, and so is the speed of a generation that went on where
another job had stopped: its file has more responses than the job made.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import polars as pl

from entropy_sentinel.core.errors import ContractError
from entropy_sentinel.estimators.estimator_registry import CONFIGURATION_NAMES
from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.rendering.terminal_text import Part, format_terminal_table
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.study.config.generation_requests import count_gpus
from entropy_sentinel.study.config.group_estimates import estimate_batches, map_group_files, training_groups
from entropy_sentinel.study.config.study_config import Config
from entropy_sentinel.study.jobs.result_reuse import was_reused
from entropy_sentinel.study.planning.file_plan import find_generations_file, read_frame

# The folders of the logs of measured jobs, in the order of the pipeline.
_STAGES = ("generations", "passes", "labels", "features", "signals", "observations", "estimates", "estimators")
# What Snakemake writes if it could not look at a job's processes.
_UNKNOWN = "NA"


@dataclass(frozen=True)
class JobMeasurement:
    """What one job took: seconds on the clock, CPU-seconds, and the most memory of its processes, MB.

    `path` is the measurement's file. CPU time and memory are None for a job that ended before it was looked at.
    """

    path: Path
    wall_s: float
    cpu_s: float | None
    memory_mb: float | None


def read_measurements(config: Config) -> dict[str, list[JobMeasurement]]:
    """The measurements of a study's finished jobs by stage; unreadable files are left out."""
    logs = Path(config.layout.logs)
    return {stage: list(_read_folder(logs / stage)) for stage in _STAGES}


def _read_folder(folder: Path) -> Iterator[JobMeasurement]:
    """Yield the measurements in a folder of logs, without those of jobs that only copied their output."""
    for path in sorted(folder.rglob("*.tsv")):
        if was_reused(path.with_suffix(".log")):
            continue
        rows = read_frame(pl.scan_csv(path, separator="\t", infer_schema=False).select("s", "cpu_time", "max_rss"))
        if rows is None or rows.is_empty():
            continue
        wall_s, cpu_s, memory_mb = (_parse_number(text) for text in rows.row(-1))
        if wall_s is not None:
            yield JobMeasurement(path, wall_s, cpu_s, memory_mb)


def _parse_number(text: str | None) -> float | None:
    try:
        return None if text in (None, _UNKNOWN) else float(text)
    except ValueError:
        return None


@dataclass(frozen=True)
class MeasuredRate:
    """A rate from `n_jobs` finished jobs."""

    value: float
    n_jobs: int


def compute_job_speed(config: Config, model: str, generations: Sequence[JobMeasurement]) -> MeasuredRate | None:
    """The tokens per second of a model's generation jobs, the starts of engines included.

    None without such a job, and for a model without GPUs (behind an API, or with imported traces). `generations` are
    the measurements of all models' jobs, at `{model}/{benchmark}.tsv`.
    """
    tokens, seconds, n_jobs = 0, 0.0, 0
    if not count_gpus(config, model):
        return None
    for job in generations:
        path = find_generations_file(config, model, job.path.stem)
        # The time of a job that went on where another had stopped is that of a part of the file only.
        if job.path.parent.name != model or not _is_of_one_job(path):
            continue
        sums = read_frame(pl.scan_parquet(path).select(pl.col("n_tokens").sum()))
        if sums is not None and job.wall_s:
            tokens += sums.item()
            seconds += job.wall_s
            n_jobs += 1
    return MeasuredRate(tokens / seconds, n_jobs) if tokens else None


def _is_of_one_job(path: Path) -> bool:
    """Whether one job has generated all responses of a file."""
    try:
        return read_provenance(path).get("resumed_responses") == 0
    except (OSError, ContractError, ValueError, pl.exceptions.PolarsError):
        return False


def compute_search_cpu_s(config: Config, estimates: Sequence[JobMeasurement]) -> MeasuredRate | None:
    """The CPU-seconds of the search over all hyperparameter configurations for one training group; None without a job.

    `estimates` are the measurements of estimation jobs. A group that fits k of n configurations makes k / n of it.
    """
    groups_by_batch, searches_by_group = estimate_batches(config), count_searches(config)
    seconds, searches, n_jobs = 0.0, 0.0, 0
    for job in estimates:
        groups = groups_by_batch.get(job.path.stem, [job.path.stem])  # a job estimates one group, or a batch of them
        n_searches = sum(searches_by_group.get(group, 0.0) for group in groups)  # 0: a group of an earlier config
        if job.cpu_s is not None and n_searches:
            seconds += job.cpu_s
            searches += n_searches
            n_jobs += 1
    return MeasuredRate(seconds / searches, n_jobs) if searches else None


def count_searches(config: Config) -> dict[str, float]:
    """The share of a search over all hyperparameter configurations that each training group makes, by its file's name.

    A group that fits k of the n configurations makes k / n of a search.
    """
    configurations, estimators_by_group = set(CONFIGURATION_NAMES), training_groups(config)
    searches = {}
    for file, group in map_group_files(config).items():
        searches[file] = len(configurations & set(estimators_by_group[group])) / len(configurations)
    return searches


def describe_measurements(measurements: Mapping[str, Sequence[JobMeasurement]]) -> list[Part]:
    """A table of what finished jobs took, with a line that says how it was measured; nothing without any job."""
    rows = []
    for stage, jobs in measurements.items():
        if jobs:
            memory = max((job.memory_mb for job in jobs if job.memory_mb is not None), default=None)
            cpu = sum(job.cpu_s or 0 for job in jobs)
            times = [job.wall_s for job in jobs]
            memory_text = "-" if memory is None else f"{memory:,.0f}"
            rows.append(
                [stage, f"{len(jobs):,}", f"{median(times):,.0f}", f"{max(times):,.0f}", f"{cpu:,.0f}", memory_text]
            )
    if not rows:
        return []
    n_jobs = sum(map(len, measurements.values()))
    headings = ("measured", "jobs", "median (s)", "longest (s)", "CPU (s)", "most memory (MB)")
    return [
        format_terminal_table(headings, rows),
        f"Measured by Snakemake in {format_count(n_jobs, 'finished job')} of this study (logs/**/*.tsv). "
        "Memory is that of "
        "the job's processes; an engine that an earlier job started is not among them. Set `runtime` and `mem_mb` in "
        "your profile from these.",
    ]
