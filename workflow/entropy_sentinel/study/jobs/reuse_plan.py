"""Which responses a study will copy from other studies: told before a run, and left out of its cost."""

import json
from collections.abc import Collection
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, cast

from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.study.config.generation_requests import benchmark_settings, generation_settings
from entropy_sentinel.study.config.study_config import Config
from entropy_sentinel.study.engines.generation_section import VllmSettings, are_imported, have_weights
from entropy_sentinel.study.items.benchmark_settings import ItemsSettings
from entropy_sentinel.study.jobs.file_content import can_reproduce_items
from entropy_sentinel.study.jobs.job_records import StudyRecords
from entropy_sentinel.study.jobs.result_reuse import compute_reuse_key, find_output, has_store, list_sibling_files


def find_reusable(config: Config) -> dict[tuple[str, str], Path]:
    """The files of other studies, or of the store, for missing responses, by model and benchmark.

    Responses of models and data sets on the hub are found only if their commit is known.
    """
    layout = config.layout
    study = Path(layout.results)
    found: dict[tuple[str, str], Path] = {}
    items_by_benchmark: dict[str, Path | None] = {}
    for model, benchmark in product(config.run.models, config.run.benchmarks):
        output = Path(layout.generations.format(model=model, benchmark=benchmark))
        settings = generation_settings(config, model, benchmark)
        if output.exists() or are_imported(settings):
            continue
        if not has_store() and not any(list_sibling_files(output, study)):  # nothing to copy from
            continue
        if benchmark not in items_by_benchmark:
            items_by_benchmark[benchmark] = _find_items(config, benchmark)
        items = items_by_benchmark[benchmark]
        if items is None:
            continue
        if have_weights(settings) and not settings["local"]:  # on the hub: the key of the responses has the commit
            commit = _find_commit(study, settings)
            settings = cast(VllmSettings, {**settings, "commit": commit})
        key = compute_reuse_key(GENERATIONS.stage, settings, _read_questions(str(items), items.stat().st_mtime_ns))
        path = find_output(output, study, key, GENERATIONS)
        if path is not None:
            found[model, benchmark] = path
    return found


def describe_reusable(reusable: Collection[tuple[str, str]]) -> list[str]:
    """A line about the responses that the study will copy; none if there are none."""
    if not reusable:
        return []
    verb = "is" if len(reusable) == 1 else "are"
    return [
        f"{format_count(len(reusable), 'file')} of responses {verb} copied from other studies with the "
        "same settings and "
        "items: no model is asked for them."
    ]


def _find_items(config: Config, benchmark: str) -> Path | None:
    """A file with the items of a benchmark, of this study or of another one; None if there is none."""
    layout, settings = config.layout, benchmark_settings(config, benchmark)
    output = Path(layout.items.format(benchmark=benchmark))
    if output.exists():
        return output
    for path in list_sibling_files(output, Path(layout.results)):
        if _are_made_from(path, settings):
            return path
    return None


def _are_made_from(items: Path, settings: ItemsSettings) -> bool:
    """Whether a study's items were made with these settings: by their file's content, or by Snakemake's record."""
    if can_reproduce_items(settings, str(items)):
        return True
    record = _open_records(str(items.parents[1])).find(str(items)) or {}
    return repr(settings) in (record.get("params") or [])


@cache
def _open_records(study: str) -> StudyRecords:
    return StudyRecords(study)


@cache
def _read_questions(items: str, _: int) -> list[tuple[Any, ...]]:
    """The ids and questions of a file of items, cached by the second argument, its date; [] if it cannot be read."""
    try:
        return BENCHMARKS.read(items, ["item_id", "question"]).rows()
    except EntropySentinelError:
        return []


def _find_commit(study: Path, settings: VllmSettings) -> str | None:
    """The commit of weights on the hub that this study keeps to, or that another one does; None if unknown."""
    record = study / "revisions" / "models" / f"{settings['weights'].replace('/', '--')}.json"
    for path in [record, *list_sibling_files(record, study)]:
        try:
            recorded = json.loads(path.read_text())
            if recorded["revision"] == settings["revision"]:
                return str(recorded["commit"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None
