"""The second opinion of a model that answered the same questions anyway: its log is joined with a sample.

A response of the sample and an answer of the other model belong together if they have the same id, and the same
question where both logs have questions; or else if their questions are the same after trimming. In a conversation of
several turns all turns must be the same. System prompts may differ.

If the other model answered a question several times, its answer at temperature 0 counts, or else the first by time, or
else the first in the log.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from entropy_sentinel.api.response_reading import open_logs
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.core.printable import make_one_line
from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.judges.answer_matching import explain_missing_answer
from entropy_sentinel.logs.conversation import CONVERSATION
from entropy_sentinel.logs.reader_base import QUESTION
from entropy_sentinel.logs.response_keys import TIMES, UNKNOWN_MODEL
from entropy_sentinel.logs.response_selection import coalesce_columns
from entropy_sentinel.logs.timestamps import parse_times
from entropy_sentinel.monitor.labelling.judged_sample import RESPONSE_TEXT, JudgedSample
from entropy_sentinel.monitor.labelling.sample_table import MESSAGES
from entropy_sentinel.monitor.labelling.second_opinion import add_opinions
from entropy_sentinel.schemas.witness_schema import WitnessKind

_TEMPERATURE = "temperature"
NO_PARTNER = "the other model's log has no answer to this question"
# Ids and questions that an error shows, and most characters of each; models that an error names.
_MOST_EXAMPLES, _LONGEST, _MOST_MODELS = 3, 60, 5


class _AskedQuestion(NamedTuple):
    """What tells that two responses answer the same question; null where a log does not have it."""

    item_id: str
    question: str | None


def join_partner(rows: pl.DataFrame, traces: Any, model: str | None) -> JudgedSample:
    """The rows of a sample with whether the answers in another model's logs agree with the responses.

    The partner of a response is the other model's answer to the same question. `model` is the name of the other model;
    null if the logs name only one. Raises InputError if nothing can be joined.
    """
    watched = set(rows["model"].drop_nulls().unique()) if "model" in rows.columns else set[str]()
    answers, notices = _read_answers(traces)
    name = _choose_model(answers, model, watched)
    answers = answers.filter(pl.col("model").is_in([name, UNKNOWN_MODEL] if model else [name]))
    asked = _list_questions(rows)
    partners = _match_partners(asked, answers, rows["benchmark"].to_list() if "benchmark" in rows.columns else None)
    if not any(partner is not None for partner in partners):
        raise InputError(_describe_no_match(asked, answers, name))
    texts: list[str | None] = []
    reasons: list[str | None] = []
    text: str | None
    reason: str | None
    for partner in partners:
        text, reason = None, NO_PARTNER
        if partner is not None:
            text = answers["text"][partner].strip()
            reason = explain_missing_answer(text, answers["finish_reason"][partner])
        texts.append(None if reason else text)
        reasons.append(reason)
    responses = rows[RESPONSE_TEXT].to_list()
    pairs = [(text, response) for text, response in zip(texts, responses, strict=True) if text and response]
    if pairs and all(text == response.strip() for text, response in pairs):
        notices.append(
            f"all {format_count(len(pairs), 'answer')} of {name} are the same texts as the logged "
            "responses: check that the "
            "logs are those of another model"
        )
    return JudgedSample(
        add_opinions(rows, name, texts, reasons), WitnessKind.SECOND_OPINION, name, notices=tuple(notices)
    )


def _read_answers(traces: Any) -> tuple[pl.DataFrame, list[str]]:
    """The answers in logs, and notices about unreadable records.

    Answers at temperature 0 come first, then the earliest, because the first answer to a question counts.
    """
    logs = open_logs(traces, columns=["benchmark", QUESTION, CONVERSATION, _TEMPERATURE, *TIMES])
    parts = []
    for frame in logs:
        temperature = coalesce_columns(frame, [_TEMPERATURE]).cast(pl.Float64, strict=False)
        parts.append(
            frame.select(
                "item_id",
                "model",
                "benchmark",
                "text",
                "finish_reason",
                coalesce_columns(frame, [QUESTION]).cast(pl.String).alias(QUESTION),
                coalesce_columns(frame, [CONVERSATION]).cast(pl.String).alias(MESSAGES),
                (temperature == 0).fill_null(False).alias("is_greedy"),
                parse_times(coalesce_columns(frame, TIMES)).alias("time"),
            )
        )
    if not parts:
        raise InputError(
            "; ".join(["agrees_with: the logs contain no usable response", *logs.summary.count_duplicates()])
        )
    answers = pl.concat(parts, how="vertical_relaxed")
    notices = []
    if logs.summary.n_bad:
        first = next(iter(logs.summary.bad))
        notices.append(
            f"{format_count(logs.summary.n_bad, 'record')} of the other model's logs cannot be read, the first: "
            f"{first.where}: {first.problem}"
        )
    order = [pl.col("is_greedy").not_(), "time"]
    return answers.sort(order, nulls_last=True, maintain_order=True), notices


def _choose_model(answers: pl.DataFrame, model: str | None, watched: set[str]) -> str:
    """The name of the other model; raises InputError if the logs have several, or do not name it."""
    counts = answers["model"].value_counts(sort=True)
    names = counts["model"].to_list()
    if model is not None:
        if not {model, UNKNOWN_MODEL} & set(names):
            raise InputError(
                f"agrees_with_model: no answer of '{make_one_line(model)}'; models: {_format_models(names)}"
            )
        return model
    candidates = [name for name in names if name not in watched] if len(names) > 1 else names
    if len(candidates) != 1:
        raise InputError(
            f"agrees_with: the logs have answers of several models ({_format_models(names)}); name the other model "
            f"with {format_option('agrees_with_model')}"
        )
    if candidates[0] == UNKNOWN_MODEL:
        raise InputError(
            f"agrees_with: the logs do not name their model; name it with {format_option('agrees_with_model')}"
        )
    return str(candidates[0])


def _list_questions(rows: pl.DataFrame) -> list[_AskedQuestion]:
    """The id and the question of each row."""
    columns = {name: pl.col(name) if name in rows.columns else pl.lit(None, pl.String) for name in (QUESTION, MESSAGES)}
    return [
        _AskedQuestion(str(item), _make_question_key(*texts))
        for item, *texts in rows.select("item_id", **columns).iter_rows()
    ]


def _make_question_key(question: str | None, messages: str | None) -> str | None:
    """The trimmed question or, in a conversation of several turns, all turns without the system prompt."""
    try:
        turns = [message for message in json.loads(messages or "[]") if message["role"] != "system"]
        if len(turns) > 1:
            return json.dumps([[turn["role"], str(turn["content"]).strip()] for turn in turns])
    except (ValueError, TypeError, LookupError):
        pass
    # A blank question tells nothing.
    return (question or "").strip() or None


def _match_partners(
    asked: Sequence[_AskedQuestion], answers: pl.DataFrame, benchmarks: Sequence[str] | None
) -> list[int | None]:
    """For each row the position of its partner, the other model's answer to the same question, or null.

    The first of several counts. `benchmarks` are those of the rows, if they have them.
    """
    answer_questions, benchmark_names = _list_questions(answers), answers["benchmark"].to_list()
    by_id: dict[str, int] = {}
    by_benchmark: dict[tuple[str, str], int] = {}
    by_question: dict[str, int] = {}
    ambiguous = set[str]()  # ids that several benchmarks use
    for position, (answer, benchmark) in enumerate(zip(answer_questions, benchmark_names, strict=True)):
        first = by_id.setdefault(answer.item_id, position)
        if benchmark_names[first] != benchmark:
            ambiguous.add(answer.item_id)
        by_benchmark.setdefault((benchmark, answer.item_id), position)
        if answer.question is not None:
            by_question.setdefault(answer.question, position)
    partners: list[int | None] = []
    for number, (item_id, question) in enumerate(asked):
        partner = by_benchmark.get((benchmarks[number], item_id)) if benchmarks else None
        if partner is None and item_id not in ambiguous:
            partner = by_id.get(item_id)
            # The same id of another benchmark is another question, unless the texts say otherwise.
            if partner is not None and benchmarks and benchmarks[number] is not None:
                has_same_text = question is not None and answer_questions[partner].question == question
                partner = partner if has_same_text else None
        # An answer with the same id to another question is not the partner.
        if partner is not None and question is not None and answer_questions[partner].question not in (None, question):
            partner = None
        if partner is None and question is not None:
            partner = by_question.get(question)
        partners.append(partner)
    return partners


def _describe_no_match(asked: Sequence[_AskedQuestion], answers: pl.DataFrame, name: str) -> str:
    """The error for logs without any answer to the questions of the sample."""
    answer_questions = _list_questions(answers)
    return (
        f"agrees_with: the logs have {format_count(len(answer_questions), 'answer')} of "
        f"{make_one_line(name)}, but none has "
        "the "
        f"id or the question of a response of the sample. Ids of the sample: {_format_examples(asked, 'item_id')}; of "
        "the logs: "
        f"{_format_examples(answer_questions, 'item_id')}. Questions of the sample: "
        f"{_format_examples(asked, 'question')}; of the logs: {_format_examples(answer_questions, 'question')}"
    )


def _format_examples(asked: Sequence[_AskedQuestion], name: str) -> str:
    """The first values of a field."""
    fields = [getattr(each, name) for each in asked[:_MOST_EXAMPLES]]
    values = [str(value) for value in fields if value is not None]
    return ", ".join(f"'{make_one_line(value[:_LONGEST])}'" for value in values) or "none"


def _format_models(names: Sequence[str]) -> str:
    """The first names, and the number of the others."""
    names_text = ", ".join(map(make_one_line, names[:_MOST_MODELS]))
    return f"{names_text} and {len(names) - _MOST_MODELS} more" if len(names) > _MOST_MODELS else names_text
