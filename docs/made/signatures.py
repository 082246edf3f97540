"""Write the options of the verbs into their signatures and docstrings, from the classes that check them.

`PYTHONPATH=docs:workflow python -m made.signatures` writes them; a test checks that they are current. A comment in the
signature names the class: what follows it there is written, and so are the entries of these arguments in the docstring.
The arguments before the comment belong to the verb; an option of the same name is left out.
"""

import json
import re
import textwrap
import types
import typing
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

import entropy_sentinel as es
from entropy_sentinel.core.options import in_order, meaning

WIDTH = 120
# Extensions add values to these options, so that their types are not closed.
_OPEN = {"alert_on"}
_VERB = re.compile(
    r"^def \w+\(\n(?P<own>(?:    .*\n)+?)"
    r"    # The fields of `(?P<options>\w+)`, by made\.signatures\n(?P<listed>(?:    .*\n)*)"
    r"(?P<between>\) -> .*\n(?:.*\n)*?    Args:\n)(?P<arguments>(?: {8}.*\n)+)",
    re.MULTILINE,
)
_PARAMETER = re.compile(r"^    (\w+): ", re.MULTILINE)
_ARGUMENT = re.compile(r"^ {8}(\w+): .*\n(?: {9,}.*\n)*", re.MULTILINE)
_MARK = "    # The fields of `{}`, by made.signatures\n"


def modules() -> list[str]:
    """Return the names of the modules that define verbs."""
    return sorted({es._verb(name).__module__ for name in es.__all__})


def file_of(module: str) -> Path:
    """Return the file of a module."""
    return Path(str(import_module(module).__file__))


def rewritten(module: str, text: str) -> str:
    """Return the text of a module with the options of its verbs in signatures and docstrings."""

    def verb(match: re.Match[str]) -> str:
        options = getattr(import_module(module), match["options"])
        own = _PARAMETER.findall(match["own"])
        fields = {name: field for name, field in in_order(options).items() if name not in own}
        arguments = [entry[0] for entry in _ARGUMENT.finditer(match["arguments"]) if entry[1] in own]
        arguments += [_argument(name, field) for name, field in fields.items()]
        listed = [f"    {name}: {_type(name, field)} = {_default(field)},\n" for name, field in fields.items()]
        begin = f"{match[0].partition('(')[0]}(\n{match['own']}{_MARK.format(match['options'])}"
        return "".join([begin, *listed, match["between"], *arguments])

    return _VERB.sub(verb, text)


def _argument(name: str, field: FieldInfo) -> str:
    """Return the lines of an option in a docstring."""
    lines = textwrap.wrap(
        f"{name}: {meaning(field)}",
        WIDTH,
        initial_indent=" " * 8,
        subsequent_indent=" " * 12,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "".join(f"{line}\n" for line in lines)


def _default(field: FieldInfo) -> str:
    return json.dumps(field.default) if isinstance(field.default, str) else repr(field.default)


def _type(name: str, field: FieldInfo) -> str:
    """Return the type of the values that an option accepts, as source text."""
    text = " | ".join(dict.fromkeys(_accepted(Annotated[field.annotation, *field.metadata, None])))
    return re.sub(r"Literal\[.*?\]", "str", text) if name in _OPEN else text


def _accepted(annotation: Any) -> Iterator[str]:
    """Yield the types of accepted values. A check before Pydantic's may name them; a list is any sequence."""
    kind, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if kind is Annotated:
        named = [getattr(check, "json_schema_input_type", PydanticUndefined) for check in inner[1:]]
        yield from _accepted(next((one for one in reversed(named) if one is not PydanticUndefined), inner[0]))
    elif kind in (typing.Union, types.UnionType):
        for part in inner:
            yield from _accepted(part)
    elif kind is Literal:
        yield f"Literal[{', '.join(map(json.dumps, inner))}]"
    elif kind in (tuple, list):
        yield f"Sequence[{' | '.join(_accepted(inner[0]))}]"
    elif kind is dict:
        yield f"Mapping[{', '.join(' | '.join(_accepted(part)) for part in inner)}]"
    elif annotation is Path:
        yield from ("str", "Path")
    else:
        yield "None" if annotation is type(None) else annotation.__name__


if __name__ == "__main__":
    for name in modules():
        path = file_of(name)
        path.write_text(rewritten(name, path.read_text()))
