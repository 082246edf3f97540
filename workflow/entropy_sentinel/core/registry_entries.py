"""The entries of a catalogue, as the package and its extensions declare them, checked."""

from dataclasses import fields, is_dataclass
from typing import Any, Protocol, TypeVar

from entropy_sentinel.core import extensions
from entropy_sentinel.core.errors import ConfigError


class NamedEntry(Protocol):
    """What has a name of its own."""

    @property
    def name(self) -> str:
        """The name."""


Entry = TypeVar("Entry", bound=NamedEntry)
Value = TypeVar("Value")


def load_entries(kind: str, expected: type[Entry]) -> dict[str, Entry]:
    """The declarations of a kind by name, this package's first.

    Raises ConfigError for a declaration that is not an `expected`, or whose key is not its name.
    """
    found = load_values(kind, expected)
    for name, value in found.items():
        if value.name != name:
            what = f"the name of its {expected.__name__}, which is '{value.name}'"
            raise ConfigError(f"{describe_place(kind, name)} must be {what}")
    return found


def load_values(kind: str, expected: type[Value]) -> dict[str, Value]:
    """The declarations of a kind by name, this package's first; they may have no name of their own.

    Raises ConfigError for a declaration that is not an `expected`, or has a field of another type.
    """
    found: dict[str, Any] = extensions.load_declarations(kind)
    for name, value in found.items():
        if not isinstance(value, expected):
            must = f"{expected.__module__}.{expected.__qualname__}"
            raise ConfigError(
                f"{describe_place(kind, name)} must be of type {must}, got of type {type(value).__name__}"
            )
        _check_fields(value, describe_place(kind, name))
    return found


def _check_fields(declared: Any, place: str) -> None:
    """Raise ConfigError for a text, number or truth value of a declaration that is of another type."""
    for field in fields(declared) if is_dataclass(declared) else ():
        value = getattr(declared, field.name)
        if field.type in (str, int, bool) and type(value) is not field.type:
            must = getattr(field.type, "__name__", field.type)
            raise ConfigError(f"{place}: `{field.name}` must be of type {must}, got {value!r:.100}")


def load_classes(kind: str, base: type[Value]) -> dict[str, type[Value]]:
    """The classes that are declared as a kind by name, this package's first.

    Raises ConfigError for a declaration that is not a subclass of `base`.
    """
    found: dict[str, Any] = extensions.load_declarations(kind)
    for name, value in found.items():
        if not isinstance(value, type) or not issubclass(value, base):
            must = f"{base.__module__}.{base.__qualname__}"
            was = value.__name__ if isinstance(value, type) else f"of type {type(value).__name__}"
            raise ConfigError(f"{describe_place(kind, name)} must be a subclass of {must}, got {was}")
    return found


def describe_place(kind: str, name: str) -> str:
    """Where something is declared, for the beginning of an error: `mine (FILE): judges(): 'web'`."""
    return f"{extensions.describe_place(kind, name)}: {kind}(): '{name}'"


def lacks_version(declared: type) -> bool:
    """Whether a class of an extension does not state the VERSION that replaces a hash of its code."""
    outside = [base for base in declared.__mro__ if base.__module__.partition(".")[0] != extensions.PACKAGE]
    return declared in outside and not any("VERSION" in vars(base) for base in outside)


def is_built_in(kind: str, name: str) -> bool:
    """Whether this package, and not an extension outside, declares `name`."""
    return extensions.get_module_name(kind, name).partition(".")[0] == extensions.PACKAGE
