"""Show the result of a monitor: on a terminal, as a page, as files, and the responses behind an alert."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.monitor.showing.output_declaration import Output


def outputs() -> "dict[str, Output]":
    """This package's outputs."""
    from entropy_sentinel.monitor.showing.monitor_outputs import OUTPUTS

    return OUTPUTS
