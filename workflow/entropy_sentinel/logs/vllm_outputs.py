"""Read vLLM's RequestOutput as JSON, from offline generation.

Every step has the sampled token and the k most likely tokens, so it has k or k + 1 entries: token ids with an object
that has a `logprob`, or with the number itself. In FlatLogprobs, steps are slices of flat lists. The output does not
name the model.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.printable import describe_json
from entropy_sentinel.logs.parsed_response import (
    Reply,
    Trace,
    build_trace,
    explain_unusable,
    parse_finish_reason,
    replace_surrogates,
)
from entropy_sentinel.logs.reader_base import Reader, collect_columns
from entropy_sentinel.logs.step_forms import ROW_TEXTS, ROW_TOKEN_IDS, index_by_id
from entropy_sentinel.logs.step_reading import read_entries
from entropy_sentinel.logs.value_paths import find_value

_VLLM_FIELDS = (
    *("request_id", "prompt", "prompt_token_ids", "prompt_logprobs", "outputs", "finished", "metrics", "lora_request"),
    *("encoder_prompt", "encoder_prompt_token_ids", "num_cached_tokens", "num_cache_creation_tokens", "model"),
    *("generated_text", "generated_tokens", "num_generated_tokens", "num_input_tokens", "logprobs", "finish_reason"),
    *("kv_transfer_params", "ec_transfer_params", "prompt_token_id_logprobs", "token_ids", "output_token_ids"),
)


class VllmReader(Reader):
    """Reads one request per record, with an output per sample."""

    def replies(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """Yield the outputs of the request."""
        columns = self.columns(record, collect_columns(record, leave_out=_VLLM_FIELDS))
        identity = record.get("item_id", record.get("request_id"))
        outputs = record["outputs"] if "outputs" in record else [_read_ray_row(record)]
        for position, output in enumerate(outputs):
            reply = _parse_output(output)
            reply.item_id = identity
            reply.model = record.get("model")
            reply.columns = columns
            reply.sample = output.get("index", position) if len(outputs) > 1 else None
            prompt = record.get("prompt_token_ids")
            reply.prompt_tokens = len(prompt) if isinstance(prompt, list) else 0
            yield reply


def _read_ray_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """The output in a row of Ray Data's LLM processor, in whose rows users rename the text and the ids."""
    text = find_value(record, ROW_TEXTS) or ""
    steps = record.get("logprobs")
    token_ids = find_value(record, ROW_TOKEN_IDS)
    if token_ids is None and isinstance(steps, list):
        token_ids = _read_first_ids(steps, text)
    return {
        "text": text,
        "token_ids": token_ids,
        "logprobs": steps,
        "finish_reason": record.get("finish_reason"),
    }


def _read_first_ids(steps: list[Any], text: str) -> list[int]:
    """The first token id of each step, which vLLM writes first if it was sampled; the text must confirm it."""
    # The id and the entry of the first token of each step; an empty id for an empty step.
    firsts: list[tuple[str, Any]] = [next(iter(index_by_id(step).items()), ("", {})) for step in steps]
    texts = [entry.get("decoded_token") or "" if isinstance(entry, Mapping) else "" for _, entry in firsts]
    if "".join(texts).strip() != text.strip() or not all(token_id.isdecimal() for token_id, _ in firsts):
        raise InputError("`generated_tokens` is missing, so it is unknown which token of each step was sampled")
    return [int(token_id) for token_id, _ in firsts]


def _parse_output(output: Mapping[str, Any]) -> Reply:
    """The response of one of vLLM's `CompletionOutput`; `logprobs` has a mapping by token id for each step."""
    token_ids, steps = output.get("token_ids"), output.get("logprobs")
    logprobs: Trace | None = None
    k = None
    text = output.get("text") or ""
    if not isinstance(text, str) or not isinstance(steps, list | Mapping | None):
        raise InputError(
            f"`text` must be a string and `logprobs` a list, got {describe_json(text)} and {describe_json(steps)}"[:200]
        )
    text = replace_surrogates(text)
    if steps is not None:
        steps = _unflatten_steps(steps) if isinstance(steps, Mapping) else [index_by_id(step) for step in steps]
        if token_ids is None or len(token_ids) != len(steps):
            raise InputError("`logprobs` must have one step for each of `token_ids`")
        sampled = []
        for place, (token_id, step) in enumerate(zip(token_ids, steps, strict=True)):
            sampled.append(_read_sampled(token_id, step, place))
        logprobs = build_trace(sampled, list(map(read_entries, steps)))
        k = int(logprobs.counts.min()) if len(logprobs.counts) else None
    return Reply(
        item_id=None,
        model=None,
        text=text,
        finish_reason=parse_finish_reason(output.get("finish_reason")),
        trace=logprobs,
        tokens=_read_tokens(token_ids, steps),
        token_ids=token_ids,
        k=k,
        unusable=explain_unusable(logprobs, text, ()),
    )


def _unflatten_steps(flat: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The steps of FlatLogprobs, each a mapping of token ids to log-probabilities."""
    entries = list(zip(map(str, flat["token_ids"]), flat["logprobs"], strict=True))
    return [dict(entries[start:end]) for start, end in zip(flat["start_indices"], flat["end_indices"], strict=True)]


def _read_sampled(token_id: int, step: Mapping[str, Any], place: int) -> float:
    """The log-probability of the sampled token in the step at this place, from 0; raises InputError without it."""
    if str(token_id) not in step:
        raise InputError(f"`logprobs` of step {place} (from 0) must contain the sampled token, {token_id}")
    entry = step[str(token_id)]
    logprob: float = entry["logprob"] if isinstance(entry, Mapping) else entry
    return logprob


def _read_tokens(token_ids: Sequence[int] | None, steps: Sequence[Mapping[str, Any]] | None) -> list[str]:
    """The sampled tokens as text; [] if any step lacks the text."""
    texts = []
    for token_id, step in zip(token_ids or (), steps or (), strict=False):
        entry = step[str(token_id)]
        text = entry.get("decoded_token") if isinstance(entry, Mapping) else None
        if text is None:
            return []
        texts.append(str(text))
    return texts
