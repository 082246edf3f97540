"""An estimator's parameters as bytes and back, in skops' form with all left out that could run code.

skops builds what a file names: it imports, calls functions, binds methods. Here a file may hold numbers, texts, lists,
tuples, dicts with texts as keys, arrays of numbers, and objects of the classes that a family names in its `SAVED`.
The description of all else is refused before anything of it is imported or built.
"""

import io
import json
import sys
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

import polars as pl

from entropy_sentinel.estimators.catalogue import family_of, modules
from entropy_sentinel.estimators.estimator import Estimator
from entropy_sentinel.estimators.reproducible import reproducible
from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.signals.catalogue import SIGNALS

_SCHEMA = "schema.json"
_BRINGS_TORCH = "sklearn.externals.array_api_compat.torch"
# Far more than any estimator has: what is packed may be a thousand times as large when it is unpacked.
_MOST_BYTES = 1 << 30
# Responses that an estimator must have numbers for; no feature of real ones is negative or without end.
_TRIAL = pl.DataFrame({name: [0.1, 0.5, 0.9] for name in SIGNALS})

Node = Mapping[str, Any]


class NotPlain(Exception):
    """Parameters hold what is no part of an estimator; the message says what."""


def saved_classes(name: str) -> tuple[type, ...]:
    """The classes that an estimator's file may hold, its own first: what its family and those of its parts declare.

    Raises NotPlain for an unknown estimator, and where a family declares none.
    """
    try:
        own = family_of(name).module
    except (ConfigError, TypeError):  # a forged file's name may be no text
        raise NotPlain(f"is called {name!r}, and no estimator is") from None
    found: dict[type, None] = {}
    for module in (own, *modules([name])):
        declared = getattr(import_module(module), "SAVED", ())
        if not declared:
            raise NotPlain(f"{module} must name the classes that its files hold, its estimator's first: SAVED = (...,)")
        found |= dict.fromkeys(declared)
    return tuple(found)


def dump(estimator: Estimator) -> bytes:
    """The parameters as bytes; NotPlain where `restore` would refuse them."""
    try:
        payload = reproducible(_skops().dumps(estimator))
    except Exception as error:  # whatever skops has no form for: a lock, an open file
        raise NotPlain(f"holds what cannot be saved ({type(error).__name__}: {error})") from None
    restore(payload, estimator.name)
    return payload


def restore(payload: bytes, name: str) -> Estimator:
    """The estimator `name` from its parameters; NotPlain for what it cannot consist of, before any of it is built."""
    skops, classes = _skops(), saved_classes(name)
    try:
        _check(payload, classes)
        estimator = skops.loads(payload, trusted=list(classes))
    except NotPlain:
        raise
    except Exception as error:  # a forged file can be wrong in any place that skops looks at
        raise NotPlain(f"cannot be read ({type(error).__name__}: {error})") from None
    if type(estimator) is not classes[0]:
        raise NotPlain(f"holds a {_path(type(estimator))} in the place of the {_path(classes[0])} that '{name}' is")
    if (called := getattr(estimator, "name", None)) != name:
        raise NotPlain(f"holds the estimator {called!r} in the place of '{name}'")
    assert isinstance(estimator, Estimator)
    _try(estimator)
    return estimator


def _skops() -> ModuleType:
    """skops.io, imported late and without torch: it looks through scikit-learn, where one module brings that, seconds.

    For as long as the import takes, that module counts as absent, as it is where torch is not installed.
    """
    if absent := _BRINGS_TORCH not in sys.modules:
        sys.modules[_BRINGS_TORCH] = None  # type: ignore[assignment]
    try:
        return import_module("skops.io")
    finally:
        if absent:
            del sys.modules[_BRINGS_TORCH]


def _try(estimator: Estimator) -> None:
    """Numbers in all places show what types do not: a text for a threshold, a tree that leads nowhere."""
    try:
        accuracy, p = estimator.accuracy(_TRIAL), estimator.p_correct(_TRIAL)
        if not -1e-9 <= accuracy <= 1 + 1e-9 or (p is not None and not (len(p) == len(_TRIAL) and (p >= 0).all())):
            raise ValueError("its estimates are no shares")
    except Exception as error:  # the first thing that does not fit the next, wherever that is
        raise NotPlain(f"cannot estimate ({type(error).__name__}: {error})") from None


def _check(payload: bytes, classes: Collection[type]) -> None:
    """NotPlain for any part of the description that is not plain."""
    from skops.io._protocol import PROTOCOL

    declared = {(one.__module__, one.__qualname__) for one in classes}
    with zipfile.ZipFile(io.BytesIO(payload)) as packed:
        sizes = {one.filename: one.file_size for one in packed.infolist()}
        n_bytes = _bounded(sizes[_SCHEMA])
        schema = json.loads(packed.read(_SCHEMA))
    # Nodes of older forms are built in other ways.
    if type(schema["protocol"]) is not int or schema["protocol"] != PROTOCOL:
        raise NotPlain(f"is of skops' form {schema['protocol']!r}, must be {PROTOCOL}")
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        waiting += _parts(node, declared)
        # A file counts as often as it is read.
        n_bytes = _bounded(n_bytes + sizes[node["file"]] if "file" in node else n_bytes)


def _bounded(n_bytes: int) -> int:
    if n_bytes > _MOST_BYTES:
        raise NotPlain(f"has {n_bytes:,} bytes of parameters when they are unpacked, at most {_MOST_BYTES:,} can be")
    return n_bytes


def _parts(node: Node, declared: Collection[tuple[str, str]]) -> Iterator[Node]:
    """The nodes within a node; NotPlain where the node itself is not plain."""
    kind, whose = node["__loader__"], (node["__module__"], node["__class__"])
    if kind not in _KINDS:
        raise NotPlain(f"holds a {'.'.join(map(str, whose))} ({kind}), which is no part of an estimator")
    allowed, parts = _KINDS[kind]
    if whose not in (declared if allowed is None else allowed):
        raise NotPlain(f"holds a {'.'.join(map(str, whose))}, which is no part of an estimator")
    return parts(node)


def _within_dict(node: Node) -> Iterator[Node]:
    for key in node["key_types"]["content"]:
        if (key["__loader__"], key["__module__"], key["__class__"]) != ("TypeNode", "builtins", "str"):
            what = f"{key['__module__']}.{key['__class__']}"
            raise NotPlain(f"holds a dict with a {what} for a key, which is no part of an estimator")
    yield node["key_types"]
    yield from node["content"].values()


def _within_array(node: Node) -> Iterator[Node]:
    if node["type"] != "numpy":
        raise NotPlain("holds an array of objects, which is no part of an estimator")
    yield from ()


def _path(one: type) -> str:
    return f"{one.__module__}.{one.__qualname__}"


def _of(module: str, *names: str) -> set[tuple[str, str]]:
    return {(module, name) for name in names}


# By the kind of a node in skops' description: of which classes it may be (None: those that families declare), and
# the nodes within it. What has no line here calls something, or builds what no estimator needs.
_KINDS: dict[str, tuple[Collection[tuple[str, str]] | None, Callable[[Node], Iterator[Node]]]] = {
    "ObjectNode": (None, lambda node: iter([node["content"]])),
    "DictNode": (_of("builtins", "dict"), _within_dict),
    "ListNode": (_of("builtins", "list"), lambda node: iter(node["content"])),
    "TupleNode": (_of("builtins", "tuple"), lambda node: iter(node["content"])),
    "NdArrayNode": (_of("numpy", "ndarray", "float64", "int64", "bool"), _within_array),
    "JsonNode": (_of("builtins", "str"), lambda _: iter(())),
    "TypeNode": (_of("builtins", "str"), lambda _: iter(())),  # of a dict's keys
}
