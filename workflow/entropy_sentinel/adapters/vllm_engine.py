"""The vLLM engine, in this process. The only module that imports vllm.

The same code serves a GPU machine and a CPU build of vLLM; only the engine's arguments and the installed build differ.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_sentinel.contracts.errors import ConfigError
from entropy_sentinel.contracts.generations import TOP_K


@dataclass(frozen=True)
class Response:
    """One response and its trace; T = `len(token_ids)` tokens."""

    prompt_hash: str
    prompt_tokens: int
    text: str
    finish_reason: str
    token_ids: np.ndarray  # (T,) uint32
    token_logprobs: np.ndarray  # (T,) float32, nats
    top_logprobs: np.ndarray  # (T, TOP_K) float32, nats


class VllmEngine:
    """A loaded model that answers chats of one user message."""

    def __init__(self, settings: Mapping[str, Any], threads: int) -> None:
        """Load the model of `contracts.study.generation_settings`; takes seconds to minutes.

        Raises ConfigError if vLLM refuses the model or an engine argument.
        """
        os.environ.update({"OMP_NUM_THREADS": str(threads), **settings["environment"]})  # read during the import
        import vllm

        self.version = vllm.__version__
        self._vllm = vllm
        self._settings = settings
        arguments = {
            "model": settings["weights"],
            "revision": None if settings["local"] else settings["revision"],
            "max_logprobs": TOP_K,
            # The distribution of the model, before temperature: what the features are defined on.
            "logprobs_mode": "raw_logprobs",
            "seed": settings["seed"],
            **settings["engine_args"],
        }
        try:
            self._engine = vllm.LLM(**arguments)
        except (TypeError, ValueError, OSError) as error:
            raise ConfigError(f"models.{settings['model']}: vLLM {self.version} refuses it: {error}") from error

    @property
    def provenance(self) -> dict[str, Any]:
        """Which engine and what kind of log-probabilities a trace comes from."""
        mode = self._settings["engine_args"].get("logprobs_mode", "raw_logprobs")
        return {"engine": "vllm", "engine_version": self.version, "logprobs_mode": mode}

    def chat(self, messages: Sequence[str], seeds: Sequence[int]) -> list[Response]:
        """Answer each user message with its own seed, in order."""
        sampling = [
            self._vllm.SamplingParams(**self._settings["sampling"], seed=seed, logprobs=TOP_K, flat_logprobs=True)
            for seed in seeds
        ]
        outputs = self._engine.chat(
            [[{"role": "user", "content": message}] for message in messages],
            sampling,
            chat_template_kwargs=self._settings["chat_template_kwargs"],
            use_tqdm=True,
        )
        return [_response(output.prompt_token_ids, output.outputs[0]) for output in outputs]


def _response(prompt_token_ids: Sequence[int], completion: Any) -> Response:
    """Unpack one completion; its flat log-probabilities hold, per step, the sampled token and then the top k."""
    token_ids = np.asarray(completion.token_ids, dtype=np.uint32)
    flat = np.asarray(completion.logprobs.logprobs if len(token_ids) else [], dtype=np.float32)
    steps = flat.reshape(len(token_ids), 1 + TOP_K)
    prompt = np.asarray(prompt_token_ids, dtype="<u4").tobytes()
    return Response(
        prompt_hash=hashlib.sha256(prompt).hexdigest()[:16],
        prompt_tokens=len(prompt_token_ids),
        text=completion.text,
        finish_reason=completion.finish_reason,
        token_ids=token_ids,
        token_logprobs=steps[:, 0],
        top_logprobs=steps[:, 1:],
    )
