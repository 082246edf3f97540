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

import contextlib
import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.extension_import import (
    CIRCLE,
    Extension,
    NameTakenError,
    PartialError,
    check_extension,
    describe_failure,
    find_outermost,
    get_module_file,
    import_extension,
)

PACKAGE = "entropy_sentinel"
VARIABLE = "ENTROPY_SENTINEL_EXTENSIONS"

# The functions of a declaring module, and what their declarations are.
KINDS: Mapping[str, str] = {
    "analyses": "analysis: a subclass of core.analysis.Analysis, with rules.smk beside the module",
    "signals": "family of signals: a schemas.signal_schema.Family",
    "features": "feature: a features.feature_declaration.Feature",
    "estimators": "family of estimators: an estimators.family_declaration.EstimatorFamily",
    "judges": "kind of judge: a subclass of judges.judge_base.Kind",
    "models": "kind of model: a subclass of study.engines.model_base.Model",
    "formats": "log format: a logs.format_declaration.Format",
    "statistics": "statistic of a slice: a monitor.column_declaration.Statistic",
    "outputs": "output of a monitor: a monitor.showing.output_declaration.Output",
    "prompts": "prompt for models: a llm_client.server_settings.Prompt",
    "judge_prompts": "prompt for judges: a llm_client.server_settings.Prompt",
    "benchmarks": "benchmark: its section of the config, a dict",
    "commands": "subcommand: a Typer function or a Typer app",
}


class TooLateError(ConfigError):
    """The process read the declarations before it knew of an extension; processes that it starts have the extension."""


class Failure(NamedTuple):
    """A line about an extension that failed, and whether the user named it: by the config's key or the variable."""

    line: str
    is_named_by_user: bool


class LoadedExtensions(NamedTuple):
    """The extensions of this process, this package first; the names of the others, and the failures."""

    extensions: list[Extension]
    names: list[str]
    failures: list[Failure]


def load_declarations(kind: str) -> dict[str, Any]:
    """The declarations of a kind, such as `judges` (see KINDS), by name, this package's first.

    Raises ConfigError if two modules declare the same name. A failed extension is skipped: see `list_failures`.
    """
    return {name: value for name, (value, _) in _load_kind(kind).items()}


def get_module_name(kind: str, name: str) -> str:
    """The name of the module that declares `name`."""
    return _load_kind(kind)[name][1].__name__


def get_folder(kind: str, name: str) -> Path:
    """The folder of the module that declares `name`."""
    return get_module_file(_load_kind(kind)[name][1]).parent


def get_home(kind: str, name: str) -> Path:
    """The folder of the outermost package that has the module that declares `name`."""
    return get_module_file(find_outermost(_load_kind(kind)[name][1])).parent


def describe_place(kind: str, name: str) -> str:
    """The module that declares `name`, and its file, for an error: `mine (/home/me/mine/__init__.py)`."""
    return _format_place(_load_kind(kind)[name][1])


def list_declaring_modules(kind: str) -> list[str]:
    """The names of the modules of extensions that have a function named as a kind, such as `judges()`."""
    _, *extensions = _load_extensions().extensions
    modules = [declaring for extension in extensions for declaring in extension.modules]
    return [module.__name__ for module, functions in modules if kind in functions]


def list_failures() -> list[str]:
    """A line for each extension that failed when this process imported it or read its declarations."""
    return [failure.line for failure in _collect_failures()]


def _collect_failures() -> list[Failure]:
    """The failures so far, each once; none if this process has not loaded its extensions yet."""
    is_loaded = _load_extensions.cache_info().currsize
    return list(dict.fromkeys(_load_extensions().failures)) if is_loaded else []


def append_failures(error: str) -> str:
    """An error and, on further lines, those of `list_failures` not in it: an extension may have what is unknown."""
    return "\n".join([error, *(line for line in list_failures() if line not in error)])


def explain_errors(errors: list[str]) -> str:
    """The text for `errors` of a config, after everything that is declared was read.

    If an extension that the user named has failed, the config's errors probably follow from it: names that it declares
    are unknown. The text is then only the cause.
    """
    causes = [failure.line for failure in _collect_failures() if failure.is_named_by_user]
    if not causes:
        return append_failures("\n".join(errors))
    follow = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
    return "\n".join([*causes, f"Correct this first: {follow} of the config may follow from it, and are not shown"])


def find_roots() -> dict[str, Path]:
    """The file of each extension's outermost package or only module, this package's included, by its name."""
    tops = [find_outermost(extension.top) for extension in _load_extensions().extensions]
    return {top.__name__: get_module_file(top) for top in tops}


def find_root(module: str) -> str | None:
    """The name in `find_roots` of the extension that has a module, given by its full name; None if none has it."""
    return next((root for root in find_roots() if f"{module}.".startswith(f"{root}.")), None)


def qualify_name(module: str) -> str:
    """The full name of a module, which may be given relative to this package: `study.stages.label_stage`."""
    return module if find_root(module) else f"{PACKAGE}.{module}"


def import_by_name(module: str) -> ModuleType:
    """Import a module by the name that `qualify_name` takes."""
    return import_module(qualify_name(module))


def add_extensions(names: Any) -> None:
    """Add extensions for this process and those that it starts: folders, relative to the working folder, or modules.

    `names` is the key `extensions` of a config. Raises ConfigError if it is no list of folders and modules, and
    TooLateError if this process already read the declarations without them.
    """
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"extensions: must be a list of folders and modules, such as [mine]; got {names!r:.100}")
    places = [_normalise_name(name) for name in names]
    os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys([*_list_from_environment(), *places]))
    is_loaded = _load_extensions.cache_info().currsize
    late = [place for place in places if is_loaded and place not in _load_extensions().names]
    if late:
        raise TooLateError(
            f"extensions: this process read its catalogues without {', '.join(late)}; start Python again with the "
            f"environment variable {VARIABLE}={os.environ[VARIABLE]}"
        )


def _list_from_environment() -> list[str]:
    """The extensions that the user named: modules, and absolute paths of folders. The config's key adds its own."""
    names = filter(None, os.environ.get(VARIABLE, "").split(os.pathsep))
    return [os.path.abspath(name) if os.path.isdir(name) else name for name in names]


def _normalise_name(name: str) -> str:
    """The absolute path of a folder, or the name of a module as it is; raises ConfigError for anything else."""
    if not name or not os.path.isdir(name):  # false also for a text that is too long for a path
        if re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", name) and not name.endswith(".py"):
            return name
        raise ConfigError(f"extensions: must be a folder or the name of a module, got '{name}', which is not a folder")
    folder = Path(os.path.abspath(name))
    if not folder.name.isidentifier() or os.pathsep in str(folder):
        raise ConfigError(
            f"extensions: a folder must have a name that Python can import (letters, digits, '_') and a path without "
            f"'{os.pathsep}', got '{folder}'; rename it"
        )
    if folder in (Path.cwd(), *Path.cwd().parents):
        raise ConfigError(
            f"extensions: '{folder}' contains the working folder, whose results would count as the extension's code; "
            "move the extension into a folder of its own"
        )
    return str(folder)


@cache
def _load_kind(kind: str) -> dict[str, tuple[Any, ModuleType]]:
    """The declarations of a kind by name, each with the module that declares it."""
    loaded = _load_extensions()
    found: dict[str, tuple[Any, ModuleType]] = {}
    for extension in loaded.extensions:
        for module, functions in extension.modules:
            if kind not in functions:
                continue
            for name, value in _call_declaration(module, functions[kind], loaded.failures).items():
                if name in found:
                    both = " and ".join(_format_place(one) for one in (found[name][1], module))
                    raise ConfigError(f"two extensions declare '{name}' in {kind}(): {both}; rename one of them")
                found[name] = value, module
    return found


def _call_declaration(module: ModuleType, function: Callable[[], Any], failures: list[Failure]) -> Mapping[str, Any]:
    """What a function of a module returns; nothing if it fails, which is added to `failures`."""
    try:
        with contextlib.redirect_stdout(sys.stderr):  # a command's output may be JSON
            values: Any = function()
        if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
            raise TypeError(f"must return a dict by name, returned {values!r:.100}")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit, which would end the process with its status
        if module.__name__.partition(".")[0] == PACKAGE:
            raise
        what = f"extension '{module.__name__}': {function.__name__}() failed"
        line = describe_failure(what, error, f"{get_module_file(module)}:{function.__code__.co_firstlineno}")
        failures.append(Failure(line, is_named_by_user=_is_from_environment(find_outermost(module).__name__)))
        return {}
    return values


def _is_from_environment(outermost: str) -> bool:
    """Whether the variable names the extension whose outermost package or module is `outermost`, or a module in it."""
    return outermost in [Path(name).name.partition(".")[0] for name in _list_from_environment()]


@cache
def _load_extensions() -> LoadedExtensions:
    """Import this package and all named extensions, once per process; failed ones are in `failures`."""
    package = import_extension(PACKAGE, KINDS)
    # In a clone of the repository, the further papers are beside the package.
    papers = get_module_file(package.top).parents[2] / "papers"
    further_papers = [str(papers)] if (papers / "__init__.py").is_file() else []
    names = list(
        dict.fromkeys(
            [*further_papers, *(entry.value for entry in entry_points(group=PACKAGE)), *_list_from_environment()]
        )
    )
    loaded = LoadedExtensions([package], names, [])
    seen = {module.__name__ for module, _ in package.modules}
    hidden = []  # folders by whose name Python finds another module
    for name in names:
        try:
            with contextlib.redirect_stdout(sys.stderr):
                top, modules = check_extension(import_extension(name, KINDS), KINDS)
        except PartialError:
            # Its import, which waits for this one, fails with the error.
            raise ImportError(CIRCLE) from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if isinstance(error, NameTakenError):
                hidden.append(Path(name))
            line = describe_failure(f"extension '{name}' was not loaded", error, name)
            loaded.failures.append(Failure(line, is_named_by_user=name in _list_from_environment()))
            continue
        # An extension may be named twice, by its folder and by an entry point.
        loaded.extensions.append(Extension(top, [one for one in modules if one.module.__name__ not in seen]))
        seen |= {module.__name__ for module, _ in modules}
    # The code of an extension with the name of such a folder would silently be used in its place.
    for folder in hidden:
        for module in (find_outermost(extension.top) for extension in loaded.extensions[1:]):
            if module.__name__ == folder.name:
                raise ConfigError(
                    f"extensions: the folder {folder} cannot be used, because {get_module_file(module)} is an "
                    "extension of the same name, and Python finds that one. Uninstall an installed copy, or install "
                    "the folder itself with pip install -e; of two folders, name or keep only one"
                )
    return loaded


def _format_place(module: ModuleType) -> str:
    return f"{module.__name__} ({get_module_file(module)})"
