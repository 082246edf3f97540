"""What declares an output of the monitor: a file, or another target of its result."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from entropy_sentinel.monitor.monitor_result import Monitored


def _accept_target(target: Any) -> None:
    """Accept any target."""


@dataclass(frozen=True)
class Output:
    """An output of a monitor's result.

    `write` takes the result and a target: a path if `is_file`, else a text such as an address. `check` raises an
    EntropySentinelError for an invalid target before any log is read. The command's help imports both functions, so
    they import heavy modules themselves. `files` are the names of the targets in a workflow. `variable` is the
    environment variable that sets the target if the option is not given. `has_all_windows` says that `write` uses
    `Monitored.windows`, whose changes are otherwise not tested.
    """

    name: str
    meaning: str
    write: "Callable[[Monitored, Any], None]"
    files: tuple[str, ...] = ()
    metavar: str = "FILE"
    short: str | None = None
    is_file: bool = True
    check: Callable[[Any], None] = _accept_target
    variable: str | None = None
    has_all_windows: bool = True
