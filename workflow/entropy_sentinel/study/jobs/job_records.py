"""Snakemake's records of a study's jobs, a second time in the study's folder, so that they move with the results.

Snakemake keeps them in `.snakemake/metadata`, by the names of the outputs. Without them it compares only dates: results
that were moved, copied or renamed, or whose `.snakemake` is gone, would stay as they are after a change of the config.

Results without any record, as of earlier versions, are compared by the provenance in their files.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.core.whole_files import write_whole
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.study.jobs.file_content import can_reproduce_items
from entropy_sentinel.study.jobs.result_reuse import remove_places

# In the folder of a study: a line for each job, the last one for an output counts.
RECORDS_FILE = "jobs.jsonl"
# The fields of Snakemake's record that decide whether a job runs, and those that its report shows.
_DECISIVE_FIELDS = (
    "rule",
    "input",
    "params",
    "code",
    "record_format_version",
    "software_stack_hash",
    "input_checksums",
)
_FIELDS = (*_DECISIVE_FIELDS, "job_hash", "starttime", "endtime")
# In place of the study's folder, whose name may change.
_FOLDER_PLACEHOLDER = "${study}/"
# Files that cost GPU time or money, with all their settings in their provenance.
_COMPARED_STAGES = {
    "study.stages.generation_stage.write_generations",
    "study.stages.engine_pass.write_engine_pass",
    "study.stages.label_stage.write_labels",
    "study.stages.label_stage.write_served_labels",
}
# Items are compared themselves.
_ITEMS_STAGE = "study.stages.benchmark_stage.write_benchmark"
# Settings that mean something else in the provenance. The path has model and benchmark.
_IGNORED_KEYS = {"engine", "model", "benchmark"}
# What the provenance of imported traces takes from the settings.
_IMPORTED_KEYS = {"version", "source", "samples"}

# A record of Snakemake, a job, and the class that keeps records.
_Record = Any
_Job = Any
_Persistence = Any


class StudyRecords:
    """The records of the jobs of a study in `folder`, by output, each a dict with Snakemake's fields (`_FIELDS`).

    None is the record of an output that the user has told Snakemake to accept as it is.
    """

    def __init__(self, folder: str) -> None:
        self.path, self._folder = Path(folder, RECORDS_FILE), f"{folder}/"
        self._records: dict[str, dict[str, Any] | None] | None = None
        self._n_lines = 0
        self._printed_lines: set[str] = set()

    def add(self, outputs: Sequence[str], record: Mapping[str, Any] | None) -> None:
        """Append the record of a job that has made these outputs; None marks them as accepted as they are."""
        outputs = [output for output in outputs if output.startswith(self._folder)]
        if not outputs:
            return
        fields = None if record is None else {name: record[name] for name in _FIELDS if record.get(name) is not None}
        line = json.dumps({"outputs": outputs, "record": fields}).replace(self._folder, _FOLDER_PLACEHOLDER)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(line + "\n")
        self._n_lines += 1
        if self._records is not None:
            self._records |= dict.fromkeys(outputs, fields)

    def find(self, output: str) -> dict[str, Any] | None:
        """The record of the job that has made an output; None without one."""
        return self._read().get(output) if output.startswith(self._folder) else None

    def recover(self, output: str) -> dict[str, Any] | None:
        """The study's record of an output that Snakemake has no record of; None without one.

        Prints once that such records are used.
        """
        record = self.find(output)
        if record and Path(output).exists():
            self.announce(
                f"{self.path.parent}: has files without metadata of Snakemake, because they were moved or copied, or "
                f"because .snakemake is gone; what {self.path} says of their jobs is compared"
            )
        return record

    def is_accepted(self, output: str) -> bool:
        """Whether the user has told Snakemake to forget the record of an output, and so to accept it."""
        return output in self._read() and self._read()[output] is None

    def compact(self) -> None:
        """Rewrite the file without lines that later ones replace, if they are most of it."""
        jobs: dict[str, list[str]] = {}
        for output, record in self._read().items():
            jobs.setdefault(json.dumps(record), []).append(output)
        if self._n_lines > 2 * len(jobs) + 100:
            lines = [f'{{"outputs": {json.dumps(outputs)}, "record": {record}}}\n' for record, outputs in jobs.items()]
            write_whole(self.path, "".join(lines).replace(self._folder, _FOLDER_PLACEHOLDER))
            self._n_lines = len(lines)

    def _read(self) -> dict[str, dict[str, Any] | None]:
        """The records by output, read from the file once."""
        if self._records is None:
            self._records = {}
            for entry in self._entries():
                self._records |= dict.fromkeys(entry["outputs"], entry.get("record"))
        return self._records

    def _entries(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of the file as dicts, `outputs` and `record`, with this folder for the placeholder.

        Damaged lines are skipped.
        """
        try:
            lines = self.path.read_text().splitlines()
        except OSError:
            return
        self._n_lines = len(lines)
        for line in lines:
            try:
                entry = json.loads(line.replace(_FOLDER_PLACEHOLDER, self._folder))
            except ValueError:  # another run is writing it, or was killed
                continue
            if isinstance(entry, dict) and isinstance(entry.get("outputs"), list):
                yield entry

    def announce(self, line: str) -> None:
        """Print a line on standard error, once."""
        if line not in self._printed_lines:
            self._printed_lines.add(line)
            print(line, file=sys.stderr)


def remember_jobs(
    persistence: _Persistence, make_record: Callable[..., _Record], version: int, records: StudyRecords
) -> None:
    """Let Snakemake write its records to `records` as well, and read them there where it has none.

    It replaces four methods of `persistence`, Snakemake's class Persistence, which keeps its records. `make_record`
    makes such a record, and `version` is that of their format.
    """
    snakemake_metadata = persistence.metadata
    snakemake_has_metadata = persistence.has_metadata
    snakemake_finished = persistence.finished
    snakemake_cleanup_metadata = persistence.cleanup_metadata
    # Records for files that Snakemake has none of and that must be rebuilt: it rebuilds them because no job has the
    # parameters of such a record.
    rebuilding_records: dict[str, _Record] = {}

    def metadata_or_study_record(self: _Persistence, target: Any) -> _Record | None:
        snakemake_record = snakemake_metadata(self, target)
        if snakemake_record is not None:
            return snakemake_record
        study_record = records.recover(str(target))
        if study_record is not None:
            return make_record(**study_record)
        return rebuilding_records.get(str(target))

    def has_metadata_or_study_record(self: _Persistence, job: _Job) -> bool:
        if snakemake_has_metadata(self, job):
            return True
        for output, keys in find_differences(job, records):
            records.announce(
                f"{Path(output).parent}: has files without metadata of Snakemake that were made with another "
                f"{', '.join(keys)}; they are rebuilt"
            )
            rebuilding_records[output] = make_record(params=[f"of {output}"], record_format_version=version)
        return bool(snakemake_has_metadata(self, job))  # which calls `metadata`, replaced below

    async def finish_and_record(self: _Persistence, job: _Job) -> None:
        await snakemake_finished(self, job)
        self._clear_cache()
        record = snakemake_metadata(self, job.output[0]) if job.output else None
        if record is not None:
            records.add([str(output) for output in job.output], dict(record.items()))

    def cleanup_both_records(self: _Persistence, target: Any) -> bool:
        is_recorded = metadata_or_study_record(self, target) is not None
        if is_recorded:
            records.add([str(target)], None)
        return bool(snakemake_cleanup_metadata(self, target)) or is_recorded

    persistence.metadata = metadata_or_study_record
    persistence.has_metadata = has_metadata_or_study_record
    persistence.finished = finish_and_record
    persistence.cleanup_metadata = cleanup_both_records


def find_differences(job: _Job, records: StudyRecords) -> Iterator[tuple[str, list[str]]]:
    """Yield outputs of a job that were made with other settings by their provenance, with the names of these settings.

    Only for outputs without a record, of jobs that cost GPU time or money.
    """
    params = dict(job.params.items())
    if params.get("call") not in (*_COMPARED_STAGES, _ITEMS_STAGE):
        return
    for output in map(str, job.output):
        if records.find(output) is not None or records.is_accepted(output) or not Path(output).exists():
            continue
        if params["call"] == _ITEMS_STAGE:
            keys = ["source or mapping"] if can_reproduce_items(params["settings"], output) is False else []
        else:
            keys = _find_stated_differences(params["settings"], output)
        if keys:
            yield output, keys


def _find_stated_differences(settings: Mapping[str, Any], output: str) -> list[str]:
    """The names of settings with which `output` was not made, by its provenance; [] if it cannot be read."""
    try:
        return find_different_settings(settings, read_provenance(output))
    except EntropySentinelError:
        return []


def find_different_settings(settings: Mapping[str, Any], provenance: Mapping[str, Any]) -> list[str]:
    """The names of settings that the provenance of a file states, with another value than in `settings`."""
    # The provenance of a pass (a model's second run, over its responses) has the pass's settings under `pass`.
    stated = remove_places({**provenance, **provenance.get("pass", {})})
    settings = remove_places(_to_json(settings))
    if "labelled_by" in provenance:
        stated["judge"] = provenance["labelled_by"]
    comparable_keys = _IMPORTED_KEYS if "source" in stated else settings.keys() - _IGNORED_KEYS
    names = stated.keys() & comparable_keys
    return sorted(name for name in names if not _is_same_setting(settings.get(name), stated[name]))


def _is_same_setting(value: Any, stated: Any) -> bool:
    """Whether a setting has the stated value; of two models' settings, only keys that both of them have count."""
    is_model_section = isinstance(value, dict) and isinstance(stated, dict) and {"sampling", "weights"} & value.keys()
    if is_model_section:  # an earlier version may lack keys that were added since
        return all(value[name] == stated[name] for name in value.keys() & stated.keys())
    return bool(value == stated)


def _to_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with the types that JSON has, as in a file's provenance: lists for tuples, text keys."""
    decoded: dict[str, Any] = json.loads(json.dumps(dict(settings)))
    return decoded
