"""The command line, with a function for each subcommand."""

from typing import Any


def commands() -> dict[str, Any]:
    """Return the subcommands in the order of the help, as Typer functions or apps."""
    from entropy_sentinel.commands import audit, check, init, judge, monitor, responses, studies, training

    return {
        "features": training.features,
        "fit": training.fit,
        "estimate": responses.estimate,
        "compare": responses.compare,
        "score": responses.score,
        "monitor": monitor.command,
        "sample": responses.sample,
        "judge": judge.command,
        "init": init.command,
        "check": check.command,
        "plan": studies.plan,
        "progress": studies.progress,
        "show": studies.show,
        "serve": studies.serve,
        "schema": studies.schema,
        "audit": audit.app,
    }
