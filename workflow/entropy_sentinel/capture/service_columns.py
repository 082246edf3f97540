"""Columns of captured replies that a service sets where it knows them, as tracing tools do."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from entropy_sentinel.core.errors import InputError

Scalar = str | int | float | bool
_COLUMNS: ContextVar[Mapping[str, Scalar]] = ContextVar("entropy_sentinel_columns")


@contextmanager
def tagged(**columns: Scalar) -> Iterator[None]:
    """Give the replies to all requests of a block these columns in the log; they are not sent to the server.

    Blocks may be nested, and inner values replace outer ones. Threads and tasks that start within a block have its
    columns if they copy its context, as tasks of asyncio do.

    Args:
        **columns: Values by name: `route="billing"` becomes the column `metadata.route`, for `--by metadata.route`.

    Returns:
        A context manager for `with`.

    Raises:
        InputError: For a value that is not a text, number or truth value.

    Examples:
        >>> import entropy_sentinel as es
        >>> with es.tagged(route="billing"):
        ...     pass  # requests of a captured client
    """
    check_columns(columns, "tagged")
    token = _COLUMNS.set({**get_columns(), **columns})
    try:
        yield
    finally:
        _COLUMNS.reset(token)


def get_columns() -> Mapping[str, Scalar]:
    """The columns of the blocks around the caller."""
    return _COLUMNS.get({})


def merge_columns(columns: Mapping[str, Scalar], metadata: Any) -> dict[str, Any]:
    """A service's columns and those of a request's own `metadata`, which replace values of the same name."""
    return {**columns, **(metadata if isinstance(metadata, Mapping) else {})}


def check_columns(columns: Any, name: str) -> None:
    """Raise InputError, which begins with `name`, unless these are columns: a mapping of values by their names."""
    if not isinstance(columns, Mapping):
        raise InputError(f'{name}: must be values by name, such as {{"route": "billing"}}, got {columns!r:.100}')
    for column, value in columns.items():
        if not isinstance(column, str):
            raise InputError(f"{name}: the name of a column must be a text, got {column!r:.100}")
        if not isinstance(value, str | int | float):
            raise InputError(f"{name}: '{column}' must be a text, number or truth value, got {type(value).__name__}")
