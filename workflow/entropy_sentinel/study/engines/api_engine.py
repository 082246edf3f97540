"""The engine behind an API: a provider or a server that LiteLLM knows."""

import hashlib
import json
import logging
import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from importlib.metadata import version
from typing import Any

import numpy as np

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.llm_client.chat_client import ChatClient
from entropy_sentinel.llm_client.request_results import Refusal, ServerReply, mask_secrets
from entropy_sentinel.llm_client.server_settings import find_address, read_announced_server
from entropy_sentinel.schemas.generation_schema import NO_LOGPROBS, TOP_K
from entropy_sentinel.study.engines.api_contexts import ApiContexts
from entropy_sentinel.study.engines.api_servers import (
    ServerKind,
    Steps,
    find_count_problem,
    find_logprobs_problem,
    find_request_problem,
    find_sampling_problem,
    identify_server,
    parse_token_ids,
    read_chat_steps,
    read_text_steps,
    sort_top_texts,
)
from entropy_sentinel.study.engines.beam_searching import BeamSearcher
from entropy_sentinel.study.engines.engine_interface import (
    Asked,
    Beams,
    RenderedPrompt,
    Response,
    canonicalize_prompt,
    refused,
)
from entropy_sentinel.study.engines.generation_section import ApiSettings

log = logging.getLogger(__name__)


class LitellmEngine(ApiContexts):
    """A model behind an API; answers chats, and continues plain text.

    It requests log-probabilities unless `api.logprobs` is false; then responses have no trace.

    APIs leave some questions open:

    - No server says whether its log-probabilities are from before or after temperature. `LOGPROBS_MODE` is assumed:
      vLLM's default since V1, and OpenAI's distribution of the model.
    - The rendered prompt is not visible. `prompt_hash` is over the messages and the variables of the chat template.
    - Only llama.cpp returns token ids; otherwise `token_ids` is None. `top_token_ids` is always None.
    - If the sampled token is outside the top 20, a vLLM server returns it and the top 19. `displaced_steps` counts
      the steps whose sampled token is the least likely of the 20 returned. It includes steps at which the token really
      is the 20th, which look the same. A provider that returns it as a 21st entry displaces nothing; neither does
      llama.cpp, whose lists are always the model's top 20.
    - A server may omit steps: llama.cpp all but the last token of a multi-token character, Ollama the token
      that ends the answer. The log counts them if a response lacks more than one.
    - Plain text goes to `/completions`, where vLLM returns the top 20 plus the sampled token, so no step is
      displaced. Ids are requested instead of texts, because two tokens with the same text would share an entry. OpenAI
      returns the top 5 there.
    - A server with a reasoning parser, and LiteLLM for `<think>`, remove the thinking from the text, but not the trace.
    """

    LOGPROBS_MODE = "raw_logprobs"

    def __init__(self, settings: ApiSettings) -> None:
        """Prepare for the server in the settings; sends nothing yet."""
        os.environ.update(settings["environment"])  # keys and proxies of LiteLLM, which the client imports
        self._settings = settings
        # What the servers call themselves, and for each response the number of tokens without log-probabilities.
        self._servers: set[str] = set()
        self._missing_counts: list[int] = []
        self._is_checked = False
        server = dict(settings["api"])
        self._wants_logprobs: bool = server.pop("logprobs", True)
        identity: dict[str, Any] = {"revision": settings["revision"]}
        if settings.get("keep_top_tokens"):
            # Replies that were cached without these texts cannot serve a job that needs them.
            identity["top_tokens"] = True
        client = ChatClient(f"models.{settings['model']}.api", **server, identity=identity)
        super().__init__(client, f"{settings['model']}/{settings.get('benchmark', '')}")

    @property
    def provenance(self) -> dict[str, Any]:
        """The engine; its version includes the names that servers gave themselves in replies so far."""
        return {
            "engine": f"api:{self._client.model}",
            "engine_version": ", ".join([f"litellm {version('litellm')}", *sorted(self._servers)]),
            "logprobs_mode": self.LOGPROBS_MODE if self._wants_logprobs else NO_LOGPROBS,
        }

    @property
    def vocabulary(self) -> int:
        """The number of tokens that the model chooses from, from the config, because no server reports it."""
        size: Any = self._settings.get("vocabulary")  # only in a pass's settings
        if size is None:
            raise ConfigError(f"models.{self._settings['model']}.vocabulary: must be set to ask for next tokens")
        return int(size)

    def beams(
        self, contexts: Iterable[Sequence[int]], width: int, max_tokens: int, stop: Sequence[str] = ()
    ) -> Generator[tuple[int, Beams], None, None]:
        """Yield (number of the context, Beams): the `width` likeliest responses after each context, by beam search.

        Raises ConfigError as `next_tokens` does, and if the config has no end tokens.
        """
        ends: Any = self._settings.get("end_tokens")  # only in a pass's settings
        if ends is None:
            raise ConfigError(
                f"models.{self._settings['model']}.end_tokens: must be set to search beams, the ids of the tokens "
                "that end a response of this model; servers do not report them"
            )
        ask = self.next_tokens
        yield from BeamSearcher(ask, self.token_texts, frozenset(ends), width, max_tokens, tuple(stop)).search(contexts)

    def prompts(self, chats: Sequence[Asked]) -> list[RenderedPrompt]:
        """Each prompt as the server tokenizes it, with its hash.

        Raises ConfigError for a chat, whose token ids no server returns, and for a text that the server refuses.
        """
        texts = [chat for chat in chats if isinstance(chat, str)]
        prompt_ids = self.token_ids(texts, special=True)
        if len(texts) < len(chats) or None in prompt_ids:
            raise ConfigError(f"models.{self._settings['model']}: servers do not return the token ids of chat prompts")
        return [RenderedPrompt(ids or [], self._hash(text)) for text, ids in zip(texts, prompt_ids, strict=True)]

    def answer(self, chats: Sequence[Asked], seeds: Sequence[int]) -> Generator[tuple[int, Response], None, None]:
        """Yield (position in `chats`, response) for each chat or text with its own seed, as they finish.

        Raises:
            ConfigError: If a server returns too few or impossible log-probabilities, or samples in another way than
                the study. An empty reply is not checked.
            EntropySentinelError: As `ChatClient.ask`.
        """
        requests = [self._request(chat, seed) for chat, seed in zip(chats, seeds, strict=True)]
        stream = self._client.ask(
            requests,
            self._extract_content,
            # Requests go out one by one until a reply shows that the server works: an empty one does not.
            shows_enough=lambda content: bool(content["tokens"] or content["text"]),
            account=self._account,
        )
        with closing(stream) as replies:
            for position, reply in replies:
                yield position, self._response(chats[position], reply)
        self._log_missing_logprobs()

    def under_way(self) -> list[int]:
        """A 0 for each concurrent request: only the server knows the lengths."""
        return [0] * self._client.concurrency

    def _request(self, chat: Asked, seed: int) -> dict[str, Any]:
        """The arguments of LiteLLM's completion for a chat, or of its text completion for a text to continue."""
        request: dict[str, Any] = {"seed": seed, **self._settings["sampling"]}
        if isinstance(chat, str):
            request["prompt"] = chat
            if self._wants_logprobs:
                request |= {"logprobs": TOP_K, "extra_body": {"return_tokens_as_token_ids": True}}
            return request
        request["messages"] = [dict(message) for message in chat]
        if self._wants_logprobs:
            request |= {"logprobs": True, "top_logprobs": TOP_K}
        if variables := self._settings["chat_template_kwargs"]:
            request["extra_body"] = {"chat_template_kwargs": variables}
        return request

    def _extract_content(self, reply: ServerReply) -> dict[str, Any]:
        """The content of a reply that a response needs, as JSON for the cache.

        Raises ConfigError if the server or its log-probabilities cannot be used.
        """
        steps = read_chat_steps(reply.choice) if reply.is_chat else read_text_steps(reply.choice)
        if not self._wants_logprobs:
            steps = Steps([], [], [], [])  # ignores log-probabilities that the server adds unrequested
        model: Any = getattr(reply.parsed, "model", None)
        fingerprint: Any = getattr(reply.parsed, "system_fingerprint", None)
        is_empty = not steps.tokens and not reply.text and not reply.completion_tokens
        if not is_empty:
            self._check(identify_server(fingerprint), steps, reply.is_chat)
        # A server may return the key that it received as its own name.
        return {
            "model": mask_secrets(str(model or "")),
            "system_fingerprint": fingerprint and mask_secrets(str(fingerprint)),
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "finish_reason": reply.finish_reason,
            "text": reply.text,
            "tokens": steps.tokens,
            "token_ids": steps.ids,
            "token_logprobs": steps.sampled_logprobs,
            "top_logprobs": steps.top_logprobs,
            **({"top_tokens": steps.top_tokens} if self._settings.get("keep_top_tokens") else {}),
        }

    def _check(self, kind: ServerKind, steps: Steps, is_chat: bool) -> None:
        """Raise ConfigError if this kind of server, or a reply with these steps, cannot be used."""
        problem = find_request_problem(kind, self._settings["sampling"], is_chat)
        if problem is None and self._wants_logprobs:
            problem = find_count_problem(kind, steps)
        # Only for the first reply: a later impossible one gets null features, and does not stop the others.
        if problem is None and not self._is_checked:
            problem = self._find_first_reply_problem(kind, steps)
            self._is_checked = problem is None
        if problem:
            raise ConfigError(f"{self._client.name}: {problem}")

    def _find_first_reply_problem(self, kind: ServerKind, steps: Steps) -> str | None:
        """Why these steps cannot be log-probabilities of the model, or the server samples otherwise than the study."""
        problem = find_logprobs_problem(steps) if self._wants_logprobs else None
        if problem is None and kind.reports_sampling:
            api = self._settings["api"]
            address = str(find_address(api["model"], api["base_url"]))
            problem = find_sampling_problem(address, self._settings["sampling"])
        return problem

    def _response(self, chat: Asked, reply: Mapping[str, Any] | Refusal) -> Response:
        """The response in the content of a reply (`_extract_content`), or in a refusal.

        Also remembers which server and model replied, for the provenance.
        """
        prompt_hash = self._hash(chat)
        if isinstance(reply, Refusal):
            return refused(reply.reason, prompt_hash)
        # Replies cached by earlier versions are not masked, and lack the server's token count and ids.
        self._servers.add(mask_secrets(" ".join(filter(None, (reply["model"], reply["system_fingerprint"])))))
        if not self._wants_logprobs:
            return Response(
                prompt_hash=prompt_hash,
                prompt_tokens=reply["prompt_tokens"],
                text=reply["text"],
                finish_reason=reply["finish_reason"],
                token_logprobs=None,
                top_logprobs=None,
                n_counted=reply["completion_tokens"],
            )
        top = [sorted(step, reverse=True)[:TOP_K] for step in reply["top_logprobs"]]
        sampled = np.asarray(reply["token_logprobs"], dtype=np.float32)
        top_logprobs = np.asarray(top, dtype=np.float32).reshape(len(top), TOP_K)
        is_text = isinstance(chat, str)
        ids_from_texts = parse_token_ids(reply["tokens"]) if is_text else None
        ids_from_server = reply.get("token_ids")
        ids = ids_from_texts or ids_from_server
        self._missing_counts.append(reply.get("completion_tokens", 0) - len(top))
        return Response(
            prompt_hash=prompt_hash,
            prompt_tokens=reply["prompt_tokens"],
            text=reply["text"],
            finish_reason=reply["finish_reason"],
            token_logprobs=sampled,
            top_logprobs=top_logprobs,
            tokens=None if ids_from_texts else np.array(reply["tokens"], dtype=object),
            token_ids=np.array(ids, dtype=np.uint32) if ids else None,
            top_tokens=None if ids_from_texts else sort_top_texts(reply),
            # Steps where the server may have put the sampled token in place of the last of the likely ones.
            displaced_steps=0 if is_text or ids_from_server else int((sampled == top_logprobs[:, -1]).sum()),
        )

    def _log_missing_logprobs(self) -> None:
        """Log the number of tokens that the server counted but returned no log-probabilities for."""
        missing_counts = [count for count in self._missing_counts if count > 1]
        if missing_counts:
            log.warning(
                "%s: in %d of %d responses the server gave no log-probabilities for %d of the tokens that it counted; "
                "features are over the others (docs/inputs.md, 'llama.cpp and Ollama')",
                self._client.name,
                len(missing_counts),
                len(self._missing_counts),
                sum(missing_counts),
            )

    def _hash(self, chat: Asked) -> str:
        """The `prompt_hash` of a chat or text: 16 hex digits over the messages and the template's variables."""
        prompt = json.dumps([canonicalize_prompt(chat), self._settings["chat_template_kwargs"]], sort_keys=True)
        return hashlib.sha256(prompt.encode()).hexdigest()[:16]


def make_api_engine(settings: ApiSettings, threads: int) -> LitellmEngine:
    """The engine for the server that the workflow has announced to this job."""
    server = read_announced_server(f"models.{settings['model']}.api")
    return LitellmEngine({**settings, "api": settings["api"] | server})
