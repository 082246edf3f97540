"""Read an LLM judge's reply: its verdict, and the probability that the judge gave to "correct".

A verdict counts if the reply ends with it and has no other one. Its probability is from the log-probabilities of its
tokens. Tokenisers split `{"success": true}` in different ways, so the verdict is found in the joined text of the
tokens: `true`, ` true`, `tr` and `ue`, `":true`. At the token with its first letter, the probabilities of all
alternatives that begin a "true" are summed, those that begin a "false" likewise, and the first sum is divided by both.
Later tokens only spell the word that this token decided.
"""

import ast
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from entropy_sentinel.judges.answer_markers import find_thinking_end
from entropy_sentinel.llm_client.request_results import ServerReply

# What may follow the verdict: a code fence, punctuation, and chat format.
_END = re.compile(r"(?:\s|`|\*|\.|<\|[A-Za-z]\w*\|>|<｜[^｜<>\n]{2,40}｜>|</s>|<eos>|<end_of_turn>|\[/INST\])*")
# One key without nested values, in Python's or the prompt's spelling.
_PYTHON = re.compile(r"\{\s*(?:'success'|\"success\"|success)\s*:\s*['\"]?(true|false)['\"]?\s*,?\s*\}", re.IGNORECASE)
_WORDS = {"true": True, "false": False}

# The parameters that ask for log-probabilities; some servers give no more alternatives per token.
ALTERNATIVES = {"logprobs": True, "top_logprobs": 5}
# Tokens at the end of a reply that are kept: a verdict is its last line.
_N_KEPT = 64
_VERDICT = re.compile(r"success[^A-Za-z]{0,8}(?P<word>true|false)", re.IGNORECASE)
_BEFORE_WORD = re.compile(r"^[^A-Za-z]+")
# If the opposite verdict is not among the alternatives, it counts as impossible if it has at most this probability.
_NEGLIGIBLE = 0.01
# Rounding error of a sum of probabilities.
_ROUNDING = 1e-3


def read_judgement(reply: str) -> bool | None:
    """The verdict of a reply; None without one, or with several that differ.

    It is an object with the key `success`, true or false (or that word as text); it may have further keys, a code fence
    or quotes around it, and text before it. The judge's thinking before the reply does not count.
    """
    start = find_thinking_end(reply)
    if start is None:
        return None
    text = _unquote_text(reply[start:].strip())
    verdicts: list[bool | None] = []
    end = 0  # of what was read
    last = 0  # where the last verdict starts
    while (begin := text.find("{", end)) >= 0:
        end = begin + 1
        for verdict, stop in (_read_json(text, begin), _read_python(text, begin)):
            if stop:  # else there is no such object at `begin`
                verdicts.append(verdict)
                end = stop
                last = begin
                break
    # Whether another object, which has not ended, contains the last verdict.
    inside = text.count("{", 0, last) > text.count("}", 0, last)
    if not verdicts or len(set(verdicts)) > 1 or inside or not _END.fullmatch(text, end):
        return None
    return verdicts[0]


def _unquote_text(text: str) -> str:
    """The content of a reply that is a text in quotes."""
    try:
        content = json.loads(text) if text.startswith('"') else text
    except ValueError:
        return text
    return content if isinstance(content, str) else text


def _read_json(text: str, begin: int) -> tuple[bool | None, int]:
    """The verdict of the JSON object at `begin`, None if it is unclear, and its end; 0 if there is none."""
    try:
        pairs, end = json.JSONDecoder(object_pairs_hook=list).raw_decode(text, begin)
    except (ValueError, RecursionError):
        return None, 0
    values = [value for name, value in pairs if isinstance(name, str) and name.casefold() == "success"]
    return (_read_truth(values), end) if values else (None, 0)


def _read_python(text: str, begin: int) -> tuple[bool | None, int]:
    """The verdict of an object in Python's spelling, `{'success': True}`, at `begin`, and its end; 0 without one."""
    if match := _PYTHON.match(text, begin):
        return _WORDS[match[1].casefold()], match.end()
    end = text.find("}", begin) + 1
    try:
        value = ast.literal_eval(text[begin:end])
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None, 0
    return (_read_truth([value["success"]]), end) if isinstance(value, dict) and "success" in value else (None, 0)


def _read_truth(values: list[Any]) -> bool | None:
    """The only value as true or false; None if it is anything else, or if the key stands twice."""
    if len(values) != 1:
        return None
    value = values[0]
    if isinstance(value, str):
        return _WORDS.get(value.strip().casefold())
    return value if isinstance(value, bool) else None


class Step(NamedTuple):
    """One token of a reply: its text, its log-probability, and those of the alternatives by text."""

    token: str
    logprob: float
    alternatives: list[tuple[str, float]]


def select_last_steps(reply: ServerReply) -> list[Any] | None:
    """The last tokens of a reply, each as [text, log-probability, alternatives] like `Step`; null without any."""
    try:
        content = _read_content(reply)
        return [_make_step(step) for step in content[-_N_KEPT:]] or None
    except (AttributeError, LookupError, TypeError, ValueError):
        return None  # a reply without them, or in a form of the server's own


def strip_logprobs(raw: str | None) -> str | None:
    """The text of a reply without its log-probabilities, which are many times as long as the rest."""
    try:
        content = json.loads(raw or "")
        for choice in content["choices"]:
            choice.pop("logprobs", None)
        return json.dumps(content)
    except (ValueError, LookupError, TypeError, AttributeError):
        return raw


def read_verdict_probability(steps: Any, label: bool) -> float | None:
    """The probability of "correct" where a verdict is decided, in [0, 1]; null where it cannot be read.

    `steps` are those of `select_last_steps`, and `label` is the verdict that was read from the reply.
    """
    try:
        return _read_probability([Step(*step) for step in steps], label)
    except (TypeError, ValueError):
        return None  # a damaged file of the cache


def _read_probability(steps: Sequence[Step], label: bool) -> float | None:
    """The probability of "correct" at the token that begins the last verdict; null if that is not `label`."""
    verdicts = list(_VERDICT.finditer("".join(step.token for step in steps)))
    if not verdicts or (verdicts[-1]["word"].casefold() == "true") != label:
        return None
    start = verdicts[-1].start("word")
    end = 0
    for step in steps:
        end += len(step.token)
        if end > start:
            return _compute_true_share(step, label)
    return None


def _compute_true_share(step: Step, label: bool) -> float | None:
    """The probability that a token begins "true", as a share of that it begins either verdict; or null."""
    alternatives = {step.token: step.logprob} | dict(step.alternatives)
    if not all(isinstance(value, int | float) and value <= _ROUNDING for value in alternatives.values()):
        return None
    sums = {True: 0.0, False: 0.0}
    for token, logprob in alternatives.items():
        if (verdict := _match_verdict(token)) is not None:
            sums[verdict] += math.exp(logprob)
    if not sums[label] > 0:
        return None
    if not sums[not label]:
        # The opposite verdict has at most the probability that the alternatives leave, and at most the least of theirs.
        values = [math.exp(logprob) for logprob in alternatives.values()]
        if min(max(0.0, 1 - sum(values)), min(values)) > _NEGLIGIBLE:
            return None
    return sums[True] / (sums[True] + sums[False])


def _match_verdict(token: str) -> bool | None:
    """The verdict that a token begins or contains; null for another token."""
    word = _BEFORE_WORD.sub("", token).casefold()
    for text, verdict in (("true", True), ("false", False)):
        if word and (text.startswith(word) or word.startswith(text)):
            return verdict
    return None


def _read_content(reply: ServerReply) -> Sequence[Any]:
    """The tokens of a reply as LiteLLM gives them."""
    logprobs = reply.choice.logprobs
    content = logprobs["content"] if isinstance(logprobs, Mapping) else logprobs.content
    return content or ()


def _make_step(step: Any) -> list[Any]:
    """A token of LiteLLM's reply as JSON: [text, log-probability, [[text, log-probability] of each alternative]]."""
    if not isinstance(step, Mapping):
        step = step.model_dump()
    alternatives = [[entry["token"], float(entry["logprob"])] for entry in step.get("top_logprobs") or ()]
    return [step["token"], float(step["logprob"]), alternatives]
