"""Read logs of a deployed model, in the formats of servers, clients and proxies.

A new shape of log is a `Format` in `built_in`, or in an extension's `formats()`.
May be imported by: `rendering`, `llm_client`, `signal_families` and every room above.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.logs.format_declaration import Format


def formats() -> "dict[str, Format]":
    """This package's formats; the first that recognises a record reads it."""
    from entropy_sentinel.logs.log_formats import FORMATS

    return FORMATS
