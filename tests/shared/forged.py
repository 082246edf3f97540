"""Files of estimators as an attacker would make them: a good one with other parts, and the SHA-256 of these."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from entropy_sentinel.estimators.estimator_file import MAGIC

Json = Any


def parts(content: bytes) -> tuple[bytes, bytes]:
    """The header and the arrays of a file."""
    _, _, header, arrays = content.split(b"\n", 3)
    return header, arrays


def signed(header: bytes, arrays: bytes) -> bytes:
    """The file of a header and arrays."""
    content = header + b"\n" + arrays
    return b"\n".join([MAGIC, hashlib.sha256(content).hexdigest().encode(), content])


def forge(good: Path, target: Path, edit: Callable[[Json], Json], arrays: bytes | None = None, **about: Json) -> Path:
    """Write the file `good` to `target` with its parameters edited, and other arrays and fields of the header."""
    header, own = parts(good.read_bytes())
    message = json.loads(header)
    message = message | {"parameters": edit(message["parameters"])} | about
    target.write_bytes(signed(json.dumps(message).encode(), own if arrays is None else arrays))
    return target


def field(name: str, value: Json) -> Callable[[Json], Json]:
    """An edit that gives a field of the estimator itself another value."""
    return lambda parameters: {kind: fields | {name: value} for kind, fields in parameters.items()}
