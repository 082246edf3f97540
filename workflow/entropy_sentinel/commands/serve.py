"""`entropy-sentinel serve`."""

import os
import shlex
from typing import Annotated

import typer

from entropy_sentinel.commands.options import ConfigFiles, load_study

Model = Annotated[str, typer.Argument(metavar="MODEL", help="Name of a model with `id` or `path` in the config.")]
Host = Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 for jobs on other machines.")]
Port = Annotated[int, typer.Option(min=1, max=65535)]
Print = Annotated[bool, typer.Option("--print", help="Show the server's command and do not run it.")]


def command(
    model: Model, configfile: ConfigFiles = [], host: Host = "127.0.0.1", port: Port = 8000, show: Print = False
) -> None:
    """Start a vLLM server for a model.

    The model is then loaded once for all benchmarks. The command first prints what one more --configfile must say for
    generate jobs to ask the server.
    """
    from entropy_sentinel.engines.server import server_command, server_environment
    from entropy_sentinel.jobs.served_model import config_snippet, served_settings

    config = load_study(configfile)
    settings = served_settings(config, model)
    words, environment = server_command(settings, host, port), server_environment(settings, config.generation.threads)
    if show:
        typer.echo(shlex.join([*(f"{name}={value}" for name, value in environment.items()), *words]))
        return
    address = os.uname().nodename if host == "0.0.0.0" else "localhost"
    typer.echo(config_snippet(config, model, f"http://{address}:{port}/v1") + "\n")
    os.execve(words[0], words, os.environ | environment)
