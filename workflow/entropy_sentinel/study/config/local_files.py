"""Checks of the local files that a study names: they exist, and rows have the required columns."""

from collections.abc import Iterable, Iterator
from itertools import chain, product
from pathlib import Path

from entropy_sentinel.core.cache_folders import TREE
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.study.config.generation_requests import (
    benchmark_settings,
    find_imported_pass,
    select_comparing_families,
)
from entropy_sentinel.study.config.study_config import Config
from entropy_sentinel.study.engines.model_kinds import folder_of_weights
from entropy_sentinel.study.items.item_conversion import check_first_rows

# Missing files that are listed; a study of imported labels may lack hundreds.
_MAX_LISTED = 10


def find_missing_files(config: Config) -> list[str]:
    """The errors for missing local files: the first ten, the number of the others, and advice on relative paths.

    Only models and benchmarks that are run are checked; the files of others may be added later.
    """
    needed = chain(_list_model_files(config), _list_benchmark_files(config), _list_judge_files(config))
    # The path by its error; several models may need the same file.
    missing = {problem: path for path, problem in needed if not path.is_file()}
    problems = list(missing)
    relative = [path for path in missing.values() if not path.is_absolute()]
    lines = problems[:_MAX_LISTED]
    n_more = len(problems) - _MAX_LISTED
    if n_more > 0:
        lines.append(f"{n_more} more files are missing")
    if relative:
        lines.append(f"relative paths begin at the working folder, {Path.cwd()}{_advise_folder(relative)}")
    return lines


def _advise_folder(missing: Iterable[Path]) -> str:
    """The advice to run in the repository, if it has the files that the working folder lacks."""
    if Path.cwd() == TREE or not all((TREE / path).is_file() for path in missing):
        return ""
    return f"; {TREE} has these files: run there, or with `snakemake --directory {TREE}`"


def find_unfit_rows(config: Config) -> Iterator[str]:
    """Yield the errors in the first rows of local files: `benchmarks.x: a.csv has no column 'q'; ...`.

    Only benchmarks that are run are checked.
    """
    for name in config.run.benchmarks:
        if config.benchmarks[name].path is not None:
            try:
                check_first_rows(benchmark_settings(config, name))
            except InputError as error:
                yield f"benchmarks.{name}: {error}"


def _list_model_files(config: Config) -> Iterator[tuple[Path, str]]:
    """Yield the local files of models, also of those in judges and signals, and the error if one is missing."""
    judge_models = [config.judges[name].served_by for name in config.run.judges]
    for name in dict.fromkeys([*config.run.models, *filter(None, judge_models)]):
        for file, problem in config.models[name].needed_files(config.run.benchmarks):
            yield file, f"models.{name}{problem}"
        if name not in config.run.models:
            continue
        for family, benchmark in product(config.run.asking_families, config.run.benchmarks):
            imported_pass = find_imported_pass(config, family, name, benchmark)
            if imported_pass is not None:
                must = f"models.{name}.source_passes: must hold {family}/{benchmark}.parquet"
                yield Path(imported_pass), f"{must}; '{Path(imported_pass).parents[1]}' does not"
    for family, section in select_comparing_families(config).items():
        if section.path is not None:
            file, problem = folder_of_weights(section.path)
            yield file, f"signals.{family}{problem}"


def _list_benchmark_files(config: Config) -> Iterator[tuple[Path, str]]:
    """Yield the local file of each benchmark that has one, and the error if it is missing."""
    for name in config.run.benchmarks:
        path = config.benchmarks[name].path
        if path is not None:
            yield Path(path), f"benchmarks.{name}.path: must be a file; there is none at '{path}'"


def _list_judge_files(config: Config) -> Iterator[tuple[Path, str]]:
    """Yield each local file that a judge needs, and the error if it is missing."""
    run = config.run
    for judge, model, benchmark in product(run.judges, run.models, run.benchmarks):
        for name in config.basic_judges(judge, benchmark):
            if config.has_labels_files(name, benchmark):
                for file, problem in config.judges[name].missing_file(model, benchmark):
                    yield file, f"judges.{name}{problem}"
