"""A second opinion: whether another model's answer to the identical question agrees with the logged one."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.core.extras import install_command
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.judges.answer_matching import TRUNCATED, is_comparable, match_answers
from entropy_sentinel.judges.judge_kinds import Llm
from entropy_sentinel.logs.reader_base import QUESTION
from entropy_sentinel.monitor.labelling.judged_sample import (
    ANSWER,
    NO_TEXTS,
    RESPONSE_TEXT,
    JudgedSample,
    add_labels,
)
from entropy_sentinel.monitor.labelling.partial_sample import collect_answers, keep_answered, order_requests
from entropy_sentinel.monitor.labelling.sample_table import MESSAGES
from entropy_sentinel.monitor.monitor_options import JudgeOptions
from entropy_sentinel.schemas.witness_schema import COMPARABLE, WitnessKind

_NO_LOGGED_ANSWER = "the logged response has no answer"
# Roles of messages that can be sent again.
_ROLES = {"system", "user", "assistant"}


def ask_second_model(rows: pl.DataFrame, model: str, settings: JudgeOptions) -> JudgedSample:
    """The rows of a sample with whether the answer of `model` to each conversation agrees with the response.

    Raises InputError if no row has texts, and the errors of `ChatClient.ask`.
    """
    conversations: list[list[Mapping[str, str]] | None] = []
    reasons: list[str | None] = []
    n_alone = 0
    columns = rows.select(QUESTION, RESPONSE_TEXT, pl.col(MESSAGES) if MESSAGES in rows.columns else pl.lit(None))
    for question, response, messages in columns.iter_rows():
        conversation, reason = _make_conversation(question, response, messages)
        conversations.append(conversation)
        reasons.append(reason)
        n_alone += conversation is not None and not messages
    asked = [place for place in order_requests(rows) if conversations[place] is not None]
    if not asked:
        raise InputError(
            f"responses: a second opinion needs the texts in '{QUESTION}' and '{RESPONSE_TEXT}', and no response can "
            f"be asked about ({next(filter(None, reasons), 'there is none')})"
        )
    second = _make_second_model(model, settings)
    sent = [conversation for place in asked if (conversation := conversations[place]) is not None]
    opinions = collect_answers(second.iterate_opinions(sent), asked, second.counts, "questions are answered")
    answers: list[str | None] = [None] * len(rows)
    for place, opinion in opinions.by_row.items():
        answers[place], reasons[place] = opinion.answer, opinion.reason
    notices = []
    if n_alone:
        notices.append(
            f"{format_count(n_alone, 'question')} asked without a system prompt or earlier turns: the sample has no "
            f"conversation of them (column '{MESSAGES}'). If the application sends more than the question, draw the "
            "sample from logs with whole requests"
        )
    if n_truncated := sum(reason == TRUNCATED for reason in reasons):
        notices.append(
            f"{n_truncated:,} of {len(asked):,} replies are truncated at {settings.max_tokens:,} "
            f"tokens: raise {format_option('max_tokens')}"
        )
    if not second.takes_temperature:
        notices.append(f"{model} takes no temperature, so its answers are drawn at its own")
    rows, interruption = keep_answered(add_opinions(rows, model, answers, reasons), opinions)
    counts = second.counts
    return JudgedSample(
        rows,
        kind=WitnessKind.SECOND_OPINION,
        model=model,
        usd=second.spent_usd,
        answered=counts["answered"],
        cached=counts["cached"],
        notices=tuple(notices),
        interruption=interruption,
    )


def add_opinions(
    rows: pl.DataFrame, model: str, answers: Sequence[str | None], reasons: Sequence[str | None]
) -> pl.DataFrame:
    """The rows of a sample with the answers of a second model and whether they agree with the responses.

    `reasons` say why an answer is null.
    """
    responses = rows[RESPONSE_TEXT].to_list()
    labels = [match_answers(response, answer) for response, answer in zip(responses, answers, strict=True)]
    row_reasons = []
    for label, response, reason in zip(labels, responses, reasons, strict=True):
        default_reason = NO_TEXTS if response is None else _NO_LOGGED_ANSWER
        row_reasons.append(None if label is not None else reason or default_reason)
    return add_labels(rows, WitnessKind.SECOND_OPINION, model, labels, row_reasons).with_columns(
        pl.Series(ANSWER, answers, pl.String),
        pl.Series(COMPARABLE, [is_comparable(response) for response in responses], pl.Boolean),
    )


def _make_conversation(
    question: str | None, response: str | None, messages: str | None
) -> tuple[list[Mapping[str, str]] | None, str | None]:
    """The messages to send for a response, or why it cannot be asked about."""
    if question is None or response is None:
        return None, NO_TEXTS
    if match_answers(response, response) is None:
        return None, _NO_LOGGED_ANSWER
    if not messages:
        return [{"role": "user", "content": question}], None
    try:
        conversation = [dict(message) for message in json.loads(messages)]
        omitted = [kind for message in conversation for kind in message.get("omitted", ())]
        last = conversation[-1]
        sent: list[Mapping[str, str]] = [
            {"role": message["role"], "content": str(message["content"])} for message in conversation
        ]
    except (ValueError, TypeError, LookupError):
        return None, f"column '{MESSAGES}' must be a JSON list of messages with role and content"
    omitted += [message["role"] for message in sent if message["role"] not in _ROLES]
    if omitted:
        return None, f"its request has parts that are not text: {', '.join(sorted(set(omitted)))}"
    if last["role"] != "user" or not str(last["content"]).strip():
        return None, "its request does not end with a question of the user"
    return sent, None


def _make_second_model(model: str, settings: JudgeOptions) -> Any:
    """The model that answers again, at the server that the options describe."""
    server_settings = settings.model_dump(include={*Llm.UNTRACKED}, exclude_none=True)
    server = Llm.model_validate({"kind": "llm", "model": model, **server_settings}).model_dump(include={*Llm.UNTRACKED})
    temperature = 0.0 if settings.temperature is None else settings.temperature
    try:
        from entropy_sentinel.judges.opinion_request import SecondModel

        return SecondModel(model, settings.max_tokens, temperature, server)
    except ModuleNotFoundError as error:
        raise ConfigError(f"judge: needs {error.name}: {install_command('judge')}") from None
