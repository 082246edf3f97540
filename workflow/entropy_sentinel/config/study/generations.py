"""The responses of a model: what they and their features depend on, and what they take."""

import json
from typing import Any

from entropy_sentinel.config.sections import Config
from entropy_sentinel.config.weights import folder_fingerprint
from entropy_sentinel.engines import generation
from entropy_sentinel.engines.catalogue import PROMPTS
from entropy_sentinel.engines.generation import (
    ApiSettings,
    AskingSettings,
    GenerationSettings,
    KeptSettings,
    PromptSettings,
    VllmSettings,
    loaded,
)
from entropy_sentinel.engines.settings import (
    ApiModel,
    HubModel,
    LocalModel,
    SourceModel,
    Weights,
)
from entropy_sentinel.features.settings import FeatureSettings
from entropy_sentinel.frames.generation import GENERATION_VERSION, TOP_K
from entropy_sentinel.sources.settings import JobSettings, SourceSettings


def generation_settings(config: Config, model: str, benchmark: str) -> GenerationSettings:
    """What the traces of a model on a benchmark depend on, the items aside."""
    settings = config.models[model]
    job: JobSettings = {"version": GENERATION_VERSION, "model": model, "benchmark": benchmark}
    if isinstance(settings, SourceModel):
        given: SourceSettings = {
            **job,
            "engine": "source",
            "source": settings.file(benchmark),
            "logprobs_mode": settings.source_logprobs_mode,
            "samples": config.samples_of(model),
            "sampling": _sampling(config, model),
        }
        return given
    if isinstance(settings, ApiModel):
        behind: ApiSettings = {
            **job,
            "engine": "api",
            # What is not set is no part of a job's settings.
            "api": {"model": settings.api.model} | ({} if settings.api.logprobs else {"logprobs": False}),
            "revision": settings.revision,
            **_asking(config, model, settings),
        }
        return behind
    loaded: VllmSettings = {
        **job,
        "engine": "vllm",
        "weights": settings.path if isinstance(settings, LocalModel) else settings.id,
        "revision": folder_fingerprint(settings.path) if isinstance(settings, LocalModel) else settings.revision,
        "local": isinstance(settings, LocalModel),
        **_asking(config, model, settings),
    }
    return loaded


def _asking(config: Config, model: str, settings: HubModel | LocalModel | ApiModel) -> AskingSettings:
    """How a model is asked. What is set where weights are loaded cannot be said to a server."""
    day, lora = (settings.template_date, settings.lora) if isinstance(settings, Weights) else (None, None)
    kept: KeptSettings = {"keep_top_tokens": True} if config.generation.keep_top_tokens else {}
    return {
        **prompt_settings(config, model),
        "samples": config.samples_of(model),
        "sampling": _sampling(config, model),
        "top_k": TOP_K,
        "seed": config.seed,
        "engine_args": config.generation.engine_args | settings.engine_args,
        "chat_template_kwargs": settings.chat_template_kwargs,
        "template_date": day.isoformat() if day else None,
        # A matter of features since; the key stays, for traces made before are compared by it.
        "trace_after": None,
        "lora": lora,
        "lora_revision": lora and folder_fingerprint(lora),
        "keep_top_token_ids": config.generation.keep_top_token_ids,
        "environment": config.generation.environment,
        **kept,
    }


def _sampling(config: Config, model: str) -> dict[str, Any]:
    """How a model's tokens are drawn: what is set, so that a key that is new to the schema makes nothing again."""
    asked = config.generation.sampling.model_dump() | config.models[model].sampling
    return {key: value for key, value in asked.items() if value is not None}


def prompt_settings(config: Config, model: str) -> PromptSettings:
    """What a model is asked with; a prompt of the config's own goes to the jobs as its text."""
    name, variables = config.prompt_of(model), config.models[model].prompt_variables
    prompt = config.generation_prompts[name]
    settings: PromptSettings = {"prompt": name, "prompt_version": prompt.version}
    if variables:
        settings["prompt_variables"] = {key: str(value) for key, value in variables.items()}
    return settings if name in PROMPTS else {**settings, **prompt.said}


def source_file(config: Config, model: str, benchmark: str) -> str | None:
    """The file of traces made elsewhere that stands in for an engine, Parquet or a log; None where the model is run."""
    settings = config.models[model]
    return settings.file(benchmark) if isinstance(settings, SourceModel) else None


def feature_settings(config: Config, model: str) -> FeatureSettings:
    """What the features of a model's responses depend on, the traces aside."""
    settings = config.models[model]
    return {"trace_after": settings.trace_after, "vocabulary": settings.vocabulary}


def gpus(config: Config, model: str) -> int:
    """GPUs of one generate job: none for a server behind an API and for traces made elsewhere."""
    settings = config.models[model]
    if not isinstance(settings, Weights):
        return 0
    return generation.gpus(config.generation.engine_args | settings.engine_args)


def engines(config: Config) -> dict[str, int]:
    """The number of the engine that answers for each model that vLLM loads: models with the same weights share one."""
    keys: dict[str, int] = {}
    found = {}
    for model in dict.fromkeys(config.models[name].same_as or name for name in config.run.models):
        if isinstance(config.models[model], Weights):
            settings = generation_settings(config, model, "")
            assert settings["engine"] == "vllm"
            found[model] = keys.setdefault(json.dumps(loaded(settings), sort_keys=True), len(keys))
    return found
