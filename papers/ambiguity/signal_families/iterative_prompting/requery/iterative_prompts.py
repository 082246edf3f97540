"""The prompts of the pass for the items of one part, with an answer in the prompt, and the resulting rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeVar

import polars as pl

from entropy_sentinel.llm_client.server_settings import PromptTemplate
from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.study.engines.engine_interface import Asked, Continuation, TokenIdEngine, collect_answers
from entropy_sentinel.study.engines.engine_registry import PROMPTS
from entropy_sentinel.study.engines.generation_section import AskedSettings, PromptSettings
from entropy_sentinel.study.stages.generation_stage import fill_prompt
from papers.ambiguity.signal_families.iterative_prompting.iterative_prompting_frames import ITERATIVE_PROMPTS

_QUESTION = "{question}"
# Marks that a question or an answer may already end with at a place where the template has one.
_MARKS = ("?", ".", "!")


def make_answer_prompt(prompt_settings: PromptSettings, template: str, question: str, answer: str) -> Asked:
    """The model's own prompt with `template`, which names the question and a possible answer, instead of the question.

    A chat keeps its other messages; the template replaces the message with the question. Plain text keeps the text
    before the paragraph with the question, such as the examples of a few-shot prompt; that paragraph, `Q: .. A:`, is
    the end of prompt 3 in the paper. The paper does not state whether its examples are kept.
    """
    for placeholder, value in (("question", question), ("answer", answer)):
        if value.endswith(_MARKS):  # so that `{question}?` does not become `??`
            template = template.replace(f"{{{placeholder}}}{value[-1]}", f"{{{placeholder}}}")
    variables = {**prompt_settings.get("prompt_variables", {}), "answer": answer}
    answer_settings: PromptSettings = {
        **prompt_settings,
        **_replace_question(prompt_settings, template),
        "prompt_variables": variables,
    }
    return fill_prompt(answer_settings, question)


def _replace_question(prompt_settings: PromptSettings, template: str) -> PromptTemplate:
    """The model's own prompt with the template in place of the question; placeholders are not filled yet."""
    if text := prompt_settings.get("text"):
        examples, blank, _ = text[: text.index(_QUESTION)].rpartition("\n\n")
        return {"text": f"{examples}{blank}{template}"}
    chat = prompt_settings.get("messages") or PROMPTS[prompt_settings["prompt"]].chat
    messages = []
    for message in chat:
        messages.append({**message, "content": template} if _QUESTION in message["content"] else message)
    return {"messages": messages}


Row = dict[str, Any]
_T = TypeVar("_T")


@dataclass(frozen=True)
class _Item:
    """The responses to one item that are measured, and the first response that gives each distinct answer."""

    responses: Sequence[Row]
    first_response_by_answer: Mapping[str, Row]

    @property
    def question(self) -> str:
        """The question, the same in all responses."""
        return str(self.responses[0]["question"])

    def pairs(self, prompts: Sequence[Sequence[int]]) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
        """Yield pairs of a prompt and an answer to score after it, both token ids.

        Each distinct answer comes after the item's own prompt, then after each of `prompts`, which include an answer.
        """
        for prompt in (self.responses[0]["prompt_ids"], *prompts):
            for answer in self.first_response_by_answer.values():
                yield prompt, answer["token_ids"]


def ask(
    part: pl.DataFrame, engine: TokenIdEngine, settings: Mapping[str, Any], asked_with: AskedSettings
) -> pl.DataFrame:
    """A frame ITERATIVE_PROMPTS for the responses in `part`: traces with `prompt_ids` and `question`.

    `settings` are those of IterativePrompting; `asked_with` those with which the model generated them.
    """
    rows: list[Row] = []
    items: list[_Item] = []
    for _, item_rows in part.group_by("item_id", maintain_order=True):
        excluded_rows, item = _select_responses(item_rows.sort("sample").to_dicts(), settings["samples"])
        rows += excluded_rows
        if item:
            items.append(item)
    chats: list[Asked] = []
    for item in items:
        chats += [
            make_answer_prompt(asked_with, settings["prompt"], item.question, answer)
            for answer in item.first_response_by_answer
        ]
    prompts = iter([prompt.token_ids for prompt in engine.prompts(chats)])
    pairs: list[tuple[Sequence[int], Sequence[int]]] = []
    for item in items:
        pairs += item.pairs(_take_next(prompts, len(item.first_response_by_answer)))
    continuations = iter(collect_answers(engine.continuations(iter(pairs)), len(pairs), "continuations"))
    for item in items:
        n_answers = len(item.first_response_by_answer)
        # n + 1 lists of n, as from `_Item.pairs`: after the item's own prompt, then after the prompt with each answer.
        rows += _make_rows(item, [_take_next(continuations, n_answers) for _ in range(n_answers + 1)])
    return ITERATIVE_PROMPTS.frame(rows)


def _take_next(iterator: Iterator[_T], n: int) -> list[_T]:
    """The next `n` elements."""
    return list(islice(iterator, n))


def unasked(part: pl.DataFrame, settings: Mapping[str, Any]) -> pl.DataFrame:
    """A frame ITERATIVE_PROMPTS with only reasons for responses that cannot be asked about, from their `unusable`."""
    return ITERATIVE_PROMPTS.frame(part.select(*RESPONSE, reason="unusable").to_dicts())


def _select_responses(responses: Sequence[Row], samples: int) -> tuple[list[Row], _Item | None]:
    """Rows of an item's left-out responses, with reasons; and the item with the others, None if there are none.

    `responses` are those that can be asked about, `samples` the number of first responses to use.
    """
    usable = sum(response["sample"] < samples for response in responses)
    excluded_rows: list[Row] = []
    measured_rows: list[Row] = []
    first_response_by_answer: dict[str, Row] = {}
    for response in responses:
        answer = response["text"].strip()
        if reason := _explain_exclusion(response["sample"], answer, usable, samples):
            excluded_rows.append({key: response[key] for key in RESPONSE} | {"reason": reason})
        else:
            measured_rows.append({**response, "answer": answer})
            first_response_by_answer.setdefault(answer, response)
    return excluded_rows, _Item(measured_rows, first_response_by_answer) if measured_rows else None


def _explain_exclusion(sample: int, answer: str, usable: int, samples: int) -> str | None:
    """Why a response is left out, or None; `usable` of the item's first `samples` responses can be asked about."""
    if usable < samples:
        return f"only {usable} of the first {samples} responses to the item can be asked about"
    if sample >= samples:
        return f"not among the first {samples} of its item; only those are asked about"
    return None if answer else "the answer is empty"


def _make_rows(item: _Item, continuations: Sequence[Sequence[Continuation]]) -> list[Row]:
    """The rows of one item; `continuations` are of each answer after its own prompt, then after that with each answer.

    If the engine refused one of them, no row has log-probabilities.
    """
    rows = [{key: response[key] for key in RESPONSE} for response in item.responses]
    for continuation in chain.from_iterable(continuations):
        if continuation.refused:
            return [row | {"reason": f"refused: {continuation.refused}"} for row in rows]
    logprobs = []
    for prompt_continuations in continuations:
        logprobs.append([float(continuation.logprobs.sum(dtype="float64")) for continuation in prompt_continuations])
    answer_numbers = {answer: number for number, answer in enumerate(item.first_response_by_answer)}
    first_samples = [response["sample"] for response in item.first_response_by_answer.values()]
    for row, response in zip(rows, item.responses, strict=True):
        number = answer_numbers[response["answer"]]
        row["answer"] = response["answer"]
        row["logprob"] = logprobs[0][number]
        row["distinct"] = first_samples
        row["conditional_logprobs"] = logprobs[1 + number]
    return rows
