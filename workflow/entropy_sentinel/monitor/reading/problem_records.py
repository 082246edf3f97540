"""Records of problems of reading: a kind with its stable code, what it is about, how often, and the first places."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime
from typing import Any, NamedTuple

from pydantic import ConfigDict, TypeAdapter, ValidationError

from entropy_sentinel.core.validation_errors import describe_error
from entropy_sentinel.logs.response_selection import ExclusionReason
from entropy_sentinel.monitor.reading.problem_codes import ProblemKind

# Largest number of places kept of each problem.
MOST_PLACES = 3


class ProblemKey(NamedTuple):
    """What makes problems one: see `Problem`."""

    kind: ProblemKind
    subject: str | None = None
    value: str | None = None
    expected: str | None = None
    model: str | None = None


@dataclass
class Problem:
    """An unusable part of logs, or a note about them.

    Attributes:
        kind: What it is.
        subject: What it is about, such as the name of a model, a column, or the reason for missing features.
        value: The value of the subject.
        expected: The value that the estimator needs.
        model: The model of the estimator that the problem depends on; null if it does not depend on an estimator.
        count: How many records, responses, files or labels have the problem.
        places: The first places of it: files, records, responses.
    """

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")

    kind: ProblemKind
    subject: str | None = None
    value: str | None = None
    expected: str | None = None
    model: str | None = None
    count: int = 0
    places: list[str] = field(default_factory=list)

    @property
    def key(self) -> ProblemKey:
        """What makes problems one."""
        return ProblemKey(self.kind, self.subject, self.value, self.expected, self.model)

    def add(self, count: int, places: Sequence[str]) -> None:
        """Count the problem again, at these places."""
        self.count += count
        self.places.extend(places[: MOST_PLACES - len(self.places)])

    def to_row(self) -> dict[str, Any]:
        """The problem for a file, without empty fields; JSON-serialisable."""
        row = {name: value for name, value in asdict(self).items() if value not in (None, [])}
        return row | {"kind": self.kind.number}


_PROBLEMS = TypeAdapter(list[Problem])


def load_problems(rows: Any, model: str | None) -> list[Problem]:
    """The problems of `Problem.to_row`; raises ValueError for another form.

    States of earlier versions have words and counts instead. They do not say which of their problems depend on the
    estimator of the state, whose model is `model`, except by a list of the others.
    """
    if isinstance(rows, Mapping):
        rows = [*_convert_earlier_form(rows, model)]
    try:
        return _PROBLEMS.validate_json(json.dumps(rows))  # strict only about JSON's types
    except ValidationError as error:
        raise ValueError(f"problems: {describe_error(error.errors()[0])}") from None


def _convert_earlier_form(rows: Mapping[str, Any], model: str | None) -> Iterator[dict[str, Any]]:
    """Yield rows like those of `Problem.to_row` for the problems in a state of an earlier version.

    There, problems and notes are counts by words, like their `places` and `remedies`; `of_logs` lists the words of
    problems that depend on no estimator.
    """
    places, remedies, log_problems = rows.get("places", {}), rows.get("remedies", {}), rows.get("of_logs", [])
    if not isinstance(places, Mapping) or not isinstance(remedies, Mapping) or not isinstance(log_problems, list):
        raise ValueError("problems: must be counts with their places")
    for name, kind in (("problems", ProblemKind.EARLIER_PROBLEM), ("notes", ProblemKind.EARLIER_NOTE)):
        counts = rows.get(name)
        if not isinstance(counts, Mapping):
            raise ValueError(f"problems: {name}: must be counts")
        for words, count in counts.items():
            yield {
                "kind": kind.number,
                "subject": words,
                "value": remedies.get(words),
                "model": None if words in log_problems else model,
                "count": count,
                "places": places.get(words, []),
            }
    for row in rows.get("left_out", ()):
        if not isinstance(row, list) or len(row) != len(ExclusionReason._fields) + 1:
            raise ValueError("problems: left_out: must be counts")
        column, value, many_values, count = row
        kind, subject, value = identify_left_out(ExclusionReason(column, value, many_values))
        yield {"kind": kind.number, "subject": subject, "value": value, "model": model, "count": count}


def identify_left_out(left_out: ExclusionReason) -> tuple[ProblemKind, str, str | None]:
    """The kind, the subject and the value of the note about responses that `where` excludes."""
    if left_out.is_summary:
        return ProblemKind.LEFT_OUT_VALUES, left_out.column, None
    kind = ProblemKind.LEFT_OUT if left_out.value is not None else ProblemKind.LEFT_OUT_WITHOUT_VALUE
    return kind, left_out.column, left_out.value


@dataclass
class EarlierProblems:
    """Problems of files that earlier runs read, by key; the keys of these files, and the days of their responses.

    The days are null for files without times.
    """

    problems: dict[ProblemKey, Problem] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    first: date | None = None
    last: date | None = None

    def add_file(self, key: str, problems: Iterable[Problem], first: datetime | None, last: datetime | None) -> None:
        """Add the problems of a file whose responses are from `first` to `last`; notes do not count."""
        problems = [problem for problem in problems if not problem.kind.is_note]
        if not problems:
            return
        for problem in problems:
            self.problems.setdefault(problem.key, replace(problem, count=0, places=[])).add(problem.count, [])
        self.files.add(key)
        if first is not None and last is not None:
            self.first = first.date() if self.first is None else min(self.first, first.date())
            self.last = last.date() if self.last is None else max(self.last, last.date())
