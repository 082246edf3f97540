"""`entropy-sentinel select`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entropy_sentinel.cli.shared_arguments import print_line, take_options
from entropy_sentinel.core.cache_folders import BASE
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.cli.study_loading import ConfigFiles, load_made_study
from papers.selection.selection_settings import SelectOptions

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from entropy_sentinel.study.config.study_config import Config
    from papers.selection.selection_strategies import CandidateFiles

SUFFIXES = (".jsonl",)

Model = Annotated[str, typer.Argument(metavar="MODEL", help="The model of the study that is to be trained.")]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file of items to write: .jsonl.")]
Judge = Annotated[
    str | None, typer.Option("--judge", help="The judge whose labels are used; by default the study's first judge.")
]


@take_options(SelectOptions)
def command(model: Model, output: Output, configfile: ConfigFiles = [], judge: Judge = None, **options: Any) -> None:
    """Select items of a study to train a model on.

    It reads the study's responses: pass-rate needs several per item, with labels; eas needs the pass forced_answer. A
    line of the file has `messages` (a chat that ends with the reference or the solution), the scores, and why the item
    was selected. Items need a reference; each question occurs once. Equal scores are ordered as by random with the
    same seed. A study's analysis `selection` writes a file for every strategy and compares them.
    """
    from entropy_sentinel.cli.shared_arguments import check_table_path
    from entropy_sentinel.core.whole_files import check_outputs
    from entropy_sentinel.rendering.terminal_text import print_parts
    from entropy_sentinel.study.config.generation_requests import prompt_settings
    from papers.selection.selection_files import read_solutions, write_training_file
    from papers.selection.selection_strategies import read_candidates, select_items

    select_options = SelectOptions.from_values(options)
    config = load_made_study(configfile)
    judge = judge or config.run.judges[0]
    if model not in config.run.models:
        raise ConfigError(f"'{model}' is not in run.models: {', '.join(config.run.models)}")
    if judge not in config.run.judges:
        raise ConfigError(f"'{judge}' is not in run.judges: {', '.join(config.run.judges)}")
    check_table_path(output, SUFFIXES)
    check_outputs({"--output": output}, [BASE, *configfile, *select_options.solutions, config.layout.results])
    files = _list_files(config, model, judge, select_options)
    candidates = read_candidates(model, files, select_options.tries, select_options.answer)
    selection = select_items(candidates, **select_options.model_dump(exclude={"solutions"}))
    solutions = read_solutions(select_options.solutions)
    write_training_file(candidates, selection.rows, prompt_settings(config, model), solutions, output)
    print_parts([_tabulate_selection(candidates, selection.rows)])
    print_line(f"{output}: {len(selection.rows):,} of {len(candidates):,} items")
    for note in selection.notes:
        print_line(note, err=True)


def _list_files(config: "Config", model: str, judge: str, options: SelectOptions) -> "list[CandidateFiles]":
    """The model's files on each benchmark with references; raises ConfigError for a strategy whose data is missing."""
    from papers.selection.selection_settings import FORCED_ANSWER, explain_missing_data
    from papers.selection.selection_strategies import CandidateFiles

    if missing_data := explain_missing_data(
        options.strategy, options.tries, config.count_samples(model), config.run.features
    ):
        raise ConfigError(f"--strategy: {options.strategy} {missing_data}, and run the study")
    layout, files = config.layout, []
    for benchmark in config.labelled_benchmarks:
        names = {"model": model, "benchmark": benchmark, "judge": judge, "family": FORCED_ANSWER}
        labels = layout.labels.format(**names)
        # Only this strategy needs labels; for the others they are shown if the study has them.
        has_labels = options.strategy == "pass-rate" or Path(labels).exists()
        files.append(
            CandidateFiles(
                layout.items.format(**names),
                layout.generations.format(**names),
                labels if has_labels else None,
                layout.passes.format(**names) if options.strategy == "eas" else None,
            )
        )
    return files


def _tabulate_selection(candidates: "pl.DataFrame", selected: "pl.DataFrame") -> "Table":
    """A table that compares the selection with all candidates."""
    from entropy_sentinel.formatting.text_format import format_number
    from entropy_sentinel.rendering.terminal_text import format_terminal_table
    from papers.selection.selection_tables import profile_selections, strategy_title

    rows = []
    for profile in profile_selections(candidates, selected).iter_rows(named=True):
        cells = [
            strategy_title(profile["strategy"]),
            f"{profile['items']:,}",
            format_number(profile["pass_rate"]),
            format_number(profile["accuracy"]),
            format_number(profile["n_tokens"], ".1f"),
            format_number(profile["eas"]),
        ]
        rows.append(cells)
    return format_terminal_table(["selection", "items", "pass rate", "accuracy", "tokens", "EAS"], rows)
