"""The command line for logs of a deployed model, with a function for each subcommand; a study's are in study/cli.

A subcommand turns options into a call of a verb or of the monitor, and prints. It decides no number.
May be imported by: `study`, for its own subcommands.
"""

from typing import Any


def commands() -> dict[str, Any]:
    """The subcommands in the order of the help, as Typer functions or apps."""
    from entropy_sentinel.cli import judge, monitor, responses, training

    return {
        "features": training.features,
        "fit": training.fit,
        "estimate": responses.estimate,
        "compare": responses.compare,
        "score": responses.score,
        "monitor": monitor.command,
        "sample": responses.sample,
        "judge": judge.command,
    }
