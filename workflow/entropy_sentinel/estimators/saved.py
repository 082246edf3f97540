"""The file of a fitted estimator: its name, origin and parameters, in a form that cannot run code.

It has three lines of text, which `head -3` shows, then arrays as in an .npz file, those of the parameters and those of
`estimators.training_predictions`:

    entropy-sentinel estimator 5
    <SHA-256 of all that follows, hex>
    <JSON: name, logprobs, provenance, feature statistics, parameters>

The JSON, the header, is checked before it is used.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from entropy_sentinel.core.errors import ContractError, InputError
from entropy_sentinel.core.extensions import VARIABLE
from entropy_sentinel.core.files import whole_file
from entropy_sentinel.core.printable import one_line
from entropy_sentinel.estimators.catalogue import is_known
from entropy_sentinel.estimators.estimator import Estimator, FitFailure
from entropy_sentinel.estimators.parameters import NotPlain, dump, restore, restore_training
from entropy_sentinel.estimators.support import N_BINS
from entropy_sentinel.estimators.training_predictions import TrainingPredictions
from entropy_sentinel.estimators.validation import Validation
from entropy_sentinel.features.buckets import BUCKETS
from entropy_sentinel.features.catalogue import FEATURES
from entropy_sentinel.formatting.text import html
from entropy_sentinel.signals.catalogue import SIGNALS
from entropy_sentinel.statistics.calibration import BINS

# Far larger than any header; parsing takes about forty times as much memory.
MOST_BYTES = 1 << 22
# Far more than anyone labels; a validation of so many takes ten seconds.
MOST_DOMAINS = 5000
# Larger numbers are not counts of responses; their sums would overflow.
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


class _Logprobs(_Part, extra="allow"):  # a study's also has the sampling settings
    logprobs_mode: str | None = None
    top_k_returned: _Whole | None = None


def _plausible(sums: list[float]) -> list[float]:
    if any(not 0 <= part <= sums[0] for part in sums):
        raise ValueError("must be sums between 0 and the number of responses")
    return sums


_Scored = Annotated[list[float], Field(min_length=4, max_length=4), AfterValidator(_plausible)]


class _Domain(_Part):
    domain: str
    n: _Count
    estimated: _Share | None
    # With a judge it is not clipped to [0, 1].
    true: Annotated[float, Field(ge=-1, le=2)]
    reason: str | None = None
    group: str | None = None
    scored: Annotated[list[_Scored], Field(min_length=BINS, max_length=BINS)] | None = None
    n_judged: _Count | None = None
    noise: Annotated[float, Field(ge=0, le=4)] | None = None

    @model_validator(mode="after")
    def _is_share(self) -> "_Domain":
        if self.noise is None and not 0 <= self.true <= 1:
            raise ValueError("'true' must be between 0 and 1 without a judge")
        return self


class _Rate(_Part):
    n: _Whole
    share: _Share | None
    lower: _Share | None
    upper: _Share | None


class _Measure(_Part):
    n: _Whole
    value: Annotated[float, Field(ge=-1, le=1)] | None
    lower: Annotated[float, Field(ge=-2, le=2)] | None
    upper: Annotated[float, Field(ge=-2, le=2)] | None


class _Witness(_Part):
    name: str
    kind: Literal["verdict", "second-opinion"]
    model: str | None
    n_labelled: _Whole
    n_judged: _Whole
    n_domains: _Whole
    sensitivity: _Rate | None
    specificity: _Rate | None
    auroc: _Measure | None
    calibration_error: _Measure | None
    worth: Annotated[float, Field(ge=0)] | None
    power: _Share | None


class _Judge(_Part):
    n_labelled: _Whole
    n_judged: _Whole
    n_domains: _Whole
    sensitivity: _Rate
    specificity: _Rate
    worth: Annotated[float, Field(ge=0)] | None
    power: _Share | None


class _Validation(_Part, extra="ignore"):  # all other fields are recomputed from these
    estimator: str
    n_domains: _Whole
    domains: Annotated[list[_Domain], Field(max_length=MOST_DOMAINS)]
    n_groups: _Count | None = None
    new_groups: "_Validation | None" = None
    witnesses: list[_Witness] = Field(default=[], max_length=MOST_DOMAINS)
    # In files of earlier versions, which take one judge.
    judge: _Judge | None = None

    @model_validator(mode="after")
    def _has_domains_once(self) -> "_Validation":
        whole = self.new_groups.domains if self.new_groups else []
        if whole and {domain.domain for domain in whole} != {domain.domain for domain in self.domains}:
            raise ValueError("'new_groups' must have the same domains")
        return self


class _Support(_Part, extra="ignore"):
    edges: Annotated[list[float], Field(min_length=N_BINS - 1, max_length=N_BINS - 1), AfterValidator(_smallest_first)]
    domains: Annotated[
        list[Annotated[list[_Whole], Field(min_length=N_BINS, max_length=N_BINS), AfterValidator(_some)]],
        Field(min_length=1),
    ]


class _Familiarity(_Part, extra="ignore"):
    of: Literal["tokens", "words"]
    names: list[str]
    groups: list[str]
    domains: Annotated[
        list[Annotated[list[_Whole], Field(min_length=1 + BUCKETS, max_length=1 + BUCKETS)]],
        Field(min_length=1, max_length=MOST_DOMAINS),
    ]
    # Of each domain from the others, at most 1; null without others.
    left_out: list[Annotated[float, Field(le=1)] | None] | None = None

    @model_validator(mode="after")
    def _adds_up(self) -> "_Familiarity":
        if not len(self.names) == len(self.groups) == len(self.domains):
            raise ValueError("must have a name and a group for each domain")
        if self.left_out is not None and len(self.left_out) != len(self.domains):
            raise ValueError("must have a distance for each domain")
        if any(state[0] < 2 or max(state[1:]) > state[0] for state in self.domains):
            raise ValueError("must have domains of 2 responses or more, and no count above their number")
        return self


class _Ambiguous(_Part):
    share: _Share
    n_questions: _Count


class Header(_Part, extra="allow"):
    """The fields of a header. `name` is required, and `logprobs` unless there is a `reason`."""

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
    familiarity: _Familiarity | None = None
    ambiguous: dict[str, _Ambiguous] | None = None
    n_validations: _Count = 1

    @model_validator(mode="after")
    def _is_whole(self) -> "Header":
        if self.logprobs is None and not self.reason:
            raise ValueError("'logprobs' must be set")
        return self


def read_header(text: bytes) -> dict[str, Any]:
    """Return the header as a dict; raise InputError with the wrong field for an invalid header."""
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
    assert isinstance(header, dict)  # Pydantic has checked it
    return header


_ANY_MAGIC = b"entropy-sentinel estimator "
# Version 4 has the words of the training responses; files of version 3 cannot tell whether a slice is familiar.
# Version 5 also has the distances of the labelled domains from each other, computed in each run for earlier files.
# Version 6 is a file of version 5 with a validation by witnesses, which earlier releases cannot read.
MAGIC, _MAGIC_WITH_JUDGE = _ANY_MAGIC + b"5", _ANY_MAGIC + b"6"
_READABLE = (_ANY_MAGIC + b"3", _ANY_MAGIC + b"4", MAGIC, _MAGIC_WITH_JUDGE)
# Largest number of domains that the notebook view names.
_NAMED = 4
# Far larger than any estimator.
_MOST_BYTES = 1 << 30
_PARAMETERS = "parameters"
_TO_SAVE = (
    "it may only contain numbers, texts, arrays of numbers, tuples, dicts of plain JSON, and the dataclasses "
    "listed in SAVED of its family's module"
)


@dataclass(frozen=True, repr=False)
class SavedEstimator:
    """An estimator and the content of its file.

    Attributes:
        estimator: The fitted estimator.
        about: What it was fitted on: model, domains, logprobs, the signals that it needs by name with their family,
            their statistics, its validation. With `needs_features` false, responses without features count, too.
        training: P(correct) of the training responses by estimators fitted without them; None for one of a study, and
            of an earlier release.
    """

    estimator: Estimator
    about: dict[str, Any]
    training: TrainingPredictions | None = None

    @cached_property
    def validation(self) -> Validation | None:
        """Return its validation; None if it was fitted on rows without domains, or by an earlier version."""
        return Validation.from_dict(self.about["validation"]) if self.about.get("validation") else None

    @property
    def has_estimates(self) -> bool:
        """Return whether it estimates accuracies; only `no_estimator` does not."""
        return self.estimator.has_estimates

    @property
    def signals(self) -> tuple[str, ...]:
        """Return the signals that it needs in addition to the features."""
        return tuple(name for name in self.about.get("signals") or () if name not in FEATURES)

    def __repr__(self) -> str:
        return "\n  ".join(map(one_line, [*self._lines(), *self._verdicts()]))

    def _repr_html_(self) -> str:
        first, *others = self._lines()
        if validation := self.validation:
            return html(first, others) + validation._repr_html_()
        return html(first, [*others, *self._verdicts()])

    def _verdicts(self) -> list[str]:
        """Return the verdicts of its validation, each with its first reason."""
        if not (validation := self.validation):
            return ["verdict: no validation"]
        return [f"verdict{part.scope}: {part.verdict}; {part.reasons[0]}" for part in validation.answers]

    def _lines(self) -> list[str]:
        """Return lines with its name, and what it was fitted on."""
        about = self.about
        name = self.estimator.name
        if method := (about.get("chosen") or {}).get("method"):
            name += f" ({method})"
        domains = str(about.get("group") or "?").split("+")
        on = f"{len(domains)} domains: {', '.join(domains[:_NAMED])}"
        if len(domains) > _NAMED:
            on += ", ..."
        if (n_rows := about.get("n_training_rows")) is not None:
            on = f"{n_rows:,} responses to {on}"
        logprobs = ", ".join(f"{key} {value}" for key, value in about["logprobs"].items() if value is not None)
        lines = [
            f"{name} of model {about.get('model')}",
            f"fitted on {on}",
            f"log-probabilities: {logprobs or 'unknown'}",
        ]
        shares = []
        for domain, ambiguous in (about.get("ambiguous") or {}).items():
            shares.append(f"{domain} {ambiguous['share']:.0%} of {ambiguous['n_questions']:,}")
        if shares:
            lines.append(f"questions that repeatedly get several answers: {', '.join(shares)}")
        return lines


def save_estimator(
    estimator: Estimator | FitFailure,
    path: str | Path,
    about: Mapping[str, Any],
    training: TrainingPredictions | None = None,
) -> None:
    """Write an estimator in one step; `about` is JSON-serialisable and has `logprobs`, the facts in LOGPROBS.

    The same estimator with the same `about` always gives the same bytes. The file of an estimator that could not be
    fitted has the reason. Raises ContractError if `load_estimator` would refuse the file.
    """
    header, arrays = {"name": estimator.name, **about}, b""
    if isinstance(estimator, FitFailure):
        header["reason"] = estimator.reason
    else:
        try:
            header[_PARAMETERS], arrays = dump(estimator, training)
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
        partial.write_bytes(b"\n".join([_magic_of(about), digest, content]))


def _magic_of(about: Mapping[str, Any]) -> bytes:
    """Return the first line of an estimator's file."""
    validation = about.get("validation") or {}
    return _MAGIC_WITH_JUDGE if validation.get("witnesses") or validation.get("judge") else MAGIC


def load_estimator(path: str | Path) -> SavedEstimator:
    """Read an estimator without running any code from the file.

    Raises InputError for a file that is not an estimator, was changed or damaged, or has no or invalid content.
    """
    header, arrays = _content(path)
    try:
        about = read_header(header)
    except InputError as error:
        raise InputError(f"{path}: {error}; fit it again") from None
    if reason := about.get("reason"):
        raise InputError(f"{path}: contains no estimator, because '{about['name']}' could not be fitted: {reason}")
    for signal, family in (about.get("signals") or {}).items():
        if signal not in SIGNALS:
            raise InputError(
                f"{path}: needs the signal '{signal}' of the family '{family}', which is not installed here; "
                f"install the package with which the estimator was fitted, or name its extension in {VARIABLE}"
            )
    if not is_known(about["name"]):
        raise InputError(
            f"{path}: is the estimator '{one_line(about['name'][:80])}', which is not known here; if an extension "
            f"declares it, name the extension in the environment variable {VARIABLE}"
        )
    try:
        estimator = restore(about.pop(_PARAMETERS, None), arrays, about["name"])
        return SavedEstimator(estimator, about, restore_training(arrays))
    except NotPlain as error:
        raise InputError(
            f"{path}: {error}; it was not loaded, because such a file is not safe; use only files that you trust"
        ) from None


def is_estimator(path: str | Path) -> bool:
    """Return whether a file is an estimator's, by content or name."""
    if str(path).endswith(".estimator"):
        return True
    try:
        if not Path(path).is_file():
            return False
    except OSError:  # such as a name that is too long
        return False
    with Path(path).open("rb") as file:
        return file.read(len(_ANY_MAGIC)) == _ANY_MAGIC


def _content(path: str | Path) -> tuple[bytes, bytes]:
    """Return the header of an estimator's file and its arrays, unparsed. Raises InputError for another file."""
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
