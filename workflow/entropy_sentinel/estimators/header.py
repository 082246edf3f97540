"""What the header of an estimator's file says, looked at before anything rests on it."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from entropy_sentinel.estimators.support import N_BINS, Support
from entropy_sentinel.estimators.validation import Validation
from entropy_sentinel.frames.errors import InputError

# Counts of more than this are no counts of responses; sums of them would not fit their numbers.
_MOST = 10**12


def read_header(text: bytes) -> dict[str, Any]:
    """The header as a dict; InputError for one that an estimator's file cannot have, with the field that is wrong.

    All but name and versions, and of an estimator the logprobs, may be missing, as in files of other programs.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the header must be a JSON object: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f"the header must be a JSON object, is {type(found).__name__}")
    if "signal" in found:  # its name in files written before
        found["logprobs"] = found.pop("signal")
    needed = ("name", "versions") if found.get("reason") else ("name", "versions", "logprobs")
    for field in (*needed, *_CHECKS):
        if field in needed or found.get(field) is not None:
            try:
                _CHECKS[field](found.get(field))
            except Exception as error:  # whatever a value makes of what is to be made of it
                raise InputError(f"the header: '{field}' {_said(error)}") from None
    return found


class _Wrong(Exception):
    """What a field must be."""


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, _Wrong) else f"cannot be read: {' '.join(str(error).split())[:200]}"


def _of(kinds: type | tuple[type, ...], must: str) -> Callable[[Any], None]:
    def check(value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, kinds) or isinstance(value, float) and not _finite(value):
            raise _Wrong(f"must be {must}, was {str(value)[:80]!r}")

    return check


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and abs(value) < _MOST


def _texts(value: Any) -> None:
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise _Wrong("must be texts by name")


def _logprobs(value: Any) -> None:
    # A study's has its sampling as well, a dict.
    if not isinstance(value, dict) or not all(
        one is None or isinstance(one, str | int | dict) for one in value.values()
    ):
        raise _Wrong("must be facts of the log-probabilities by name")


def _validation(said: Any) -> None:
    """Its fields are of their types, and what is counted and shared can be."""
    found = asdict(TypeAdapter(Validation).validate_python(asdict(Validation.from_dict(said))))
    if not all(_finite(one) for one in _numbers(found)):
        raise _Wrong("must hold finite numbers")
    for domain in found["domains"]:
        shares = [one for one in (domain["estimated"], domain["true"]) if one is not None]
        if domain["n"] < 1 or not all(0 <= one <= 1 for one in shares):
            named = f"domain {domain['domain']!r} has not"
            raise _Wrong(f"must have domains of one response or more, and shares from 0 to 1; {named}")


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            yield from _numbers(one)
    elif isinstance(value, int | float):
        yield value


def _support(kept: Any) -> None:
    found = Support.from_dict(kept)
    edges, domains = found.edges, found.domains
    if edges.shape != (N_BINS - 1,) or not np.isfinite(edges).all() or (np.diff(edges) < 0).any():
        raise _Wrong(f"must have {N_BINS - 1} edges, smallest first")
    if domains.ndim != 2 or domains.shape[1] != N_BINS or not len(domains):
        raise _Wrong(f"must have counts of {N_BINS} bins for each domain")
    if (domains < 0).any() or (domains > _MOST).any() or not domains.sum(axis=1).all():
        raise _Wrong("must have counts of 0 or more, not all 0 in a domain")


def _ambiguous(said: Any) -> None:
    if not isinstance(said, dict) or not all(
        set(one) == {"share", "n_questions"} and 0 <= one["share"] <= 1 and 1 <= one["n_questions"] < _MOST
        for one in said.values()
    ):
        raise _Wrong("must have a share from 0 to 1 and its questions for each domain")


_TEXT, _NUMBER = _of(str, "text"), _of((int, float), "a finite number")
_CHECKS: dict[str, Callable[[Any], None]] = {
    "name": _TEXT,
    "versions": _texts,
    "logprobs": _logprobs,
    "reason": _TEXT,
    "model": _TEXT,
    "group": _TEXT,
    "caution": _TEXT,
    "signals": _texts,
    "n_training_rows": _NUMBER,
    "training_accuracy": _NUMBER,
    "settings": _of(dict, "values by name"),
    "chosen": _of(dict, "values by name"),
    "feature_statistics": _of(dict, "values by name"),
    "validation": _validation,
    "support": _support,
    "ambiguous": _ambiguous,
}
