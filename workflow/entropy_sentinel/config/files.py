"""Checks of the local files that a study names: they exist, and rows have the required columns."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

from entropy_sentinel.config.generations import benchmark_settings, comparing_families, given_pass
from entropy_sentinel.config.sections import Config
from entropy_sentinel.engines.settings import folder_of_weights
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.items import check_first_rows


def missing_file(config: Config) -> str | None:
    """Return the error for the first missing local file; None if all exist.

    Only models and benchmarks that are run are checked; the files of others may be added later.
    """
    return next((problem for path, problem in _needed(config) if not path.is_file()), None)


def unfit_rows(config: Config) -> Iterator[str]:
    """Yield the errors in the first rows of local files: `benchmarks.x: a.csv has no column 'q'; ...`.

    Only benchmarks that are run are checked.
    """
    for name in config.run.benchmarks:
        if config.benchmarks[name].path is not None:
            try:
                check_first_rows(benchmark_settings(config, name))
            except InputError as error:
                yield f"benchmarks.{name}: {error}"


def _needed(config: Config) -> Iterator[tuple[Path, str]]:
    """Yield every local file of models, benchmarks and judges that are run, and the error if it is missing."""
    judging = (config.judges[name] for name in config.run.judges)
    served = [judge.served_by for judge in judging if judge.served_by]
    for name in dict.fromkeys([*config.run.models, *served]):
        model, key = config.models[name], f"models.{name}"
        yield from ((file, f"{key}{problem}") for file, problem in model.needed_files(config.run.benchmarks))
        for family, benchmark in product(config.run.asking_families, config.run.benchmarks):
            if name in config.run.models and (given := given_pass(config, family, name, benchmark)):
                must = f"{key}.source_passes: must hold {family}/{benchmark}.parquet"
                yield Path(given), f"{must}; '{Path(given).parents[1]}' does not"
    for name, section in comparing_families(config).items():
        if section.path is not None:
            file, problem = folder_of_weights(section.path)
            yield file, f"signals.{name}{problem}"
    for name in config.run.benchmarks:
        path = config.benchmarks[name].path
        if path is not None:
            yield Path(path), f"benchmarks.{name}.path: must be a file; there is none at '{path}'"
    for run, answering, benchmark in product(config.run.judges, config.run.models, config.run.benchmarks):
        for name in config.basic_judges(run, benchmark):
            if config.has_labels_files(name, benchmark):
                missing = config.judges[name].missing_file(answering, benchmark)
                yield from ((file, f"judges.{name}{problem}") for file, problem in missing)
