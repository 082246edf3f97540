"""The catalogue of a monitor's outputs other than the terminal: files and other targets.

The command has an option for each output, and the workflow writes the `files` of each. The outputs of extensions follow
this package's own.
"""

import keyword
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from entropy_sentinel.core import extensions
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.extension_guard import guard_extension, guard_function
from entropy_sentinel.core.registry_entries import is_built_in, load_entries
from entropy_sentinel.monitor.monitor_options import MonitorOptions
from entropy_sentinel.monitor.showing.output_declaration import Output

if TYPE_CHECKING:
    from entropy_sentinel.monitor.monitor_result import Monitored

# The command's other options and arguments.
_RESERVED = {*MonitorOptions.model_fields, "event", "estimator", "logs", "state", "json", "help"}


def _check_outputs(outputs: dict[str, Output]) -> dict[str, Output]:
    """The outputs; raises ConfigError for a name that cannot be an option's."""
    for name in outputs:
        problem = ""
        if not re.fullmatch(r"[a-z][a-z0-9]*", name):
            problem = "it must be a word in lower case"
        elif name in _RESERVED:
            problem = f"`--{name}` is another option"
        elif keyword.iskeyword(name):
            problem = "it is a keyword of Python"
        if problem:
            where = extensions.describe_place("outputs", name)
            raise ConfigError(f"{where}: the output '{name}' needs another name, because {problem}")
    return {name: _guard_output(output) for name, output in outputs.items()}


def _guard_output(output: Output) -> Output:
    """An output whose functions name the extension if they fail; one of the package's stays as it is."""
    if is_built_in("outputs", output.name):
        return output

    def write(result: "Monitored", target: Any) -> None:
        with guard_extension("outputs", output.name, f"--{output.name}", (OSError,)):
            output.write(result, target)

    check = guard_function("outputs", output.name, f"--{output.name}: check failed", output.check)
    return replace(output, write=write, check=check)


OUTPUTS: dict[str, Output] = _check_outputs(load_entries("outputs", Output))
