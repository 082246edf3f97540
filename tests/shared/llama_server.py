"""A llama.cpp server by its own protocol, and a web service that judges, on loopback: each answers by what it is asked.

llama.cpp: `/apply-template`, `/completion` and `/props` as `tools/server/README.md` describes them, and errors as
`format_error_response` of `server-common.cpp` does.
"""

import hashlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fake_api import Answer, FakeApi, fake_api, ok

# The words of a question with which its prompt is too long, and with which the service gives no usable reply.
TOO_LONG, UNREADABLE, UNDECIDED = "too long", "unreadable", "undecided"


def number(*texts: object) -> int:
    """A number of 32 bits that depends on the texts."""
    return int.from_bytes(hashlib.sha256(repr(texts).encode()).digest()[:4])


def top(prompt: str, step: int, n: int = 20) -> list[float]:
    """The log-probabilities of the likeliest tokens of a step, largest first."""
    steepness = 0.1 + number(prompt, step) % 100 / 50
    total = math.log(sum(math.exp(-steepness * rank) for rank in range(n)) * 1.01)
    return [-steepness * rank - total for rank in range(n)]


def said(model: str, prompt: str, seed: int) -> str:
    """The response of a model: one of them is right more often."""
    right = number(model, prompt) % 10 < {"good": 7, "bad": 4}[model]
    return f"It is {'right' if right else 'wrong'}, {seed}."


def completion(model: str, body: dict[str, Any]) -> dict[str, Any]:
    """The reply to `/completion`: three tokens, of which the second is not the likeliest."""
    prompt, text = body["prompt"], said(model, body["prompt"], body["seed"])
    tokens = [text[:3], text[3:6], text[6:]]
    steps = []
    for step, (token, rank) in enumerate(zip(tokens, (0, 2, 0), strict=True)):
        values = top(prompt, step, body["n_probs"])
        entries = [_entry(f"t{place}", value, 100 * step + place) for place, value in enumerate(values)]
        steps.append({**_entry(token, values[rank], 100 * step + rank), "top_logprobs": entries})
    return {
        "content": text,
        "stop_type": "limit" if number(prompt) % 10 == 0 else "eos",
        "tokens_evaluated": len(prompt),
        "tokens_predicted": len(steps),
        "completion_probabilities": steps,
    }


def _entry(token: str, logprob: float, place: int) -> dict[str, Any]:
    return {"id": place, "token": token, "bytes": list(token.encode()), "logprob": logprob}


@contextmanager
def llama_server(model: str) -> Iterator[FakeApi]:
    """Serve a model; requests have the messages of a chat, or a prompt. `base_url` ends before `/v1`."""

    def reply(body: dict[str, Any], _: int) -> Answer:
        if "messages" in body:
            return ok({"prompt": "".join(f"<{one['role']}>{one['content']}" for one in body["messages"])})
        if TOO_LONG in body["prompt"]:
            problem = {"code": 400, "message": "the request exceeds the context", "type": "exceed_context_size_error"}
            return 400, {}, {"error": problem | {"n_prompt_tokens": 9000, "n_ctx": 4096}}, 0.0
        return ok(completion(model, body), 0.01)

    with fake_api(reply) as api:
        api.pages["/props"] = {"build_info": "b8681-0c1e57098", "total_slots": 4}
        api.base_url = api.base_url.removesuffix("/v1")
        yield api


@contextmanager
def judging_service(key: str) -> Iterator[FakeApi]:
    """Serve a judge: right is correct. It repeats the key that it gets, and is busy at the first request."""

    def reply(body: dict[str, Any], nth: int) -> Answer:
        if nth == 0:
            return 429, {}, {"error": f"too many requests of {key}"}, 0.0
        if UNREADABLE in body["question"]:
            return ok({"success": f"perhaps, {key}"})
        if UNDECIDED in body["question"]:
            return ok({"correct": None, "reason": f"nobody knows, {key}"})
        return ok({"correct": "right" in body["response"], "reason": f"because, {key}"}, 0.02)

    with fake_api(reply) as api:
        yield api
