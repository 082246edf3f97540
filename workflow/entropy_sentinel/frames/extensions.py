"""What the package and its extensions declare, by kind: how the core finds analyses, judges, log formats and so on.

An extension is a package or a module with functions named as in `KINDS`. Each takes no arguments and returns
declarations by name; the functions of the packages in it count as well:

    def judges():
        from mine.web import WebJudge

        return {"web": WebJudge}

This package is the first extension. Others are named by entry points of the group `entropy_sentinel`, by the key
`extensions` of a study's config, and by the environment variable ENTROPY_SENTINEL_EXTENSIONS, which has modules and
folders, separated as in PATH. Jobs and processes inherit the variable. Catalogues read the declarations when they are
imported, so a module that declares imports them only inside its functions.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from inspect import isfunction
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, NamedTuple

from entropy_sentinel.frames.errors import ConfigError

PACKAGE = "entropy_sentinel"
VARIABLE = "ENTROPY_SENTINEL_EXTENSIONS"

# The functions of a declaring module, and what their declarations are.
KINDS: Mapping[str, str] = {
    "analyses": "analysis: a subclass of frames.analysis.Analysis, with rules.smk beside the module",
    "signals": "family of signals: a frames.signals.Family",
    "features": "feature: a features.feature.Feature",
    "estimators": "family of estimators: an estimators.family.Family",
    "judges": "kind of judge: a subclass of judges.kind.Kind",
    "models": "kind of model: a subclass of engines.model.Model",
    "formats": "log format: a sources.logs.format.Format",
    "statistics": "statistic of a slice: a monitor.column.Statistic",
    "outputs": "output of a monitor: a monitor.showing.output.Output",
    "prompts": "prompt for models: a chat.settings.Prompt",
    "judge_prompts": "prompt for judges: a chat.settings.Prompt",
    "benchmarks": "benchmark: its section of the config, a dict",
    "commands": "subcommand: a Typer function or a Typer app",
}


class TooLateError(ConfigError):
    """The process read the declarations before it knew of an extension; processes that it starts have the extension."""


class Declaring(NamedTuple):
    """A module, and its functions named as in `KINDS`, by name."""

    module: ModuleType
    functions: Mapping[str, Callable[[], Any]]


class Extension(NamedTuple):
    """An extension that was imported: its first module, and all that may declare."""

    top: ModuleType
    modules: list[Declaring]


class Loaded(NamedTuple):
    """The extensions of this process, this package first, and a line for each that failed."""

    extensions: list[Extension]
    failures: list[str]


def declared(kind: str) -> dict[str, Any]:
    """Return the declarations of a kind by name, this package's first.

    Raises ConfigError if two modules declare the same name. A failed extension is skipped: see `failures`.
    """
    return {name: value for name, (value, _) in _declared(kind).items()}


def module_of(kind: str, name: str) -> str:
    """Return the name of the module that declares `name`."""
    return _declared(kind)[name][1].__name__


def folder_of(kind: str, name: str) -> Path:
    """Return the folder of the module that declares `name`."""
    return _file(_declared(kind)[name][1]).parent


def declaring(kind: str) -> list[str]:
    """Return the names of the modules of extensions that declare something of a kind, without this package's."""
    found = dict.fromkeys(module.__name__ for _, module in _declared(kind).values())
    return [name for name in found if name.partition(".")[0] != PACKAGE]


def failures() -> list[str]:
    """Return a line for each extension that could not be imported, or whose declarations are wrong."""
    return list(_loaded().failures)


def roots() -> dict[str, Path]:
    """Return the file of each extension's first module, this package's included, by its name."""
    return {extension.top.__name__: _file(extension.top) for extension in _loaded().extensions}


def full_name(module: str) -> str:
    """Return the full name of a module, which may be given relative to this package: `stages.label`."""
    return module if module.partition(".")[0] in roots() else f"{PACKAGE}.{module}"


def imported(module: str) -> ModuleType:
    """Import a module by the name that `full_name` takes."""
    return import_module(full_name(module))


def use(names: Iterable[str]) -> None:
    """Add extensions for this process and those that it starts: folders, relative to the working folder, or modules.

    Raises ConfigError for a missing folder, and TooLateError if this process already read the declarations without
    them.
    """
    given = _given()
    new = [place for place in map(_place, names) if place not in given]
    if not new:
        return
    os.environ[VARIABLE] = os.pathsep.join([*given, *new])
    if _loaded.cache_info().currsize:
        raise TooLateError(
            f"extensions: this process read its catalogues without {', '.join(new)}; set the environment variable "
            f"{VARIABLE}={os.environ[VARIABLE]} before Python starts"
        )


def _given() -> list[str]:
    return list(filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)))


def _place(name: str) -> str:
    """Return the absolute path of a folder, or the name of a module as it is."""
    if Path(name).is_dir():
        return str(Path(name).resolve())
    if not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", name):
        raise ConfigError(f"extensions: must be a folder or the name of a module, was '{name}', which is no folder")
    return name


@cache
def _declared(kind: str) -> dict[str, tuple[Any, ModuleType]]:
    extensions, problems = _loaded()
    found: dict[str, tuple[Any, ModuleType]] = {}
    for extension in extensions:
        for module, functions in extension.modules:
            if kind not in functions:
                continue
            for name, value in _returned(module, functions[kind], problems).items():
                if name in found:
                    both = " and ".join(f"{one.__name__} ({_file(one)})" for one in (found[name][1], module))
                    raise ConfigError(f"two extensions declare '{name}' in {kind}(): {both}; rename one of them")
                found[name] = value, module
    return found


def _returned(module: ModuleType, function: Callable[[], Any], problems: list[str]) -> Mapping[str, Any]:
    """Return what a function of a module returns; empty if it fails, which becomes one of `problems`."""
    try:
        values: Any = function()
        if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
            raise TypeError(f"must return a dict by name, returned {values!r:.100}")
    except Exception as error:
        if module.__name__.partition(".")[0] == PACKAGE:
            raise
        problems.append(f"{_failed(module.__name__, error, _file(module))} (in {function.__name__}())")
        return {}
    return values


@cache
def _loaded() -> Loaded:
    loaded = Loaded([_imported(PACKAGE)], [])
    given = dict.fromkeys([*(entry.value for entry in entry_points(group=PACKAGE)), *_given()])
    for name in given:
        try:
            loaded.extensions.append(_checked(_imported(name)))
        except Exception as error:
            loaded.failures.append(_failed(name, error))
    return loaded


def _imported(name: str) -> Extension:
    folder = Path(name)
    if folder.is_absolute():
        # At the end, so that the folders beside it hide no package.
        sys.path += [str(folder.parent)] if str(folder.parent) not in sys.path else []
    top = import_module(folder.name if folder.is_absolute() else name)
    if folder.is_absolute() and (not top.__file__ or _file(top).parent.resolve() != folder):
        raise ImportError(
            f"its folder must have a file __init__.py, and a name that no other module has; '{folder.name}' is "
            f"{top.__file__ or 'a folder without __init__.py'}"
        )
    return Extension(top, list(_declaring(top)))


def _declaring(module: ModuleType) -> Iterator[Declaring]:
    """Yield a module and the packages in it."""
    # A package in it may have the name of one of its functions, and replaces it as an attribute when it is imported.
    yield Declaring(
        module, {name: value for name, value in vars(module).items() if name in KINDS and isfunction(value)}
    )
    for entry in iter_modules(getattr(module, "__path__", ()), f"{module.__name__}."):
        if entry.ispkg:
            yield from _declaring(import_module(entry.name))


def _checked(extension: Extension) -> Extension:
    """Return the extension; raise ImportError if it declares nothing, or seems to have a misspelt function."""
    for module, _ in extension.modules:
        if getattr(module.__spec__, "_initializing", False):
            raise ImportError(f"{module.__name__} imports this package's catalogues; import them inside its functions")
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
        for name in own:
            if name not in KINDS and (near := get_close_matches(name, KINDS, n=1, cutoff=0.8)):
                raise ImportError(f"{module.__name__} has a function `{name}`; did you mean `{near[0]}`?")
    if not any(functions for _, functions in extension.modules):
        raise ImportError(f"it declares nothing; it must have a function of these names: {', '.join(KINDS)}")
    return extension


def _failed(name: str, error: Exception, file: Path | None = None) -> str:
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    # The last place that is neither this file nor Python's import system.
    where = [f"{path}:{line}" for path, line in frames if path != __file__ and not path.startswith("<frozen")]
    if isinstance(error, SyntaxError) and error.filename:
        where = [f"{error.filename}:{error.lineno}"]
    place = where[-1] if where else file or name
    return f"extension '{name}' was not loaded: {place}: {type(error).__name__}: {error}"


def _file(module: ModuleType) -> Path:
    assert module.__file__ is not None  # only packages with an __init__.py and modules are imported
    return Path(module.__file__)
