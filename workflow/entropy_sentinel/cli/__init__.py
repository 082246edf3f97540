"""The command line for logs of a deployed model, with a function for each subcommand; a study's are in study/cli.

A subcommand turns options into a call of a verb or of the monitor, and prints. It decides no number.
May be imported by: `study`, for its own subcommands.
"""

from typing import Any


def commands() -> dict[str, Any]:
    """The subcommands in the order of the help, as Typer functions or apps."""
    from entropy_sentinel.cli import judge_command, monitor_command, response_commands, training_commands

    return {
        "features": training_commands.features,
        "fit": training_commands.fit,
        "estimate": response_commands.estimate,
        "compare": response_commands.compare,
        "score": response_commands.score,
        "monitor": monitor_command.command,
        "sample": response_commands.sample,
        "judge": judge_command.command,
    }
