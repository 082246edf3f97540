"""Functions compiled to machine code by numba, which is kept in the user's cache folder.

Compilation takes seconds, and a job that uses what is compiled often less. Machine code is kept per user, since whoever
can write it decides what runs; per kind of processor and source file, since nodes and versions share a home folder.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba

from entropy_sentinel.frames.files import user_folder


def compiled(signature: Any, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a function for this numba signature, when it is defined, or take it from the cache.

    `options` are numba's. The folder is `~/.cache/entropy-sentinel` (or in XDG_CACHE_HOME), or numba's own
    NUMBA_CACHE_DIR. Where it cannot be written, or what is in it cannot be used, the function is compiled for this
    process alone. It may call functions of its own file: numba looks for edits there and nowhere else.
    """

    def compile_or_load(function: Callable[..., Any]) -> Callable[..., Any]:
        compiled: Callable[..., Any]
        try:
            with _cached_in(_folder(Path(function.__code__.co_filename))):
                compiled = numba.njit(signature, cache=True, **options)(function)
        except Exception:  # whatever is wrong with the cache; an error of the function itself is raised below
            compiled = numba.njit(signature, **options)(function)
        return compiled

    return compile_or_load


def _folder(source: Path) -> str:
    """The folder of one source file's machine code for this processor.

    One file of code per function and folder: processes that write at the same time write the same.
    """
    if numba.config.CACHE_DIR:
        return str(numba.config.CACHE_DIR)
    processor = (llvmlite.binding.get_host_cpu_name(), llvmlite.binding.get_host_cpu_features().flatten())
    key = hashlib.sha256(repr((numba.__version__, *processor)).encode() + source.read_bytes()).hexdigest()[:12]
    return str(user_folder() / f"{source.stem}-{key}")


@contextmanager
def _cached_in(folder: str) -> Iterator[None]:
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = folder
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before
