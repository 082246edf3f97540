"""Models in local folders: the identity of their weights, by content, and GGUF files, which vLLM does not load."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

# Files up to this size are hashed whole, larger ones in blocks at equal distances: this happens whenever the workflow
# is planned, and 16 GB of weights must not take a minute each time.
_WHOLE_BYTES = 64 * 2**20
_BLOCK_BYTES = 64 * 2**10
_BLOCKS = 256


def fingerprint_folder(folder: str) -> str:
    """12 hex digits of a hash over names, sizes and contents of a model folder's files, except `*.md`."""
    files = [path for path in sorted(Path(folder).iterdir()) if path.is_file() and path.suffix != ".md"]
    return _hash_files(tuple((path, path.stat().st_size, path.stat().st_mtime_ns) for path in files))


@cache
def _hash_files(files: tuple[tuple[Path, int, int], ...]) -> str:
    """A hash of the names, sizes and contents (parts of large files) of `files`, each with size and time of change."""
    digest = hashlib.sha256()
    for path, size, _ in files:
        digest.update(json.dumps([path.name, size]).encode())
        for block in _read_blocks(path, size):
            digest.update(block)
    return digest.hexdigest()[:12]


def _read_blocks(path: Path, size: int) -> Iterator[bytes]:
    """Yield a small file in whole, or blocks of a large one at equal distances; the last one ends with the file."""
    starts: Sequence[int] = range(0, size, _BLOCK_BYTES)
    if size > _WHOLE_BYTES:
        step = (size - _BLOCK_BYTES) / (_BLOCKS - 1)
        starts = [round(number * step) for number in range(_BLOCKS)]
    with path.open("rb") as file:
        for start in starts:
            file.seek(start)
            yield file.read(_BLOCK_BYTES)


GGUF_END = ".gguf"
# Weights that vLLM loads.
_LOADABLE_PATTERNS = ("*.safetensors", "*.bin", "*.pt")


def find_gguf_problem(path: str) -> str | None:
    """What a model's path must be, if it is a GGUF file or a folder with only such weights; else None."""
    location = Path(path)
    if location.suffix.lower() == GGUF_END:
        problem = f"'{path}' is a GGUF file"
    elif files := sorted(file.name for file in location.glob("*") if file.suffix.lower() == GGUF_END):
        if any(any(location.glob(pattern)) for pattern in _LOADABLE_PATTERNS):
            return None
        problem = f"'{path}' has only a GGUF file, '{files[0]}'"
    else:
        return None
    return (
        f"must be a folder of safetensors with a config.json; {problem}: convert it to that form with Transformers, "
        "or serve it with llama.cpp and name the server with 'api' instead of 'path' (docs/inputs.md, 'A GGUF file')"
    )
