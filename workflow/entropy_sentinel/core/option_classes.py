"""Options that a verb, a command and a config section share: a class with a field for each option.

A field gives an option's name, default, bounds and meaning once. `document_options` shows them in the signature and the
docstring of a verb, and `cli.shared_arguments.take_options` adds them to a command. Both, and config files, check
values with `Options.of`, so errors are the same everywhere.
"""

import inspect
import re
import textwrap
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, BeforeValidator, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.core.printable import make_one_line
from entropy_sentinel.core.section_base import Settings
from entropy_sentinel.core.validation_errors import describe_bounds, describe_error

Section = TypeVar("Section", bound=Settings)
Verb = TypeVar("Verb", bound=Callable[..., Any])

# The entry of `**options` in a verb's docstring, and the width of its lines.
_ENTRY = re.compile(r"^( *)\*\*options: .*\n(?:\1 +.*\n)*", re.MULTILINE)
_WIDTH = 120
_CODE_OR_OPTION = re.compile(r"`[^`]*`|--([a-z][a-z-]*[a-z])")


class Panel(StrEnum):
    """The panels of a command's help, in order."""

    SELECTION = "What is selected"
    SLICES = "Slices and windows"
    VERDICT = "What the verdict needs"
    JUDGE = "The judge"
    ALERTS = "Alerts"
    FILES = "Where results go"
    READING = "How logs are read"


@dataclass(frozen=True)
class CliOption:
    """The display of an option in a command: its panel in the help, its placeholder, and a short name such as -b.

    `repeatable` says that it can be repeated, for an option whose default is not a list. `singular` is a second
    name in the command, for one of several values.
    """

    panel: Panel
    metavar: str | None = None
    short: str | None = None
    repeatable: bool = False
    singular: str | None = None


class Options(Settings):
    """Options with their defaults."""

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """The options with these values; raises ConfigError for an invalid value."""
        for name, value in values.items():
            _check_text(name, value)
        return validate_section(cls, values)

    @classmethod
    def from_keywords(cls, verb: str, keywords: Mapping[str, Any]) -> Self:
        """The options that a verb, a function of the Python interface, is called with.

        For a list, one text is enough, such as `alert_on="drop"`.

        Raises TypeError for an unknown option, as Python does.
        """
        values = dict(keywords)
        for name, value in keywords.items():
            if name not in cls.model_fields:
                raise TypeError(f"{verb}() got an unexpected keyword argument '{name}'")
            if isinstance(value, str) and _is_tuple(cls.model_fields[name]):
                values[name] = (value,)
        return cls.from_values(values)

    @classmethod
    def parse_value(cls, name: str, text: str) -> Any:
        """A value of an option (for a list, one value) from its text; raises ConfigError if it is invalid."""
        field = cls.model_fields[name]
        _check_text(name, text)
        kind: Any = Annotated[field.annotation, *field.metadata]
        adapter = TypeAdapter(kind, config=cls.model_config)
        try:
            if is_list(field):
                return adapter.validate_python([text])[0]
            return adapter.validate_python(text)
        except ValidationError as error:
            raise ConfigError(_describe_option(cls, {**error.errors()[0], "loc": (name,)})) from None

    @classmethod
    def _known_keys(cls) -> list[str]:
        return list(sort_options(cls))


def _check_text(name: str, value: Any) -> None:
    """Raise ConfigError for text with half a surrogate pair, as Python reads command-line bytes that are not UTF-8."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ConfigError(f"{name}: must be text in UTF-8, got {ascii(value)}"[:300]) from None
    elif isinstance(value, list | tuple | dict):
        for part in (*value, *value.values()) if isinstance(value, dict) else value:
            _check_text(name, part)


def validate_section(settings: type[Section], values: Mapping[str, Any]) -> Section:
    """A section with these values; raises ConfigError with a line per invalid value: what it must be and was."""
    try:
        return settings.model_validate(dict(values))
    except ValidationError as error:
        raise ConfigError("\n".join(_describe_option(settings, problem) for problem in error.errors())) from None


def _describe_option(settings: type[Settings], problem: Mapping[str, Any]) -> str:
    """The line for one of Pydantic's errors about options.

    Positions in a list are left out: a command repeats the option for each value. Values are those of Python (None,
    True), not of a file (null, true).
    """
    field = _find_field(settings, problem["loc"])
    problem_without_positions = {**problem, "loc": [part for part in problem["loc"] if isinstance(part, str)]}
    if field is None:
        return describe_error(problem_without_positions, in_python=True)
    return describe_error(problem_without_positions, list_choices(field), format_bounds(field), in_python=True)


def _find_field(settings: type[Settings], loc: Iterable[int | str]) -> FieldInfo | None:
    """The field that an error is about, from its `loc`: keys, and positions in lists; None for a whole section."""
    section: Any = settings
    field = None
    for part in loc:
        if not _is_section(section) or part not in section.model_fields:
            break
        field = section.model_fields[part]
        section = field.annotation
    return None if _is_section(section) else field


def _is_section(annotation: Any) -> bool:
    """Whether the type of a field is a section with keys of its own."""
    return inspect.isclass(annotation) and issubclass(annotation, Settings)


def sort_options(options: type[Options]) -> dict[str, FieldInfo]:
    """The options by name, sorted by panel, a group in a command's help."""
    panels = list(Panel)

    def find_panel_position(option: tuple[str, FieldInfo]) -> int:
        _, field = option
        return panels.index(get_cli_option(field).panel)

    return dict(sorted(options.model_fields.items(), key=find_panel_position))


def is_list(field: FieldInfo) -> bool:
    """Whether an option has several values."""
    return isinstance(field.default, tuple) or get_cli_option(field).repeatable


def _is_tuple(field: FieldInfo) -> bool:
    """Whether the type of an option's value is a tuple, or a tuple or null."""
    return any(typing.get_origin(part) is tuple for part in (field.annotation, *typing.get_args(field.annotation)))


def list_choices(field: FieldInfo) -> list[str]:
    """The values that an option can have; none if any value of its type is allowed."""
    return list(_iterate_literals(field.annotation))


def _iterate_literals(annotation: Any) -> Iterator[str]:
    """Yield the values of each `Literal` in a type, at any depth."""
    if typing.get_origin(annotation) is typing.Literal:
        yield from typing.get_args(annotation)
    else:
        for inner in typing.get_args(annotation):
            yield from _iterate_literals(inner)


def format_bounds(field: FieldInfo) -> str:
    """The limits of an option's value, such as `above 0 and below 1`; empty if there are none."""
    names = ("gt", "ge", "lt", "le")
    return describe_bounds(
        {name: getattr(part, name) for part in field.metadata for name in names if hasattr(part, name)}
    )


def get_cli_option(field: FieldInfo) -> CliOption:
    """How a command shows an option."""
    return next(annotation for annotation in field.metadata if isinstance(annotation, CliOption))


def format_meaning(field: FieldInfo) -> str:
    """The description of an option with its limits."""
    description, limits = str(field.description), format_bounds(field)
    return f"{description.rstrip('.')} ({limits})." if limits else description


def document_options(options: type[Options]) -> Callable[[Verb], Verb]:
    """A decorator that lists the options of a verb (a function for notebooks) in its signature and docstring.

    They are its `**options`. Notebooks and the documentation show these; editors and type checkers read the typed dict
    that `**options` unpacks.
    """

    def decorate(verb: Verb) -> Verb:
        signature = inspect.signature(verb)
        *parameters, keywords = signature.parameters.values()
        # `keywords` is `**options: Unpack[A]`, with a typed dict A.
        types = typing.get_type_hints(typing.get_args(keywords.annotation)[0])
        fields = {name: field for name, field in sort_options(options).items() if name not in signature.parameters}
        for name, field in fields.items():
            parameters.append(
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=types.get(name, Any)
                )
            )
        verb.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        if verb.__doc__:  # python -OO has none
            verb.__doc__ = _ENTRY.sub(lambda entry: _list_options(fields, entry[1]), verb.__doc__)
        return verb

    return decorate


def _name_arguments(description: str) -> str:
    """A description with arguments in place of options of the command; code, such as `monitor --ask`, stays."""
    return _CODE_OR_OPTION.sub(lambda found: found[1].replace("-", "_") if found[1] else found[0], description)


def _list_options(fields: Mapping[str, FieldInfo], indent: str) -> str:
    """The entries of options in a docstring."""
    lines = []
    for name, field in fields.items():
        lines += textwrap.wrap(
            f"{name}: {_name_arguments(format_meaning(field))}",
            _WIDTH,
            initial_indent=indent,
            subsequent_indent=f"{indent}    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "".join(f"{line}\n" for line in lines)


def parse_columns(by: Any) -> list[str]:
    """The columns that define slices, from a list or a single name; raises InputError for an invalid name."""
    return list_names(by, "by", "names of columns")


def list_names(argument: Any, name: str, expected: str) -> list[str]:
    """The names in an argument, a list or a single one; raises InputError, which says what is `expected`."""
    names = [argument] if isinstance(argument, str) or not isinstance(argument, Iterable) else list(argument)
    for each in names:
        if not isinstance(each, str):
            raise InputError(f"{name}: must be {expected}, got {each!r}"[:200])
    return names


def _check_columns(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names unchanged; raises ValueError if one is repeated or is not one line of text."""
    if len(set(names)) < len(names):
        raise ValueError(f"each column once, got {', '.join(names)}")
    for name in names:
        if not name or make_one_line(name) != name:
            raise ValueError(
                f"the name of a column must be one line of text without control characters, got {name!r}; "
                "rename it in the logs"
            )
    return names


# Columns whose values define slices, in the form that files use in a column's header.
Columns = Annotated[tuple[str, ...], BeforeValidator(parse_columns), AfterValidator(_check_columns)]
