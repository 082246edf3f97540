"""The identity of a job's code: a hash of every module that its script imports, in a normal form.

Snakemake's own trigger looks at the script file alone, and at its modification time. Here a real edit anywhere in the
import closure counts, and a comment, a docstring, the layout, a touched file or another kind of error does not.
"""

from functools import cache
from pathlib import Path

from entropy_sentinel.jobs.sources import PACKAGE, read_source

_ROOT = Path(__file__).parents[2]


def fingerprint(script: str, *more: str) -> list[str]:
    """`file hash` for a script, each module of the package that it imports, and `more`, sorted.

    `script` is a file of `workflow/scripts`, or with a slash in it a path relative to `workflow/`. `more` is what the
    imports do not show: dotted names of modules that are imported by name, with all that they import, and paths of
    files relative to the package, such as a template, whose content counts. FileNotFoundError where one is not there.

    Files are named relative to `workflow/`, hashes are 12 hex digits of SHA-256. Given to a rule as one parameter
    each, so that Snakemake's reason for a rerun names just the files that changed.
    """
    found: dict[Path, None] = {}
    waiting = [
        _ROOT / (script if "/" in script else f"scripts/{script}"),
        *(file for name in more for file in _named(name)),
    ]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = None
            waiting.extend(_imported_modules(path))
    return sorted(f"{path.relative_to(_ROOT).as_posix()} {read_source(path).hash}" for path in found)


@cache
def _imported_modules(path: Path) -> list[Path]:
    """Files of the package that `path` imports anywhere in it, the packages' `__init__.py` included."""
    return [file for name in read_source(path).imports for file in _files(name)]


def _named(name: str) -> list[Path]:
    """The files behind one of `more`."""
    if not name.startswith(f"{PACKAGE}."):
        return [_ROOT / PACKAGE / name]
    path = _ROOT.joinpath(*name.split("."))
    if not path.with_suffix(".py").is_file() and not (path / "__init__.py").is_file():
        raise FileNotFoundError(f"{name}: the package has no such module")
    return _files(name)


def _files(module: str) -> list[Path]:
    """The module's file and the `__init__.py` of the packages around it; none for a name inside a module."""
    path = _ROOT.joinpath(*module.split("."))
    parts = module.split(".")
    around = [_ROOT.joinpath(*parts[:end], "__init__.py") for end in range(1, len(parts))]
    candidates = [*around, path.with_suffix(".py"), path / "__init__.py"]
    return [candidate for candidate in candidates if candidate.is_file()]
