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
    """Find the config.yaml that a study's config files are merged over, and load the further papers beside it.

    Raises ConfigError if neither the working folder nor the folder of this package's Snakefile has one.
    """
    base = find_base()
    if base is None:
        raise ConfigError(
            f"{BASE}: not found in {Path.cwd()}; run this command in the folder that contains the Snakefile"
        )
    # The package may be installed without them; the study's config.yaml needs them.
    papers = base.parent / PAPERS
    if (papers / "__init__.py").is_file() and PAPERS not in extensions.find_roots():
        extensions.add_extensions([str(papers)])
    return base


def load_study(files: Iterable[Path], values: Iterable[str] = ()) -> "Config":
    """The checked config: `files` merged over the working folder's config.yaml, and `values` (`KEY=VALUE`)
    over these. What is left out, and kinds without a version, go to stderr.

    Raises ConfigError for an error in the config, or if the folder has no config.yaml.
    """
    from entropy_sentinel.core.section_base import merge_sections
    from entropy_sentinel.study.config.config_loading import (
        describe_unversioned_kinds,
        load_config,
        parse_values,
        read_config,
    )

    paths, overrides = [find_base_config(), *files], parse_values(values)
    user_config = merge_sections(read_config(paths[1:]), overrides) if paths[1:] or overrides else None
    source = " + ".join([*map(str, paths), *(["--config"] if overrides else [])])
    config = load_config(merge_sections(read_config(paths), overrides), source, user_config)
    for line in [*config.left_out, *describe_unversioned_kinds(config)]:
        print_line(line, err=True)
    return config


def load_made_study(files: Iterable[Path]) -> "Config":
    """The study of `load_study`; raises InputError, with the names of other studies, if it has no results."""
    config = load_study(files)
    studies = sorted(path.name for path in Path("results").glob("*") if path.is_dir())
    if config.study not in studies:
        hint = f"; there are results of {', '.join(studies)}" if studies else ""
        raise InputError(
            f"results/{config.study}: no results of study '{config.study}'{hint}. Name the config of "
            "another study with -c, such as -c demo/config.yaml after `make demo`"
        )
    return config
