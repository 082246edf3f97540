"""`entropy-sentinel plan`, `progress`, `show`, `serve` and `schema`: commands about a study and its config."""

import os
import shlex
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from entropy_sentinel.core import extensions
from entropy_sentinel.core.cache_folders import BASE, find_base
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.cli.study_loading import ConfigFiles, ConfigValues, load_made_study, load_study

if TYPE_CHECKING:
    pass
Watch = Annotated[float | None, typer.Option(metavar="SECONDS", min=1, help="Repeat until the study is complete.")]
StudyModel = Annotated[str, typer.Argument(metavar="MODEL", help="A model of the study.")]
Benchmark = Annotated[str, typer.Argument(metavar="BENCHMARK", help="A benchmark of the study.")]
Item = Annotated[
    str | None,
    typer.Argument(metavar="ITEM", help="An item, such as averages-00012; without it, interesting items are listed."),
]
Sample = Annotated[int, typer.Option("--sample", min=0, help="Number of the response, if the item has several.")]
Judge = Annotated[
    str | None, typer.Option("--judge", help="The judge whose label to show; by default the study's first judge.")
]
Colour = Annotated[
    Literal["entropy", "surprise"], typer.Option("--by", help="The measure that colours the tokens and sorts the list.")
]
Listed = Annotated[int, typer.Option("--tokens", min=0, help="Number of most uncertain tokens to list.")]
ServedModel = Annotated[str, typer.Argument(metavar="MODEL", help="Name of a model with `id` or `path` in the config.")]
Host = Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 accepts requests from jobs on other machines.")]
Port = Annotated[int, typer.Option(min=1, max=65535)]
Print = Annotated[bool, typer.Option("--print", help="Print the server's command without running it.")]
Kind = StrEnum("Kind", ["study", "monitor"])
Which = Annotated[
    Kind,
    typer.Argument(
        metavar="WHICH", help="`study` for the config of a study, `monitor` for the config of workflow/monitor.smk."
    ),
]
SchemaFiles = Annotated[
    list[Path],
    typer.Option(
        "--configfile",
        "-c",
        metavar="FILE",
        help="A config whose extensions the schema includes. Repeat it for more files; the last one wins.",
    ),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file instead of printing.")
]


def plan(configfile: ConfigFiles = [], config: ConfigValues = []) -> None:
    """Forecast what the rest of a study costs.

    For each model and in total: responses done and left, and the tokens, disk, GPU-hours, dollars and CPU-hours that
    the rest will take. It runs and downloads nothing. The figures come from existing results, or else from `rates` in
    the config.
    """
    from entropy_sentinel.rendering.terminal_text import print_parts
    from entropy_sentinel.study.engines.cpu_settings import is_cpu_build
    from entropy_sentinel.study.planning.forecast import describe_forecast

    print_parts(describe_forecast(load_study(configfile, config), is_cpu_build()))


def progress(configfile: ConfigFiles = [], watch: Watch = None) -> None:
    """Show the progress of a study.

    Lists files per stage, responses, speed and time left. It only reads files and takes no lock, so it can run beside
    Snakemake. A file counts as missing if it is absent, unreadable or incomplete (a model, benchmark or group of the
    config is not in it), or if an input's content has changed since. To find changed settings, use `snakemake --dry-run
    --quiet rules`.
    """
    from entropy_sentinel.rendering.terminal_text import print_parts
    from entropy_sentinel.study.planning.file_plan import plan_files
    from entropy_sentinel.study.planning.study_pace import describe_progress

    config = load_study(configfile)
    while True:
        files = plan_files(config)
        print_parts(describe_progress(config, files, time.time()))
        if watch is None or not files.to_make:
            return
        time.sleep(watch)


def show(
    model: StudyModel,
    benchmark: Benchmark,
    item: Item = None,
    configfile: ConfigFiles = [],
    sample: Sample = 0,
    judge: Judge = None,
    by: Colour = "entropy",
    tokens: Listed = 10,
) -> None:
    """Show a response of a study, token by token.

    Prints the question, label and P(correct), the response with its tokens coloured by entropy or surprise, and its
    most uncertain tokens with their likely alternatives. Without ITEM it lists the most and least certain responses to
    the benchmark, and those that are wrong but certain or right but uncertain. Parts without results yet are skipped.
    """
    from entropy_sentinel.rendering.terminal_text import print_parts
    from entropy_sentinel.study.cli import response_terminal as terminal

    config = load_made_study(configfile)
    judge = judge or config.run.judges[0]
    for axis, name in (("models", model), ("benchmarks", benchmark), ("judges", judge)):
        names = getattr(config.run, axis)
        if name not in names:
            raise ConfigError(f"'{name}' is not in run.{axis}: {', '.join(names)}")
    study = terminal.find_model_files(config, judge, model)
    if item is None:
        print_parts(terminal.list_candidates(study, benchmark, max(1, tokens)))
    else:
        print_parts(terminal.describe_response(study, benchmark, (item, sample), by, tokens))


def serve(
    model: ServedModel, configfile: ConfigFiles = [], host: Host = "127.0.0.1", port: Port = 8000, show: Print = False
) -> None:
    """Start a vLLM server for a model.

    The server loads the model once for all benchmarks. The command first prints the lines to add to a further
    --configfile, so that generate jobs use the server.
    """
    from entropy_sentinel.study.config.generation_requests import served_settings, write_config_snippet
    from entropy_sentinel.study.engines.vllm_server import build_server_command, build_server_environment

    config = load_study(configfile)
    settings = served_settings(config, model)
    words, environment = (
        build_server_command(settings, host, port),
        build_server_environment(settings, config.generation.threads),
    )
    if show:
        variables = [f"{name}={value}" for name, value in environment.items()]
        typer.echo(shlex.join([*variables, *words]))
        return
    address = os.uname().nodename if host == "0.0.0.0" else "localhost"
    typer.echo(write_config_snippet(config, model, f"http://{address}:{port}/v1") + "\n")
    os.execve(words[0], words, os.environ | environment)


def schema(which: Which = Kind.study, configfile: SchemaFiles = [], output: Output = None) -> None:
    """Print the JSON schema of config files.

    Editors use it to check and complete a config. With -c it has the keys of the extensions that the file names.
    """
    from entropy_sentinel.core.whole_files import check_outputs, write_whole
    from entropy_sentinel.monitor.partitions import monitor_schema
    from entropy_sentinel.study.config.config_loading import build_study_schema, read_config

    # The files may have errors, which the schema helps to mend.
    base = find_base() if which is Kind.study and configfile else None
    paths = [base] if base else []
    extensions.add_extensions(read_config([*paths, *configfile]).get("extensions") or [])
    text = build_study_schema() if which is Kind.study else monitor_schema()
    if output is None:
        typer.echo(text, nl=False)
        return
    check_outputs({"--output": output}, [BASE])
    write_whole(output, text)
