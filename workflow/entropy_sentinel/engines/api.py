"""The engine behind an API: a provider or a server that LiteLLM knows. The only module that imports litellm.

Keys come from the environment, where LiteLLM looks for them; they are no part of a request as it is kept here.
"""

import hashlib
import json
import logging
import os
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from importlib.metadata import version
from typing import Any

import numpy as np
import tenacity

from entropy_sentinel.chat.cache import ReplyCache
from entropy_sentinel.chat.errors import brief, may_pass, retry_after_s
from entropy_sentinel.engines.engine import Response
from entropy_sentinel.engines.vllm import trace_start
from entropy_sentinel.frames.errors import ConfigError, EntropySentinelError
from entropy_sentinel.frames.generation import OTHER_STOPS, TOP_K

log = logging.getLogger(__name__)


class LitellmEngine:
    """A chat model behind an API that returns log-probabilities; answers chats of one user message.

    What an API leaves open, and what is done here:

    - No server says whether its log-probabilities are those before or after temperature. `LOGPROBS_MODE` is assumed:
      vLLM's default since V1, and OpenAI's distribution of the model.
    - The rendered prompt is not visible. `prompt_hash` is over the message and the variables of the chat template.
    - Token ids are not returned; `token_ids` and `top_token_ids` are None.
    - Where the sampled token is outside the top 20, a vLLM server returns it and the top 19. `displaced_steps` counts
      the steps whose sampled token is the least likely of the 20 returned: those, and the steps at which it really
      is the 20th, which look the same. A provider that returns it as a 21st entry displaces nothing.
    - A server with a reasoning parser, and LiteLLM for `<think>`, take the thinking out of the text; the trace has it.
    """

    LOGPROBS_MODE = "raw_logprobs"
    FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Prepare for the server of `config.study.generation_settings`; sends nothing yet."""
        self._settings, self._api = settings, settings["api"]
        self._name = f"models.{settings['model']}"
        os.environ.update(settings["environment"])
        # Without it the import fetches a table of prices.
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        import litellm

        litellm.telemetry, litellm.suppress_debug_info = False, True
        # They tell every request, some with its headers.
        for name in ("LiteLLM", "openai", "httpx", "httpcore"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._litellm, self._cache = litellm, ReplyCache()
        self._servers: set[str] = set()
        self._checked = False

    @property
    def provenance(self) -> dict[str, Any]:
        """The engine; its version has what the servers have called themselves in the replies so far."""
        return {
            "engine": f"api:{self._api['model']}",
            "engine_version": ", ".join([f"litellm {version('litellm')}", *sorted(self._servers)]),
            "logprobs_mode": self.LOGPROBS_MODE,
        }

    def answer(self, messages: Sequence[str], seeds: Sequence[int]) -> Iterator[tuple[int, Response]]:
        """Answer each message with its own seed: (position in `messages`, response), in the order they are done.

        Nothing but the first request is sent until a reply has shown that the server returns what is needed. After
        a failure no more is sent, what is under way is still given, and then the error is raised: ConfigError for
        missing log-probabilities, EntropySentinelError for a request that failed for good.
        """
        waiting = deque(enumerate(zip(messages, seeds, strict=True)))
        running: dict[Future, int] = {}
        failure: BaseException | None = None
        stop = threading.Event()
        pool = ThreadPoolExecutor(self._api["concurrency"], thread_name_prefix="api")
        try:
            while waiting or running:
                # The pool bounds the requests at a time; twice as many in its queue keep it busy.
                while waiting and len(running) < (2 * self._api["concurrency"] if self._checked else 1):
                    position, request = waiting.popleft()
                    running[pool.submit(self._answer_one, position, *request, stop)] = position
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    position = running.pop(future)
                    if future.cancelled():
                        continue
                    if future.exception() is None:
                        yield position, future.result()
                    elif failure is None:
                        failure = future.exception()
                        stop.set()
                        waiting.clear()
                        for other in running:
                            other.cancel()
            if failure is not None:
                raise failure
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)

    def _request(self, message: str, seed: int) -> dict[str, Any]:
        """Everything that is sent but the key."""
        request = {
            "model": self._api["model"],
            "base_url": self._api["base_url"],
            "messages": [{"role": "user", "content": message}],
            "seed": seed,
            "logprobs": True,
            "top_logprobs": TOP_K,
            **self._settings["sampling"],
        }
        if variables := self._settings["chat_template_kwargs"]:
            request["extra_body"] = {"chat_template_kwargs": variables}
        return request

    def _answer_one(self, position: int, message: str, seed: int, stop: threading.Event) -> Response:
        """One response, from the cache or the server; runs in a thread of the pool."""
        request = self._request(message, seed)
        # What identifies a reply: the request, wherever it is sent, and which version of the model is asked.
        identity = request | {"base_url": None, "revision": self._settings["revision"]}
        reply = self._cache.get(identity)
        if reply is None:
            reply = self._checked_reply(self._send(position, request, stop))
            self._cache.put(identity, reply)
            self._checked = self._checked or bool(reply["tokens"])
        self._servers.add(" ".join(filter(None, (reply["model"], reply["system_fingerprint"]))))
        return self._response(message, reply)

    def _send(self, position: int, request: Mapping[str, Any], stop: threading.Event) -> Any:
        """LiteLLM's reply. What failed by chance is tried again, until `stop`."""
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(may_pass),
            stop=tenacity.stop_after_attempt(1 + self._api["retries"]) | tenacity.stop_when_event_set(stop),
            wait=self._pause,
            sleep=tenacity.sleep_using_event(stop),
            before_sleep=lambda state: log.warning(
                "request %d: %s; again in %.0f s", position, brief(state.outcome.exception()), state.next_action.sleep
            ),
            reraise=True,
        )
        try:
            # Tried again here only: the retries of LiteLLM and of the client below it would multiply ours.
            return retrying(
                self._litellm.completion, **request, timeout=self._api["timeout_s"], max_retries=0, num_retries=0
            )
        except Exception as error:
            tries = retrying.statistics["attempt_number"]
            # Nothing is chained: exceptions of clients carry requests, and those carry keys.
            raise EntropySentinelError(
                f"{self._name}.api: {self._api['model']} did not answer request {position} (from 0) in {tries} "
                f"{'try' if tries == 1 else 'tries'}: {brief(error)}; a restart goes on from what was answered"
            ) from None

    def _pause(self, state: tenacity.RetryCallState) -> float:
        """Seconds before the next try: doubled each time, with jitter; longer where the server says so."""
        growing = tenacity.wait_exponential_jitter(
            multiplier=self.FIRST_PAUSE_S, max=self.LONGEST_PAUSE_S, jitter=self.FIRST_PAUSE_S
        )
        return max(growing(state), min(retry_after_s(state.outcome.exception()), self._api["timeout_s"]))

    def _checked_reply(self, reply: Any) -> dict[str, Any]:
        """What a response is made of, out of LiteLLM's reply.

        Raises ConfigError without 20 log-probabilities at every step.
        """
        choice, usage = reply.choices[0], getattr(reply, "usage", None)
        steps = getattr(getattr(choice, "logprobs", None), "content", None) or []
        text = choice.message.content or ""
        fewest = min((len(step.top_logprobs) for step in steps), default=0)
        empty = not steps and not text and not getattr(usage, "completion_tokens", 0)
        if fewest < TOP_K and not empty:
            raise ConfigError(
                f"{self._name}.api: the server returned {f'{fewest}' if steps else 'no'} log-probabilities per token, "
                f"{TOP_K} are needed; start vLLM with --max-logprobs {TOP_K}, or choose a provider that returns "
                f"top_logprobs={TOP_K}"
            )
        return {
            "model": reply.model,
            "system_fingerprint": getattr(reply, "system_fingerprint", None),
            "prompt_tokens": getattr(usage, "prompt_tokens", 0),
            "finish_reason": finish_reason(choice),
            "text": text,
            "tokens": [step.token for step in steps],
            "token_logprobs": [step.logprob for step in steps],
            "top_logprobs": [[entry.logprob for entry in step.top_logprobs] for step in steps],
        }

    def _response(self, message: str, reply: Mapping[str, Any]) -> Response:
        prompt = json.dumps([message, self._settings["chat_template_kwargs"]], sort_keys=True)
        top = [sorted(step, reverse=True)[:TOP_K] for step in reply["top_logprobs"]]
        sampled = np.asarray(reply["token_logprobs"], dtype=np.float32)
        top_logprobs = np.asarray(top, dtype=np.float32).reshape(len(top), TOP_K)
        return Response(
            prompt_hash=hashlib.sha256(prompt.encode()).hexdigest()[:16],
            prompt_tokens=reply["prompt_tokens"],
            text=reply["text"],
            finish_reason=reply["finish_reason"],
            token_logprobs=sampled,
            top_logprobs=top_logprobs,
            trace_start=trace_start(np.array(reply["tokens"], dtype=object), self._settings["trace_after"]),
            displaced_steps=int((sampled == top_logprobs[:, -1]).sum()),
        )


def finish_reason(choice: Any) -> str:
    """Why a response ended, as contract GENERATIONS has it.

    LiteLLM says `stop` for what it does not know and for errors of a provider, and keeps the provider's own word aside.
    """
    own = (getattr(choice, "provider_specific_fields", None) or {}).get("native_finish_reason")
    hidden = choice.finish_reason == "stop" and own is not None and own not in OTHER_STOPS
    return own if hidden else choice.finish_reason
