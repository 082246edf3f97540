"""Count the unusable parts of logs by kind, and find the responses that do not match the estimator."""

import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import polars as pl

from entropy_sentinel.core.errors import InputError, ProvenanceError, with_urls
from entropy_sentinel.estimators.metadata import FitMetadata
from entropy_sentinel.features.remedies import ExclusionCode, remedy_of
from entropy_sentinel.formatting.text import counted
from entropy_sentinel.logs.models import LOGGED_MODEL, bare, without_provider
from entropy_sentinel.logs.selection import PLACE, LeftOut
from entropy_sentinel.logs.settings import Matching
from entropy_sentinel.monitor.reading.exclusions import (
    CODE,
    HARMLESS_CODES,
    SUBJECT,
    ExclusionKind,
    Mismatch,
    reason_code,
)
from entropy_sentinel.schemas.generation import LOGPROBS

# Largest numbers of places shown per kind, and of kinds, which are limited because a kind may contain any name.
SHOWN, MOST_KINDS = 3, 50
_FURTHER = "other problems"
_LEFT_OUT = "responses left out by --where: "


@dataclass
class EarlierProblems:
    """Problems of files that earlier runs read: counts by kind, the number of files, and the days of their responses.

    The days are null for files without times.
    """

    counts: Counter[str] = field(default_factory=Counter)
    n_files: int = 0
    first: date | None = None
    last: date | None = None

    def add_file(self, counts: Mapping[str, int], first: datetime | None, last: datetime | None) -> None:
        """Add the problems of a file whose responses are from `first` to `last`."""
        if not counts:
            return
        self.counts.update(counts)
        self.n_files += 1
        if first is not None and last is not None:
            self.first = first.date() if self.first is None else min(self.first, first.date())
            self.last = last.date() if self.last is None else max(self.last, last.date())

    def merge(self, other: "EarlierProblems", of_logs: Collection[str]) -> None:
        """Add those of another estimator that has read the same files; the kinds `of_logs` count once."""
        for kind, count in other.counts.items():
            self.counts[kind] = max(self.counts[kind], count) if kind in of_logs else self.counts[kind] + count
        self.n_files = max(self.n_files, other.n_files)
        self.first = min(filter(None, (self.first, other.first)), default=None)
        self.last = max(filter(None, (self.last, other.last)), default=None)

    def line(self) -> str:
        """Return one line about all of them; empty without any."""
        if not self.counts:
            return ""
        days = "" if self.first is None else f" of {self.first}"
        if self.first != self.last:
            days += f" to {self.last}"
        kinds = [counted_kind(count, kind) for kind, count in self.counts.most_common(SHOWN)]
        if len(self.counts) > SHOWN:
            kinds.append("...")
        return f"reported by earlier runs, in {counted(self.n_files, 'file')}{days}: {'; '.join(kinds)}"


@dataclass
class Problems:
    """Counts of problems by kind, with the first places; with `strict` the first problem raises InputError.

    Notes are counted and shown, but are not problems. `left_out` counts the responses that `where` excludes.
    """

    strict: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    left_out: Counter[LeftOut] = field(default_factory=Counter)
    places: dict[str, list[str]] = field(default_factory=dict)
    # The consequence and the remedy of each kind.
    remedies: dict[str, str] = field(default_factory=dict)
    # The kinds that do not depend on the estimator, so that several estimators count the same.
    of_logs: set[str] = field(default_factory=set)
    earlier: EarlierProblems = field(default_factory=EarlierProblems)

    def record(self, kind: str, places: Sequence[str], count: int | None = None, remedy: str = "") -> None:
        """Count a problem at these places, or `count` times."""
        if self.strict and places:
            raise InputError(f"{places[0]}: {kind}")
        if remedy:
            self.remedies[kind] = remedy
        self._add(self.counts, kind, places, count)

    def note(self, kind: str, places: Sequence[str], count: int | None = None) -> None:
        """Count something that users should know but that is not a problem."""
        self._add(self.notes, kind, places, count)

    def _add(self, counts: Counter[str], kind: str, places: Sequence[str], count: int | None) -> None:
        kind = kind if kind in counts or len(counts) < MOST_KINDS else _FURTHER
        counts[kind] += len(places) if count is None else count
        first_places = self.places.setdefault(kind, [])
        first_places.extend(places[: SHOWN - len(first_places)])

    def _all_notes(self) -> dict[str, int]:
        return {**self.notes, **{f"{_LEFT_OUT}{kind}": count for kind, count in self.left_out.items()}}

    def lines(self) -> list[str]:
        """Return one line per kind, the most frequent first, with its first places; and one about earlier runs."""
        lines = []
        for counts in (self.counts, self._all_notes()):
            for kind, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
                line, places = counted_kind(count, kind), self.places.get(kind)
                if remedy := self.remedies.get(kind):
                    line += f" {remedy}"
                if places:
                    line += f": {', '.join(places)}" + (", ..." if count > len(places) else "")
                lines.append(with_urls(line))
        return [*lines, *filter(None, [with_urls(self.earlier.line())])]

    def as_dict(self) -> dict[str, Any]:
        """Return counts, places and remedies; JSON-serialisable."""
        counts = {"problems": dict(self.counts), "notes": dict(self.notes)}
        return {
            **counts,
            "places": self.places,
            "remedies": self.remedies,
            "of_logs": sorted(self.of_logs),
            "left_out": [[*kind, count] for kind, count in self.left_out.items()],
        }

    def provenance(self) -> dict[str, Any]:
        """Return what a result says about the problems, those of earlier runs included; JSON-serialisable."""
        about = self.as_dict() | {"notes": self._all_notes(), "earlier_problems": dict(self.earlier.counts)}
        del about["left_out"]
        return about

    @classmethod
    def total(cls, parts: Iterable[dict[str, Any]]) -> "Problems":
        """Return the sum of several results of `as_dict`."""
        total = cls()
        for part in parts:
            total.counts.update(part["problems"])
            total.notes.update(part["notes"])
            # These are missing in states of earlier releases.
            total.remedies |= part.get("remedies", {})
            total.of_logs |= {*part.get("of_logs", ())}
            for *kind, count in part.get("left_out", ()):
                total.left_out[LeftOut(*kind)] += count
            for kind, places in part["places"].items():
                first_places = total.places.setdefault(kind, [])
                first_places.extend(places[: SHOWN - len(first_places)])
        return total


def counted_kind(count: int, kind: str) -> str:
    """Return a count with its kind, such as "1 response without a time"; the first word of a kind is a plural."""
    things, space, rest = kind.partition(" ")
    return f"{count:,} {things.removesuffix('s') if count == 1 else things}{space}{rest}"


class TrainingDataFilter:
    """Compares responses with an estimator's training data, according to the estimator's `metadata`.

    `rejected` counts the responses that differ, by mismatch, and `taken` the responses that differ but are used anyway.
    If the estimator needs no features, responses without features count, if there is an answer.
    A response of a model that counts as the estimator's (LOGGED_MODEL) does not differ.
    """

    def __init__(self, metadata: FitMetadata, matching: Matching, problems: Problems) -> None:
        model = metadata.model
        self._metadata, self._model, self._logprobs = metadata, model and bare(model), metadata.logprobs.as_dict()
        self._needs_features = metadata.needs_features
        self._matching, self._problems = matching, problems
        self.rejected, self.taken = Counter[Mismatch](), Counter[str]()
        # Estimated responses whose model counts as the estimator's, by the name in the log.
        self.same_models = Counter[str]()

    def of(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return for each row why it is not estimated, `excluded`, with CODE and SUBJECT; and two booleans.

        The first three are null for an estimated row. The reasons are another model or log-probabilities, or no
        features. Rows that are `overridden` are estimated nevertheless, and those of the `same_model` under a new name.
        """
        others = batch.select(
            "reason", *self._other_model(), *self._other_logprobs(batch), reason_code=_reason_codes(batch["reason"])
        )
        if not self._needs_features:
            has_no_answer = pl.col("reason_code").is_in([*map(str, HARMLESS_CODES), str(ExclusionCode.UNREADABLE)])
            others = others.with_columns(pl.when(has_no_answer).then(pl.col("reason", "reason_code")).name.keep())
        with_features = others.filter(pl.col("reason").is_null())
        # Why a response is left out, in the order of precedence; and the kinds of differences that are overridden.
        reasons, kinds = ["reason"], []
        if self._matching.any_model:
            kinds.append("model")
        else:
            reasons.insert(0, "model")
        if self._matching.any_logprobs:
            kinds.append("logprobs")
        else:
            reasons.append("logprobs")
        for kind in kinds:
            self.taken.update(with_features[kind].drop_nulls().to_list())
        differs = pl.any_horizontal(pl.lit(False), *(pl.col(kind).is_not_null() for kind in kinds))
        excluded = pl.coalesce(reasons)
        codes = pl.coalesce(f"{kind}_code" for kind in reasons).alias(CODE)
        subjects = {"reason": "reason", "model": "model_subject", "logprobs": "logprobs_subject"}
        subject = pl.coalesce(subjects[kind] for kind in reasons).alias(SUBJECT)
        names = (
            batch[LOGGED_MODEL] if LOGGED_MODEL in batch.columns else pl.Series([None] * len(batch), dtype=pl.String)
        )
        reasons_found = others.select(codes, subject, excluded=excluded, overridden=excluded.is_null() & differs)
        estimated = reasons_found["excluded"].is_null()
        self.same_models.update(names.filter(estimated).drop_nulls().to_list())
        return reasons_found.with_columns(same_model=estimated & names.is_not_null())

    def accepts(self, response: Mapping[str, Any]) -> bool:
        """Return whether a response with features matches the training data, as `of` decides for a frame."""
        if self._model is not None and bare(response["model"]) != self._model:
            return False
        wanted = ((name, self._logprobs.get(name)) for name in LOGPROBS)
        return all(value is None or response[name] == value for name, value in wanted)

    def _other_model(self) -> Iterator[pl.Expr]:
        """Yield a description, a code and a subject of a row's model if it is not the estimator's, else nulls."""
        name, bare_name = pl.col("model").fill_null("unknown"), without_provider(pl.col("model"))
        other = pl.lit(False) if self._model is None else bare_name.ne_missing(self._model)
        yield pl.when(other).then(pl.format("of model '{}'", name)).alias("model")
        yield pl.when(other).then(pl.lit(ExclusionKind.OTHER_MODEL.value)).alias("model_code")
        yield pl.when(other).then(bare_name.fill_null("unknown")).alias("model_subject")

    def _other_logprobs(self, batch: pl.DataFrame) -> Iterator[pl.Expr]:
        """Yield the same for a row's kind of log-probabilities."""
        differences, subjects = [pl.lit(None, pl.String)], [pl.lit(None, pl.String)]
        for name in LOGPROBS:
            wanted = self._logprobs.get(name)
            if name in batch.columns and wanted is not None:
                value, differs = pl.col(name).cast(pl.String).fill_null("unknown"), pl.col(name).ne_missing(wanted)
                words = pl.concat_str(pl.lit(f"of {name} "), value, pl.lit(f", not {wanted}"))
                differences.append(pl.when(differs).then(words))
                subjects.append(pl.when(differs).then(pl.concat_str(pl.lit(f"{name}="), value)))
        yield pl.coalesce(differences).alias("logprobs")
        subject = pl.coalesce(subjects)
        code = pl.when(subject.is_not_null()).then(pl.lit(ExclusionKind.OTHER_LOGPROBS.value))
        yield code.alias("logprobs_code")
        yield subject.alias("logprobs_subject")

    def count(self, frame: pl.DataFrame) -> None:
        """Count the rows without an estimate by the reason in their column `excluded`."""
        excluded = frame.filter(pl.col("excluded").is_not_null())
        if excluded.is_empty():
            return
        groups = excluded.group_by(CODE, SUBJECT, "excluded", maintain_order=True)
        for code, subject, kind, count, places in groups.agg(pl.len(), pl.col(PLACE).head(3)).iter_rows():
            if code == ExclusionKind.REFUSED_REQUEST:
                self._problems.note("responses that the server refused", places, count)
            elif code in HARMLESS_CODES:
                self._problems.note(f"responses without features: {kind}", places, count)
            elif code in (ExclusionKind.OTHER_MODEL, ExclusionKind.OTHER_LOGPROBS):
                mismatch = _mismatch(code, subject)
                self.rejected[mismatch] += count
                left_out = f"left out: {_why(mismatch, self._metadata, some=True)}"
                self._problems.record(f"responses {kind}", places, count, left_out)
            else:
                remedy = remedy_of(kind)
                remedy = f"({remedy})" if remedy else ""
                self._problems.record(f"responses without features: {kind}", places, count, remedy)

    def check(self, n: int) -> None:
        """Raise ProvenanceError if the estimator matches none of the `n` responses."""
        if n and self.rejected.total() == n:
            raise nothing_fits(self.rejected, self._metadata)


def _reason_codes(reasons: pl.Series) -> pl.Series:
    """Return the code of each reason, (n,); null without a reason."""
    if reasons.null_count() == len(reasons):
        return pl.Series([None], dtype=pl.String).new_from_index(0, len(reasons))
    distinct = reasons.unique().drop_nulls()
    codes = [str(reason_code(reason)) for reason in distinct]
    return reasons.replace_strict(distinct, codes, default=None, return_dtype=pl.String)


def _mismatch(code: str, subject: str) -> Mismatch:
    if code == ExclusionKind.OTHER_MODEL:
        return Mismatch("model", subject)
    setting, _, value = subject.partition("=")
    return Mismatch(setting, value)


def nothing_fits(rejected: Mapping[Mismatch, int], metadata: FitMetadata) -> ProvenanceError:
    """Return the error for `rejected` responses (counts by mismatch), with the estimator's value and the remedies."""
    most = sorted(rejected.items(), key=lambda pair: -pair[1])[:5]
    kinds = "; ".join(f"{count:,} {_mismatch_text(kind, metadata)}: {_why(kind, metadata)}" for kind, count in most)
    return ProvenanceError(f"no response matches what the estimator was fitted on: {kinds}")


def _mismatch_text(mismatch: Mismatch, metadata: FitMetadata) -> str:
    if mismatch.setting == "model":
        return f"of model '{mismatch.value}'"
    return f"of {mismatch.setting} {mismatch.value}, not {_wanted(mismatch, metadata)}"


def overridden(metadata: FitMetadata, taken: Mapping[str, int]) -> str:
    """Return the warning about `taken` responses (counts by kind), which do not match the estimator."""
    what = ", ".join(f"{count:,} {kind}" for kind, count in taken.items())
    return (
        f"the estimator was fitted and validated on model '{metadata.model or 'unknown'}', and these "
        f"responses differ: {what}. The validation does not apply to them, and their intervals rest only on an "
        "assumption. Label some of these responses, and fit an estimator on them"
    )


def _wanted(mismatch: Mismatch, metadata: FitMetadata) -> Any:
    """Return the estimator's value of what a response differs in."""
    return metadata.model if mismatch.setting == "model" else metadata.logprobs.as_dict()[mismatch.setting]


def _why(mismatch: Mismatch, metadata: FitMetadata, some: bool = False) -> str:
    """Return the estimator's value and the options to use these responses, with `some` also to skip them."""
    setting, value = mismatch
    wanted = _wanted(mismatch, metadata)
    remedies = []
    if some:
        remedies.append(f"--where {shlex.quote(f'{setting}={wanted}')} skips them")
    if setting == "model":
        remedies.append(f"--same-model {shlex.quote(f'{wanted}={value}')} continues with them")
        remedies.append("--any-model takes them")
    else:
        if setting == "top_k_returned" and value.isdecimal():
            if int(value) > wanted:
                remedies.append(f"--top-k {wanted} cuts them")
            else:
                remedies.append(f"an estimator fitted with --top-k {value} takes them")
        remedies.append("--any-logprobs takes them unchanged")
    return f"the estimator has {setting} {wanted} ({', '.join(remedies)})"
