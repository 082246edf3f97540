"""Whether entropy measures a model's lack of knowledge, with one or several right answers (Tomov et al., 2025)."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.core.analysis import Analysis


def analyses() -> "dict[str, type[Analysis]]":
    """The class of the analysis' config section, by the name of the analysis."""
    from papers.ambiguity.ambiguity_settings import Ambiguity

    return {"ambiguity": Ambiguity}


def commands() -> dict[str, Callable[..., None]]:
    """The function of the subcommand, by the name under which the command line has it."""
    from papers.ambiguity.counts.command_counts import command

    return {"counts": command}
