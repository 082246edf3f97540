"""Count the unusable parts of logs by kind, and find the responses that do not match the estimator."""

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from entropy_sentinel.features.remedies import remedy_of
from entropy_sentinel.frames.errors import InputError, ProvenanceError, with_urls
from entropy_sentinel.frames.generation import LOGPROBS, REFUSED
from entropy_sentinel.sources.logs.models import bare, without_provider
from entropy_sentinel.sources.logs.selection import PLACE
from entropy_sentinel.sources.logs.settings import Matching

# Largest numbers of places shown per kind, and of kinds, which are limited because a kind may contain any name.
SHOWN, MOST_KINDS = 3, 50
_FURTHER = "other problems"
# The beginning of the notes about responses that `where` excludes.
LEFT_OUT = "responses left out by --where: "
# Reasons for missing features that are not errors of the log.
HARMLESS = ("empty response", "no token after the thinking", REFUSED)


@dataclass
class Problems:
    """Counts of problems by kind, with the first places; with `strict` the first problem raises InputError.

    Notes are counted and shown, but are not problems.
    """

    strict: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    places: dict[str, list[str]] = field(default_factory=dict)
    # The consequence and the remedy of each kind.
    remedies: dict[str, str] = field(default_factory=dict)
    # The kinds that do not depend on the estimator, so that several estimators count the same.
    of_logs: set[str] = field(default_factory=set)

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

    def lines(self) -> list[str]:
        """Return one line per kind, the most frequent first, with its first places."""
        lines = []
        for counts in (self.counts, self.notes):
            for kind, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
                line, places = _words(count, kind), self.places.get(kind)
                if remedy := self.remedies.get(kind):
                    line += f" {remedy}"
                if places:
                    line += f": {', '.join(places)}" + (", ..." if count > len(places) else "")
                lines.append(with_urls(line))
        return lines

    def as_dict(self) -> dict[str, Any]:
        """Return counts, places and remedies; JSON-serialisable."""
        counts = {"problems": dict(self.counts), "notes": dict(self.notes)}
        return {**counts, "places": self.places, "remedies": self.remedies, "of_logs": sorted(self.of_logs)}

    @classmethod
    def total(cls, parts: Iterable[dict[str, Any]]) -> "Problems":
        """Return the sum of several results of `as_dict`."""
        total = cls()
        for part in parts:
            total.counts.update(part["problems"])
            total.notes.update(part["notes"])
            # These two are missing in states of earlier releases.
            total.remedies |= part.get("remedies", {})
            total.of_logs |= {*part.get("of_logs", ())}
            for kind, places in part["places"].items():
                first_places = total.places.setdefault(kind, [])
                first_places.extend(places[: SHOWN - len(first_places)])
        return total


def _words(count: int, kind: str) -> str:
    """Return a count with its kind, such as "1 response without a time"; the first word of a kind is a plural."""
    things, space, rest = kind.partition(" ")
    return f"{count:,} {things.removesuffix('s') if count == 1 else things}{space}{rest}"


class TrainingDataFilter:
    """Compares responses with an estimator's training data, according to the provenance `about` of the estimator.

    `rejected` counts the responses that differ, by kind, and `taken` the responses that differ but are used anyway.
    """

    def __init__(self, about: Mapping[str, Any], matching: Matching, problems: Problems) -> None:
        model = about.get("model")
        self._about, self._model, self._logprobs = about, model and bare(model), about["logprobs"]
        self._matching, self._problems = matching, problems
        self.rejected, self.taken = Counter[str](), Counter[str]()

    def of(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return for each row why it is not estimated, `excluded`, or null; and whether it is `overridden`.

        The reasons are another model or log-probabilities, or no features; overridden rows are estimated nevertheless.
        """
        others = batch.select("reason", model=self._other_model(), logprobs=self._other_logprobs(batch))
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
        return others.select(excluded=excluded, overridden=excluded.is_null() & differs)

    def _other_model(self) -> pl.Expr:
        """Return a description of a row's model if it is not the estimator's, else null."""
        if self._model is None:
            return pl.lit(None, pl.String)
        other = without_provider(pl.col("model")).ne_missing(self._model)
        return pl.when(other).then(pl.format("of model '{}'", pl.col("model").fill_null("unknown")))

    def _other_logprobs(self, batch: pl.DataFrame) -> pl.Expr:
        """Return a description of a row's kind of log-probabilities if it is not the estimator's, else null."""
        differences = [pl.lit(None, pl.String)]
        for name in LOGPROBS:
            wanted = self._logprobs.get(name)
            if name in batch.columns and wanted is not None:
                value = pl.col(name).cast(pl.String).fill_null("unknown")
                words = pl.concat_str(pl.lit(f"of {name} "), value, pl.lit(f", not {wanted}"))
                differences.append(pl.when(pl.col(name).ne_missing(wanted)).then(words))
        return pl.coalesce(differences)

    def count(self, frame: pl.DataFrame) -> None:
        """Count the rows without an estimate by the reason in their column `excluded`."""
        excluded = frame.filter(pl.col("excluded").is_not_null())
        if excluded.is_empty():
            return
        counted = excluded.group_by("excluded", maintain_order=True).agg(pl.len(), pl.col(PLACE).head(3))
        for kind, count, places in counted.iter_rows():
            if kind.startswith(REFUSED):
                self._problems.note("responses that the server refused", places, count)
            elif kind.startswith(HARMLESS):
                self._problems.note(f"responses without features: {kind}", places, count)
            elif kind.startswith("of "):
                self.rejected[kind] += count
                left_out = f"left out: {_why(kind, self._about, some=True)}"
                self._problems.record(f"responses {kind}", places, count, left_out)
            else:
                remedy = remedy_of(kind)
                remedy = f"({remedy})" if remedy else ""
                self._problems.record(f"responses without features: {kind}", places, count, remedy)

    def check(self, n: int) -> None:
        """Raise ProvenanceError if the estimator matches none of the `n` responses."""
        if n and self.rejected.total() == n:
            raise nothing_fits(self.rejected, self._about)


def nothing_fits(rejected: Mapping[str, int], about: Mapping[str, Any]) -> ProvenanceError:
    """Return the error for `rejected` responses (counts by kind), with the estimator's kind and the remedies."""
    most = sorted(rejected.items(), key=lambda pair: -pair[1])[:5]
    kinds = "; ".join(f"{count:,} {kind}: {_why(kind, about)}" for kind, count in most)
    return ProvenanceError(f"no response matches what the estimator was fitted on: {kinds}")


def overridden(about: Mapping[str, Any], taken: Mapping[str, int]) -> str:
    """Return the warning about `taken` responses (counts by kind), which do not match the estimator."""
    what = ", ".join(f"{count:,} {kind}" for kind, count in taken.items())
    return (
        f"the estimator was fitted and validated on model '{about.get('model') or 'unknown'}', and these "
        f"responses differ: {what}. The validation does not apply to them, and their intervals rest only on an "
        "assumption. Label some of these responses, and fit an estimator on them"
    )


def _why(kind: str, about: Mapping[str, Any], some: bool = False) -> str:
    """Return the estimator's value for `kind` and the options to use these responses, with `some` also to skip them."""
    # Such as "of top_k_returned 5, not 20".
    what, _, value = kind.removeprefix("of ").partition(" ")
    wanted = about["model"] if what == "model" else about["logprobs"][what]
    remedies = []
    if some:
        remedies.append(f"--where {shlex.quote(f'{what}={wanted}')} skips them")
    if what == "model":
        remedies.append("--any-model takes them")
    else:
        width = value.partition(",")[0]
        if what == "top_k_returned" and width.isdecimal():
            if int(width) > wanted:
                remedies.append(f"--top-k {wanted} cuts them")
            else:
                remedies.append(f"an estimator fitted with --top-k {width} takes them")
        remedies.append("--any-logprobs takes them unchanged")
    return f"the estimator has {what} {wanted} ({', '.join(remedies)})"
