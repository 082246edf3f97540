"""Functions compiled to machine code by numba, which is kept in the user's cache folder.

Compilation takes seconds, and a job that uses what is compiled often less. Machine code is kept per user, since whoever
can write it decides what runs; per kind of processor and content of the source file, since nodes, versions and copies
of the project share a home folder.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any

import llvmlite.binding
import numba

from entropy_sentinel.frames.files import user_folder, write_whole
from entropy_sentinel.frames.locks import locked


def compiled(signature: Any, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a function for this numba signature, when it is defined, or take it from the cache.

    `options` are numba's. The folder is `~/.cache/entropy-sentinel` (or in XDG_CACHE_HOME), or numba's own
    NUMBA_CACHE_DIR. Where it cannot be written, or what is in it cannot be used, the function is compiled for this
    process alone. It may call functions of its own file: numba looks for edits there and nowhere else.
    """

    def compile_or_load(function: Callable[..., Any]) -> Callable[..., Any]:
        compiled: Callable[..., Any]
        try:
            folder = _folder(Path(function.__code__.co_filename))
            # Jobs that start together compile a function once: the others wait and find it.
            with locked(folder / "lock"), _cached_in(folder):
                compiled = numba.njit(signature, cache=True, **options)(_placed(function, folder))
        except Exception:  # whatever is wrong with the cache; an error of the function itself is raised below
            compiled = numba.njit(signature, **options)(function)
        return compiled

    return compile_or_load


def _folder(source: Path) -> Path:
    """The folder of one source file's machine code for this processor."""
    processor = (llvmlite.binding.get_host_cpu_name(), llvmlite.binding.get_host_cpu_features().flatten())
    key = hashlib.sha256(repr((numba.__version__, *processor)).encode() + source.read_bytes()).hexdigest()[:12]
    return Path(numba.config.CACHE_DIR or user_folder(), f"{source.stem}-{key}")


def _placed(function: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    """The function as if its file stood in the folder, with a date that never changes.

    Numba keeps code per place and date of the file: each copy of the project would compile again.
    """
    source = Path(function.__code__.co_filename)
    place = folder / source.name
    if not place.exists():
        write_whole(place, source.read_text(encoding="utf-8"))
        os.utime(place, (0, 0))
    code = function.__code__.replace(co_filename=str(place))
    return FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)


@contextmanager
def _cached_in(folder: Path) -> Iterator[None]:
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before
