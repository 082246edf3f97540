"""Select a study's items to train on by the model's uncertainty about them (Zhu et al. 2025, Section 4)."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.core.analysis import Analysis


def analyses() -> "dict[str, type[Analysis]]":
    """The class of the analysis' config section, by the name of the analysis."""
    from papers.selection.selection_settings import Selection

    return {"selection": Selection}


def commands() -> dict[str, Callable[..., None]]:
    """The function of the subcommand, by the name under which the command line has it."""
    from papers.selection.commands.command_select import command

    return {"select": command}
