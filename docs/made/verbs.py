"""Write `reference/verbs.md`: every public verb and its return type, from the docstrings by mkdocstrings."""

import inspect
from collections.abc import Iterator
from types import FunctionType
from typing import Any, get_args, get_type_hints

import entropy_sentinel as es

HEAD = """# Every verb

These functions (verbs) are available after `import entropy_sentinel as es`; this page is generated from their
docstrings. A verb is imported when it is first used, so the import itself is fast.

"""


def page() -> str:
    """The page as Markdown; mkdocstrings replaces the `:::` blocks."""
    verbs = {name: es._verb(name) for name in sorted(es._VERBS)}
    classes = dict.fromkeys(result for verb in verbs.values() for result in _given_back(verb))
    parts = []
    for name, verb in verbs.items():
        parts.append(_block(verb, heading=f"es.{name}", toc_label=name))
    parts += ["## Return types\n"]
    parts += [_block(class_, heading_level=3, members=_members(class_)) for class_ in classes]
    return HEAD + "\n".join(parts)


def _block(thing: Any, **options: Any) -> str:
    """The `:::` block that requests the documentation of an object."""
    lines = [f"::: {thing.__module__}.{thing.__qualname__}", "    options:"]
    return "\n".join([*lines, *(f"      {name}: {value}" for name, value in options.items())]) + "\n"


def _given_back(verb: Any) -> Iterator[type]:
    """Yield the package's classes that a verb returns."""
    hint = get_type_hints(verb).get("return")
    for one in (hint, *get_args(hint)):
        if inspect.isclass(one) and one.__module__.startswith("entropy_sentinel."):
            yield one


def _members(one: type) -> list[str]:
    """The public methods and properties of a class, in order of definition."""
    kinds = (property, FunctionType)
    return [name for name, member in vars(one).items() if not name.startswith("_") and isinstance(member, kinds)]
