"""The files of a study, and which of them are missing or outdated, from names, times and Parquet metadata.

This repeats the dependencies of the rules for three reasons. `progress` also needs the files that are finished, and a
dry run of Snakemake lists only those to make. For the paper's study it takes a sixth of a dry run's time, each time
that `progress --watch` looks. It needs no Snakemake. A test compares it with Snakemake's own plan
(tests/study/planning/test_against_snakemake.py).

The rules are those of Snakemake. A missing file is made only if another file needs it. A file is outdated if one of its
inputs is newer and has other content. All files made from an outdated file are outdated too. If an input is newer, for
example after a copy without dates, its content is compared with the record of the job in the study's folder. Settings
and code are not compared.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, product
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.core.analysis import StageFiles
from entropy_sentinel.signal_families.signal_registry import FAMILIES
from entropy_sentinel.study.config.group_estimates import list_judge_groups, list_kept_estimators, map_group_files
from entropy_sentinel.study.config.study_config import Config
from entropy_sentinel.study.jobs.file_content import LARGEST_BYTES, compute_checksum
from entropy_sentinel.study.jobs.job_records import StudyRecords


@dataclass(frozen=True)
class StudyFiles:
    """The files of a study: `stages` gives every file of a stage with the files that it is made from.

    `axes` has all values of each wildcard of the paths, such as the models for `{model}`.
    """

    records: StudyRecords
    stages: Mapping[str, Mapping[Path, Sequence[Path]]]
    axes: Mapping[str, Sequence[str]]
    # By stage whose files combine others: the column that identifies these, and the axis whose values it must have.
    gathered_columns: Mapping[str, Mapping[str, str]]

    @cached_property
    def inputs(self) -> dict[Path, Sequence[Path]]:
        """Every file with the files that it is made from."""
        inputs: dict[Path, Sequence[Path]] = {}
        for files in self.stages.values():
            inputs.update(files)
        return inputs

    @cached_property
    def modification_times(self) -> dict[Path, float]:
        """The time of the last change of each existing file, in seconds since the epoch."""
        times = {}
        for path in self.inputs:
            changed_at = read_modification_time(path)
            if changed_at is not None:
                times[path] = changed_at
        return times

    @cached_property
    def damaged_files(self) -> set[Path]:
        """Existing files that cannot be read."""
        return {path for path in self.modification_times if not _is_whole(path)}

    @cached_property
    def to_make(self) -> set[Path]:
        """Files to make: those with their own reason, and the files that depend on them."""
        used_by: dict[Path, list[Path]] = {path: [] for path in self.inputs}
        for path, sources in self.inputs.items():
            for source in sources:
                used_by[source].append(path)
        waiting = []
        for path, users in used_by.items():
            is_missing_target = not users and path not in self.modification_times  # no other file is made from a target
            if is_missing_target or path in self.damaged_files or self._is_outdated(path, users):
                waiting.append(path)
        for stage, columns in self.gathered_columns.items():
            waiting += self._list_incomplete(stage, columns)
        waiting += self._list_missing_signals()
        outputs: set[Path] = set()
        while waiting:
            path = waiting.pop()
            if path not in outputs:
                outputs.add(path)
                waiting += used_by[path]
                waiting += [source for source in self.inputs[path] if source not in self.modification_times]
        return outputs

    def _is_outdated(self, path: Path, users: Sequence[Path]) -> bool:
        """Whether a file is older than an input of its own; for a missing file, whether `users`, made from it, are.

        A newer input does not count if it is recorded that the file was made from exactly this content.
        """
        outputs = [path] if path in self.modification_times else users
        times = [self.modification_times[output] for output in outputs if output in self.modification_times]
        if not times:
            return False
        oldest = min(times)
        newer = [source for source in self.inputs[path] if self.modification_times.get(source, 0) > oldest]
        return not all(self._is_as_recorded(source, path) for source in newer)

    def _is_as_recorded(self, source: Path, output: Path) -> bool:
        """Whether `source` still has the content from which `output` was made; False without a record.

        Files above LARGEST_BYTES are compared only by date, as in Snakemake.
        """
        checksums = (self.records.find(str(output)) or {}).get("input_checksums")
        recorded = checksums.get(str(source)) if isinstance(checksums, dict) else None
        if recorded is None:
            return False
        try:
            stat = source.stat()
            return stat.st_size <= LARGEST_BYTES and recorded == compute_checksum(
                str(source), stat.st_size, stat.st_mtime_ns
            )
        except OSError:
            return False

    def _list_readable(self, stage: str) -> list[Path]:
        """The existing files of a stage that are not damaged."""
        return [
            path for path in self.stages[stage] if path in self.modification_times and path not in self.damaged_files
        ]

    def _list_incomplete(self, stage: str, columns: Mapping[str, str]) -> Iterator[Path]:
        """Yield a stage's files whose rows are of other models, benchmarks or groups than the config has.

        `columns` has the columns to compare, each with its axis.
        """
        expected = {column: set(self.axes[axis]) for column, axis in columns.items()}
        for path in self._list_readable(stage):
            # One row: for each column the list of its values.
            lists = read_frame(pl.scan_parquet(path).select(pl.col(*columns).unique().implode()))
            if lists is None or {column: set(lists[column].item()) for column in columns} != expected:
                yield path

    def _list_missing_signals(self) -> Iterator[Path]:
        """Yield the files of observations that lack the signals of a family in run.features."""
        names: set[str] = set()
        for family in self.axes["family"]:
            names.update(signal.name for signal in FAMILIES[family].signals)
        for path in self._list_readable("observations"):
            if not names <= set(pl.read_parquet_schema(path)):
                yield path


def plan_files(config: Config) -> StudyFiles:
    """The files that a study has or will have. Nothing is read yet."""
    run, stages = config.run, _list_stages(config)
    axes: dict[str, Sequence[str]] = {
        "model": run.models,
        "benchmark": run.benchmarks,
        "judge": run.judges,
        "family": run.further_families,
        "group": list(map_group_files(config)),  # training groups as file names,
        "group_id": list(map_group_files(config).values()),  # and as in the rows, `a+b`
        "name": list(list_kept_estimators(config)),
    }
    groups_by_judge = {judge: set(list_judge_groups(config, judge)) for judge in run.judges}

    def list_files(stage: str, axes: Mapping[str, Sequence[str]]) -> Iterator[tuple[Path, dict[str, str]]]:
        """Yield the needed files of a stage for these values of wildcards, each with its own values."""
        for path, values in _expand_template(stages[stage].file, axes):
            if _is_needed(config, groups_by_judge, stage, values):
                yield path, values

    files: dict[str, dict[Path, list[Path]]] = {}
    for stage, declaration in stages.items():
        files[stage] = {}
        for path, values in list_files(stage, axes):
            # A source has the file's own model, benchmark and so on, and every value of its further wildcards.
            axes_of_sources = axes | {name: [value] for name, value in values.items()}
            sources = [list_files(name, axes_of_sources) for name in declaration.made_from]
            files[stage][path] = [source for source, _ in chain(*sources)]
    gathered = {stage: declaration.gathers for stage, declaration in stages.items() if declaration.gathers}
    return StudyFiles(StudyRecords(config.layout.results), files, axes, gathered)


def _list_stages(config: Config) -> dict[str, StageFiles]:
    """The stages of the pipeline, then those that the analyses of the study declare, in their order.

    A stage has its path template and the stages that its files are made from. Passes are second runs of a model, in
    which an asking family of signals asks about its responses; further families are all but `tokens`, with or without
    a pass.
    """
    layout = config.layout
    passes = ("passes",) if config.run.asking_families else ()
    signals = ("signals",) if config.run.further_families else ()
    stages = {
        "benchmarks": StageFiles(layout.items),
        "generations": StageFiles(layout.generations, ("benchmarks",)),
        "labels": StageFiles(layout.labels, ("benchmarks", "generations")),
        "features": StageFiles(layout.features, ("generations",)),
    }
    if passes:
        stages["passes"] = StageFiles(layout.passes, ("benchmarks", "generations"))
    if signals:
        stages["signals"] = StageFiles(layout.signals, ("generations", *passes))
    sources = ("benchmarks", "labels", "features", *signals)
    # A file of a model has the rows of all its benchmarks: `gathers` has its column and the axis of the values there.
    stages["observations"] = StageFiles(layout.observations, sources, gathers={"benchmark": "benchmark"})
    stages["estimates"] = StageFiles(layout.estimates, ("observations",))
    # Their job writes the scores last.
    stages["estimators"] = StageFiles(layout.scores, ("observations",))
    for section in config.enabled_analyses.values():
        for stage, declaration in section.STAGES.items():
            stages[stage] = replace(declaration, file=f"{layout.results}/{declaration.file}")
    return stages


def _is_needed(config: Config, groups_by_judge: Mapping[str, set[str]], stage: str, values: Mapping[str, str]) -> bool:
    """Whether the study needs a stage's file, whose path has these `values` for its wildcards.

    `groups_by_judge` are the training groups that are estimated: few for a judge whose labels no analysis uses.
    """
    if stage == "passes":
        return values["family"] in config.run.asking_families
    if stage == "estimates":
        return values["group"] in groups_by_judge[values["judge"]]
    if stage in ("labels", "observations") and not config.reads_labels:
        return False
    # A stage of an analysis has files only for the judges whose labels the analysis uses.
    declaring_analyses = [section for section in config.enabled_analyses.values() if stage in section.STAGES]
    return "judge" not in values or all(section.uses_judge(values["judge"]) for section in declaring_analyses)


def _expand_template(template: str, axes: Mapping[str, Sequence[str]]) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield every file of a template, `.../{model}/{benchmark}.parquet`, with the values of its wildcards by name."""
    names = [name for name in axes if f"{{{name}}}" in template]
    for values in product(*(axes[name] for name in names)):
        chosen = dict(zip(names, values, strict=True))
        yield Path(template.format(**chosen)), chosen


def find_generations_file(config: Config, model: str, benchmark: str) -> Path:
    """The file of a model's responses to a benchmark."""
    return Path(config.layout.generations.format(model=model, benchmark=benchmark))


def read_modification_time(path: Path) -> float | None:
    """The time of a file's last change in seconds since the epoch; None if it does not exist."""
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def read_frame(frame: pl.LazyFrame) -> pl.DataFrame | None:
    """Read a file into a frame; None if the file is missing, damaged or has other columns."""
    try:
        return frame.collect()
    except (OSError, pl.exceptions.PolarsError):
        return None


def count_rows(path: Path) -> int:
    """The number of rows of a Parquet file, from its metadata; 0 if it cannot be read."""
    count: Any = read_frame(pl.scan_parquet(path).select(pl.len()))
    return 0 if count is None else count.item()


def _is_whole(path: Path) -> bool:
    """Whether a file can be read as the type in its name; for Parquet, only the schema is read."""
    try:
        return bool(pl.read_parquet_schema(path)) if path.suffix == ".parquet" else path.stat().st_size > 0
    except (OSError, pl.exceptions.PolarsError):
        return False
