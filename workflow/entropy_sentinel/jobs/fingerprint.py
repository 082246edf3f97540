"""The identity of a job's code: a hash of each folder of the package that its module imports from.

Snakemake's own trigger checks only the script file and its modification time. Here any edit in these folders reruns
the job, except edits to comments, docstrings, layout and assertions. Jobs that cost GPU time or money depend on a
version instead (GENERATION_VERSION and so on in frames/).
"""

import dis
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType
from typing import NamedTuple

_PACKAGE = "entropy_sentinel"
_ROOT = Path(__file__).parents[1]
# Each module in this folder is a separate unit, because together the stages import every other folder.
_STAGES = "stages"
_NOP = bytes([dis.opmap["NOP"], 0])


class _Unit(NamedTuple):
    """12 hex digits of SHA-256 of a folder, or of a stage's module, and the units that it imports from."""

    hash: str
    imports: frozenset[Path]


def fingerprint(*modules: str) -> list[str]:
    """Return `folder hash` for the folders of `modules` and all that they import from, directly or not, sorted.

    `modules` are dotted names below the package, such as `stages.feature`; a name of a folder stands for that folder.
    Besides Python files, templates and other data in a folder count. Raises FileNotFoundError for an unknown module.
    """
    units: dict[Path, str] = {}
    waiting = [_place(name) for name in modules]
    while waiting:
        place = waiting.pop()
        if place not in units:
            units[place], imports = _read(place)
            waiting.extend(imports)
    return sorted(f"{place.relative_to(_ROOT).as_posix()} {digest}" for place, digest in units.items())


def _place(module: str) -> Path:
    """Return the folder of a module, or its file if the file is a unit of its own."""
    path = _ROOT.joinpath(*module.removeprefix(f"{_PACKAGE}.").split("."))
    file = path.with_suffix(".py")
    if file.is_file():
        return file if file.parent == _ROOT / _STAGES else file.parent
    if path.is_dir():
        return path
    raise FileNotFoundError(f"{module}: the package has no such module")


@cache
def _read(place: Path) -> _Unit:
    """Return the unit at `place`, with data folders below it; folders with Python files are units of their own."""
    digest, imports = hashlib.sha256(), set[Path]()
    for file in _files(place):
        digest.update(file.relative_to(_ROOT).as_posix().encode())
        content = file.read_bytes()
        if file.suffix == ".py":
            code = compile(content, file.name, "exec", dont_inherit=True, optimize=2)
            for part in _parts(code):
                digest.update(part.encode())
            imports |= {_place(name) for name in _imported(code)}
        else:
            digest.update(content)
    return _Unit(digest.hexdigest()[:12], frozenset(imports - {place}))


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
        return
    for path in sorted(place.iterdir()):
        if path.is_dir() and not path.name.startswith(("_", ".")) and not any(path.glob("*.py")):
            yield from _files(path)
        elif path.is_file() and path.suffix != ".smk":
            yield path


def _parts(code: CodeType) -> Iterator[str]:
    """Return the behaviour of a compiled module, without line numbers."""
    # The compiler leaves a NOP where a docstring stood: the places of handlers are counted from the end.
    steps = code.co_code
    if _NOP in steps:
        steps = b"".join(step for place in range(0, len(steps), 2) if (step := steps[place : place + 2]) != _NOP)
    if code.co_exceptiontable:
        size = len(code.co_code)
        for entry in dis.Bytecode(code).exception_entries:  # type: ignore[attr-defined]  # typeshed lacks it
            yield f"{size - entry.start} {size - entry.end} {size - entry.target} {entry.depth} {entry.lasti}"
    yield f"{steps!r} {code.co_names} {code.co_varnames} {code.co_freevars} {code.co_cellvars}"
    yield f"{code.co_flags} {code.co_argcount} {code.co_posonlyargcount} {code.co_kwonlyargcount}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)
        else:
            # The order of a set's elements changes from process to process.
            yield repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant)


def _imported(code: CodeType) -> Iterator[str]:
    """Yield the package's modules that compiled code imports anywhere, by their dotted names below the package."""
    for name in code.co_names:
        package, _, module = name.partition(".")
        if package == _PACKAGE:
            if module:
                yield module
            # `from entropy_sentinel.analyses.accuracy import tables`: the last name may be a folder, too.
            folder = _ROOT.joinpath(*module.split("."))
            if folder.is_dir():
                yield from (f"{module}.{other}".lstrip(".") for other in code.co_names if (folder / other).is_dir())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _imported(constant)
