"""`entropy-sentinel check`, `plan`, `progress`, `show`, `serve` and `schema`: commands about a study and its config."""

import os
import shlex
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from entropy_sentinel.cli.shared_arguments import Json, print_json, print_line
from entropy_sentinel.core import extensions
from entropy_sentinel.core.cache_folders import BASE, find_base
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.cli.study_loading import ConfigFiles, ConfigValues, load_made_study, load_study

Resolved = Annotated[
    bool,
    typer.Option(
        "--resolved",
        help="Print only the resolved configuration: every key with its value, as YAML that can be given with -c.",
    ),
]
Slurm = Annotated[bool, typer.Option("--slurm", help="Check for a run with `snakemake --profile slurm`.")]
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


def check_study(
    configfile: ConfigFiles = [],
    config: ConfigValues = [],
    slurm: Slurm = False,
    resolved: Resolved = False,
    json: Json = False,
) -> None:
    """Check a study before its first job.

    Finds all problems at once: errors in the config and missing files, missing keys of judges and models behind APIs,
    and gated models and data sets without access. It also compares the GPUs, the disk space and the rows to train on
    with what the study needs. Only the rest of the study counts: if all labels are there, no judge needs a key. It
    computes nothing, and asks only the Hugging Face hub, for at most five seconds. The exit status is 1 if a run would
    fail. Each run checks the same when it starts.
    """
    from entropy_sentinel.study.config.config_loading import dump_resolved_yaml
    from entropy_sentinel.study.jobs.reuse_plan import find_reusable
    from entropy_sentinel.study.planning.file_plan import plan_files
    from entropy_sentinel.study.planning.preflight.machine_resources import Executor
    from entropy_sentinel.study.planning.preflight.pending_work import PendingWork
    from entropy_sentinel.study.planning.preflight.preflight_checks import find_problems
    from entropy_sentinel.study.planning.preflight.preflight_problem import Problem, ProblemCode, Severity

    name = None  # of the study; unknown if the config has errors
    try:
        study = load_study(configfile, config)
        name = study.study
        if resolved:
            typer.echo(dump_resolved_yaml(study), nl=False)
            return
        work = PendingWork(study, plan_files(study).to_make, find_reusable(study).keys())
        problems = find_problems(work, Executor.SLURM if slurm else Executor.LOCAL)
    except extensions.TooLateError:
        raise  # the command begins again with the study's extensions
    except ConfigError as error:
        if resolved:
            raise
        remedy = "Nothing else is checked before these are corrected."
        problems = [Problem(ProblemCode.CONFIG, Severity.ERROR, "", str(error), remedy)]
    if json:
        print_json({"study": name, "problems": [problem.to_dict() for problem in problems]})
    else:
        for problem in problems:
            for line in str(problem).splitlines():
                print_line(line)
        if not problems:
            print_line(f"Study '{name}': no problems found.")
    if any(problem.severity is Severity.ERROR for problem in problems):
        raise typer.Exit(1)


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
    files = terminal.find_model_files(config, judge, model)
    if item is None:
        print_parts(terminal.list_candidates(files, benchmark, per_kind=max(1, tokens)))
    else:
        print_parts(terminal.describe_response(files, benchmark, (item, sample), by, n_listed=tokens))


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
    words = build_server_command(settings, host, port)
    environment = build_server_environment(settings, config.generation.threads)
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

    # The files are not checked: they may have errors, which the schema helps to mend.
    base = find_base() if which is Kind.study and configfile else None
    paths = [base, *configfile] if base else configfile
    extensions.add_extensions(read_config(paths).get("extensions") or [])
    text = build_study_schema() if which is Kind.study else monitor_schema()
    if output is None:
        typer.echo(text, nl=False)
        return
    check_outputs({"--output": output}, [BASE])
    write_whole(output, text)
