"""What a request asks for beside what its user wrote: log-probabilities."""

from collections.abc import Mapping
from typing import Any

# Alternatives to a token: OpenAI, Azure and vLLM allow 20 at most.
TOP_LOGPROBS = 20
# Text completions: OpenAI allows 5.
TEXT_LOGPROBS = 5


def with_logprobs(request: Mapping[str, Any], path: str, top_logprobs: int = TOP_LOGPROBS) -> dict[str, Any]:
    """Return a copy of `request` that asks for log-probabilities, unless it says itself what it wants.

    Args:
        request: The body of a request in one of OpenAI's forms.
        path: Of the request, ending in `chat/completions`, `completions` or `responses`.
        top_logprobs: The number of alternatives to each token.
    """
    if path.endswith("chat/completions"):
        return _filled(request, {"logprobs": True, "top_logprobs": top_logprobs})
    if path.endswith("responses"):
        included = [*(request.get("include") or ()), "message.output_text.logprobs"]
        wanted = {"include": list(dict.fromkeys(included)), "top_logprobs": top_logprobs}
        return {**wanted, **{name: value for name, value in request.items() if name != "include"}}
    return _filled(request, {"logprobs": min(top_logprobs, TEXT_LOGPROBS)})


def _filled(request: Mapping[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """`request` with what is `wanted` and not set there; as it is if it wants no log-probabilities."""
    if request.get("logprobs") is False:
        return dict(request)
    return {**request, **{name: value for name, value in wanted.items() if request.get(name) is None}}
