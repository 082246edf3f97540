"""`entropy-sentinel select`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entropy_sentinel.cli.options import say, taking
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.folders import BASE
from entropy_sentinel.study.cli.loading import ConfigFiles, load_made_study
from papers.selection.settings import SelectOptions

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from entropy_sentinel.study.config.sections import Config
    from papers.selection.choosing import CandidateFiles

SUFFIXES = (".jsonl",)

Model = Annotated[str, typer.Argument(metavar="MODEL", help="The model of the study that is to be trained.")]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file of items to write: .jsonl.")]
Judge = Annotated[
    str | None, typer.Option("--judge", help="The judge whose labels are used; by default the study's first judge.")
]


@taking(SelectOptions)
def command(model: Model, output: Output, configfile: ConfigFiles = [], judge: Judge = None, **options: Any) -> None:
    """Select items of a study to train a model on.

    It reads the study's responses; pass-rate needs several per item with labels, eas the pass forced_answer. A line of
    the file has `messages` (a chat that ends with the reference or the solution), the scores, and why the item was
    selected. Items need a reference; each question occurs once. Equal scores are ordered as by random with the same
    seed. A study's analysis `selection` writes a file for every strategy and compares them.
    """
    from entropy_sentinel.cli.options import check_table_path
    from entropy_sentinel.core.files import check_outputs
    from entropy_sentinel.report.terminal import show
    from entropy_sentinel.study.config.generations import prompt_settings
    from papers.selection.choosing import read_candidates, select
    from papers.selection.making import read_solutions, write_training_file

    chosen = SelectOptions.of(options)
    config = load_made_study(configfile)
    judge = judge or config.run.judges[0]
    if model not in config.run.models:
        raise ConfigError(f"'{model}' is not in run.models: {', '.join(config.run.models)}")
    if judge not in config.run.judges:
        raise ConfigError(f"'{judge}' is not in run.judges: {', '.join(config.run.judges)}")
    check_table_path(output, SUFFIXES)
    check_outputs({"--output": output}, [BASE, *configfile, *chosen.solutions, config.layout.results])
    files = _files(config, model, judge, chosen)
    candidates = read_candidates(model, files, chosen.tries, chosen.answer)
    selection = select(candidates, **chosen.model_dump(exclude={"solutions"}))
    solutions = read_solutions(chosen.solutions)
    write_training_file(candidates, selection.rows, prompt_settings(config, model), solutions, output)
    show([_table(candidates, selection.rows)])
    say(f"{output}: {len(selection.rows):,} of {len(candidates):,} items")
    for note in selection.notes:
        say(note, err=True)


def _files(config: "Config", model: str, judge: str, options: SelectOptions) -> "list[CandidateFiles]":
    """The files of benchmarks with references; raises ConfigError for a strategy whose data the study lacks."""
    from papers.selection.choosing import CandidateFiles
    from papers.selection.settings import FORCED_ANSWER, lacks

    if why := lacks(options.strategy, options.tries, config.samples_of(model), config.run.features):
        raise ConfigError(f"--strategy: {options.strategy} {why}, and run the study")
    layout, files = config.layout, []
    for benchmark in config.labelled:
        names = {"model": model, "benchmark": benchmark, "judge": judge, "family": FORCED_ANSWER}
        labels = layout.labels.format(**names)
        judged = options.strategy == "pass-rate" or Path(labels).exists()
        files.append(
            CandidateFiles(
                layout.items.format(**names),
                layout.generations.format(**names),
                labels if judged else None,
                layout.passes.format(**names) if options.strategy == "eas" else None,
            )
        )
    return files


def _table(candidates: "pl.DataFrame", selected: "pl.DataFrame") -> "Table":
    """A table that compares the selection with all candidates."""
    from entropy_sentinel.formatting.text import number
    from entropy_sentinel.report.terminal import table
    from papers.selection.tables import profiles, strategy_title

    rows = []
    for profile in profiles(candidates, selected).iter_rows(named=True):
        cells = [
            strategy_title(profile["strategy"]),
            f"{profile['items']:,}",
            number(profile["pass_rate"]),
            number(profile["accuracy"]),
            number(profile["n_tokens"], ".1f"),
            number(profile["eas"]),
        ]
        rows.append(cells)
    return table(["selection", "items", "pass rate", "accuracy", "tokens", "EAS"], rows)
