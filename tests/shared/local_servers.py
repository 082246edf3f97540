"""Replies in the form of llama.cpp's and of Ollama's server.

llama.cpp: as `tools/server/server-task.cpp` writes them (`probs_vector_to_json`, `to_json_oaicompat_chat`,
`to_json_oaicompat`; the source of October 2026, as llama-cpp-python 0.3.36 ships it), errors as `format_error_response`
of `server-common.cpp` does, `/props` as `tools/server/README.md` shows it. Token ids stand beside the texts, `bytes`
are numbers, `/v1/completions` has the same `content` as a chat, and a probability that is 0 in 32 bits is their lowest
number.

Ollama: `openai/openai.go` (`ToChatCompletion`: fingerprint `fp_ollama`, `finish_reason` null where it is not known),
`server/logprob.go` and `api/types.go` (`token`, `logprob`, `top_logprobs`, no `bytes` in most versions, no ids).
"""

from typing import Any

LOWEST = -3.4028234663852886e38
# The others of a top 20, whose probabilities add up to 0.02.
OTHERS = [-6.0 - rank / 10 for rank in range(19)]


def llama_step(token: str, logprob: float = -0.1, top: list[float] | None = None, number: int = 19) -> dict[str, Any]:
    """A step of llama.cpp; of the model's 20 most likely tokens the first has `logprob` unless `top` gives all."""
    values = [logprob, *OTHERS] if top is None else top
    entries = [_entry(f"t{rank}", value, rank) for rank, value in enumerate(values)]
    return {**_entry(token, logprob, number), "top_logprobs": entries}


def _entry(token: str, logprob: float, number: int) -> dict[str, Any]:
    return {"id": number, "token": token, "bytes": list(token.encode()), "logprob": logprob}


def llama_chat(steps: list[dict[str, Any]], finish_reason: str | None = "stop", **changes: Any) -> dict[str, Any]:
    """A chat completion of llama.cpp; without steps it has no `logprobs` at all."""
    message = {"role": "assistant", "content": "".join(step["token"] for step in steps)}
    choice = {"finish_reason": finish_reason, "index": 0, "message": message}
    return _llama("chat.completion", choice | ({"logprobs": {"content": steps}} if steps else {}), len(steps)) | changes


def llama_text(steps: list[dict[str, Any]]) -> dict[str, Any]:
    """What llama.cpp returns at `/v1/completions`."""
    text = "".join(step["token"] for step in steps)
    choice = {"text": text, "index": 0, "logprobs": {"content": steps}, "finish_reason": "stop"}
    return _llama("text_completion", choice, len(steps))


def _llama(kind: str, choice: dict[str, Any], n_tokens: int) -> dict[str, Any]:
    return {
        "choices": [choice],
        "created": 1,
        "model": "qwen.gguf",
        "system_fingerprint": "b8681-0c1e57098",
        "object": kind,
        "usage": usage(n_tokens) | {"prompt_tokens_details": {"cached_tokens": 0}},
        "id": "chatcmpl-1",
        "timings": {"cache_n": 0, "prompt_n": 30, "predicted_n": n_tokens},
    }


def llama_props(**own: float) -> dict[str, Any]:
    """`/props` of a llama.cpp server that was started without options, but for `own`."""
    params = {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05000000074505806}
    penalties = {"repeat_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
    return {"default_generation_settings": {"n_ctx": 4096, "params": params | penalties | own}, "total_slots": 4}


def ollama_chat(tokens: list[str], n_tokens: int | None = None, has_logprobs: bool = True) -> dict[str, Any]:
    """A chat completion of Ollama, which counts the token that ends the answer and gives no step for it."""
    top = [{"token": f"t{rank}", "logprob": value} for rank, value in enumerate([-0.1, *OTHERS])]
    steps = [{"token": token, "logprob": -0.1, "top_logprobs": top} for token in tokens]
    message = {"role": "assistant", "content": "".join(tokens)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "qwen2.5-coder:0.5b",
        "system_fingerprint": "fp_ollama",
        "choices": [choice | ({"logprobs": {"content": steps}} if has_logprobs else {})],
        "usage": usage(len(tokens) + 1 if n_tokens is None else n_tokens),
    }


def usage(n_tokens: int) -> dict[str, Any]:
    return {"completion_tokens": n_tokens, "prompt_tokens": 30, "total_tokens": 30 + n_tokens}
