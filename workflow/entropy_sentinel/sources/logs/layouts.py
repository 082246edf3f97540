"""Servers' own formats, declared: where the tokens, their log-probabilities and the alternatives of a response stand.

A path has names and numbers joined by dots, such as `details.tokens` or `choices.0`. Of several paths, the first with
a value counts. A format with another structure has a reader of its own.
Clients in Python rename the fields of some servers, so a field `logProbability` may be `log_probability`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from entropy_sentinel.frames.entries import is_own
from entropy_sentinel.frames.extensions import declared
from entropy_sentinel.sources.logs.paths import Paths, first, look_up

# The place of a value in a step: a name, or a position in a list.
Key = str | int


@dataclass(frozen=True)
class Layout:
    """Where the parts of a response stand in a record of one server.

    Attributes:
        steps: Paths of the list of sampled tokens in a response. A step is an object or a list.
        logprob: The place of the sampled token's log-probability in a step; null if a step is the number itself.
        token: The place of the token's text in a step; null if `tokens` has it.
        token_id: The place of the token's id in a step.
        tokens: Path of the list of tokens' texts in a response.
        top: Path in a step of its alternatives; null if `all_top` has them.
        all_top: Path in a response of the list with an entry per step.
        entries: Path in an entry of `all_top` of the list of alternatives.
        top_logprob: The place of the log-probability in an alternative.
        responses: Path in a record of a list of responses; null if the record is one response.
        text, thinking, finish: Paths in a response.
        item_id, model, time, prompt_tokens, error: Paths in a record.
        parts: Whether `text` is a list of objects with a `text`.
        done: The field that is false in a piece of a streamed response and true in the last one.
        displaces: As in `Reply`.
        needs: Paths of fields that a record must have besides its steps.
        sign: Paths of a field that only this server's replies have, also if log-probabilities were not requested.
    """

    steps: Paths
    text: Paths
    logprob: Key | None = "logprob"
    token: Key | None = "token"
    token_id: Key | None = None
    tokens: str | None = None
    top: str | None = None
    all_top: str | None = None
    entries: str | None = None
    top_logprob: Key = "logprob"
    responses: str | None = None
    thinking: Paths = ()
    finish: Paths = ("finish_reason",)
    item_id: Paths = ("id",)
    model: Paths = ("model",)
    time: Paths = ()
    prompt_tokens: Paths = ()
    error: Paths = ("error",)
    parts: bool = False
    done: str | None = None
    displaces: bool = False
    needs: Paths = ()
    sign: Paths = ()

    def recognises(self, record: Mapping[str, Any]) -> bool:
        """Return whether a record has this layout: its steps, a piece of its stream, or its `sign`."""
        return (
            self.has(record)
            or (
                self.done is not None
                and isinstance(record.get(self.done), bool)
                and first(record, self.text) is not None
            )
            or any(look_up(record, path) is not None for path in self.sign)
        )

    def has(self, record: Mapping[str, Any]) -> bool:
        """Return whether a record has the list of sampled tokens of this layout, or a piece of its stream."""
        if any(look_up(record, path) is None for path in self.needs):
            return False
        part: Any = record
        if self.responses is not None:
            several = look_up(record, self.responses)
            part = several[0] if isinstance(several, list) and several else None
        return any(isinstance(look_up(part, path), list) for path in self.steps)


GEMINI = Layout(
    responses="candidates",
    steps=("logprobsResult.chosenCandidates",),
    logprob="logProbability",
    token_id="tokenId",
    all_top="logprobsResult.topCandidates",
    entries="candidates",
    top_logprob="logProbability",
    text=("content.parts",),
    parts=True,
    finish=("finishReason",),
    item_id=("responseId",),
    model=("modelVersion",),
    time=("createTime",),
    prompt_tokens=("usageMetadata.promptTokenCount",),
    error=("error", "promptFeedback.blockReason"),
    sign=("usageMetadata.promptTokenCount", "usage_metadata.prompt_token_count"),
)
OLLAMA = Layout(
    steps=("logprobs",),
    top="top_logprobs",
    text=("message.content", "response"),
    thinking=("message.thinking", "thinking"),
    finish=("done_reason",),
    time=("created_at",),
    prompt_tokens=("prompt_eval_count",),
    done="done",
    needs=("done",),
)
TGI = Layout(
    steps=("details.tokens",),
    token="text",
    token_id="id",
    all_top="details.top_tokens",
    text=("generated_text",),
    finish=("details.finish_reason",),
    sign=("details.generated_tokens",),
)
SGLANG = Layout(
    steps=("meta_info.output_token_logprobs",),
    logprob=0,
    token_id=1,
    token=2,
    all_top="meta_info.output_top_logprobs",
    top_logprob=0,
    text=("text",),
    finish=("meta_info.finish_reason.type", "meta_info.finish_reason"),
    item_id=("meta_info.id", "rid"),
    prompt_tokens=("meta_info.prompt_tokens",),
    sign=("meta_info.completion_tokens",),
)
LLAMA_CPP = Layout(
    steps=("completion_probabilities",),
    token_id="id",
    top="top_logprobs",
    text=("content",),
    finish=("stop_type",),
    item_id=("id_slot_request", "request_id"),
    prompt_tokens=("tokens_evaluated",),
    done="stop",
)
LANGCHAIN = Layout(
    steps=("response_metadata.logprobs.content", "generation_info.logprobs.content"),
    top="top_logprobs",
    text=("content", "text"),
    finish=("response_metadata.finish_reason", "generation_info.finish_reason"),
    item_id=("response_metadata.id", "id"),
    model=("response_metadata.model_name", "generation_info.model_name"),
    prompt_tokens=("usage_metadata.input_tokens", "response_metadata.token_usage.prompt_tokens"),
    displaces=True,
    sign=("response_metadata.finish_reason", "response_metadata.logprobs"),
)
NEMO = Layout(
    steps=("logprobs",),
    logprob=None,
    token=None,
    tokens="tokens",
    all_top="top_logprobs",
    text=("generation",),
    item_id=("item_id", "id", "problem_id"),
    prompt_tokens=("num_input_tokens",),
    needs=("generation", "tokens"),
)

# In the order in which they are tried.
LAYOUTS: dict[str, Layout] = {
    "gemini": GEMINI,
    "ollama": OLLAMA,
    "tgi": TGI,
    "sglang": SGLANG,
    "llama-cpp": LLAMA_CPP,
    "langchain": LANGCHAIN,
    "nemo": NEMO,
}


def layout_of(record: Mapping[str, Any]) -> Layout | None:
    """Return the layout of a server's reply; None if no layout has its steps."""
    return next((layout for layout in _declared() if layout.recognises(record)), None)


@cache
def _declared() -> list[Layout]:
    """Return the layouts of all declared formats, those of extensions first. The catalogue imports this."""
    formats = declared("formats")
    forms = [formats[name].form for name in sorted(formats, key=partial(is_own, "formats"))]
    return [form for form in forms if isinstance(form, Layout)]
