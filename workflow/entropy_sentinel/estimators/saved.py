"""A fitted estimator as a file: what it is, where it comes from, and its parameters, in a form that cannot run code.

Three lines of text, which `head -3` shows, and then the arrays of the parameters as in an .npz file:

    entropy-sentinel estimator 3
    <SHA-256 of all that follows, hex>
    <JSON: name, logprobs, provenance, feature statistics, parameters>
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropy_sentinel.estimators import shown
from entropy_sentinel.estimators.estimator import Estimator, Unfitted
from entropy_sentinel.estimators.header import read_header
from entropy_sentinel.estimators.parameters import NotPlain, dump, restore
from entropy_sentinel.estimators.validation import Validation
from entropy_sentinel.features.catalogue import FEATURES
from entropy_sentinel.frames.errors import ContractError, InputError
from entropy_sentinel.frames.files import whole_file
from entropy_sentinel.frames.printable import one_line
from entropy_sentinel.signals.catalogue import SIGNALS

MAGIC = b"entropy-sentinel estimator 3"
# Far more than any estimator has.
_MOST_BYTES = 1 << 30
_PARAMETERS = "parameters"
_TO_SAVE = (
    "it may consist of numbers, texts, arrays of numbers, tuples, dicts of plain JSON, and the dataclasses that its "
    "family's module names in SAVED, which consist of such"
)


@dataclass(frozen=True, repr=False)
class SavedEstimator:
    """An estimator and what its file says of it.

    Attributes:
        estimator: The fitted estimator.
        about: What it was fitted on: model, domains, logprobs, the signals that it needs by name with their family,
            their statistics, its validation.
    """

    estimator: Estimator
    about: dict[str, Any]

    @property
    def validation(self) -> Validation | None:
        """Its validation; null for one that was fitted on rows without domains, or by an earlier version."""
        return Validation.from_dict(self.about["validation"]) if self.about.get("validation") else None

    @property
    def signals(self) -> tuple[str, ...]:
        """The signals that it needs beside the features."""
        return tuple(name for name in self.about.get("signals") or () if name not in FEATURES)

    def __repr__(self) -> str:
        return "\n  ".join(map(one_line, shown.lines(self.estimator.name, self.about)))

    def _repr_html_(self) -> str:
        return shown.estimator_as_html(self.estimator.name, self.about)


def save_estimator(estimator: Estimator | Unfitted, path: str | Path, about: Mapping[str, Any]) -> None:
    """Write an estimator in one step. `about` is JSON-serialisable and holds `logprobs`, the facts named in LOGPROBS.

    The same estimator with the same `about` is the same bytes, whoever fits it again and whenever.
    Of one that could not be fitted the file says why. Raises ContractError for one that `load_estimator` would refuse.
    """
    header, arrays = {"name": estimator.name, **about}, b""
    if isinstance(estimator, Unfitted):
        header["reason"] = estimator.reason
    else:
        try:
            header[_PARAMETERS], arrays = dump(estimator)
        except NotPlain as error:
            raise ContractError(f"{path}: is not written: '{estimator.name}' {error}; {_TO_SAVE}") from None
    text = json.dumps(header).encode()
    try:
        read_header(text)
    except InputError as error:
        raise ContractError(f"{path}: is not written: {error}") from None
    content = text + b"\n" + arrays
    digest = hashlib.sha256(content).hexdigest().encode()
    with whole_file(path) as partial:
        partial.write_bytes(b"\n".join([MAGIC, digest, content]))


def load_estimator(path: str | Path) -> SavedEstimator:
    """Read an estimator; nothing in the file is run.

    Raises InputError for a file that is none, has been changed or damaged, holds no estimator, or what is no part of
    one.
    """
    header, arrays = _content(path)
    try:
        about = read_header(header)
    except InputError as error:
        raise InputError(f"{path}: {error}; it is not loaded: fit it again") from None
    if reason := about.get("reason"):
        raise InputError(f"{path}: holds no estimator, for '{about['name']}' could not be fitted: {reason}")
    for signal, family in (about.get("signals") or {}).items():
        if signal not in SIGNALS:
            raise InputError(
                f"{path}: needs the signal '{signal}' of the family '{family}', which is not installed here; install "
                "the package with which it was fitted"
            )
    try:
        return SavedEstimator(restore(about.pop(_PARAMETERS, None), arrays, about["name"]), about)
    except NotPlain as error:
        raise InputError(f"{path}: {error}; it is not loaded: take estimators from whom you trust") from None


def _content(path: str | Path) -> tuple[bytes, bytes]:
    """The header of an estimator's file and its arrays, as they were written; InputError for another file."""
    try:
        if (size := Path(path).stat().st_size) > _MOST_BYTES:
            raise ValueError(f"it has {size:,} bytes, at most {_MOST_BYTES:,} can be")
        magic, digest, content = Path(path).read_bytes().split(b"\n", 2)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: must be a file written by `fit`; it cannot be read as one: {error}") from None
    if magic != MAGIC:
        raise InputError(
            f"{path}: must begin with '{MAGIC.decode()}': it is no estimator, or of another release; fit it again"
        )
    if hashlib.sha256(content).hexdigest().encode() != digest:
        raise InputError(f"{path}: has been changed or damaged since it was written (another SHA-256); fit it again")
    header, _, arrays = content.partition(b"\n")
    return header, arrays
