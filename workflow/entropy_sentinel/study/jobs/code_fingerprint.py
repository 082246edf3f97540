"""The identity of a job's code: a hash of each folder of the package that its module imports from.

Snakemake's own trigger checks only the script file and its modification time. Here any edit in these folders reruns
the job, except edits to comments, docstrings, layout and assertions. Jobs that cost GPU time or money depend on a
version instead (GENERATION_VERSION and so on in schemas/). The core does not count, because it decides no value.
"""

import dis
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from types import CodeType
from typing import NamedTuple

from entropy_sentinel.core.extensions import find_roots, list_declaring_modules, qualify_name

_ROOT = Path(__file__).parents[2]
# Each module in this folder is a separate unit, because together the stages import every other folder.
_STAGES = _ROOT / "study" / "stages"
# How files are written, locked and sent, how extensions are found, how errors read: never a value in a result.
_CORE = "core"
# The code with which a family of signals asks the model again, in a folder of this name: the version of its pass
# stands for it.
_REQUERY = "requery"
# Kinds of declarations whose code runs in the jobs that import their catalogue, the module that loads them all by name.
# Signals have jobs of their own, and a version stands for the code of models, judges and formats.
_RUN_WITH_CATALOGUE = {"features", "estimators", "statistics", "outputs"}
# Kinds whose declaring functions lead to code of other jobs: rules name the functions of an analysis themselves.
_RUN_ELSEWHERE = {"analyses", "judges", "models", "formats", "prompts", "judge_prompts", "benchmarks", "commands"}
# What no job's code reads: rules, which Snakemake follows itself, texts, and an extension's tests and example data.
_NOT_READ = {".smk", ".yaml", ".md", ".toml"}
_NOT_CODE = {"tests", "example"}
# The functions with which a catalogue reads declarations (core/registry_entries.py, core/extensions.py).
_DECLARATIONS = frozenset({"load_entries", "load_declarations"})
_NOP = bytes([dis.opmap["NOP"], 0])
_IMPORT = dis.opmap["IMPORT_NAME"]


class _Unit(NamedTuple):
    """What is hashed together: a folder, or the file of a stage's module or of an extension in one file.

    `hash` are 12 hex digits of SHA-256; `imports` are the paths of the units that it imports from.
    """

    hash: str
    imports: frozenset[Path]


def fingerprint_code(*modules: str) -> list[str]:
    """`folder hash` for the folders of `modules` and all that they import from, directly or not, sorted.

    `modules` are dotted names below the package, such as `study.stages.feature_stage`, or full names of an extension's
    modules; a name of a folder stands for that folder. Besides Python files, templates and other data in a folder
    count. Raises FileNotFoundError for an unknown module.
    """
    units: dict[Path, str] = {}
    queue = [_find_unit(qualify_name(name)) for name in modules]
    while queue:
        path = queue.pop()
        if path not in units and path != _ROOT / _CORE and path.name != _REQUERY:
            units[path], imports = _read_unit(path)
            queue.extend(imports)
    return sorted(f"{_format_path(path)} {digest}" for path, digest in units.items())


@cache
def _find_extension_paths() -> dict[str, Path]:
    """The folder of each extension, this package's included, or the file of one that is a file, by its name."""
    files = find_roots().items()
    return {name: file.parent if file.name == "__init__.py" else file for name, file in files}


def _format_path(path: Path) -> str:
    """A path below this package, `study/jobs`, or below an extension, whose name begins it, `mine/tables`."""
    for name, top in _find_extension_paths().items():
        if top in (path, *path.parents):
            folder = Path() if top == _ROOT else Path(*name.split("."))
            return (folder / path.relative_to(top)).as_posix()
    raise AssertionError(f"{path} is in no extension")


def _find_unit(module: str) -> Path:
    """The path of the unit of a module, by the module's full name."""
    path = _try_find_unit(module)
    if path is None:
        raise FileNotFoundError(f"{module}: the package has no such module")
    return path


def _try_find_unit(module: str) -> Path | None:
    """The path of a module's unit, what is hashed together: the module's folder, or its file alone.

    None if neither the package nor an extension has the module.
    """
    for name, top in _find_extension_paths().items():
        if f"{module}.".startswith(f"{name}."):
            path = top.joinpath(*module.removeprefix(name).split(".")[1:])
            file = path.with_suffix(".py")
            if file.is_file():
                # Each stage is a unit of its own, and so is an extension of one file.
                is_unit = file.parent == _STAGES or file == top
                return file if is_unit else file.parent
            return path if path.is_dir() else None
    return None


@cache
def _read_unit(path: Path) -> _Unit:
    """The hash and the imports of the unit at `path`, a file, or a folder with the data folders below it.

    Folders with Python files are units of their own.
    """
    digest, imports = hashlib.sha256(), set[Path]()
    for file in _list_files(path):
        digest.update(_format_path(file).encode())
        content = file.read_bytes()
        if file.suffix == ".py":
            code = compile(content, file.name, "exec", dont_inherit=True, optimize=2)
            for part in _describe_behaviour(code):
                digest.update(part.encode())
            if _ROOT in file.parents:
                imports |= {_find_unit(name) for name in _find_imports(code)}
            else:  # an extension imports other packages, too, which are in no unit
                possible_modules = _find_extension_imports(code, _name_package(file))
                imports |= set(filter(None, map(_try_find_unit, possible_modules)))
        else:
            digest.update(content)
    return _Unit(digest.hexdigest()[:12], frozenset(imports - {path}))


def _list_files(path: Path) -> Iterator[Path]:
    """Yield the files of the unit at `path`; a folder in it with Python files of its own is another unit."""
    if path.is_file():
        yield path
        return
    for entry in sorted(path.iterdir()):
        if entry.is_dir():
            is_read = entry.name not in _NOT_CODE and not entry.name.startswith(("_", "."))
            if is_read and not any(entry.glob("*.py")):
                yield from _list_files(entry)
        elif entry.suffix not in _NOT_READ:
            yield entry


def _describe_behaviour(code: CodeType) -> Iterator[str]:
    """Yield texts that together describe the behaviour of compiled code, without line numbers."""
    # The compiler leaves a NOP where a docstring stood: it is left out, and the offsets of exception handlers are
    # counted from the end.
    steps = code.co_code
    if _NOP in steps:
        instructions = [steps[offset : offset + 2] for offset in range(0, len(steps), 2)]
        steps = b"".join(instruction for instruction in instructions if instruction != _NOP)
    if code.co_exceptiontable:
        size = len(code.co_code)
        for entry in dis.Bytecode(code).exception_entries:  # type: ignore[attr-defined]  # typeshed lacks it
            yield f"{size - entry.start} {size - entry.end} {size - entry.target} {entry.depth} {entry.lasti}"
    yield f"{steps!r} {code.co_names} {code.co_varnames} {code.co_freevars} {code.co_cellvars}"
    yield f"{code.co_flags} {code.co_argcount} {code.co_posonlyargcount} {code.co_kwonlyargcount}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _describe_behaviour(constant)
        else:
            # The order of a set's elements changes from process to process.
            yield repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant)


def _find_imports(code: CodeType) -> Iterator[str]:
    """Yield the modules that compiled code of the package imports anywhere, by their full names.

    It imports no extension by name, but a catalogue, such as `load_entries("features")`, loads the declarations of all.
    """
    for name in code.co_names:
        package, *inner = name.split(".")
        if package == _ROOT.name:
            if inner:
                yield name
            # `from entropy_sentinel.study.analyses.accuracy import tables`: the last name may be a folder, too.
            folder = _ROOT.joinpath(*inner)
            if folder.is_dir():
                members = [member for member in code.co_names if (folder / member).is_dir()]
                yield from (f"{name}.{member}" for member in members)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _find_imports(constant)
        elif _DECLARATIONS.intersection(code.co_names) and constant in _RUN_WITH_CATALOGUE:
            yield from list_declaring_modules(constant)


def _name_package(file: Path) -> str:
    """The name of the package that has a file of an extension, or of the module that is the whole extension."""
    is_whole_extension = file in _find_extension_paths().values()
    path = _format_path(file if is_whole_extension else file.parent)
    return path.replace("/", ".")


def _find_extension_imports(code: CodeType, package: str) -> Iterator[str]:
    """Yield the modules that compiled code of an extension imports anywhere, and names that may be modules in them.

    `package` is the extension's package, from which relative imports count.
    """
    steps = []
    if _IMPORT in code.co_code[::2]:  # most functions import nothing
        steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
    # An import is three instructions: load the number of leading dots, load the imported names, IMPORT_NAME module.
    for level, names, step in zip(steps, steps[1:], steps[2:], strict=False):
        if step.opname == "IMPORT_NAME":
            module = resolve_name("." * level.argval + step.argval, package)
            possible_modules = [f"{module}.{name}" for name in names.argval or ()]
            yield from possible_modules
            imports_only_modules = possible_modules and all(map(_try_find_unit, possible_modules))
            if module != _ROOT.name and not imports_only_modules:
                yield module
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and not (code.co_name == "<module>" and constant.co_name in _RUN_ELSEWHERE):
            yield from _find_extension_imports(constant, package)
