"""The entries of a catalogue, as the package and its extensions declare them, checked."""

from typing import Any, Protocol, TypeVar

from entropy_sentinel.frames import extensions
from entropy_sentinel.frames.errors import ConfigError


class Named(Protocol):
    """What has a name of its own."""

    @property
    def name(self) -> str:
        """The name."""


Entry = TypeVar("Entry", bound=Named)


def declared(kind: str, expected: type[Entry]) -> dict[str, Entry]:
    """Return the declarations of a kind by name, this package's first.

    Raises ConfigError for a declaration that is not an `expected`, or whose key is not its name.
    """
    found: dict[str, Any] = extensions.declared(kind)
    for name, value in found.items():
        place = f"{extensions.module_of(kind, name)}: {kind}(): '{name}'"
        if not isinstance(value, expected):
            must = f"{expected.__module__}.{expected.__qualname__}"
            raise ConfigError(f"{place} must be a {must}, was of type {type(value).__name__}")
        if value.name != name:
            raise ConfigError(f"{place} must be the name of its {expected.__name__}, which is '{value.name}'")
    return found


def is_own(kind: str, name: str) -> bool:
    """Return whether this package, and not an extension outside, declares `name`."""
    return extensions.module_of(kind, name).partition(".")[0] == extensions.PACKAGE
