"""The engine `llama`: llama.cpp's server by its own protocol, `/apply-template` and `/completion`."""

import hashlib
import logging
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from functools import cached_property
from typing import Any

import httpx
import numpy as np
import tenacity

from entropy_sentinel.core.errors import ConfigError, EntropySentinelError
from entropy_sentinel.llm_client.request_results import make_storable, mask_secrets
from entropy_sentinel.llm_client.server_settings import read_announced_server
from entropy_sentinel.schemas.generation_schema import TOP_K
from entropy_sentinel.study.engines.engine_interface import Asked, Response, refused
from native_engine.settings import LlamaSettings

log = logging.getLogger(__name__)

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 60.0
# The server chooses a seed itself if it gets the largest one of 32 bits.
_SEEDS = 2**32 - 1
# The server's words for the end of a response, as traces have them.
_FINISHED = {"eos": "stop", "word": "stop", "limit": "length"}
# The server's names and defaults of sampling settings; its own defaults would change what is drawn.
_SAMPLING = {
    "temperature": ("temperature", 1.0),
    "top_p": ("top_p", 1.0),
    "max_tokens": ("n_predict", -1),
    "top_k": ("top_k", 0),
    "min_p": ("min_p", 0.0),
    "repetition_penalty": ("repeat_penalty", 1.0),
    "stop": ("stop", []),
}


class LlamaEngine:
    """Asks the server many prompts at a time; log-probabilities are those before temperature."""

    def __init__(self, settings: LlamaSettings, server: dict[str, Any]) -> None:
        """Prepare for the server; `server` has the keys that responses do not depend on."""
        self._settings, self._name = settings, f"models.{settings['model']}.llama"
        self._url, self._concurrency, self._retries = server["url"], server["concurrency"], server["retries"]
        self._client = httpx.Client(base_url=self._url, timeout=server["timeout_s"])
        self._under_way: list[Future[Response]] = []
        logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs every request

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """The engine, with the version of the server."""
        build = mask_secrets(str(self._asked("GET", "/props").get("build_info", "")))
        return {"engine": "llama", "engine_version": build, "logprobs_mode": "raw_logprobs"}

    def under_way(self) -> Sequence[int]:
        """See `Engine.under_way`: only the server knows the lengths."""
        return [0] * sum(future.running() for future in self._under_way)

    def answer(self, chats: Sequence[Asked], seeds: Sequence[int]) -> Generator[tuple[int, Response], None, None]:
        """See `Engine.answer`. Raises EntropySentinelError if a request fails for good."""
        pool = ThreadPoolExecutor(self._concurrency)
        try:
            positions = {
                pool.submit(self._response, *asked): n for n, asked in enumerate(zip(chats, seeds, strict=True))
            }
            self._under_way = list(positions)
            for future in as_completed(positions):
                yield positions[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)
            self._under_way = []

    def _response(self, chat: Asked, seed: int) -> Response:
        prompt = self._rendered(chat)
        prompt_hash = hashlib.sha256(prompt.encode()).hexdigest()[:16]
        sampling = self._settings["sampling"]
        asked = {name: sampling.get(key, default) for key, (name, default) in _SAMPLING.items()}
        request = {"prompt": prompt, "seed": seed % _SEEDS, "n_probs": TOP_K, "cache_prompt": False, **asked}
        reply = self._asked("POST", "/completion", request)
        if problem := reply.get("error"):
            return refused(problem["message"], prompt_hash)
        try:
            return self._traced(reply, prompt_hash)
        except (LookupError, TypeError) as error:
            why = f"the reply does not have the form of llama.cpp's: {type(error).__name__}: {error}"
            raise EntropySentinelError(f"{self._name}: {self._url}/completion: {why}") from None

    def _rendered(self, chat: Asked) -> str:
        """The prompt as text: plain text as it is, a chat in the server's template."""
        if isinstance(chat, str):
            return chat
        request = {
            "messages": [dict(message) for message in chat],
            "chat_template_kwargs": self._settings["chat_template_kwargs"],
        }
        return str(self._asked("POST", "/apply-template", request)["prompt"])

    def _traced(self, reply: dict[str, Any], prompt_hash: str) -> Response:
        text, steps = make_storable(reply["content"]), reply.get("completion_probabilities", [])
        top = [sorted(step["top_logprobs"], key=lambda entry: -entry["logprob"])[:TOP_K] for step in steps]
        fewest = min(map(len, top), default=0 if text else TOP_K)
        if fewest < TOP_K:
            raise ConfigError(f"{self._name}: the server must give {TOP_K} log-probabilities a token, gave {fewest}")

        def columns(key: str, dtype: Any) -> np.ndarray:
            return np.array([[entry[key] for entry in entries] for entries in top], dtype).reshape(len(top), TOP_K)

        return Response(
            prompt_hash=prompt_hash,
            prompt_tokens=reply["tokens_evaluated"],
            text=text,
            finish_reason=_FINISHED.get(reply["stop_type"], "unknown"),
            token_logprobs=np.array([step["logprob"] for step in steps], np.float32),
            top_logprobs=columns("logprob", np.float32),
            tokens=np.array([make_storable(step["token"]) for step in steps], object),
            token_ids=np.array([step["id"] for step in steps], np.uint32),
            top_token_ids=columns("id", np.uint32) if self._settings["keep_top_token_ids"] else None,
            top_tokens=columns("token", object) if self._settings.get("keep_top_tokens") else None,
        )

    def _asked(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The server's reply, which has an `error` if it refuses a prompt; retry errors that may pass."""
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_may_pass),
            stop=tenacity.stop_after_attempt(1 + self._retries),
            wait=tenacity.wait_exponential_jitter(
                multiplier=_FIRST_PAUSE_S, max=_LONGEST_PAUSE_S, jitter=_FIRST_PAUSE_S
            ),
            before_sleep=tenacity.before_sleep_log(log, logging.WARNING),
            reraise=True,
        )
        try:
            reply: dict[str, Any] = retrying(self._asked_once, method, path, body).json()
            return reply
        except (httpx.HTTPError, ValueError) as error:
            why = mask_secrets(" ".join(f"{type(error).__name__}: {error}".split()))
            raise EntropySentinelError(f"{self._name}: {self._url}{path}: {why}") from None

    def _asked_once(self, method: str, path: str, body: dict[str, Any] | None) -> httpx.Response:
        response = self._client.request(method, path, json=body)
        if not _is_refusal(response):
            response.raise_for_status()
        return response


def _is_refusal(response: httpx.Response) -> bool:
    """Whether the server refuses this prompt, because it is longer than the context."""
    return response.status_code == 400 and "exceed_context_size_error" in response.text


def _may_pass(error: BaseException) -> bool:
    """Whether another try may succeed; a server that loads its model has the status 503."""
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in (408, 429) or error.response.status_code >= 500
    return isinstance(error, httpx.TransportError)


def make(settings: LlamaSettings, threads: int) -> LlamaEngine:
    """The engine for the server that the workflow has announced; the threads are the server's own."""
    return LlamaEngine(settings, read_announced_server(f"models.{settings['model']}.llama"))
