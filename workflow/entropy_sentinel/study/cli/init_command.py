"""`entropy-sentinel init`."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.cli.study_loading import add_paper_extensions, find_base_config

if TYPE_CHECKING:
    from entropy_sentinel.study.init.config_writing import StudyDraft

Study = Annotated[Path, typer.Argument(metavar="STUDY.yaml", help="The config file to write; it must not exist yet.")]
RowFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="[ROWS]", help="Files of benchmark rows (.jsonl, .csv, .parquet, .gz), one for each domain."
    ),
]
Models = Annotated[
    list[str],
    typer.Option(
        "--model",
        "-m",
        metavar="MODEL",
        help="A folder with weights, a Hugging Face id, a model of config.yaml, or a folder with traces or logs, one "
        "file for each benchmark. Repeat it for more.",
    ),
]
Question = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the question, if it is not detected.")]
Reference = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Column of the reference answer, if it is not detected.")
]
LogFile = Annotated[
    list[str],
    typer.Option(
        "--log", metavar="FILE", help="The log of one model, instead of ROWS and --model; needs --by and --labels."
    ),
]
By = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column of the log whose values are the domains, such as metadata.route."),
]
Labels = Annotated[
    list[str],
    typer.Option(
        "--labels", "-l", metavar="FILE", help="Labels of the log: .csv, .jsonl or .parquet with item_id and label."
    ),
]
Scorer = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The scorer whose scores are the labels, for the log of an evaluation."),
]


def command(
    study: Study,
    rows: RowFiles = [],
    model: Models = [],
    question: Question = None,
    reference: Reference = None,
    log: LogFile = [],
    by: By = None,
    labels: Labels = [],
    scorer: Scorer = None,
) -> None:
    """Write the config of a small study of your own.

    Give files of benchmark rows and a model: the question, reference and option columns are detected by name and
    printed. Or give the log of a deployed model with some labels: the study's inputs are then written to a folder
    beside the config. The config is checked as Snakemake would check it; read it before you run it.
    """
    from entropy_sentinel.core.whole_files import whole_file
    from entropy_sentinel.study.config.config_loading import load_config, read_config
    from entropy_sentinel.study.init.config_writing import compose_config

    base_config = find_base_config()
    add_paper_extensions(base_config)
    _check_new(study)
    if log and (by is None or rows or model):
        raise ConfigError("--log needs --by COLUMN (and --labels FILE), and excludes ROWS and --model")
    if log:
        _check_new(study.with_suffix(""))  # the folder for the study's inputs
    if not log and not (rows and model):
        raise ConfigError("give files of rows and --model, or --log")
    with _remove_on_failure(study.with_suffix("") if log else None):
        if log:
            assert by is not None  # checked above
            draft = _draft_from_log(study, log, by, labels, scorer)
        else:
            draft = _draft_from_rows(study, rows, model, question, reference)
        study.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(study) as partial:
            partial.write_text(compose_config(draft, str(study)), encoding="utf-8")
            load_config(read_config([base_config, partial]), str(study))
    for name, benchmark in draft.benchmarks.items():
        facts = [benchmark.path, f"question '{benchmark.question}'"]
        if benchmark.reference:
            facts.append(f"reference '{benchmark.reference}'")
        if benchmark.options:
            facts.append(f"options {_format_columns(benchmark.options)}")
        if name not in draft.labelled_benchmarks:
            facts.append("no labels")
        typer.echo(f"{name}: {', '.join(facts)}")
    snakefile = "" if base_config.parent == Path() else f"--snakefile {base_config.parent / 'Snakefile'} "
    typer.echo(f"{study}: read it, then run: snakemake --dry-run --quiet rules {snakefile}--configfile {study}")


@contextmanager
def _remove_on_failure(folder: Path | None) -> Iterator[None]:
    """Delete the new folder if the block fails; otherwise the next attempt would refuse to replace it."""
    try:
        yield
    except BaseException:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _check_new(path: Path) -> None:
    """Raise ConfigError if the file or folder exists."""
    if path.exists():
        raise ConfigError(f"{path}: already exists and is not replaced; name another file, or delete this one")


def _draft_from_rows(
    study: Path, files: list[str], models: list[str], question: str | None, reference: str | None
) -> "StudyDraft":
    """A study of `files` with benchmark rows, one for each domain; `question` and `reference` are columns or None."""
    from entropy_sentinel.study.config.yaml_values import read_yaml
    from entropy_sentinel.study.init.config_writing import StudyDraft, name_benchmarks, name_models
    from entropy_sentinel.study.init.row_sources import detect_columns, make_name

    base = read_yaml(find_base_config())
    benchmarks = name_benchmarks([detect_columns(path, question, reference) for path in files], base["benchmarks"])
    return StudyDraft(make_name(str(study)), benchmarks, name_models(models, benchmarks, base["models"]))


def _draft_from_log(study: Path, log: list[str], by: str, labels: list[str], scorer: str | None) -> "StudyDraft":
    """A study of one model's log, split into domains by the column `by`; its inputs are written beside `study`.

    `log` and `labels` are paths of files; `scorer` names the scorer whose scores are the labels, if there are several.
    """
    from entropy_sentinel.study.config.yaml_values import read_yaml
    from entropy_sentinel.study.init.config_writing import StudyDraft, write_source_lines
    from entropy_sentinel.study.init.row_sources import make_name, split_log

    folder = study.with_suffix("")
    base = read_yaml(find_base_config())
    model, rows, labelled = split_log(log, by, labels, scorer, folder, base)
    lines = write_source_lines(str(folder / "traces"))
    return StudyDraft(make_name(str(study)), rows, {model: lines}, str(folder / "labels"), labelled)


def _format_columns(names: str | tuple[str, ...]) -> str:
    """One or several names of columns in quotes, separated by commas."""
    columns = [names] if isinstance(names, str) else names
    return ", ".join(f"'{name}'" for name in columns)
