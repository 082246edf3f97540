"""`entropy-sentinel plan`, `progress`, `show`, `serve` and `schema`: commands about a study and its config."""

import os
import shlex
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from entropy_sentinel.commands.options import ConfigFiles, load_made_study, load_study
from entropy_sentinel.frames.errors import ConfigError

if TYPE_CHECKING:
    from entropy_sentinel.config.sections import Config
Watch = Annotated[float | None, typer.Option(metavar="SECONDS", min=1, help="Repeat until all is done.")]
StudyModel = Annotated[str, typer.Argument(metavar="MODEL", help="A model of the study.")]
Benchmark = Annotated[str, typer.Argument(metavar="BENCHMARK", help="A benchmark of the study.")]
Item = Annotated[
    str | None, typer.Argument(metavar="ITEM", help="An item, as averages-00012; none lists items worth a look.")
]
Sample = Annotated[int, typer.Option("--sample", min=0, help="Which of several responses to the item.")]
Judge = Annotated[str | None, typer.Option("--judge", help="Whose label; the study's first judge if not given.")]
Colour = Annotated[
    Literal["entropy", "surprise"], typer.Option("--by", help="What tokens are coloured by, and listed by.")
]
Listed = Annotated[int, typer.Option("--tokens", min=0, help="How many of the most uncertain tokens are listed.")]
ServedModel = Annotated[str, typer.Argument(metavar="MODEL", help="Name of a model with `id` or `path` in the config.")]
Host = Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 for jobs on other machines.")]
Port = Annotated[int, typer.Option(min=1, max=65535)]
Print = Annotated[bool, typer.Option("--print", help="Show the server's command and do not run it.")]
Kind = StrEnum("Kind", ["study", "monitor"])
Which = Annotated[
    Kind, typer.Argument(metavar="WHICH", help="Config files of a study, or that of workflow/monitor.smk.")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there, do not print it.")]


def plan(configfile: ConfigFiles = []) -> None:
    """Show what a study will take.

    Responses done and left, and for what is left: tokens, disk, GPU-hours, dollars and CPU-hours, per model and in
    total. Nothing is run or downloaded. Figures come from files that are there, else from `rates` in the config.
    """
    from entropy_sentinel.planning.forecast import plan
    from entropy_sentinel.report.terminal import show

    show(plan(load_study(configfile)))


def progress(configfile: ConfigFiles = [], watch: Watch = None) -> None:
    """Show how far a study is.

    Files made per stage, responses, speed and time left. It looks at files alone and takes no lock, so it can run
    beside Snakemake. A file is still to be made if it is missing and something waits for it, if what it is made from is
    newer and of another content than it was made from, if it lacks a model, benchmark or group of the config, or if it
    cannot be read. Changed settings are seen by `snakemake --dry-run --quiet rules` only.
    """
    from entropy_sentinel.planning.files import study_files
    from entropy_sentinel.planning.pace import progress
    from entropy_sentinel.report.terminal import show

    config = load_study(configfile)
    while True:
        files = study_files(config)
        show(progress(config, files, time.time()))
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

    Question, label and P(correct), the response with its tokens coloured by entropy or surprise, and its most uncertain
    tokens with the likely ones in their place. Without an ITEM it lists the responses to the benchmark that look most
    and least certain, and those that are wrong but certain or right but uncertain. What is not made yet is left out.
    """
    from entropy_sentinel.analyses.responses import terminal
    from entropy_sentinel.report.terminal import show

    config = load_made_study(configfile)
    judge = judge or config.run.judges[0]
    for axis, name in (("models", model), ("benchmarks", benchmark), ("judges", judge)):
        _check(config, axis, name)
    study = terminal.study_files(config, judge, model)
    if item is None:
        show(terminal.candidates(study, benchmark, max(1, tokens)))
    else:
        show(terminal.one_response(study, benchmark, (item, sample), by, tokens))


def _check(config: "Config", axis: str, name: str) -> None:
    known = getattr(config.run, axis)
    if name not in known:
        raise ConfigError(f"'{name}' is none of the study's {axis}: {', '.join(known)}")


def serve(
    model: ServedModel, configfile: ConfigFiles = [], host: Host = "127.0.0.1", port: Port = 8000, show: Print = False
) -> None:
    """Start a vLLM server for a model.

    The model is then loaded once for all benchmarks. The command first prints what one more --configfile must say for
    generate jobs to ask the server.
    """
    from entropy_sentinel.config.generations import config_snippet, served_settings
    from entropy_sentinel.engines.server import server_command, server_environment

    config = load_study(configfile)
    settings = served_settings(config, model)
    words, environment = server_command(settings, host, port), server_environment(settings, config.generation.threads)
    if show:
        typer.echo(shlex.join([*(f"{name}={value}" for name, value in environment.items()), *words]))
        return
    address = os.uname().nodename if host == "0.0.0.0" else "localhost"
    typer.echo(config_snippet(config, model, f"http://{address}:{port}/v1") + "\n")
    os.execve(words[0], words, os.environ | environment)


def schema(which: Which = Kind.study, output: Output = None) -> None:
    """Print the JSON schema of config files.

    Editors check and complete a config with it."""
    from entropy_sentinel.commands.options import BASE
    from entropy_sentinel.config.config import study_schema
    from entropy_sentinel.frames.files import check_outputs, write_whole
    from entropy_sentinel.monitor.partitions import monitor_schema

    made = study_schema() if which is Kind.study else monitor_schema()
    if output is None:
        typer.echo(made, nl=False)
        return
    check_outputs({"--output": output}, [BASE])
    write_whole(output, made)
