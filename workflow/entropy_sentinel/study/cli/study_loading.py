"""The config of the study that a subcommand is about."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from entropy_sentinel.cli.shared_arguments import print_line
from entropy_sentinel.core import extensions
from entropy_sentinel.core.cache_folders import BASE, find_base
from entropy_sentinel.core.errors import ConfigError, InputError

if TYPE_CHECKING:
    from entropy_sentinel.study.config.study_config import Config

# The folder with analyses of further papers.
PAPERS = "papers"

ConfigFiles = Annotated[
    list[Path],
    typer.Option(
        "--configfile",
        "-c",
        metavar="FILE",
        help=f"A file with the settings that differ from {BASE}, as for Snakemake. Repeat it for more files; the "
        "last one wins.",
    ),
]

ConfigValues = Annotated[
    list[str],
    typer.Option(
        "--config",
        "-C",
        metavar="KEY=VALUE",
        help="A key of the config with its value, as in `--config limit=5`, over all files. Repeat it for more keys.",
    ),
]


def find_base_config() -> Path:
    """The config.yaml that a study's config files are merged over.

    Raises ConfigError if neither the working folder nor the folder of this package's Snakefile has one.
    """
    base = find_base()
    if base is None:
        raise ConfigError(
            f"{BASE}: not found in {Path.cwd()}; run this command in the folder that contains the Snakefile"
        )
    return base


def add_paper_extensions(base: Path) -> None:
    """Load the folder `papers` beside the config `base`, as an extension.

    It defines analyses that config.yaml may name, and is not a part of the installed package.
    """
    papers = base.parent / PAPERS
    if (papers / "__init__.py").is_file() and PAPERS not in extensions.find_roots():
        extensions.add_extensions([str(papers)])


def load_study(files: Iterable[Path], values: Iterable[str] = ()) -> "Config":
    """The checked config: `files` merged over the working folder's config.yaml, and `values` (`KEY=VALUE`)
    over these. Parts of the config that are left out because they do not fit what is run, and classes of extensions
    without a VERSION, are listed on stderr.

    Raises ConfigError for an error in the config, or if the folder has no config.yaml.
    """
    from entropy_sentinel.core.section_base import merge_sections
    from entropy_sentinel.study.config.config_loading import (
        describe_unversioned_kinds,
        load_config,
        parse_values,
        read_config,
    )

    base = find_base_config()
    add_paper_extensions(base)
    user_files = list(files)
    overrides = parse_values(values)
    # What the user wrote, without `base`: only what is left out of this is listed. None if the user wrote nothing: then
    # all that is left out of config.yaml is.
    user_config = None
    if user_files or overrides:
        user_config = merge_sections(read_config(user_files), overrides)
    sources = [str(path) for path in (base, *user_files)]  # for errors
    if overrides:
        sources.append("--config")
    raw = merge_sections(read_config([base, *user_files]), overrides)
    config = load_config(raw, " + ".join(sources), user_config)
    for line in [*config.left_out, *describe_unversioned_kinds(config)]:
        print_line(line, err=True)
    return config


def load_made_study(files: Iterable[Path]) -> "Config":
    """The checked config of a study that has results; raises InputError, with the names of other studies, if not."""
    config = load_study(files)
    studies = sorted(path.name for path in Path("results").glob("*") if path.is_dir())
    if config.study not in studies:
        hint = f"; there are results of {', '.join(studies)}" if studies else ""
        raise InputError(
            f"results/{config.study}: no results of study '{config.study}'{hint}. Name the config of "
            "another study with -c, such as -c demo/config.yaml after `make demo`"
        )
    return config
