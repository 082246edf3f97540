"""Kinds of reasons why responses have no features, with stable codes, and what to do about each."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from entropy_sentinel.features.zero_logprobs import ZERO_LOGPROBS

# The beginning of the reason for a reply that is no response; the problem follows.
UNREADABLE = "cannot be read: "


class ExclusionCode(StrEnum):
    """The kind of a reason, for programs: codes stay the same when the words of a reason change."""

    NO_LOGPROBS = "no-logprobs"
    ZERO_LOGPROBS = "zero-logprobs"
    NO_ALTERNATIVES = "no-alternatives"
    CONSTANT_LOGPROBS = "constant-logprobs"
    NOT_LOGPROBS = "not-logprobs"
    NO_ANSWER = "no-answer"
    NO_SIGNAL = "no-signal"
    UNREADABLE = "unreadable"


class _Exclusion(NamedTuple):
    """A kind of reason: its code, and what to do, if anything."""

    code: ExclusionCode
    remedy: str


# By the words of a reason; the first entry that a reason contains counts.
_EXCLUSIONS: Mapping[str, _Exclusion] = {
    UNREADABLE: _Exclusion(ExclusionCode.UNREADABLE, ""),
    "add up to more than 1": _Exclusion(
        ExclusionCode.NOT_LOGPROBS,
        "write each alternative once; if the sampled token is listed besides the alternatives, remove the copy; "
        "values must be log-probabilities, not logits or penalised scores",
    ),
    "more likely than the first of its top": _Exclusion(
        ExclusionCode.NOT_LOGPROBS,
        "the alternatives must be the most likely tokens, with the sampled one if it is among them: request them from "
        "the server without a filter such as top_p, or add the sampled token",
    ),
    "positive log-probability": _Exclusion(
        ExclusionCode.NOT_LOGPROBS, "take the logarithm of the softmax over the vocabulary"
    ),
    "in place of their logarithms": _Exclusion(ExclusionCode.NOT_LOGPROBS, "take their logarithms"),
    "NaN in the log-probabilities": _Exclusion(
        ExclusionCode.NOT_LOGPROBS, "write null for an alternative of probability 0, and no value otherwise"
    ),
    "equally likely": _Exclusion(
        ExclusionCode.CONSTANT_LOGPROBS,
        "the server writes a constant in place of log-probabilities; request `logprobs: true`",
    ),
    ZERO_LOGPROBS: _Exclusion(
        ExclusionCode.ZERO_LOGPROBS,
        "request the values before temperature and sampling (vLLM: `--logprobs-mode raw_logprobs`; llama.cpp: without "
        "`post_sampling_probs`); if they are still 0, this server or model cannot give them",
    ),
    "with a probability above 0": _Exclusion(
        ExclusionCode.NOT_LOGPROBS, "request log-probabilities before temperature and filters"
    ),
    "no sampler draws such tokens": _Exclusion(
        ExclusionCode.NOT_LOGPROBS,
        "the values are of another token or of a prompt; check which tokens they belong to",
    ),
    "no log-probabilities in the log": _Exclusion(
        ExclusionCode.NO_LOGPROBS, "request `logprobs: true, top_logprobs: 20` (docs: Formats of logs)"
    ),
    "no log-probabilities": _Exclusion(ExclusionCode.NO_LOGPROBS, ""),
    "alternatives per token": _Exclusion(ExclusionCode.NO_ALTERNATIVES, ""),
    "the end of the thinking is unknown": _Exclusion(ExclusionCode.NO_ANSWER, ""),
    "no signal ": _Exclusion(ExclusionCode.NO_SIGNAL, ""),
    "no alternatives to the sampled tokens": _Exclusion(
        ExclusionCode.NO_ALTERNATIVES, "request alternatives: `top_logprobs: 20`, or `logprobs: 5` for text completions"
    ),
    "no token after the thinking": _Exclusion(
        ExclusionCode.NO_ANSWER, "raise the token limit, or leave out --trace-after"
    ),
}


def find_remedy(reason: str) -> str | None:
    """What to do about responses with this reason; null if nothing can or need be done."""
    exclusion = _find_exclusion(reason)
    if exclusion is None or not exclusion.remedy:
        return None
    return exclusion.remedy


def exclusion_code(reason: str) -> ExclusionCode | None:
    """The code of a reason why a response has no features; null for a reason without a kind here."""
    exclusion = _find_exclusion(reason)
    return None if exclusion is None else exclusion.code


def _find_exclusion(reason: str) -> _Exclusion | None:
    """The first kind of reasons whose words are in `reason`; None for other reasons, such as an empty response."""
    return next((exclusion for words, exclusion in _EXCLUSIONS.items() if words in reason), None)
