"""The pieces of streamed replies as servers write them; each reply has words, each with two alternatives."""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

Record = dict[str, Any]


class Word(NamedTuple):
    """A sampled token with its log-probability and that of another one."""

    text: str
    sampled: float
    other: float


class Said(NamedTuple):
    """A reply."""

    id: str
    words: tuple[Word, ...]

    @property
    def text(self) -> str:
        return "".join(word.text for word in self.words)

    @property
    def mean_entropy(self) -> float:
        steps = [-sum(math.exp(x) * x for x in (word.sampled, word.other)) for word in self.words]
        return sum(steps) / len(steps)


A = Said("a", (Word(" the", -0.5, -1.5), Word(" the", -0.5, -1.5), Word(" sea", -0.25, -2.0), Word("!", -0.125, -2.5)))
B = Said("b", (Word(" no", -1.0, -1.25), Word(" way", -0.75, -1.75), Word(" out", -0.375, -3.0)))


def steps(words: Iterable[Word]) -> list[Record]:
    """Steps {token, logprob, top_logprobs}."""
    found = []
    for text, sampled, other in words:
        top = [{"token": text, "logprob": sampled}, {"token": "?", "logprob": other}]
        found.append({"id": 1, "token": text, "logprob": sampled, "top_logprobs": top})
    return found


def pieces_of(said: Said) -> Iterator[tuple[int, tuple[Word, ...], bool]]:
    """The words in pieces of one, except for the last two, with the number so far and whether it is the last piece."""
    n = len(said.words)
    for at in range(n - 1):
        words = said.words[at : at + 1] if at < n - 2 else said.words[at:]
        yield at + len(words), words, at == n - 2


def chat(said: Said, index: int = 0) -> list[Record]:
    common = {"id": said.id, "object": "chat.completion.chunk", "created": 1793577600, "model": "m"}
    deltas: list[Record] = [{"index": index, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]
    for _, words, _ in pieces_of(said):
        text = "".join(word.text for word in words)
        deltas.append({"index": index, "delta": {"content": text}, "logprobs": {"content": steps(words)}})
    deltas.append({"index": index, "delta": {}, "logprobs": None, "finish_reason": "stop"})
    usage = {**common, "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": len(said.words)}}
    return [*({**common, "choices": [delta]} for delta in deltas), usage]


def text(said: Said) -> list[Record]:
    common = {"id": said.id, "object": "text_completion", "created": 1793577600, "model": "m"}
    parts = []
    for _, words, last in pieces_of(said):
        lists = {
            "tokens": [word.text for word in words],
            "token_logprobs": [word.sampled for word in words],
            "top_logprobs": [{word.text: word.sampled, "?": word.other} for word in words],
        }
        text = "".join(lists["tokens"])
        parts.append({"index": 0, "text": text, "logprobs": lists, "finish_reason": "stop" if last else None})
    return [{**common, "choices": [part]} for part in parts]


def responses(said: Said, output: bool = False) -> list[Record]:
    body = {"id": said.id, "object": "response", "created_at": 1793577600, "model": "m"}
    item = {"item_id": f"msg-{said.id}", "output_index": 0, "content_index": 0}
    events: list[Record] = [{"type": "response.created", "response": {**body, "status": "in_progress", "output": []}}]
    for _, words, _ in pieces_of(said):
        delta = "".join(word.text for word in words)
        events.append({"type": "response.output_text.delta", **item, "delta": delta, "logprobs": steps(words)})
    content = [{"type": "output_text", "text": said.text, "logprobs": []}]
    whole = [{"type": "message", "id": f"msg-{said.id}", "content": content}] if output else []
    return [*events, {"type": "response.completed", "response": {**body, "status": "completed", "output": whole}}]


def gemini(said: Said, index: int | None = None) -> list[Record]:
    pieces = []
    for _, words, last in pieces_of(said):
        chosen = [{"token": word.text, "tokenId": 1, "logProbability": word.sampled} for word in words]
        top = []
        for word, entry in zip(words, chosen, strict=True):
            top.append({"candidates": [entry, {"token": "?", "tokenId": 2, "logProbability": word.other}]})
        candidate = {
            "content": {"role": "model", "parts": [{"text": "".join(word.text for word in words)}]},
            "logprobsResult": {"chosenCandidates": chosen, "topCandidates": top},
        }
        candidate |= {"finishReason": "STOP"} if last else {}
        candidate |= {} if index is None else {"index": index}
        usage = {"promptTokenCount": 9, "candidatesTokenCount": len(said.words)} if last else {}
        usage = {"trafficType": "ON_DEMAND", **usage}
        pieces.append({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": said.id})
    return pieces


def sglang(said: Said, cumulative: bool = True) -> list[Record]:
    pieces = []
    for n, words, last in pieces_of(said):
        written = said.words[:n] if cumulative else words
        about = {
            "id": said.id,
            "finish_reason": {"type": "stop", "matched": 2} if last else None,
            "prompt_tokens": 9,
            "completion_tokens": n,
            "output_token_logprobs": [[word.sampled, 1, word.text] for word in written],
            "output_top_logprobs": [[[word.sampled, 1, word.text], [word.other, 2, "?"]] for word in written],
        }
        text = "".join(word.text for word in written)
        pieces.append({"text": text, "output_ids": [1] * len(written), "meta_info": about})
    return pieces


def sglang_added(said: Said) -> list[Record]:
    return sglang(said, cumulative=False)


def tgi(said: Said) -> list[Record]:
    pieces = []
    for at, word in enumerate(said.words, 1):
        token = {"id": 1, "text": word.text, "logprob": word.sampled, "special": False}
        top = [token, {"id": 2, "text": "?", "logprob": word.other, "special": False}]
        end: Record = {"generated_text": None, "details": None}
        if at == len(said.words):
            about = {"finish_reason": "eos_token", "generated_tokens": at, "seed": None}
            end = {"generated_text": said.text, "details": about}
        pieces.append({"index": at, "token": token, "top_tokens": top, **end})
    return pieces


def ollama(said: Said) -> list[Record]:
    common = {"model": "m", "created_at": "2026-11-02T10:00:00Z"}
    pieces = []
    for _, words, _ in pieces_of(said):
        message = {"role": "assistant", "content": "".join(word.text for word in words)}
        pieces.append({**common, "message": message, "done": False, "logprobs": steps(words)})
    end = {"done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": len(said.words)}
    return [*pieces, {**common, "message": {"role": "assistant", "content": ""}, **end}]


def llama_cpp(said: Said) -> list[Record]:
    pieces: list[Record] = []
    for n, words, _ in pieces_of(said):
        text = "".join(word.text for word in words)
        piece = {"index": 0, "content": text, "stop": False, "tokens_predicted": n, "tokens_evaluated": 9}
        pieces.append({**piece, "completion_probabilities": steps(words)})
    end = {"index": 0, "content": "", "stop": True, "stop_type": "eos", "model": "m"}
    return [*pieces, {**end, "tokens_predicted": len(said.words), "tokens_evaluated": 9}]


Writer = Callable[[Said], list[Record]]
# Servers whose pieces have the reply's id, and the others.
WITH_ID: dict[str, Writer] = {
    "chat": chat,
    "text": text,
    "responses": responses,
    "gemini": gemini,
    "sglang": sglang,
    "sglang-added": sglang_added,
}
WITHOUT_ID: dict[str, Writer] = {"tgi": tgi, "ollama": ollama, "llama-cpp": llama_cpp}
WRITERS = WITH_ID | WITHOUT_ID


def interleaved(*streams: list[Record]) -> list[Record]:
    """The pieces of several streams by turns."""
    rest, mixed = [list(stream) for stream in streams], list[Record]()
    while any(rest):
        for stream in filter(None, rest):
            mixed.append(stream.pop(0))
    return mixed


def events(records: Iterable[Record], end: str = "\n") -> str:
    """Server-sent events."""
    return "".join(f"data: {json.dumps(record, ensure_ascii=False)}{end}{end}" for record in records)
