"""The row of a file in a state: everything except its sums."""

import json
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

import polars as pl
from pydantic import ConfigDict, TypeAdapter, ValidationError

from entropy_sentinel.core.validation_errors import describe_error
from entropy_sentinel.logs.model_names import SameModels
from entropy_sentinel.monitor.reading.deduplication import TimeSpan
from entropy_sentinel.monitor.reading.problem_records import Problem, load_problems
from entropy_sentinel.monitor.slice_columns import STATISTICS, VERSIONS

# What a file lacks that was read before clusters were recorded.
REPEATED_QUESTIONS = "repeated questions"


@dataclass
class FileRecord:
    """What a state has of a file that was read, except its sums.

    Attributes:
        path: Where it was.
        key: The SHA-256 of its unpacked content; a number in a state that no later run uses.
        n_bytes: The length of its unpacked content.
        replaces: The keys of earlier files whose content the file begins with.
        seen: The columns with a value.
        problems: Those of reading.
        rejected: What states of earlier versions have instead of `mismatches`.
        mismatches: Responses that do not match the estimator, by setting and value.
        other_models: The models of responses that are not estimated.
        same_models: Responses whose model counts as the estimator's, by its name in the log.
        taken: Responses that do not match the estimator and are used anyway, by kind.
        n_responses: The number of its responses that count.
        of_part: Whether it comes from another state.
        checksums: The checksums of its frames, by part.
        statistics: The versions of its statistics, by name.
        span: The first and the last smallest window of its responses, and whether some have none; null if an earlier
            version wrote the file.
        n_clustered: The number of its responses with a known cluster, such as their request; null likewise.
        strata: The columns, by which labels were drawn, whose values are kept for its responses.
    """

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")

    path: str
    key: str
    n_bytes: int
    replaces: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    rejected: dict[str, int] = field(default_factory=dict)
    mismatches: list[tuple[str, str, int]] = field(default_factory=list)
    other_models: list[str] = field(default_factory=list)
    same_models: dict[str, int] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)
    n_responses: int = 0
    of_part: bool = False
    checksums: dict[str, str] = field(default_factory=dict)
    statistics: dict[str, int] = field(default_factory=lambda: dict(VERSIONS))
    span: list[Any] | None = None
    n_clustered: int | None = None
    strata: list[str] = field(default_factory=list)

    @property
    def times(self) -> TimeSpan:
        """The span of the responses' times; raises ValueError or TypeError for one that is none."""
        first, last, untimed = self.span or (None, None, True)
        if first is None or last is None:
            return TimeSpan(has_untimed=untimed)
        begin, end = datetime.fromisoformat(first), datetime.fromisoformat(last)
        if begin.tzinfo is None or end.tzinfo is None:
            raise ValueError("a time without its zone")
        return TimeSpan(begin, end, untimed)

    def to_row(self) -> dict[str, Any]:
        """The row; JSON-serialisable."""
        return asdict(self) | {"problems": [problem.to_row() for problem in self.problems]}

    def add_times(self, grains: pl.Series) -> None:
        """Add the starts of the smallest windows of some responses, (n,), to the span."""
        before = TimeSpan() if self.span is None else self.times
        self.span = format_span(before.merge(TimeSpan.from_times(grains)))

    @property
    def unknown_statistics(self) -> list[str]:
        """The statistics that the file's sums lack or have in another version."""
        unknown = []
        for name, version in VERSIONS.items():
            recorded = self.statistics.get(name)
            if recorded != version and not (recorded is None and STATISTICS[name].absent_is_zero):
                unknown.append(name)
        return unknown

    def find_changed_models(self, names: SameModels) -> list[str]:
        """The file's models that `names` newly counts as the estimator's, then those that it no longer does."""
        gained_models = [model for model in self.other_models if names.find_old_name(model) is not None]
        lost_models = [model for model in self.same_models if names.find_old_name(model) is None]
        return gained_models + lost_models

    @property
    def missing_records(self) -> list[str]:
        """What an earlier version did not record: statistics, and which responses have the same request."""
        return self.unknown_statistics + ([REPEATED_QUESTIONS] if self.n_clustered is None else [])


_FILE_RECORD = TypeAdapter(FileRecord)


def parse_file_record(key: str, content: Any) -> FileRecord:
    """The row of a file; raises ValueError if it has another form."""
    if not isinstance(content, dict):
        raise ValueError("its row is not a JSON object")
    try:
        about = _FILE_RECORD.validate_json(json.dumps(content | {"problems": []}))  # strict only about JSON's types
    except ValidationError as error:
        raise ValueError(describe_error(error.errors()[0])) from None
    # An earlier version did not record the model of a state.
    about.problems = load_problems(content.get("problems"), model="")
    if about.key != key:
        raise ValueError("its row is under another key")
    try:
        _ = about.times
    except (ValueError, TypeError):
        raise ValueError("span: must be two times") from None
    if about.n_responses and "sums" not in about.checksums:
        raise ValueError("checksums: must have one of the sums")
    return about


def format_span(span: TimeSpan) -> list[Any]:
    """A span as a row has it."""
    if span.first is None or span.last is None:
        return [None, None, span.has_untimed]
    return [span.first.isoformat(), span.last.isoformat(), span.has_untimed]
