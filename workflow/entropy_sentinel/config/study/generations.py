"""The responses of a model: what they and their features depend on, and what they take."""

import math
from typing import Any

from entropy_sentinel.config.sections import Config
from entropy_sentinel.config.weights import folder_fingerprint
from entropy_sentinel.engines.catalogue import PROMPTS
from entropy_sentinel.engines.generation import PARALLEL_SIZES
from entropy_sentinel.engines.settings import (
    ApiModel,
    HubModel,
    LocalModel,
    Model,
    SourceModel,
    Weights,
)
from entropy_sentinel.frames.generation import GENERATION_VERSION, TOP_K


def generation_settings(config: Config, model: str, benchmark: str) -> dict[str, Any]:
    """What the traces of a model on a benchmark depend on, the items aside."""
    settings, shared = config.models[model], config.generation
    job = {"version": GENERATION_VERSION, "model": model, "benchmark": benchmark}
    if isinstance(settings, SourceModel):
        return {
            **job,
            "engine": "source",
            "source": settings.file(benchmark),
            "logprobs_mode": settings.source_logprobs_mode,
            "samples": config.samples_of(model),
            "sampling": _sampling(config, model),
        }
    return {
        **job,
        **_origin(settings),
        **_prompt(config, model),
        "samples": config.samples_of(model),
        "sampling": _sampling(config, model),
        "top_k": TOP_K,
        "seed": config.seed,
        "engine_args": shared.engine_args | settings.engine_args,
        "chat_template_kwargs": settings.chat_template_kwargs,
        **_loading(settings),
        "keep_top_token_ids": shared.keep_top_token_ids,
        "environment": shared.environment,
    }


def _sampling(config: Config, model: str) -> dict[str, Any]:
    """How a model's tokens are drawn: what is set, so that a key that is new to the schema makes nothing again."""
    asked = config.generation.sampling.model_dump() | config.models[model].sampling
    return {key: value for key, value in asked.items() if value is not None}


def _prompt(config: Config, model: str) -> dict[str, Any]:
    """What a model is asked with; a prompt of the config's own goes to the jobs as its text."""
    name, variables = config.prompt_of(model), config.models[model].prompt_variables
    prompt = config.generation_prompts[name]
    settings: dict[str, Any] = {"prompt": name, "prompt_version": prompt.version}
    if variables:
        settings["prompt_variables"] = {key: str(value) for key, value in variables.items()}
    return settings if name in PROMPTS else settings | prompt.said


def _loading(model: Model) -> dict[str, Any]:
    """What is set where weights are loaded; nothing of it can be said to a server."""
    day, lora = (model.template_date, model.lora) if isinstance(model, Weights) else (None, None)
    return {
        "template_date": day and day.isoformat(),
        # A matter of features since; the key stays, for traces made before are compared by it.
        "trace_after": None,
        "lora": lora,
        "lora_revision": lora and folder_fingerprint(lora),
    }


def _origin(model: HubModel | LocalModel | ApiModel) -> dict[str, Any]:
    """Where a model's responses come from, and of which version."""
    if isinstance(model, ApiModel):
        return {"engine": "api", "api": {"model": model.api.model}, "revision": model.revision}
    if isinstance(model, LocalModel):
        return {"engine": "vllm", "weights": model.path, "revision": folder_fingerprint(model.path), "local": True}
    return {"engine": "vllm", "weights": model.id, "revision": model.revision, "local": False}


def source_file(config: Config, model: str, benchmark: str) -> str | None:
    """The file of traces made elsewhere that stands in for an engine, Parquet or a log; None where the model is run."""
    settings = config.models[model]
    return settings.file(benchmark) if isinstance(settings, SourceModel) else None


def feature_settings(config: Config, model: str) -> dict[str, Any]:
    """What the features of a model's responses depend on, the traces aside."""
    settings = config.models[model]
    return {"trace_after": settings.trace_after, "vocabulary": settings.vocabulary}


def gpus(config: Config, model: str) -> int:
    """GPUs of one generate job: none for a server behind an API and for traces made elsewhere."""
    settings = config.models[model]
    if not isinstance(settings, Weights):
        return 0
    arguments: dict[str, Any] = config.generation.engine_args | settings.engine_args
    return math.prod(arguments.get(size, 1) for size in PARALLEL_SIZES)
