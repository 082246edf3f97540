"""The built-in prompts, and the engine of a job.

A changed prompt gets a new version.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from entropy_sentinel.chat.settings import Prompt
from entropy_sentinel.engines.generation import AskedSettings
from entropy_sentinel.engines.settings import ENGINES

if TYPE_CHECKING:
    from entropy_sentinel.engines.engine import Engine

PROMPTS: dict[str, Prompt] = {
    # The paper's appendix C.1, verbatim, newlines included.
    "solve-step-by-step": Prompt(
        version=1,
        user="Solve the following problem step by step, then provide the final numerical answer.\n"
        "\n"
        "Question: {question}\n"
        "\n"
        "Solution:",
    ),
}


def make_engine(settings: AskedSettings, threads: int) -> "Engine":
    """Return the engine that the settings name, on `threads` CPU cores."""
    engine: Engine = import_module(ENGINES[settings["engine"]]).make(settings, threads)
    return engine
