"""What one source file is to the identity of a job's code: its hash in the normal form, and what it imports.

Every start of Snakemake reads some 200 files, and every job on a cluster starts Snakemake: to parse them takes a
second. So what a content is, is kept in a file in the user's cache folder, which only saves that time.
"""

import ast
import hashlib
import json
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from entropy_sentinel.frames.caches import user_folder
from entropy_sentinel.jobs import normal_form as form

PACKAGE = "entropy_sentinel"
# A file of this length, of some thousand contents, begins anew.
_MOST_BYTES = 1 << 20
# What a folder that cannot be used raises, and a user without a home.
_NO_FOLDER = (OSError, RuntimeError)


class Source(NamedTuple):
    """12 hex digits of SHA-256, and the dotted names of the package that it may import anywhere in it."""

    hash: str
    imports: tuple[str, ...]


@cache
def read_source(path: Path) -> Source:
    """What a file is; of one that is not Python its content counts, and it imports nothing."""
    content = path.read_bytes()
    if path.suffix != ".py":
        return Source(_digest(content), ())
    key = _digest(_rules(), content)
    if key not in (kept := _kept()):
        kept[key] = _parsed(ast.parse(content, filename=str(path)))
        _keep(key, kept[key])
    return kept[key]


def _parsed(tree: ast.Module) -> Source:
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    own = (name for name in names if name.split(".")[0] == PACKAGE)
    return Source(_digest(form.normal_form(tree).encode()), tuple(dict.fromkeys(own)))


def _digest(*contents: bytes) -> str:
    return hashlib.sha256(b"".join(contents)).hexdigest()[:12]


@cache
def _rules() -> bytes:
    """What the answer depends on beside the content: this code."""
    return b"".join(Path(file).read_bytes() for file in (__file__, str(form.__file__)))


@cache
def _kept() -> dict[str, Source]:
    """What has been kept, by content. A line that another process has not ended is as good as none."""
    found: dict[str, Source] = {}
    with suppress(*_NO_FOLDER):
        for line in _file().read_bytes().splitlines():
            with suppress(ValueError, TypeError):
                key, digest, *imports = json.loads(line)
                found[key] = Source(digest, tuple(imports))
    return found


def _keep(key: str, source: Source) -> None:
    with suppress(*_NO_FOLDER):
        file = _file()
        file.parent.mkdir(parents=True, exist_ok=True)
        full = file.is_file() and file.stat().st_size > _MOST_BYTES
        with file.open("wb" if full else "ab", buffering=0) as lines:
            lines.write(json.dumps([key, source.hash, *source.imports]).encode() + b"\n")


def _file() -> Path:
    return user_folder() / "sources.jsonl"
