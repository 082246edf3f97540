"""What servers of one kind or another do differently: what their replies must have, and what to do where they do not.

llama.cpp and Ollama say who they are in `system_fingerprint`. All others are taken for vLLM or a provider.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from entropy_sentinel.engines.api_steps import Steps
from entropy_sentinel.frames.generation import TOP_K
from entropy_sentinel.sources.steps import impossible_step


@dataclass(frozen=True)
class Kind:
    """A kind of server: how it calls itself, and what to do where it gives too few log-probabilities.

    `ignored` are the keys of `sampling` that it reads over, with what to do in place of them; `plain_text` says why
    it cannot go on from plain text. One that `tells_sampling` is asked how it draws (`engines.llama_cpp`).
    """

    name: str
    fingerprint: re.Pattern[str]
    too_few: str
    ignored: Mapping[str, str] = field(default_factory=dict)
    plain_text: str | None = None
    tells_sampling: bool = False


_OTHERS = Kind(
    "server",
    re.compile(""),
    f"start vLLM with --max-logprobs {TOP_K}, or choose a provider that returns top_logprobs={TOP_K}; one that gives "
    "none can be asked for its text alone, with api.logprobs: false",
)
_KINDS = (
    Kind(
        "llama.cpp",
        re.compile(r"b\d+-\S+"),
        "llama-server returns them in versions from 2025 on, and not for tokens of a draft model: update it, and start "
        "it without --model-draft and the other options for speculative decoding",
        {"repetition_penalty": "serve the model with vLLM where it must be: llama.cpp's repeat_penalty is another one"},
        tells_sampling=True,
    ),
    Kind(
        "Ollama",
        re.compile("fp_ollama"),
        "Ollama returns them from version 0.12.11 on: update it",
        dict.fromkeys(("top_k", "min_p", "repetition_penalty"), "serve the model with llama.cpp or vLLM"),
        "it puts the model's chat template around plain text; serve the GGUF file with llama.cpp instead",
    ),
)


def kind_of(fingerprint: object) -> Kind:
    """The kind of server that calls itself so."""
    return next((kind for kind in _KINDS if kind.fingerprint.fullmatch(str(fingerprint or ""))), _OTHERS)


def unmet(kind: Kind, sampling: Mapping[str, object], is_chat: bool) -> str | None:
    """Why a server of this kind cannot be asked as the study says, with what to do; None where it can."""
    if kind.plain_text and not is_chat:
        return f"{kind.name} cannot go on from plain text: {kind.plain_text}"
    for key, remedy in kind.ignored.items():
        if key in sampling:
            return (
                f"{kind.name} takes no notice of sampling.{key}, was {sampling[key]}; leave it out of this model's "
                f"sampling and of generation.sampling (null takes it back), or {remedy}"
            )
    return None


def too_few(kind: Kind, steps: Steps) -> str | None:
    """Why a reply with these steps is of no use, with what to do, which is so of all replies; None where it is."""
    fewest = min(map(len, steps.top), default=0)
    if fewest < TOP_K:
        returned = str(fewest) if steps.tokens else "no"
        return f"the server returned {returned} log-probabilities per token, {TOP_K} are needed; {kind.too_few}"
    return None


def impossible(steps: Steps) -> str | None:
    """What cannot be in these steps if they are log-probabilities of a model, None where they can."""
    top = [sorted(step, reverse=True)[:TOP_K] for step in steps.top]
    columns = {"token_logprobs": [steps.sampled], "top_logprobs": [top]}
    schema = {"token_logprobs": pl.List(pl.Float32), "top_logprobs": pl.List(pl.Array(pl.Float32, TOP_K))}
    found = impossible_step(pl.DataFrame(columns, schema=schema, strict=False))
    if found is None:
        return None
    was = found.was[:3] if isinstance(found.was, list) else found.was
    return (
        f"the server returned log-probabilities that cannot be right: {found.column} {found.must}; step {found.step} "
        f"of a reply begins with {was}. They must be natural logarithms of the model's own probabilities, before "
        "temperature and sampling (llama.cpp: without post_sampling_probs); update the server"
    )
