"""Convert an estimator's parameters to JSON and arrays of numbers, and back. They cannot run code.

In the JSON, `{"Atc": {"threshold": 0.5, ...}}` is an object of a dataclass in its family's `SAVED`, `{"array": "0"}` an
array by its name, `{"dict": {...}}` a dict of plain JSON, and a list a tuple.
"""

import io
import json
import math
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np
import polars as pl

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.extension_guard import ExtensionError
from entropy_sentinel.core.printable import make_one_line
from entropy_sentinel.estimators.estimator_base import Estimator
from entropy_sentinel.estimators.estimator_registry import is_known, list_members, module_of
from entropy_sentinel.estimators.training_predictions import TrainingPredictions
from entropy_sentinel.signal_families.signal_registry import SIGNALS

# Prefix of the names of the arrays of training responses.
_TRAINING = "training_"
# Extreme responses for which an estimator must still return numbers; no real feature is negative or infinite.
_TRIAL = pl.DataFrame({name: [0.1, 0.5, 0.9] for name in SIGNALS})


class NotPlain(Exception):
    """The parameters contain something that cannot be part of an estimator, which the message names."""


def saved_classes(name: str) -> tuple[type, ...]:
    """The dataclasses that estimator `name` may consist of, as declared by its family.

    Raises NotPlain for an unknown estimator or a family without a declaration; ConfigError like `module_of`.
    """
    if not is_known(name):
        raise NotPlain(f"is named {name}, which is not a known estimator")
    module = module_of(name)
    classes: tuple[type, ...] = getattr(module, "SAVED", ())
    if not classes:
        raise NotPlain(f"{module.__name__} must name the classes in its files: SAVED = (...,)")
    return classes


def encode_estimator(estimator: Estimator, training: TrainingPredictions | None = None) -> tuple[Any, bytes]:
    """The parameters as JSON and as an .npz file's content; raises NotPlain if `decode_estimator` would refuse them.

    The content also has the predictions of the `training` responses.
    """
    arrays: dict[str, np.ndarray] = {}
    with _refuse_invalid("cannot be saved"):
        parameters = _encode_value(estimator, arrays)
        if training is not None:
            training.check()
    if training is not None:
        arrays |= {f"{_TRAINING}{name}": array for name, array in training._asdict().items()}
    packed = io.BytesIO()
    np.savez(packed, allow_pickle=False, **arrays)
    decode_estimator(parameters, packed.getvalue(), estimator.name)
    return parameters, packed.getvalue()


def _encode_value(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The JSON of a value, and add its arrays of numbers to `arrays`."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return [_encode_value(part, arrays) for part in value]
    if isinstance(value, dict) and json.loads(json.dumps(value, default=str)) == value:
        return {"dict": value}
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        name = str(len(arrays))
        arrays[name] = value
        return {"array": name}
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: _encode_value(getattr(value, field.name), arrays) for field in fields(value)}
        return {type(value).__name__: parts}
    raise NotPlain(
        f"contains a {type(value).__module__}.{type(value).__qualname__}, which cannot be part of an estimator"
    )


def decode_estimator(parameters: Any, packed: bytes, name: str) -> Estimator:
    """Rebuild the estimator `name` from the results of `encode_estimator`; raise NotPlain for invalid parts."""
    with _refuse_invalid("cannot be read"):
        estimator = _Reader(_read_arrays(packed)).build_estimator(parameters, [name])
    with _refuse_invalid("cannot estimate"):
        _try_estimator(estimator)
    return estimator


def decode_training(packed: bytes) -> TrainingPredictions | None:
    """The predictions of the training responses; None without any. Raises NotPlain for invalid ones."""
    with _refuse_invalid("has no valid predictions of its training responses"):
        arrays = _read_arrays(packed)
        parts = [arrays.get(f"{_TRAINING}{name}") for name in TrainingPredictions._fields]
        present = [part for part in parts if part is not None]
        if not present:
            return None
        training = TrainingPredictions(*present)
        training.check()
        return training


@contextmanager
def _refuse_invalid(what: str) -> Iterator[None]:
    """Raise NotPlain, whose message begins with `what`, for any error of the block.

    A forged file can be wrong in any place. Errors of the package keep their type.
    """
    try:
        yield
    except (NotPlain, ConfigError, ExtensionError):
        raise
    except Exception as error:
        raise NotPlain(f"{what} ({type(error).__name__}: {make_one_line(str(error)[:200])})") from None


def _read_arrays(packed: bytes) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by name; in total they may not need more memory than the file."""
    with ZipFile(io.BytesIO(packed)) as archive:
        members = archive.infolist()
        if any(member.compress_type != ZIP_STORED for member in members):
            raise NotPlain("contains compressed arrays, which an estimator's file does not have")
        if sum(member.file_size for member in members) > len(packed):
            raise NotPlain("contains arrays larger than the file")
        return {member.filename.removesuffix(".npy"): _read_array(archive.read(member)) for member in members}


def _read_array(content: bytes) -> np.ndarray:
    """The array of an .npy file. Its shape must fit its bytes: NumPy allocates memory before it reads."""
    file = io.BytesIO(content)
    np.lib.format.read_magic(file)  # type: ignore[no-untyped-call]  # NumPy has no types for it
    shape, _, kind = np.lib.format.read_array_header_1_0(file)  # type: ignore[no-untyped-call]  # nor for it
    if kind.hasobject or math.prod(shape) * kind.itemsize != len(content) - file.tell():
        raise NotPlain("contains an array that is not numeric or has the wrong length")
    file.seek(0)
    array: np.ndarray = np.load(file, allow_pickle=False)
    return array


@dataclass(frozen=True)
class _Reader:
    """Builds an estimator from its JSON; every part is checked before it is built.

    A node is the JSON of a value: an object of a dataclass is `{CLASS: {FIELD: node}}`. `arrays` are those by name.
    """

    arrays: Mapping[str, np.ndarray]

    def build_estimator(self, node: Any, names: Collection[str]) -> Estimator:
        """The estimator that a node describes; raises NotPlain if its name is none of `names`."""
        ((kind, parts),) = node.items()
        name = parts["name"]
        if name not in names:
            raise NotPlain(f"contains the estimator {str(name)[:80]!r} instead of {' or '.join(sorted(names))}")
        estimator_classes: dict[str, type] = {}
        part_classes: dict[str, type] = {}
        for cls in saved_classes(name):
            classes = estimator_classes if issubclass(cls, Estimator) else part_classes
            classes[cls.__name__] = cls
        if kind not in estimator_classes:
            raise NotPlain(f"contains a {kind[:80]} instead of the {' or '.join(estimator_classes)} that '{name}' is")
        estimator = self._build_object(estimator_classes[kind], parts, part_classes, list_members(name))
        assert isinstance(estimator, Estimator)
        return estimator

    def _build_object(self, kind: type, parts: Any, classes: Mapping[str, type], estimators: Collection[str]) -> Any:
        """An object of the class `kind` from its fields, `parts` (nodes by name)."""
        return kind(**{field: self._build_value(node, classes, estimators) for field, node in parts.items()})

    def _build_value(self, node: Any, classes: Mapping[str, type], estimators: Collection[str]) -> Any:
        """The value of a node; it may contain objects of these classes (by name) and estimators of these names."""
        if isinstance(node, list):
            return tuple(self._build_value(part, classes, estimators) for part in node)
        if not isinstance(node, dict):
            return node
        ((kind, content),) = node.items()
        if kind == "array":
            return self.arrays[content]
        if kind == "dict":
            return dict(content)
        if kind in classes:
            return self._build_object(classes[kind], content, classes, estimators)
        if "name" not in content:  # every estimator has a name, and nothing else may be here
            raise NotPlain(f"contains a {kind[:80]}, which cannot be part of an estimator")
        return self.build_estimator(node, estimators)


def _try_estimator(estimator: Estimator) -> None:
    """Run the estimator to find errors that types do not show: a text for a threshold, a tree with an invalid node."""
    for estimates in (estimator.accuracies_of(estimator.values(_TRIAL)), estimator.p_correct(_TRIAL)):
        if estimates is None:  # P(correct), if the family gives none
            continue
        if estimates.shape != (len(_TRIAL),) or not ((estimates >= -1e-9) & (estimates <= 1 + 1e-9)).all():
            raise ValueError("its estimates are not between 0 and 1")
    dict(estimator.chosen or {})
