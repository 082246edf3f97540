"""The file of a fitted estimator: its metadata and parameters, in a form that cannot run code.

It has three lines of text, which `head -3` shows, then arrays as in an .npz file, those of the parameters and those of
`estimators.training_predictions`:

    entropy-sentinel estimator 5
    <SHA-256 of all that follows, hex>
    <JSON: `estimators.fit_metadata`, and the parameters>

The JSON, the header, is checked before it is used.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from entropy_sentinel.core.errors import ContractError, InputError
from entropy_sentinel.core.extensions import VARIABLE
from entropy_sentinel.core.printable import make_one_line
from entropy_sentinel.core.validation_errors import describe_error
from entropy_sentinel.core.whole_files import whole_file
from entropy_sentinel.estimators.estimator_base import Estimator, FitFailure
from entropy_sentinel.estimators.estimator_registry import is_known
from entropy_sentinel.estimators.fit_metadata import FitMetadata
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.parameter_encoding import NotPlain, decode_estimator, decode_training, encode_estimator
from entropy_sentinel.estimators.training_predictions import TrainingPredictions
from entropy_sentinel.estimators.validation_record import Validation
from entropy_sentinel.signal_families.signal_registry import SIGNALS

# Far larger than any header; parsing takes about forty times as much memory.
MOST_BYTES = 1 << 22

_ANY_MAGIC = b"entropy-sentinel estimator "
# Version 4 has the words of the training responses; files of version 3 cannot tell whether a slice is familiar.
# Version 5 also has the distances of the labelled domains from each other, computed in each run for earlier files.
# Version 6 is a file of version 5 with a validation by witnesses, which earlier releases cannot read.
MAGIC, _MAGIC_WITH_JUDGE = _ANY_MAGIC + b"5", _ANY_MAGIC + b"6"
_READABLE = (_ANY_MAGIC + b"3", _ANY_MAGIC + b"4", MAGIC, _MAGIC_WITH_JUDGE)
# Far larger than any estimator.
_MOST_BYTES = 1 << 30
# The length of an error; keys in a header may be long.
_MOST_CHARACTERS = 400
_PARAMETERS = "parameters"
_TO_SAVE = (
    "it may only contain numbers, texts, arrays of numbers, tuples, dicts of plain JSON, and the dataclasses "
    "listed in SAVED of its family's module"
)


def read_header(text: bytes) -> tuple[FitMetadata, Any]:
    """The metadata and the parameters in a header; raises InputError with the wrong field for an invalid one."""
    if len(text) > MOST_BYTES:
        raise InputError(f"the header must have at most {MOST_BYTES:,} bytes, has {len(text):,}")
    try:
        header = json.loads(text)
        parameters = header.pop(_PARAMETERS, None) if isinstance(header, dict) else None
        return FitMetadata.model_validate(header), parameters
    except ValidationError as error:
        raise InputError(f"the header: {describe_error(error.errors()[0])}"[:_MOST_CHARACTERS]) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"the header must be a JSON object: {error}") from None


def save_estimator(
    estimator: Estimator | FitFailure,
    path: str | Path,
    metadata: FitMetadata,
    training: TrainingPredictions | None = None,
) -> None:
    """Write an estimator in one step.

    The same estimator with the same metadata always gives the same bytes. The file of an estimator that could not be
    fitted has the reason. Raises ContractError if `load_estimator` would refuse the file.
    """
    header, arrays = metadata.to_dict(), b""
    if isinstance(estimator, FitFailure):
        header["reason"] = estimator.reason
    else:
        try:
            header[_PARAMETERS], arrays = encode_estimator(estimator, training)
        except NotPlain as error:
            raise ContractError(f"{path}: not written: '{estimator.name}' {error}; {_TO_SAVE}") from None
    text = json.dumps(header).encode()
    try:
        read_header(text)
    except InputError as error:
        raise ContractError(f"{path}: not written: {error}") from None
    content = text + b"\n" + arrays
    digest = hashlib.sha256(content).hexdigest().encode()
    with whole_file(path) as partial:
        partial.write_bytes(b"\n".join([_choose_magic(metadata.validation), digest, content]))


def _choose_magic(validation: Validation | None) -> bytes:
    """The first line of an estimator's file: with witnesses, that of the version that earlier releases refuse."""
    return _MAGIC_WITH_JUDGE if validation and validation.witnesses else MAGIC


def load_estimator(path: str | Path) -> FittedEstimator:
    """Read an estimator without running any code from the file.

    Raises InputError for a file that is not an estimator, was changed or damaged, or has no or invalid content.
    """
    header, arrays = _read_content(path)
    try:
        metadata, parameters = read_header(header)
    except InputError as error:
        raise InputError(f"{path}: {error}; fit it again") from None
    if metadata.reason:
        raise InputError(
            f"{path}: contains no estimator, because '{metadata.name}' could not be fitted: {metadata.reason}"
        )
    for signal, family in (metadata.signals or {}).items():
        if signal not in SIGNALS:
            raise InputError(
                f"{path}: needs the signal '{signal}' of the family '{family}', which is not installed here; "
                f"install the package with which the estimator was fitted, or name its extension in {VARIABLE}"
            )
    if not is_known(metadata.name):
        raise InputError(
            f"{path}: is the estimator '{make_one_line(metadata.name[:80])}', which is not known here; if an extension "
            f"declares it, name the extension in the environment variable {VARIABLE}"
        )
    try:
        return FittedEstimator(decode_estimator(parameters, arrays, metadata.name), metadata, decode_training(arrays))
    except NotPlain as error:
        raise InputError(
            f"{path}: {error}; it was not loaded, because such a file is not safe; use only files that you trust"
        ) from None


def is_estimator(path: str | Path) -> bool:
    """Whether a file is an estimator's, by content or name."""
    if str(path).endswith(".estimator"):
        return True
    try:
        if not Path(path).is_file():
            return False
    except OSError:  # such as a name that is too long
        return False
    with Path(path).open("rb") as file:
        return file.read(len(_ANY_MAGIC)) == _ANY_MAGIC


def _read_content(path: str | Path) -> tuple[bytes, bytes]:
    """The header of an estimator's file and its arrays, unparsed. Raises InputError for another file."""
    try:
        if (size := Path(path).stat().st_size) > _MOST_BYTES:
            raise ValueError(f"has {size:,} bytes; at most {_MOST_BYTES:,} are allowed")
        magic, digest, content = Path(path).read_bytes().split(b"\n", 2)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: must be a file written by `fit`, cannot be read: {error}") from None
    if magic not in _READABLE:
        raise InputError(
            f"{path}: must begin with '{MAGIC.decode()}'; it is not an estimator, or from another release: fit it again"
        )
    if hashlib.sha256(content).hexdigest().encode() != digest:
        raise InputError(f"{path}: was changed or damaged after it was written (its SHA-256 differs); fit it again")
    header, _, arrays = content.partition(b"\n")
    return header, arrays
