"""The engine behind an API: a provider or a server that LiteLLM knows."""

import hashlib
import json
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from importlib.metadata import version
from typing import Any

import numpy as np

from entropy_sentinel.chat.client import ChatClient
from entropy_sentinel.chat.reply import Refusal, Reply
from entropy_sentinel.chat.text import masked
from entropy_sentinel.engines.engine import Chat, Response, refused, spoken
from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.frames.generation import TOP_K


class LitellmEngine:
    """A chat model behind an API that returns log-probabilities; answers chats.

    What an API leaves open, and what is done here:

    - No server says whether its log-probabilities are those before or after temperature. `LOGPROBS_MODE` is assumed:
      vLLM's default since V1, and OpenAI's distribution of the model.
    - The rendered prompt is not visible. `prompt_hash` is over the messages and the variables of the chat template.
    - Token ids are not returned; `token_ids` and `top_token_ids` are None.
    - Where the sampled token is outside the top 20, a vLLM server returns it and the top 19. `displaced_steps` counts
      the steps whose sampled token is the least likely of the 20 returned: those, and the steps at which it really
      is the 20th, which look the same. A provider that returns it as a 21st entry displaces nothing.
    - A server with a reasoning parser, and LiteLLM for `<think>`, take the thinking out of the text; the trace has it.
    """

    LOGPROBS_MODE = "raw_logprobs"

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Prepare for the server of `config.study.generation_settings`; sends nothing yet."""
        os.environ.update(settings["environment"])  # keys and proxies of LiteLLM, which the client imports
        self._settings, self._servers = settings, set[str]()
        self._client = ChatClient(
            f"models.{settings['model']}.api", **settings["api"], identity={"revision": settings["revision"]}
        )

    @property
    def provenance(self) -> dict[str, Any]:
        """The engine; its version has what the servers have called themselves in the replies so far."""
        return {
            "engine": f"api:{self._client.model}",
            "engine_version": ", ".join([f"litellm {version('litellm')}", *sorted(self._servers)]),
            "logprobs_mode": self.LOGPROBS_MODE,
        }

    def answer(self, chats: Sequence[Chat], seeds: Sequence[int]) -> Generator[tuple[int, Response], None, None]:
        """Answer each chat with its own seed: (position in `chats`, response), in the order they are done.

        Errors are those of `ChatClient.ask`, and ConfigError where a server returns too few log-probabilities. An
        empty reply does not show whether it returns any.
        """
        requests = [self._request(chat, seed) for chat, seed in zip(chats, seeds, strict=True)]
        account = f"{self._settings['model']}/{self._settings.get('benchmark', '')}"
        asked = self._client.ask(requests, self._keep, lambda kept: bool(kept["tokens"]), account)
        with closing(asked) as replies:
            for position, reply in replies:
                yield position, self._response(chats[position], reply)

    def _request(self, chat: Chat, seed: int) -> dict[str, Any]:
        request = {
            "messages": [dict(message) for message in chat],
            "seed": seed,
            "logprobs": True,
            "top_logprobs": TOP_K,
            **self._settings["sampling"],
        }
        if variables := self._settings["chat_template_kwargs"]:
            request["extra_body"] = {"chat_template_kwargs": variables}
        return request

    def _keep(self, reply: Reply) -> dict[str, Any]:
        """What a response is made of; ConfigError without 20 log-probabilities at every step."""
        steps = getattr(getattr(reply.choice, "logprobs", None), "content", None) or []
        fewest = min((len(step.top_logprobs) for step in steps), default=0)
        empty = not steps and not reply.text and not reply.completion_tokens
        if fewest < TOP_K and not empty:
            raise ConfigError(
                f"{self._client.name}: the server returned {f'{fewest}' if steps else 'no'} log-probabilities per "
                f"token, {TOP_K} are needed; start vLLM with --max-logprobs {TOP_K}, or choose a provider that returns "
                f"top_logprobs={TOP_K}"
            )
        # A server may repeat the key that it was sent as its own name.
        model, fingerprint = (getattr(reply.parsed, name, None) for name in ("model", "system_fingerprint"))
        return {
            "model": masked(str(model or "")),
            "system_fingerprint": fingerprint and masked(str(fingerprint)),
            "prompt_tokens": reply.prompt_tokens,
            "finish_reason": reply.finish_reason,
            "text": reply.text,
            "tokens": [step.token for step in steps],
            "token_logprobs": [step.logprob for step in steps],
            "top_logprobs": [[entry.logprob for entry in step.top_logprobs] for step in steps],
        }

    def _response(self, chat: Chat, reply: Mapping[str, Any] | Refusal) -> Response:
        prompt = json.dumps([spoken(chat), self._settings["chat_template_kwargs"]], sort_keys=True)
        prompt_hash = hashlib.sha256(prompt.encode()).hexdigest()[:16]
        if isinstance(reply, Refusal):
            return refused(reply.reason, prompt_hash)
        # Masked here too, for replies kept by earlier versions.
        self._servers.add(masked(" ".join(filter(None, (reply["model"], reply["system_fingerprint"])))))
        top = [sorted(step, reverse=True)[:TOP_K] for step in reply["top_logprobs"]]
        sampled = np.asarray(reply["token_logprobs"], dtype=np.float32)
        top_logprobs = np.asarray(top, dtype=np.float32).reshape(len(top), TOP_K)
        return Response(
            prompt_hash=prompt_hash,
            prompt_tokens=reply["prompt_tokens"],
            text=reply["text"],
            finish_reason=reply["finish_reason"],
            token_logprobs=sampled,
            top_logprobs=top_logprobs,
            tokens=np.array(reply["tokens"], dtype=object),
            displaced_steps=int((sampled == top_logprobs[:, -1]).sum()),
        )
