"""Requests with log-probabilities added."""

from collections.abc import Mapping
from typing import Any

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.schemas.generation_schema import TOP_K

# Alternatives per token: as many as traces have; OpenAI, Azure and vLLM allow no more.
TOP_LOGPROBS = TOP_K
# Text completions: OpenAI allows 5.
TEXT_LOGPROBS = 5
# Servers that allow more than 20 are configured so; a larger number is a mistake.
MOST_LOGPROBS = 100


def check_top_logprobs(top_logprobs: Any) -> int:
    """The number of alternatives per token; raises InputError unless it is a whole number from 1 to 100."""
    if type(top_logprobs) is not int or not 1 <= top_logprobs <= MOST_LOGPROBS:
        raise InputError(f"top_logprobs: must be a whole number from 1 to {MOST_LOGPROBS}, got {top_logprobs!r}"[:200])
    return top_logprobs


def add_logprobs(request: Mapping[str, Any], path: str, top_logprobs: int = TOP_LOGPROBS) -> dict[str, Any]:
    """A copy of `request` that requests log-probabilities, unless it sets them itself.

    Args:
        request: The body of a request in one of OpenAI's forms.
        path: The path of the request, ending in `chat/completions`, `completions` or `responses`.
        top_logprobs: The number of alternatives per token.
    """
    if path.endswith("chat/completions"):
        return _fill_missing(request, {"logprobs": True, "top_logprobs": top_logprobs})
    if path.endswith("responses"):
        included = [*(request.get("include") or ()), "message.output_text.logprobs"]
        return {"top_logprobs": top_logprobs, **request, "include": list(dict.fromkeys(included))}
    return _fill_missing(request, {"logprobs": cap_alternatives(path, top_logprobs)})


def cap_alternatives(path: str, top_logprobs: int) -> int:
    """How many of `top_logprobs` alternatives a request with this path may ask for."""
    is_text_completion = path.endswith("completions") and not path.endswith("chat/completions")
    return min(top_logprobs, TEXT_LOGPROBS) if is_text_completion else top_logprobs


def _fill_missing(request: Mapping[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """`request` with the `wanted` fields that it does not set; an equal copy if it sets `logprobs` to false."""
    if request.get("logprobs") is False:
        return dict(request)
    missing = {name: value for name, value in wanted.items() if request.get(name) is None}
    return {**request, **missing}
