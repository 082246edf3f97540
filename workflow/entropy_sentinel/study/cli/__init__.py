"""The command line for studies, with a function for each subcommand.

The command `entropy-sentinel` finds them by name, so it works where no package of a study is installed.
Within `study`, may be imported by: nothing.
"""

from typing import Any


def commands() -> dict[str, Any]:
    """The subcommands in the order of the help, as Typer functions or apps."""
    from entropy_sentinel.study.cli import audit, check, init, studies

    return {
        "init": init.command,
        "check": check.command,
        "plan": studies.plan,
        "progress": studies.progress,
        "show": studies.show,
        "serve": studies.serve,
        "schema": studies.schema,
        "audit": audit.app,
    }
