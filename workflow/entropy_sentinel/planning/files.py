"""The files of a study, and which of them are missing or outdated, from names, times and Parquet metadata.

This repeats the dependencies of the rules, because a forecast must take a second and needs no Snakemake. A test
compares it with the plan of Snakemake itself (tests/planning/test_against_snakemake.py).

The rules are those of Snakemake. A missing file is made only if another file needs it. A file is outdated if one of its
inputs is newer and has other content. All files made from an outdated file are outdated too. If an input is newer, for
example after a copy without dates, its content is compared with Snakemake's record (`.snakemake/metadata`). Settings
and code are not compared.
"""

import json
import os
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.config.estimates import group_files, groups_of_judge, kept_estimators
from entropy_sentinel.config.layout import StudyLayout
from entropy_sentinel.config.sections import Config
from entropy_sentinel.frames.analysis import StageFiles
from entropy_sentinel.jobs.content import LARGEST_BYTES, checksum
from entropy_sentinel.signals.catalogue import FAMILIES


@dataclass(frozen=True)
class StudyFiles:
    """The files of a study: `stages` gives every file of a stage with the files that it is made from."""

    stages: Mapping[str, Mapping[Path, Sequence[Path]]]
    axes: Mapping[str, Sequence[str]]
    # For stages whose files combine others: the column that identifies them, and the axis it must match.
    gathered: Mapping[str, Mapping[str, str]]

    @cached_property
    def inputs(self) -> dict[Path, Sequence[Path]]:
        """Every file with the files that it is made from."""
        return {path: sources for files in self.stages.values() for path, sources in files.items()}

    @cached_property
    def modified(self) -> dict[Path, float]:
        """The time of the last change of each existing file, in seconds since the epoch."""
        times = ((path, modified(path)) for path in self.inputs)
        return {path: at for path, at in times if at is not None}

    @cached_property
    def damaged(self) -> set[Path]:
        """Existing files that cannot be read."""
        return {path for path in self.modified if not _is_whole(path)}

    @cached_property
    def to_make(self) -> set[Path]:
        """Files to make: those with their own reason, and the files that depend on them."""
        used_by: dict[Path, list[Path]] = {path: [] for path in self.inputs}
        for path, sources in self.inputs.items():
            for source in sources:
                used_by[source].append(path)
        # Files that no other file is made from are the targets.
        waiting = [path for path, users in used_by.items() if not users and path not in self.modified]
        waiting += [path for path in self.inputs if path in self.damaged or self._is_outdated(path, used_by[path])]
        waiting += [path for stage, columns in self.gathered.items() for path in self._incomplete(stage, columns)]
        waiting += self._without_signals()
        outputs: set[Path] = set()
        while waiting:
            path = waiting.pop()
            if path not in outputs:
                outputs.add(path)
                waiting += used_by[path]
                waiting += [source for source in self.inputs[path] if source not in self.modified]
        return outputs

    def _is_outdated(self, path: Path, users: Sequence[Path]) -> bool:
        """Return whether a file is older than an input of its own; for a missing file, whether files made from it are.

        A newer input does not count if Snakemake has recorded that the file was made from exactly this content.
        """
        made = [
            self.modified[output] for output in ([path] if path in self.modified else users) if output in self.modified
        ]
        newer = [source for source in self.inputs[path] if made and self.modified.get(source, 0) > min(made)]
        return any(not is_as_recorded(source, path) for source in newer)

    def _incomplete(self, stage: str, columns: Mapping[str, str]) -> Iterator[Path]:
        """Yield the files whose models, benchmarks or groups differ from those of the config."""
        for path in self.stages[stage]:
            if path in self.modified and path not in self.damaged:
                held = read(pl.scan_parquet(path).select(pl.col(column).unique().implode() for column in columns))
                if held is None or any(
                    set(held[column].item()) != set(self.axes[axis]) for column, axis in columns.items()
                ):
                    yield path

    def _without_signals(self) -> Iterator[Path]:
        """Yield the files of observations that lack the signals of a family in run.features."""
        names = {signal.name for family in self.axes["family"] for signal in FAMILIES[family].signals}
        for path in self.stages["observations"] if names else []:
            if path in self.modified and path not in self.damaged and not names <= set(pl.read_parquet_schema(path)):
                yield path


def study_files(config: Config) -> StudyFiles:
    """Return the files that a study has or will have. Nothing is read yet."""
    run, declared = config.run, _declared(config)
    axes: dict[str, Sequence[str]] = {
        "model": run.models,
        "benchmark": run.benchmarks,
        "judge": run.judges,
        "family": run.further_families,
        "group": list(group_files(config)),
        "group_id": list(group_files(config).values()),
        "name": list(kept_estimators(config)),
    }
    estimated = {judge: set(groups_of_judge(config, judge)) for judge in run.judges}
    stages = {
        stage: {
            path: [
                source
                for name in made.made_from
                for source, which in _expand(declared[name].file, axes | _fixed(values))
                if _is_made(config, estimated, name, which)
            ]
            for path, values in _expand(made.file, axes)
            if _is_made(config, estimated, stage, values)
        }
        for stage, made in declared.items()
    }
    return StudyFiles(stages, axes, {stage: made.gathers for stage, made in declared.items() if made.gathers})


def _declared(config: Config) -> dict[str, StageFiles]:
    """Return the stages of the pipeline, then those that the analyses of the study declare, in their order."""
    layout, families, asking = StudyLayout(config.study), config.run.further_families, config.run.asking_families
    return {
        "benchmarks": StageFiles(layout.items),
        "generations": StageFiles(layout.generations, ("benchmarks",)),
        "labels": StageFiles(layout.labels, ("benchmarks", "generations")),
        "features": StageFiles(layout.features, ("generations",)),
        **({"passes": StageFiles(layout.passes, ("benchmarks", "generations"))} if asking else {}),
        **(
            {"signals": StageFiles(layout.signals, ("generations", *(["passes"] if asking else [])))}
            if families
            else {}
        ),
        "observations": StageFiles(
            layout.observations,
            ("benchmarks", "labels", "features", *(["signals"] if families else [])),
            {"benchmark": "benchmark"},
        ),
        "estimates": StageFiles(layout.estimates, ("observations",)),
        # Their job writes the scores last.
        "estimators": StageFiles(layout.scores, ("observations",)),
        **{
            stage: replace(made, file=f"{layout.results}/{made.file}")
            for section in config.shown.values()
            for stage, made in section.STAGES.items()
        },
    }


def _is_made(config: Config, estimated: Mapping[str, set[str]], stage: str, values: Mapping[str, str]) -> bool:
    """Return whether a file is needed; `estimated` has the groups of each judge, few if no analysis uses the judge."""
    if stage == "passes":
        return values["family"] in config.run.asking_families
    if stage == "estimates":
        return values["group"] in estimated[values["judge"]]
    if stage in ("labels", "observations") and not config.reads_labels:
        return False
    owners = [section for section in config.shown.values() if stage in section.STAGES]
    return "judge" not in values or all(section.is_of(values["judge"]) for section in owners)


def _expand(template: str, axes: Mapping[str, Sequence[str]]) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield every file of a template with the values of its wildcards."""
    names = [name for name in axes if f"{{{name}}}" in template]
    for values in product(*(axes[name] for name in names)):
        chosen = dict(zip(names, values, strict=True))
        yield Path(template.format(**chosen)), chosen


def _fixed(values: Mapping[str, str]) -> dict[str, Sequence[str]]:
    return {name: [value] for name, value in values.items()}


def generations_file(config: Config, model: str, benchmark: str) -> Path:
    """Return the file of a model's responses to a benchmark."""
    return Path(StudyLayout(config.study).generations.format(model=model, benchmark=benchmark))


def modified(path: Path) -> float | None:
    """Return the time of a file's last change in seconds since the epoch; None if it does not exist."""
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def read(frame: pl.LazyFrame) -> pl.DataFrame | None:
    """Read a file into a frame; None if the file is missing, damaged or has other columns."""
    try:
        return frame.collect()
    except (OSError, pl.exceptions.PolarsError):
        return None


def row_count(path: Path) -> int:
    """Return the number of rows of a Parquet file, from its metadata; 0 if it cannot be read."""
    counted: Any = read(pl.scan_parquet(path).select(pl.len()))
    return 0 if counted is None else counted.item()


def _is_whole(path: Path) -> bool:
    """Return whether a file can be read as the type in its name; for Parquet, only the schema is read."""
    try:
        return bool(pl.read_parquet_schema(path)) if path.suffix == ".parquet" else path.stat().st_size > 0
    except (OSError, pl.exceptions.PolarsError):
        return False


FOLDER = Path(".snakemake") / "metadata"


def is_as_recorded(source: Path, made: Path) -> bool:
    """Return whether `source` still has the content from which `made` was made; False without Snakemake's record.

    Files above LARGEST_BYTES are compared only by date, as in Snakemake.
    """
    known = _inputs(made).get(str(source))
    if known is None:
        return False
    try:
        stat = source.stat()
        return stat.st_size <= LARGEST_BYTES and known == checksum(str(source), stat.st_size, stat.st_mtime_ns)
    except OSError:
        return False


def _inputs(made: Path) -> Mapping[str, str]:
    """Return the checksums of a file's inputs by name; empty if there is no readable record."""
    try:
        record = json.loads(_place(str(made)).read_text())
    except (OSError, ValueError):
        return {}
    checksums = record.get("input_checksums") if isinstance(record, dict) else None
    return checksums if isinstance(checksums, dict) else {}


def _place(name: str) -> Path:
    """Return the path of Snakemake's record of a file: its name in base 64, split into folders if too long."""
    text, longest = urlsafe_b64encode(name.encode()).decode(), _longest_name() - 1
    parts = [text[start : start + longest] for start in range(0, len(text), longest)]
    return FOLDER.joinpath(*[f"@{part}" for part in parts[:-1]], parts[-1])


@cache
def _longest_name() -> int:
    return (os.pathconf(FOLDER, "PC_NAME_MAX") if hasattr(os, "pathconf") and FOLDER.is_dir() else 0) or 255
