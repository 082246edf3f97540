"""The command line for studies, with a function for each subcommand.

The command `entropy-sentinel` finds them by name, so it works where no package of a study is installed.
Within `study`, may be imported by: nothing.
"""

from typing import Any


def commands() -> dict[str, Any]:
    """The subcommands in the order of the help, as Typer functions or apps."""
    from entropy_sentinel.study.cli import audit_command, init_command, study_commands

    return {
        "init": init_command.command,
        "check": study_commands.check_study,
        "plan": study_commands.plan,
        "progress": study_commands.progress,
        "show": study_commands.show,
        "serve": study_commands.serve,
        "schema": study_commands.schema,
        "audit": audit_command.app,
    }
