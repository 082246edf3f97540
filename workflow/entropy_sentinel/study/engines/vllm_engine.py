"""The vLLM engine of an engine process (study/engines/engine_host.py). The only module that imports vllm.

The same code serves GPUs and a CPU build of vLLM; study/engines/cpu_settings.py adds what that build needs.
"""

import copy
import hashlib
import json
import logging
import os
from collections.abc import Generator, Iterable, Sequence
from datetime import date
from typing import Any

import numpy as np

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.schemas.generation_schema import TOP_K
from entropy_sentinel.study.engines import cpu_settings
from entropy_sentinel.study.engines.beam_searching import BeamSearcher
from entropy_sentinel.study.engines.engine_interface import (
    Asked,
    Beams,
    Continuation,
    NextToken,
    RenderedPrompt,
    Response,
    canonicalize_prompt,
    refused,
)
from entropy_sentinel.study.engines.generation_section import VllmSettings
from entropy_sentinel.study.engines.vllm_contexts import VllmContexts, strip_id_suffix

log = logging.getLogger(__name__)

# Longest reason of a refused request, characters.
LONGEST_REASON = 300


class VllmEngine:
    """A loaded model."""

    def __init__(self, settings: VllmSettings, threads: int) -> None:
        """Load the settings' model on `threads` CPU cores; takes seconds to minutes.

        Raises ConfigError if vLLM refuses the model or an engine argument.
        """
        os.environ.update(cpu_settings.build_environment(settings, threads))  # read during the import, by torch too
        import vllm

        self._vllm, self._settings = vllm, settings
        arguments = {
            "model": settings["weights"],
            "revision": settings.get("commit"),  # of weights on the hub
            "max_logprobs": TOP_K,
            # The model's distribution before temperature, on which the features are defined.
            "logprobs_mode": "raw_logprobs",
            "seed": settings["seed"],
            "enable_lora": settings["lora"] is not None,
            **cpu_settings.build_engine_arguments(settings),
        }
        try:
            self._engine = vllm.LLM(**arguments)
        except (TypeError, ValueError, OSError) as error:
            raise ConfigError(f"models.{settings['model']}: vLLM {vllm.__version__} refuses it: {error}") from error
        self.provenance = {
            "engine": "vllm",
            "engine_version": vllm.__version__,
            "logprobs_mode": arguments["logprobs_mode"],
            **cpu_settings.describe_cpu_defaults(settings, threads),
        }

    def replace_settings(self, settings: VllmSettings) -> "VllmEngine":
        """An engine with the same loaded model and other settings: sampling, template, kept parts of a trace."""
        engine = copy.copy(self)
        engine._settings = settings
        return engine

    def answer(self, chats: Sequence[Asked], seeds: Sequence[int]) -> Generator[tuple[int, Response], None, None]:
        """Yield (position in `chats`, response) for each chat or text with its own seed, as they finish.

        A refused request, for example a prompt that is longer than the model's context, gets the response `refused`.
        """
        self._engine.reset_prefix_cache()  # so that answers do not depend on earlier requests
        positions = {}
        for position, (chat, seed) in enumerate(zip(chats, seeds, strict=True)):
            try:
                positions[self._enqueue(chat, seed)] = position
            except (self._vllm.exceptions.VLLMClientError, ValueError) as error:
                yield position, refused(str(error)[:LONGEST_REASON], _hash_prompt(_encode_prompt(chat)))
        while self._engine.llm_engine.has_unfinished_requests():
            for output in self._engine.llm_engine.step():
                if output.finished:
                    yield positions[output.request_id], self._response(output)

    @property
    def vocabulary(self) -> int:
        """The number of tokens that the model chooses from."""
        return int(self._engine.model_config.get_vocab_size())

    def next_tokens(self, contexts: Iterable[Sequence[int]]) -> Generator[tuple[int, NextToken], None, None]:
        """Yield (number of the context, NextToken) for each context of token ids, as they are finished.

        Each is a request for one token, which finds a prefix that it shares with others in the engine's cache.
        """
        self._engine.reset_prefix_cache()  # so that results do not depend on earlier calls
        n_tokens = n_cached = 0
        for number, next_token in self._make_contexts().next_tokens(contexts):
            n_tokens += next_token.context
            n_cached += next_token.cached or 0
            yield number, next_token
        share = 100 * n_cached / (n_tokens or 1)
        log.info("%d tokens of contexts, of which %.0f %% were in the cache", n_tokens, share)

    def continuations(
        self, pairs: Iterable[tuple[Sequence[int], Sequence[int]]]
    ) -> Generator[tuple[int, Continuation], None, None]:
        """Yield (number of the pair, Continuation): log-probabilities of its tokens after its context, as they end.

        Each pair is (context, continuation), as token ids.
        """
        return self._make_contexts().continuations(pairs)

    def beams(
        self, contexts: Iterable[Sequence[int]], width: int, max_tokens: int, stop: Sequence[str] = ()
    ) -> Generator[tuple[int, Beams], None, None]:
        """Yield (number of the context, Beams): the `width` likeliest responses after each context, by beam search.

        Prefixes that beams share come from the engine's cache.
        """
        self._engine.reset_prefix_cache()  # so that results do not depend on earlier calls
        ask = self._make_contexts().next_tokens
        yield from BeamSearcher(ask, self.token_texts, self._end_tokens(), width, max_tokens, tuple(stop)).search(
            contexts
        )

    def _make_contexts(self) -> VllmContexts:
        return VllmContexts(self._engine, self._vllm.sampling_params, self._lora())

    def _end_tokens(self) -> frozenset[int]:
        """The tokens that end a response: the tokenizer's, and those of the model's generation config."""
        configured = self._engine.model_config.try_get_generation_config().get("eos_token_id") or []
        ends = {configured} if isinstance(configured, int) else set(configured)
        tokenizer_end = self._engine.get_tokenizer().eos_token_id
        if tokenizer_end is not None:
            ends.add(tokenizer_end)
        return frozenset(ends)

    def prompts(self, chats: Sequence[Asked]) -> list[RenderedPrompt]:
        """Each prompt as `answer` would send it."""
        tokenizer = self._engine.get_tokenizer()
        variables = self._template_variables()
        prompts = []
        for chat in chats:
            if isinstance(chat, str):
                ids = tokenizer(chat).input_ids
            else:
                messages = [dict(message) for message in chat]
                ids = tokenizer.apply_chat_template(
                    messages, add_generation_prompt=True, return_dict=False, **variables
                )
            prompts.append(RenderedPrompt(ids, _hash_prompt(np.asarray(ids, dtype="<u4").tobytes())))
        return prompts

    def token_ids(self, texts: Sequence[str]) -> list[list[int] | None]:
        """The token ids of each text; None if the vocabulary lacks a part of it."""
        tokenizer = self._engine.get_tokenizer()
        unknown = getattr(tokenizer, "unk_token_id", None)  # Mistral's own tokenizer has none
        ids_of_texts: list[list[int] | None] = []
        for text in texts:
            try:
                ids = tokenizer.encode(text, add_special_tokens=False)
            except (TypeError, ValueError):  # half of a surrogate pair is not valid text
                ids = [unknown]
            ids_of_texts.append(None if not ids or None in ids or unknown in ids else list(ids))
        return ids_of_texts

    def token_texts(self, responses: Sequence[Sequence[int]]) -> list[list[str]]:
        """The texts of each response's tokens; empty for special tokens, as in the response's text."""
        from tokenizers.decoders import DecodeStream

        tokenizer, texts = self._engine.get_tokenizer(), []
        backend = getattr(tokenizer, "backend_tokenizer", None)  # Mistral's own tokenizer has none
        for ids in responses:
            if backend is None:
                texts.append(decode_tokens(tokenizer, [int(token) for token in ids]))
                continue
            stream = DecodeStream(skip_special_tokens=True)
            texts.append([stream.step(backend, int(token)) or "" for token in ids])
        return texts

    def under_way(self) -> list[int]:
        """The tokens so far of each response that has begun."""
        states: Any = self._engine.llm_engine.output_processor.request_states
        # Copied to a list at once, because the other thread changes the dict.
        lengths = [state.detokenizer.num_output_tokens() for state in list(states.values())]
        return [length for length in lengths if length]

    def _enqueue(self, chat: Asked, seed: int) -> str:
        """Send a request to the engine, which may refuse it; return the id of its output."""
        sampling = self._vllm.SamplingParams(
            **self._settings["sampling"],
            seed=seed,
            logprobs=TOP_K,
            flat_logprobs=True,
            # Without it, the engine would send every token separately.
            output_kind=self._vllm.sampling_params.RequestOutputKind.FINAL_ONLY,
        )
        shared = {"use_tqdm": False, "lora_request": self._lora()}
        if isinstance(chat, str):
            (request,) = self._engine.enqueue(chat, sampling, **shared)
        else:
            messages = [dict(message) for message in chat]
            variables = self._template_variables()
            (request,) = self._engine.enqueue_chat(messages, sampling, chat_template_kwargs=variables, **shared)
        return strip_id_suffix(request)

    def _lora(self) -> Any:
        """The settings' LoRA adapter as vLLM's LoRARequest; None without one."""
        if self._settings["lora"] is None:
            return None
        from vllm.lora.request import LoRARequest

        return LoRARequest("lora", 1, self._settings["lora"])

    def _template_variables(self) -> dict[str, Any]:
        """The variables of the chat template; a pinned date replaces the template's clock."""
        variables: dict[str, Any] = dict(self._settings["chat_template_kwargs"])
        if pinned := self._settings["template_date"]:
            variables["strftime_now"] = date.fromisoformat(pinned).strftime
        return variables

    def _response(self, output: Any) -> Response:
        """The response in vLLM's output of a request, with the trace that the settings keep."""
        completion = output.outputs[0]
        token_ids = np.asarray(completion.token_ids, dtype=np.uint32)
        # vLLM's flat lists have for each step the sampled token and then the most likely ones.
        shape = (len(token_ids), 1 + TOP_K)
        flat = completion.logprobs if len(token_ids) else None
        logprobs = np.asarray(flat.logprobs if flat else [], dtype=np.float32).reshape(shape)
        top_ids = None
        if self._settings["keep_top_token_ids"]:
            top_ids = np.asarray(flat.token_ids if flat else [], dtype=np.uint32).reshape(shape)[:, 1:]
        texts = np.array(flat.decoded_tokens if flat else [], dtype=object).reshape(shape)
        prompt = np.asarray(output.prompt_token_ids, dtype="<u4").tobytes()
        return Response(
            prompt_hash=_hash_prompt(prompt),
            prompt_tokens=len(output.prompt_token_ids),
            text=completion.text,
            finish_reason=completion.finish_reason,
            token_logprobs=logprobs[:, 0],
            top_logprobs=logprobs[:, 1:],
            tokens=texts[:, 0],
            token_ids=token_ids,
            top_token_ids=top_ids,
            top_tokens=texts[:, 1:] if self._settings.get("keep_top_tokens") else None,
        )


def decode_tokens(tokenizer: Any, ids: Sequence[int]) -> list[str]:
    """The texts of a response's tokens, as `DecodeStream` gives them.

    A token that ends within a character has no text; the token that completes the character has all of it.
    """
    # Up to `complete`, all characters are decoded. The last of these tokens, from `context` on, are decoded again,
    # because a tokenizer may write a token in another way at the beginning of a text.
    texts: list[str] = []
    context = complete = 0
    for end in range(1, len(ids) + 1):
        before = tokenizer.decode(ids[context:complete], skip_special_tokens=True)
        text = tokenizer.decode(ids[context:end], skip_special_tokens=True)
        if text.endswith("\ufffd"):  # half of a character
            texts.append("")
            continue
        texts.append(text[len(before) :])
        context, complete = complete, end
    return texts


def _encode_prompt(chat: Asked) -> bytes:
    """The bytes to hash of a refused prompt, which has no token ids."""
    text = canonicalize_prompt(chat)
    return (text if isinstance(text, str) else json.dumps(text)).encode()


def _hash_prompt(prompt: bytes) -> str:
    return hashlib.sha256(prompt).hexdigest()[:16]
