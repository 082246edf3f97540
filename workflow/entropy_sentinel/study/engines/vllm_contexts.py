"""vLLM's answers about token ids: the next token after a context, and the likelihood of given tokens."""

from collections.abc import Callable, Generator, Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from entropy_sentinel.schemas.generation_schema import TOP_K
from entropy_sentinel.study.engines.engine_interface import (
    Continuation,
    NextToken,
    refused_context,
    refused_continuation,
)

# Requests that wait in the engine: enough for several of its steps.
_QUEUE_SIZE = 1024

_Result = TypeVar("_Result")


class VllmContexts:
    """Requests to a loaded model whose prompts are token ids."""

    def __init__(self, engine: Any, parameters: Any, lora: Any) -> None:
        """`engine` is a vllm.LLM, `parameters` the module vllm.sampling_params, `lora` a LoRARequest or None."""
        self._engine, self._parameters, self._lora = engine, parameters, lora

    def next_tokens(self, contexts: Iterable[Sequence[int]]) -> Generator[tuple[int, NextToken], None, None]:
        """Yield (number of the context, NextToken) for each context of token ids, as they are finished.

        Prefixes in the engine's cache, also of earlier calls, are not computed again.
        """
        return self._ask(contexts, {"logprobs": TOP_K}, _read_next_token, refused_context)

    def continuations(
        self, pairs: Iterable[tuple[Sequence[int], Sequence[int]]]
    ) -> Generator[tuple[int, Continuation], None, None]:
        """Yield (number, Continuation) for each pair of a context and the token ids after it, as they are finished.

        These are vLLM's log-probabilities of a prompt's tokens. The engine does not use its cache for such a prompt, so
        each costs as much as its whole context.
        """
        lengths = list[int]()

        def prompts() -> Generator[list[int], None, None]:
            for context, tokens in pairs:
                lengths.append(len(tokens))
                yield [*context, *tokens]

        for number, continuation in self._ask(
            prompts(), {"prompt_logprobs": 0}, _read_continuation, refused_continuation
        ):
            logprobs = continuation.logprobs
            if len(logprobs):
                logprobs = logprobs[len(logprobs) - lengths[number] :]
            yield number, Continuation(logprobs, continuation.refused)

    def _ask(
        self,
        prompts: Iterable[Sequence[int]],
        sampling: dict[str, int],
        unpack: Callable[[Any], _Result],
        refused: Callable[[str], _Result],
    ) -> Generator[tuple[int, _Result], None, None]:
        """Yield (number, result) of a request for one token after each prompt, as they finish.

        `sampling` are further sampling parameters, `unpack` reads the result from vLLM's output, and `refused` makes
        the result of a prompt that is too long, from the reason.
        """
        longest = self._engine.model_config.max_model_len - 1
        parameters = self._parameters.SamplingParams(
            temperature=0,
            max_tokens=1,
            flat_logprobs=True,
            detokenize=False,
            # They are the same for every prompt, and a deep copy takes longer than all other work for a prompt.
            skip_clone=True,
            output_kind=self._parameters.RequestOutputKind.FINAL_ONLY,
            **sampling,
        )
        numbered = enumerate(prompts)
        number_by_request = dict[str, int]()  # of the prompts in the engine
        while True:
            # Fill the queue, then take one step.
            batch = list(islice(numbered, _QUEUE_SIZE - len(number_by_request)))
            short_enough = []
            for number, prompt in batch:
                if len(prompt) > longest:
                    yield number, refused(f"context of {len(prompt)} tokens, the model accepts at most {longest}")
                else:
                    short_enough.append((number, prompt))
            number_by_request |= self._enqueue(short_enough, parameters)
            if not number_by_request and not batch:
                return
            if number_by_request:
                for output in self._engine.llm_engine.step():
                    if output.finished:
                        yield number_by_request.pop(output.request_id), unpack(output)

    def _enqueue(self, numbered: Sequence[tuple[int, Sequence[int]]], parameters: Any) -> dict[str, int]:
        """Send prompts to the engine; return the number of the prompt by the id of its output."""
        if not numbered:
            return {}
        prompts = [{"prompt_token_ids": np.asarray(prompt).tolist()} for _, prompt in numbered]
        ids = self._engine.enqueue(prompts, parameters, use_tqdm=False, lora_request=self._lora)
        return {strip_id_suffix(request): number for request, (number, _) in zip(ids, numbered, strict=True)}


def strip_id_suffix(request: object) -> str:
    """The id of a request's output, without the random suffix that the engine adds in its queue."""
    return str(request).split("-")[0]


def _read_next_token(output: Any) -> NextToken:
    """The next tokens of an output; its first entry, the sampled token, is left out."""
    flat = output.outputs[0].logprobs
    return NextToken(
        token_ids=np.asarray(flat.token_ids[1:], dtype=np.uint32),
        logprobs=np.asarray(flat.logprobs[1:], dtype=np.float32),
        context=len(output.prompt_token_ids),
        cached=output.num_cached_tokens,
    )


def _read_continuation(output: Any) -> Continuation:
    """The log-probabilities of all tokens of a prompt except the first, which has no context."""
    return Continuation(np.asarray(output.prompt_logprobs.logprobs, dtype=np.float32))
