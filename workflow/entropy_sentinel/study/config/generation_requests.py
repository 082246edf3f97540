"""Requests of a study to models and servers: the settings and resources of items, responses, passes and signals."""

import json
import os
from typing import Any, cast

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.features.feature_settings import FeatureSettings
from entropy_sentinel.llm_client.server_settings import SERVERS_VARIABLE
from entropy_sentinel.schemas.benchmark_schema import BENCHMARK_VERSION
from entropy_sentinel.schemas.generation_schema import GENERATION_VERSION, TOP_K
from entropy_sentinel.signal_families.signal_registry import FAMILIES
from entropy_sentinel.study.config.study_config import Config
from entropy_sentinel.study.engines import generation_section
from entropy_sentinel.study.engines.engine_registry import PROMPTS
from entropy_sentinel.study.engines.generation_section import (
    AskedSettings,
    AskingSettings,
    GenerationSettings,
    KeptSettings,
    PromptSettings,
    VllmSettings,
    have_weights,
    select_loading_settings,
)
from entropy_sentinel.study.engines.model_base import Model
from entropy_sentinel.study.engines.model_weights import fingerprint_folder
from entropy_sentinel.study.items.benchmark_settings import ItemsSettings, JobSettings, SourceSettings
from entropy_sentinel.study.semantic_clustering.backend_settings import TextModel


def generation_settings(config: Config, model: str, benchmark: str) -> GenerationSettings:
    """The settings that a model's traces on a benchmark depend on, besides the items.

    SourceSettings for imported traces, else AskedSettings.
    """
    settings = config.models[model]
    job: JobSettings = {"version": GENERATION_VERSION, "model": model, "benchmark": benchmark}
    # What identifies the model: its weights, or its name behind an API.
    identity = {**settings.engine_settings()}
    if settings.VERSION > 1:  # the first one is not in job settings, because traces older than this key lack it
        identity["kind_version"] = settings.VERSION
    source = settings.file(benchmark)
    if source:
        import_settings = {
            **job,
            "engine": "source",
            "source": source,
            **identity,
            "samples": config.count_samples(model),
            "sampling": select_sampling(config, model),
        }
        return cast(SourceSettings, import_settings)
    request_settings = {
        **job,
        "engine": settings.ENGINE,
        **identity,
        **_build_request_settings(config, model, settings),
    }
    return cast(AskedSettings, request_settings)


def _build_request_settings(config: Config, model: str, settings: Model) -> AskingSettings:
    """The settings of requests to a model; `settings` is the model's section."""
    loading = settings.loading_settings()
    # Not a key if it is false, because traces of earlier releases lack the key.
    kept: KeptSettings = {"keep_top_tokens": True} if config.generation.keep_top_tokens else {}
    return {
        **prompt_settings(config, model),
        "samples": config.count_samples(model),
        "sampling": select_sampling(config, model),
        "top_k": TOP_K,
        "seed": config.seed,
        "engine_args": config.generation.engine_args | settings.engine_args,
        "chat_template_kwargs": settings.chat_template_kwargs,
        "template_date": loading["template_date"],
        "lora": loading["lora"],
        "lora_revision": loading["lora_revision"],
        "keep_top_token_ids": config.generation.keep_top_token_ids,
        "environment": config.generation.environment,
        **kept,
    }


def select_sampling(config: Config, model: str) -> dict[str, Any]:
    """The sampling settings that are set, so that a new key in the schema does not rebuild anything."""
    sampling = config.generation.sampling.model_dump() | config.models[model].sampling
    return {key: value for key, value in sampling.items() if value is not None}


def prompt_settings(config: Config, model: str) -> PromptSettings:
    """The name, version and variables of a model's prompt, and its texts if it is from the config."""
    name = config.find_prompt_name(model)
    variables = config.models[model].prompt_variables
    prompt = config.generation_prompts[name]
    settings: PromptSettings = {"prompt": name, "prompt_version": prompt.version}
    if variables:
        settings["prompt_variables"] = {key: str(value) for key, value in variables.items()}
    # Jobs know the texts of the package's prompts.
    return settings if name in PROMPTS else {**settings, **prompt.template}


def find_source_file(config: Config, model: str, benchmark: str) -> str | None:
    """The file of imported traces, Parquet or a log, that replaces an engine; None if the model is run."""
    return config.models[model].file(benchmark)


def feature_settings(config: Config, model: str) -> FeatureSettings:
    """The settings that the features of a model's responses depend on, besides the traces."""
    settings = config.models[model]
    return {"trace_after": settings.trace_after, "vocabulary": settings.vocabulary}


def count_gpus(config: Config, model: str) -> int:
    """The number of GPUs of one generation job: 0 for a server behind an API, and for imported traces."""
    settings = config.models[model]
    if not settings.LOADS_WEIGHTS:
        return 0
    return generation_section.count_gpus(config.generation.engine_args | settings.engine_args)


def number_engines(config: Config) -> dict[str, int]:
    """The number of the engine, from 0, of each model that vLLM loads; models with the same weights share one."""
    number_by_weights: dict[str, int] = {}
    numbers = {}
    # `same_as` names the model that is loaded instead, to ask it again about the responses.
    for model in dict.fromkeys(config.models[name].same_as or name for name in config.run.models):
        if config.models[model].LOADS_WEIGHTS:
            weights = json.dumps(select_loading_settings(served_settings(config, model)), sort_keys=True)
            numbers[model] = number_by_weights.setdefault(weights, len(number_by_weights))
    return numbers


def find_imported_pass(config: Config, family: str, model: str, benchmark: str) -> str | None:
    """The file of the imported pass of a family of signals, which replaces an engine; None if there is none.

    A pass is a family's second run of a model over its responses.
    """
    folder = config.models[model].given_passes(family)
    return str(folder / f"{benchmark}.parquet") if folder else None


def count_pass_gpus(config: Config, family: str, model: str) -> int:
    """The number of GPUs of one job of a family's pass: those of the model that is asked, or 0 if none is."""
    asked_model = config.find_requery_model(family, model)
    return count_gpus(config, asked_model) if asked_model else 0


def pass_settings(config: Config, family: str, model: str, benchmark: str) -> dict[str, Any]:
    """The settings that the pass of a family of signals depends on, besides the traces and items.

    A pass is a family's second run of a model over its responses.
    """
    requery = FAMILIES[family].requery
    assert requery is not None  # only such families have a pass
    source = find_imported_pass(config, family, model, benchmark)
    if source:
        respondent: dict[str, Any] = {"source": source}
    else:
        # The model with the same weights that is asked, with facts about a server that it does not report.
        name = config.models[model].same_as or model
        facts = config.models[name].unreported_facts()
        respondent = {"asked_with": {**generation_settings(config, name, benchmark), **facts}}
    settings = {
        "family": family,
        "version": requery.version,
        **respondent,
        "settings": family_settings(config, family),
    }
    reason = config.explain_unaskable(family, model)
    if reason:
        settings["unaskable"] = reason  # all signals of the family are null
    return settings


def family_settings(config: Config, family: str) -> dict[str, Any]:
    """The config's section `signals` of a family; empty without one."""
    section = getattr(config.signals, family, None)
    return {} if section is None else section.model_dump()


def select_comparing_families(config: Config) -> dict[str, TextModel]:
    """The sections of the study's families that compare texts by a model of their own, by the family's name."""
    names = [name for name in config.run.further_families if FAMILIES[name].compares_texts]
    return {name: getattr(config.signals, name) for name in names}


def comparing_settings(config: Config, family: str) -> dict[str, Any]:
    """The settings of a family that compares texts, with its model's weights; a folder is identified by its content."""
    section = select_comparing_families(config)[family]
    settings = {
        **section.model_dump(),
        "model": section.weights,
        "revisions": f"{config.layout.results}/revisions",
    }
    return settings | ({"revision": fingerprint_folder(section.path)} if section.path else {})


def server_settings(config: Config) -> dict[str, dict[str, Any]]:
    """The addresses and limits of the servers of models and judges, by their keys in the config.

    The keys are such as `models.NAME.api` and `judges.NAME`; `ledger` is the file with the costs of calls. Results do
    not depend on them.
    """
    servers: dict[str, dict[str, Any]] = {}
    for name, model in config.models.items():
        if model.server is not None:
            settings = model.server.model_dump(include={*model.server.UNTRACKED})
            servers[f"models.{name}.{model.kind}"] = settings | {"ledger": get_ledger_path(config, f"models.{name}")}
    for name, judge in config.judges.items():
        if judge.UNTRACKED:
            settings = judge.model_dump(include={*judge.UNTRACKED})
            servers[f"judges.{name}"] = settings | {"ledger": get_ledger_path(config, f"judges.{name}")}
    return servers


def get_ledger_path(config: Config, server: str) -> str:
    """The file with the costs of the study's calls to a server; `server` is `models.NAME` or `judges.NAME`."""
    return config.layout.spending.format(server=server)


def benchmark_settings(config: Config, benchmark: str) -> ItemsSettings:
    """The settings that the rows of a benchmark depend on."""
    settings = config.benchmarks[benchmark]
    # Keys of later releases count only if they are set, so that a new release rebuilds no items.
    unset = {key for key in settings.LATER_KEYS if not getattr(settings, key)}
    job = {
        "version": BENCHMARK_VERSION,
        "benchmark": benchmark,
        "limit": find_item_limit(config, benchmark),
        "seed": config.seed,
        **settings.model_dump(exclude={*settings.IGNORED_KEYS, *unset}),
    }
    return cast(ItemsSettings, job)


def find_item_limit(config: Config, benchmark: str) -> int | None:
    """The largest number of items of a benchmark: its own limit, or else the study's; None for all."""
    benchmark_limit = config.benchmarks[benchmark].limit
    return config.limit if benchmark_limit is None else benchmark_limit


def announce_servers(config: Config) -> None:
    """Store the addresses and limits of servers in the environment, which jobs inherit.

    They are not part of a job's settings, so a new address of the same model regenerates nothing.
    """
    os.environ[SERVERS_VARIABLE] = json.dumps(server_settings(config))


def served_settings(config: Config, model: str) -> VllmSettings:
    """The settings of requests to a model with weights, for no benchmark.

    Raises ConfigError if the model is unknown or has no weights.
    """
    if model not in config.models:
        raise ConfigError(f"no model '{model}'; known: {', '.join(config.models)}")
    settings = generation_settings(config, model, benchmark="")
    if not have_weights(settings):
        raise ConfigError(f"models.{model}: must have 'id' or 'path' to be served, has '{settings['engine']}'")
    return settings


def write_config_snippet(config: Config, model: str, base_url: str) -> str:
    """The text of a further config file that makes this server replace the engine, with the same seeds."""
    # Settings of the server's start cannot be set for an API as well.
    engine_keys = config.models[model].model_dump(include={"id", "path", "lora", "template_date"})
    lines = [f"    {key}: null" for key, value in engine_keys.items() if value is not None]
    revision = served_settings(config, model)["revision"]
    if revision:
        lines.append(f"    revision: '{revision}'  # commit of the server's weights")
    api = f"    api: {{model: hosted_vllm/{model}, base_url: '{base_url}'}}"
    return "\n".join(["# For one more --configfile, once the server is up:", "models:", f"  {model}:", *lines, api])
