"""The catalogue of a monitor's outputs other than the terminal: files and other targets.

The command has an option for each output, and the workflow writes the `files` of each. The outputs of extensions follow
this package's own.
"""

import re

from entropy_sentinel.frames import extensions
from entropy_sentinel.frames.entries import declared
from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.monitor.settings import MonitorOptions
from entropy_sentinel.monitor.showing.output import Output

# The command's other options and arguments.
_TAKEN = {*MonitorOptions.model_fields, "estimator", "logs", "state", "json", "help"}


def _checked(outputs: dict[str, Output]) -> dict[str, Output]:
    """Return the outputs; raise ConfigError for a name that cannot be an option's."""
    for name in outputs:
        if not re.fullmatch(r"[a-z][a-z0-9]*", name) or name in _TAKEN:
            where = extensions.module_of("outputs", name)
            problem = f"`--{name}` is another option" if name in _TAKEN else "it must be a word in lower case"
            raise ConfigError(f"{where}: the output '{name}' needs another name, because {problem}")
    return outputs


OUTPUTS: dict[str, Output] = _checked(declared("outputs", Output))
