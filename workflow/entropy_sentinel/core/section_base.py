"""The base of every section of the configuration, and the types that sections share.

Numbers may be text: YAML reads `1e-3` as text, and Snakemake's --config all values in braces. Switches may not.
"""

import re
from collections.abc import Iterable, Mapping, Set
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    model_validator,
)


def _refuse_switch(value: Any) -> Any:
    """The value unchanged; raises ValueError for true or false, which Python counts as 1 or 0."""
    if isinstance(value, bool):
        raise ValueError("must be a number, not true or false")
    return value


def _check_whole(value: Any) -> Any:
    """The value unchanged; raises ValueError for a switch or a number with a decimal point."""
    if isinstance(value, bool | float):
        raise ValueError("must be a whole number")
    return value


def _check_not_empty(text: str) -> str:
    """The text unchanged; raises ValueError if it is empty."""
    if not text.strip():
        raise ValueError("must not be empty; write null, or leave the key out")
    return text


def _check_distinct(values: list[Any]) -> list[Any]:
    """The values unchanged; raises ValueError if one is repeated."""
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"'{value}' occurs twice; name each once")
    return values


def _check_not_endless(name: str) -> str:
    """The name; raises ValueError for one with which Snakemake would stop."""
    if re.search(r"(.+)\1{19}$", name):
        raise ValueError(
            "must not end with 20 repetitions of the same characters, which Snakemake mistakes for an endless file name"
        )
    return name


# Names become parts of file names, and of group ids, which join benchmarks with "+".
Name = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100),
    AfterValidator(_check_not_endless),
]
Text = Annotated[str, AfterValidator(_check_not_empty)]
DISTINCT = AfterValidator(_check_distinct)
Names = Annotated[list[Name], DISTINCT]
# A commit, tag or branch of git.
Revision = Annotated[str, StringConstraints(pattern=r"^[\w.][\w./+-]*$", max_length=200)]
Whole = Annotated[int, BeforeValidator(_check_whole)]
Number = Annotated[float, BeforeValidator(_refuse_switch)]
# Counts must fit their columns and arrays.
Positive = Annotated[int, Field(ge=1, le=2**31 - 1), BeforeValidator(_check_whole)]
# NumPy's generators, and so scikit-learn's, accept no larger seed.
Seed = Annotated[int, Field(ge=0, lt=2**32), BeforeValidator(_check_whole)]
# Passed unchanged to another package; stored as JSON beside the results.
Free = dict[str, JsonValue]


def check_names(what: str, names: Iterable[str], allowed: Iterable[str]) -> None:
    """Raise ValueError for the first of `names` that is not among `allowed`."""
    allowed = list(allowed)
    for name in names:
        if name not in allowed:
            raise ValueError(f"unknown {what} '{name}'; known: {', '.join(map(str, allowed)) or 'none'}")


def merge_sections(base: Any, override: Mapping[str, Any]) -> dict[str, Any]:
    """Merge one section over another like Snakemake merges config files: sections by key, other values replaced."""
    result = dict(base) if isinstance(base, Mapping) else {}
    for key, value in override.items():
        result[key] = merge_sections(result.get(key), value) if isinstance(value, Mapping) else value
    return result


class Settings(BaseModel):
    """The immutable base of all sections; an unknown key is an error that lists the known keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    # Advice about a key that belongs elsewhere, shown instead of the known keys.
    ELSEWHERE: ClassVar[Mapping[str, str]] = {}
    # Keys on which no result depends, such as addresses and limits: a change of one rebuilds nothing.
    UNTRACKED: ClassVar[Set[str]] = frozenset()

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        if misspelt := sorted(cls.UNTRACKED - set(cls.model_fields)):
            keys = ", ".join(cls.model_fields)
            raise TypeError(f"{cls.__name__}.UNTRACKED: '{misspelt[0]}' is not a key of the class; keys: {keys}")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            for key in data:
                if key in cls.ELSEWHERE:
                    raise ValueError(f"'{key}' {cls.ELSEWHERE[key]}")
                if key not in cls.model_fields:
                    raise ValueError(f"unknown key '{key}'; known keys: {', '.join(cls._known_keys())}")
        return data

    @classmethod
    def _known_keys(cls) -> list[str]:
        """A section's keys: first its own, then those that it shares with others of its kind."""
        names: list[str] = []
        for base in cls.__mro__:
            names += getattr(base, "__annotations__", {})
        return [name for name in dict.fromkeys(names) if name in cls.model_fields]
