"""Functions compiled to machine code by numba, and cached in the user's cache folder.

Compilation takes seconds, often longer than the job that needs it. Machine code is cached per user, because anyone who
can write it decides what runs; and by processor type and source file content, because nodes, versions and copies of
the project share a home folder.

docs/design/0011 says why it is not in numba's own places.
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

from entropy_sentinel.core.cache_folders import user_folder
from entropy_sentinel.core.file_locks import hold_lock
from entropy_sentinel.core.whole_files import write_whole


def compile_cached(signature: Any, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that compiles a function for this numba signature when defined, or loads it from the cache.

    `options` are numba's. The folder is `~/.cache/entropy-sentinel` (or in XDG_CACHE_HOME), or numba's own
    NUMBA_CACHE_DIR. If it is not writable or its content is unusable, the function is compiled for this process only.
    It may only call functions of its own file, because numba detects edits only there.
    """

    def compile_or_load(function: Callable[..., Any]) -> Callable[..., Any]:
        compiled: Callable[..., Any]
        try:
            folder = _code_folder(Path(function.__code__.co_filename))
            # If jobs start together, one compiles and the others wait.
            with hold_lock(folder / "lock"), _use_cache_folder(folder):
                compiled = numba.njit(signature, cache=True, **options)(_relocate_function(function, folder))
        except Exception:  # whatever is wrong with the cache; an error of the function itself is raised below
            compiled = numba.njit(signature, **options)(function)
        return compiled

    return compile_or_load


def _code_folder(source: Path) -> Path:
    """The folder of a source file's machine code for this processor."""
    processor = (llvmlite.binding.get_host_cpu_name(), llvmlite.binding.get_host_cpu_features().flatten())
    key = hashlib.sha256(repr((numba.__version__, *processor)).encode() + source.read_bytes()).hexdigest()[:12]
    return Path(numba.config.CACHE_DIR or user_folder(), f"{source.stem}-{key}")


def _relocate_function(function: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    """The function as if its file were in the folder, with a constant date.

    Numba caches code by path and date of the file, so each copy of the project would compile again.
    """
    source = Path(function.__code__.co_filename)
    place = folder / source.name
    if not place.exists():
        write_whole(place, source.read_text(encoding="utf-8"))
        os.utime(place, (0, 0))
    code = function.__code__.replace(co_filename=str(place))
    return FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)


@contextmanager
def _use_cache_folder(folder: Path) -> Iterator[None]:
    """Let numba keep its cache in a folder during the block."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before
