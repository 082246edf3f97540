"""Collect the problems of reading, and find the responses that do not match the estimator."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from entropy_sentinel.core.errors import InputError, ProvenanceError
from entropy_sentinel.estimators.fit_metadata import FitMetadata
from entropy_sentinel.features.exclusion_reasons import ExclusionCode
from entropy_sentinel.logs.log_options import MatchOptions
from entropy_sentinel.logs.model_names import LOGGED_MODEL, strip_prefix, strip_prefixes
from entropy_sentinel.logs.response_selection import PLACE
from entropy_sentinel.monitor.reading.exclusions import (
    CODE,
    HARMLESS_CODES,
    SUBJECT,
    ExclusionKind,
    Mismatch,
    classify_reason,
)
from entropy_sentinel.monitor.reading.problem_codes import ProblemKind
from entropy_sentinel.monitor.reading.problem_records import MOST_PLACES, EarlierProblems, Problem, ProblemKey
from entropy_sentinel.monitor.reading.problem_texts import (
    describe_earlier_problems,
    describe_problem,
    describe_row,
    explain_mismatch,
    list_lines,
)
from entropy_sentinel.schemas.generation_schema import LOGPROBS

# Largest numbers of different problems and of different notes, which may name anything in a log.
MOST_PROBLEMS = 50


@dataclass
class Problems:
    """Problems and notes, each with a count; with `strict` the first problem that has a place raises InputError.

    `model` is the model of the estimator for which logs are read, null for problems that depend on no estimator.
    """

    strict: bool = False
    model: str | None = None
    by_key: dict[ProblemKey, Problem] = field(default_factory=dict)
    earlier: EarlierProblems = field(default_factory=EarlierProblems)

    def add(
        self,
        kind: ProblemKind,
        places: Sequence[str] = (),
        *,
        count: int | None = None,
        subject: str | None = None,
        value: str | None = None,
        expected: str | None = None,
    ) -> None:
        """Count a problem once at each of these places, or `count` times, of which `places` has examples."""
        problem = Problem(
            kind, subject, value, expected, self.model, len(places) if count is None else count, [*places]
        )
        if self.strict and places and not kind.is_note:
            raise InputError(f"{places[0]}: {describe_problem(problem)}")
        self.add_all([problem])

    def add_all(self, problems: Iterable[Problem]) -> None:
        """Add problems to those of the same key; too many different ones are counted together as further ones."""
        for problem in problems:
            key = problem.key
            n_alike = sum(key.kind.is_note == problem.kind.is_note for key in self.by_key)
            if key not in self.by_key and n_alike >= MOST_PROBLEMS:
                kind = ProblemKind.FURTHER_NOTES if problem.kind.is_note else ProblemKind.FURTHER_PROBLEMS
                key = ProblemKey(kind, model=problem.model)
            self.by_key.setdefault(key, Problem(*key)).add(problem.count, problem.places)

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.by_key.values())

    @property
    def counts(self) -> dict[str, int]:
        """The number of problems by the slug of their kind, without notes."""
        return _count_by_slug(problem for problem in self if not problem.kind.is_note)

    @property
    def notes(self) -> dict[str, int]:
        """The number of notes by the slug of their kind."""
        return _count_by_slug(problem for problem in self if problem.kind.is_note)

    def lines(self, with_notes: bool = True) -> list[str]:
        """A line for each problem, the most frequent first, then for each note, and one about earlier runs."""
        lines = list_lines(problem for problem in self if not problem.kind.is_note)
        if with_notes:
            lines += list_lines(problem for problem in self if problem.kind.is_note)
            lines += filter(None, [describe_earlier_problems(self.earlier)])
        return lines

    def provenance(self) -> dict[str, Any]:
        """What a result says about the problems, those of earlier runs included; JSON-serialisable."""
        return {
            "problems": [describe_row(problem) for problem in self if not problem.kind.is_note],
            "notes": [describe_row(problem) for problem in self if problem.kind.is_note],
            "earlier_problems": [describe_row(problem) for problem in self.earlier.problems.values()],
        }


def _count_by_slug(problems: Iterable[Problem]) -> dict[str, int]:
    """The sums of the problems' counts, by the slug of their kind."""
    counts = Counter[str]()
    for problem in problems:
        counts[problem.kind.slug] += problem.count
    return dict(counts)


class TrainingDataFilter:
    """Compares responses with an estimator's training data, according to the estimator's `metadata`.

    `excluded_counts` has the responses that differ, by mismatch, and `override_counts` those that differ but are used.
    If the estimator needs no features, responses without features count, if there is an answer.
    A response of a model that counts as the estimator's (LOGGED_MODEL) does not differ.
    """

    def __init__(self, metadata: FitMetadata, matching: MatchOptions, problems: Problems) -> None:
        """`matching` says which differences are allowed; unusable responses are added to `problems`."""
        self._metadata = metadata
        self._model = metadata.model and strip_prefix(metadata.model)
        self._logprobs = metadata.logprobs.to_dict()
        self._needs_features = metadata.needs_features
        self._matching, self._problems = matching, problems
        self.excluded_counts, self.override_counts = Counter[Mismatch](), Counter[str]()
        # Estimated responses whose model counts as the estimator's, by the name in the log.
        self.same_models = Counter[str]()

    def classify(self, batch: pl.DataFrame) -> pl.DataFrame:
        """For each row why it is not estimated, `excluded`, with CODE and SUBJECT; and two booleans.

        The first three are null for an estimated row. The reasons are another model or log-probabilities, or no
        features. A row is `overridden` if it differs but the options allow it, and of the `same_model` if its model's
        name counts as that of the estimator's; both are estimated. Overridden rows and such names are also counted.
        """
        differences = batch.select(
            "reason",
            *self._compare_models(),
            *self._compare_logprobs(batch),
            reason_code=_classify_reasons(batch["reason"]),
        )
        if not self._needs_features:
            has_no_answer = pl.col("reason_code").is_in([*map(str, HARMLESS_CODES), str(ExclusionCode.UNREADABLE)])
            differences = differences.with_columns(
                pl.when(has_no_answer).then(pl.col("reason", "reason_code")).name.keep()
            )
        usable = differences.filter(pl.col("reason").is_null())
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
            self.override_counts.update(usable[kind].drop_nulls().to_list())
        differs = pl.any_horizontal(pl.lit(False), *(pl.col(kind).is_not_null() for kind in kinds))
        excluded = pl.coalesce(reasons)
        codes = pl.coalesce(f"{kind}_code" for kind in reasons).alias(CODE)
        subjects = {"reason": "reason", "model": "model_subject", "logprobs": "logprobs_subject"}
        subject = pl.coalesce(subjects[kind] for kind in reasons).alias(SUBJECT)
        names = (
            batch[LOGGED_MODEL] if LOGGED_MODEL in batch.columns else pl.Series([None] * len(batch), dtype=pl.String)
        )
        reasons_found = differences.select(codes, subject, excluded=excluded, overridden=excluded.is_null() & differs)
        estimated = reasons_found["excluded"].is_null()
        self.same_models.update(names.filter(estimated).drop_nulls().to_list())
        return reasons_found.with_columns(same_model=estimated & names.is_not_null())

    def accepts(self, response: Mapping[str, Any]) -> bool:
        """Whether a response with features matches the training data, as `classify` decides for a frame."""
        if self._model is not None and strip_prefix(response["model"]) != self._model:
            return False
        expected = ((name, self._logprobs.get(name)) for name in LOGPROBS)
        return all(value is None or response[name] == value for name, value in expected)

    def _compare_models(self) -> Iterator[pl.Expr]:
        """Yield a description, a code and a subject of a row's model if it is not the estimator's, else nulls."""
        name, bare_name = pl.col("model").fill_null("unknown"), strip_prefixes(pl.col("model"))
        differs = pl.lit(False) if self._model is None else bare_name.ne_missing(self._model)
        yield pl.when(differs).then(pl.format("of model '{}'", name)).alias("model")
        yield pl.when(differs).then(pl.lit(ExclusionKind.OTHER_MODEL.value)).alias("model_code")
        yield pl.when(differs).then(bare_name.fill_null("unknown")).alias("model_subject")

    def _compare_logprobs(self, batch: pl.DataFrame) -> Iterator[pl.Expr]:
        """Yield a description, a code and a subject of a row's kind of log-probabilities if it differs, else nulls."""
        differences, subjects = [pl.lit(None, pl.String)], [pl.lit(None, pl.String)]
        for name in LOGPROBS:
            expected = self._logprobs.get(name)
            if name in batch.columns and expected is not None:
                value, differs = pl.col(name).cast(pl.String).fill_null("unknown"), pl.col(name).ne_missing(expected)
                words = pl.concat_str(pl.lit(f"of {name} "), value, pl.lit(f", not {expected}"))
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
        counts = groups.agg(pl.col("model").first(), pl.len(), pl.col(PLACE).head(MOST_PLACES))
        for code, subject, reason, name, count, places in counts.iter_rows():
            if code == ExclusionKind.REFUSED_REQUEST:
                self._problems.add(ProblemKind.SERVER_REFUSED, places, count=count)
            elif code in HARMLESS_CODES:
                self._problems.add(ProblemKind.NO_ANSWER, places, count=count, subject=reason)
            elif code == ExclusionKind.OTHER_MODEL:
                self.excluded_counts[Mismatch("model", subject)] += count
                expected = str(self._metadata.model)
                self._problems.add(
                    ProblemKind.OTHER_MODEL,
                    places,
                    count=count,
                    subject=name or "unknown",
                    value=subject,
                    expected=expected,
                )
            elif code == ExclusionKind.OTHER_LOGPROBS:
                mismatch = _parse_logprobs_mismatch(subject)
                self.excluded_counts[mismatch] += count
                expected = str(self._logprobs[mismatch.setting])
                setting, value = mismatch
                self._problems.add(
                    ProblemKind.OTHER_LOGPROBS, places, count=count, subject=setting, value=value, expected=expected
                )
            else:
                self._problems.add(ProblemKind.NO_FEATURES, places, count=count, subject=reason)

    def check(self, n: int) -> None:
        """Raise ProvenanceError if the estimator matches none of the `n` responses."""
        if n and self.excluded_counts.total() == n:
            raise make_mismatch_error(self.excluded_counts, self._metadata)


def _classify_reasons(reasons: pl.Series) -> pl.Series:
    """The code of each reason, (n,); null without a reason."""
    if reasons.null_count() == len(reasons):
        return pl.Series([None], dtype=pl.String).new_from_index(0, len(reasons))
    distinct = reasons.unique().drop_nulls()
    codes = [str(classify_reason(reason)) for reason in distinct]
    return reasons.replace_strict(distinct, codes, default=None, return_dtype=pl.String)


def _parse_logprobs_mismatch(subject: str) -> Mismatch:
    """The mismatch in a subject such as `top_k_returned=5`."""
    setting, _, value = subject.partition("=")
    return Mismatch(setting, value)


def make_mismatch_error(excluded_counts: Mapping[Mismatch, int], metadata: FitMetadata) -> ProvenanceError:
    """The error for excluded responses (counts by mismatch), with the estimator's value and the remedies."""
    most = sorted(excluded_counts.items(), key=lambda pair: -pair[1])[:5]
    kinds = "; ".join(
        f"{count:,} {_describe_mismatch(kind, metadata)}: {_explain_remedies(kind, metadata)}" for kind, count in most
    )
    return ProvenanceError(f"no response matches what the estimator was fitted on: {kinds}")


def _describe_mismatch(mismatch: Mismatch, metadata: FitMetadata) -> str:
    """What responses are, and for log-probabilities what they should be."""
    if mismatch.setting == "model":
        return f"of model '{mismatch.value}'"
    return f"of {mismatch.setting} {mismatch.value}, not {_find_expected(mismatch, metadata)}"


def describe_overrides(metadata: FitMetadata, override_counts: Mapping[str, int]) -> str:
    """The warning about responses (`override_counts` by kind) that are used but do not match the estimator."""
    counts_text = ", ".join(f"{count:,} {kind}" for kind, count in override_counts.items())
    return (
        f"the estimator was fitted and validated on model '{metadata.model or 'unknown'}', and these "
        f"responses differ: {counts_text}. The validation does not apply to them, and their intervals rest only on an "
        "assumption. Label some of these responses, and fit an estimator on them"
    )


def _find_expected(mismatch: Mismatch, metadata: FitMetadata) -> Any:
    """The estimator's value of what a response differs in."""
    return metadata.model if mismatch.setting == "model" else metadata.logprobs.to_dict()[mismatch.setting]


def _explain_remedies(mismatch: Mismatch, metadata: FitMetadata) -> str:
    """The estimator's value, and the options to use the responses."""
    return explain_mismatch(*mismatch, str(_find_expected(mismatch, metadata)))
