"""What several subcommands share: the config files of a study, files of responses."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from entropy_sentinel.frames.errors import ConfigError, InputError
from entropy_sentinel.frames.printable import one_line

if TYPE_CHECKING:
    import polars as pl

    from entropy_sentinel.config.config import Config

BASE = "config.yaml"

ConfigFiles = Annotated[
    list[Path],
    typer.Option(
        "--configfile",
        "-c",
        metavar="FILE",
        help=f"A file with what differs from {BASE}, as for Snakemake. Repeat it for more files; the last one wins.",
    ),
]

_LOGS = "(.jsonl, .json, .parquet, .csv, .gz): files, folders, patterns, - for standard input."
LogFiles = Annotated[list[str], typer.Argument(metavar="FILES", help=f"Logs or traces {_LOGS}")]
ResponseFiles = Annotated[list[str], typer.Argument(metavar="FILES", help=f"Logs, traces or features {_LOGS}")]
TopK = Annotated[
    int | None,
    typer.Option("--top-k", min=1, metavar="K", help="Cut the alternatives to a token to so many."),
]

Strict = Annotated[
    bool, typer.Option("--strict", help="Stop at the first record that cannot be read; else it is named and left out.")
]


def say(text: str, err: bool = False) -> None:
    """Print a line; what a log, a model or a file has put into it stays on it, and does nothing to the terminal."""
    typer.echo(one_line(text), err=err)


def check_table_path(path: Path, suffixes: Sequence[str]) -> None:
    """InputError where the name of a file for a table ends otherwise than with one of `suffixes`."""
    if path.suffix not in suffixes:
        raise InputError(f"--output: must end with {', '.join(suffixes)}, was '{path}'")


def write_table(found: "pl.DataFrame", path: Path) -> None:
    """Write a table in one step, by the end of the name: .csv, .parquet, .json or .jsonl."""
    from entropy_sentinel.frames.files import whole_file
    from entropy_sentinel.frames.spreadsheet import write_csv

    with whole_file(path) as partial:
        if path.suffix == ".csv":
            write_csv(found, partial)
        elif path.suffix == ".parquet":
            found.write_parquet(partial)
        elif path.suffix == ".json":
            found.write_json(partial)
        else:
            found.write_ndjson(partial)


def load_study(files: Iterable[Path]) -> "Config":
    """The checked config of `files` over the working folder's config.yaml; what of theirs is left out is on stderr.

    Raises ConfigError for an error in it, and where the folder has no config.yaml.
    """
    from entropy_sentinel.config.config import load_config, read_config

    if not Path(BASE).is_file():
        raise ConfigError(f"{BASE}: there is none in {Path.cwd()}; run this in the folder that has the Snakefile")
    paths = [Path(BASE), *files]
    own = read_config(paths[1:]) if paths[1:] else None
    config = load_config(read_config(paths), " + ".join(map(str, paths)), own)
    for line in config.left_out:
        say(line, err=True)
    return config


def load_made_study(files: Iterable[Path]) -> "Config":
    """The study of `load_study`, of which something has been made; InputError that says where there is another."""
    config = load_study(files)
    made = sorted(path.name for path in Path("results").glob("*") if path.is_dir())
    if config.study not in made:
        others = f", but of {', '.join(made)}" if made else ""
        raise InputError(
            f"results/{config.study}: there are no results of study '{config.study}'{others}; name the config of "
            "another study with -c, as -c demo/config.yaml after `make demo`"
        )
    return config
