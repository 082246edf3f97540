"""How one extension is imported and checked, and the line that says why it could not be."""

import importlib
import os
import sys
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from inspect import isfunction
from itertools import dropwhile
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, NamedTuple

_PACKAGE = Path(__file__).parents[1]
_LONGEST = 1000
CIRCLE = (
    f"a catalogue of {_PACKAGE.name} needs the extension's declarations before it can be imported; import it inside "
    "the functions that declare, or inside functions that they do not call"
)


class PartialError(Exception):
    """The import of an extension has not ended: it imports what needs its declarations."""


class NameTakenError(ImportError):
    """Python finds another module by the name of an extension's folder."""


class DeclaringModule(NamedTuple):
    """A module, and its functions named as the kinds of declarations, by name."""

    module: ModuleType
    functions: Mapping[str, Callable[[], Any]]


class Extension(NamedTuple):
    """An extension that was imported: its first module, and all that may declare."""

    top: ModuleType
    modules: list[DeclaringModule]


def import_extension(place: str, kinds: Collection[str]) -> Extension:
    """Import an extension from an absolute path or by the name of a module, with the packages in it.

    Raises PartialError if its import has begun and not ended, and ImportError if it cannot be an extension.
    """
    name = _find_import_name(Path(place)) if os.path.isabs(place) else place
    if (_PACKAGE / name.partition(".")[0]).is_dir():
        raise ImportError(f"{_PACKAGE.name} has a folder of this name; give the extension another one")
    top = import_module(name)
    if not top.__file__:
        raise ImportError("must have a file __init__.py")
    return Extension(top, list(_find_declaring_modules(top, kinds)))


def check_extension(extension: Extension, kinds: Collection[str]) -> Extension:
    """The extension; raises ImportError if it declares nothing, or seems to have a misspelt function."""
    for module, functions in extension.modules:
        for name, value in vars(module).items():
            if name in kinds and isinstance(value, Mapping):
                raise ImportError(f"`{name}` must be a function that returns a dict, got a dict", path=module.__file__)
            if name in kinds or name.startswith("_") or not isfunction(value) or value.__module__ != module.__name__:
                continue  # neither a declaration nor a public function of the module's own
            near = get_close_matches(name, set(kinds) - set(functions), n=1, cutoff=0.8)
            if near and not value.__code__.co_argcount:  # declarations take no arguments
                place = f"{module.__file__}:{value.__code__.co_firstlineno}"
                raise ImportError(f"unknown declaration `{name}()`; did you mean `{near[0]}()`?", path=place)
    if not any(functions for _, functions in extension.modules):
        raise ImportError(
            f"declares nothing; needs a function with one of these names: {', '.join(kinds)}",
            path=extension.top.__file__,
        )
    return extension


def describe_failure(what: str, error: BaseException, place: str, folder: Path | None = None) -> str:
    """A line about what failed in an extension, with the last line of its code that ran, or else `place`.

    Its code is in `folder`, or else where the first line outside the package is.
    """
    trace = traceback.extract_tb(error.__traceback__)
    lines = [line for line in trace if line.filename not in _IMPORTING and not line.filename.startswith("<frozen")]
    # The package's own lines come first where it calls a function of the extension.
    lines = list(dropwhile(lambda line: line.filename.startswith(f"{_PACKAGE}{os.sep}"), lines)) or lines
    first_folder = os.path.dirname(lines[0].filename) if lines else ""
    home = f"{folder or first_folder}{os.sep}"
    places = [f"{line.filename}:{line.lineno}" for line in lines if line.filename.startswith(home)]
    if isinstance(error, SyntaxError) and error.filename:
        places = [f"{error.filename}:{error.lineno}"]
    text = " ".join(str(error).split())[:_LONGEST]
    if f"partially initialized module '{_PACKAGE.name}" in text:
        text = f"{text}; {CIRCLE}"
    if isinstance(error, SystemExit):
        text = f"exit({text}), which would end the whole process; raise an error instead"
    where = places[-1] if places else getattr(error, "path", None) or place
    return f"{what}: {where}: {type(error).__name__}: {text}"


_IMPORTING = (importlib.__file__, __file__, str(Path(__file__).with_name("extensions.py")))


def get_module_file(module: ModuleType) -> Path:
    """The file of a module of an extension."""
    assert module.__file__ is not None  # only packages with an __init__.py and modules are extensions
    return Path(module.__file__)


def find_outermost(module: ModuleType) -> ModuleType:
    """The outermost package with an __init__.py that has a module; the module itself if it is in none."""
    parts = module.__name__.split(".")
    packages = (sys.modules[".".join(parts[:length])] for length in range(1, len(parts) + 1))
    return next(package for package in packages if package.__file__)


def _find_import_name(folder: Path) -> str:
    """The name by which Python finds the package in `folder`; raises ImportError if it finds another."""
    init = folder / "__init__.py"
    if not init.is_file():
        raise ImportError("must be a folder with a file __init__.py")
    if str(folder.parent) not in sys.path:
        # At the end, so that the folders beside it hide no package.
        sys.path.append(str(folder.parent))
    found = find_spec(folder.name)
    if found is None or not found.origin or os.path.realpath(found.origin) != os.path.realpath(init):
        raise NameTakenError(f"another module has this name: {found and found.origin}; rename the folder")
    return folder.name


def _find_declaring_modules(module: ModuleType, kinds: Collection[str]) -> Iterator[DeclaringModule]:
    """Yield a module and the packages in it, each with its functions named as in `kinds`."""
    if getattr(module.__spec__, "_initializing", False):  # its import has not ended
        raise PartialError
    # A package in it may have the name of one of its functions, and replaces it as an attribute when it is imported.
    functions = {name: value for name, value in vars(module).items() if name in kinds and isfunction(value)}
    yield DeclaringModule(module, functions)
    for entry in iter_modules(getattr(module, "__path__", ()), f"{module.__name__}."):
        if entry.ispkg:
            yield from _find_declaring_modules(import_module(entry.name), kinds)
