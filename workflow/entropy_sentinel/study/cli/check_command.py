"""`entropy-sentinel check`: what a run of a study would lack, before its first job."""

from typing import Annotated

import typer

from entropy_sentinel.cli.shared_arguments import Json, print_json, print_line
from entropy_sentinel.core import extensions
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.cli.study_loading import ConfigFiles, ConfigValues, load_study

Resolved = Annotated[
    bool,
    typer.Option(
        "--resolved",
        help="Print only the resolved configuration: every key with its value, as YAML that can be given with -c.",
    ),
]
Slurm = Annotated[bool, typer.Option("--slurm", help="Check for a run with `snakemake --profile slurm`.")]


def command(
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

    name = None
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
