"""What the header of an estimator's file says, looked at before anything rests on it."""

import json
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from entropy_sentinel.estimators.support import N_BINS
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.printable import one_line

# Far more than any header has; what is read takes some forty times as much memory.
MOST_BYTES = 1 << 22
# Larger numbers are no counts of responses; sums of them would not fit their type.
_MOST = 10**12
_Share = Annotated[float, Field(ge=0, le=1)]
_Whole = Annotated[int, Field(ge=0, le=_MOST)]
_Count = Annotated[int, Field(ge=1, le=_MOST)]


def _smallest_first(edges: list[float]) -> list[float]:
    if (np.diff(edges) < 0).any():
        raise ValueError("must be edges, smallest first")
    return edges


def _some(counts: list[int]) -> list[int]:
    if not any(counts):
        raise ValueError("must be counts that are not all 0")
    return counts


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class _Logprobs(_Part, extra="allow"):  # a study's has its sampling as well
    logprobs_mode: str | None = None
    top_k_returned: _Whole | None = None


class _Domain(_Part):
    domain: str
    n: _Count
    estimated: _Share | None
    true: _Share
    reason: str | None = None


class _Validation(_Part, extra="ignore"):  # the rest is made anew from these
    estimator: str
    n_domains: _Whole
    domains: list[_Domain]


class _Support(_Part, extra="ignore"):
    edges: Annotated[list[float], Field(min_length=N_BINS - 1, max_length=N_BINS - 1), AfterValidator(_smallest_first)]
    domains: Annotated[
        list[Annotated[list[_Whole], Field(min_length=N_BINS, max_length=N_BINS), AfterValidator(_some)]],
        Field(min_length=1),
    ]


class _Ambiguous(_Part):
    share: _Share
    n_questions: _Count


class Header(_Part, extra="allow"):
    """The fields of a header; all may be missing but `name` and, unless there is a `reason`, `logprobs`."""

    name: str
    reason: str | None = None
    logprobs: _Logprobs | None = None
    model: str | None = None
    group: str | None = None
    caution: str | None = None
    signals: dict[str, str] | None = None
    n_training_rows: _Whole | None = None
    training_accuracy: _Share | None = None
    settings: dict[str, Any] | None = None
    chosen: dict[str, Any] | None = None
    feature_statistics: dict[str, Any] | None = None
    validation: _Validation | None = None
    support: _Support | None = None
    ambiguous: dict[str, _Ambiguous] | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> "Header":
        if self.logprobs is None and not self.reason:
            raise ValueError("'logprobs' must be there")
        return self


def read_header(text: bytes) -> dict[str, Any]:
    """The header as a dict; InputError for one that an estimator's file cannot have, with the field that is wrong."""
    if len(text) > MOST_BYTES:
        raise InputError(f"the header must have at most {MOST_BYTES:,} bytes, has {len(text):,}")
    try:
        header = json.loads(text)
        Header.model_validate(header)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False)[0]
        where = "".join(f"'{part}' " for part in problem["loc"])
        raise InputError(f"the header: {one_line(where[:200])}{problem['msg'].removeprefix('Value error, ')}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"the header must be a JSON object: {error}") from None
    assert isinstance(header, dict)  # as Pydantic wants it
    return header
