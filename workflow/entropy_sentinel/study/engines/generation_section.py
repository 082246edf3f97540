"""How responses are generated, and at what cost: the sections `generation` and `rates`."""

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypedDict

from pydantic import AfterValidator, Field, field_validator, model_validator

from entropy_sentinel.core.secrets import refuse_secrets
from entropy_sentinel.core.section_base import Free, Number, Settings, Text, Whole
from entropy_sentinel.llm_client.server_settings import PLACEHOLDERS, PromptTemplate
from entropy_sentinel.study.items.benchmark_settings import JobSettings, SourceSettings

if TYPE_CHECKING:
    from typing_extensions import TypeIs

# Arguments of vllm.LLM and its server that the pipeline sets itself, with the key to set instead.
SET_ELSEWHERE: dict[str, str] = {
    "model": "models.<name>.id or models.<name>.path",
    "revision": "models.<name>.revision",
    "seed": "seed",
    "enable_lora": "models.<name>.lora",
    "lora_modules": "models.<name>.lora",
    "generation_config": "generation.sampling",
    "override_generation_config": "generation.sampling",
    "max_logprobs": "nothing: the 20 most likely tokens are always kept",
    "logprobs_mode": "nothing: the log-probabilities are always those before temperature",
    "served_model_name": "nothing: a model is served under its name in the config",
    "host": "--host of the command that serves",
    "port": "--port of the command that serves",
}
PARALLEL_SIZES = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")


def count_gpus(engine_args: Mapping[str, Any]) -> int:
    """The number of GPUs that an engine with these arguments needs."""
    return math.prod(engine_args.get(size, 1) for size in PARALLEL_SIZES)


def _check_engine_arguments(arguments: Free) -> Free:
    for key, value in arguments.items():
        if not re.fullmatch(r"[a-z][a-z0-9_]*", key):
            raise ValueError(f"'{key}' is not a keyword argument: lower-case letters, digits and '_'")
        if key in SET_ELSEWHERE:
            raise ValueError(f"'{key}' is set by the pipeline; set {SET_ELSEWHERE[key]}")
        if key in PARALLEL_SIZES and (type(value) is not int or not 1 <= value <= 1024):
            raise ValueError(f"'{key}' must be a number of GPUs, 1 to 1024")
    return arguments


def _check_environment(variables: dict[str, str]) -> dict[str, str]:
    for name in variables:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ValueError(f"'{name}' is not a name of an environment variable: letters, digits and '_'")
    return variables


EngineArguments = Annotated[Free, AfterValidator(_check_engine_arguments)]


class Sampling(Settings):
    """How tokens are drawn. Traces keep the log-probabilities of the 20 most likely tokens, before temperature.

    A missing key is not part of a job's settings.
    """

    temperature: Number = Field(
        0.5, ge=0, le=100, description="softmax temperature; 0, or at least 0.01, which vLLM uses for smaller values"
    )
    top_p: Number = Field(1.0, gt=0, le=1, description="nucleus sampling; 1 keeps all tokens")
    max_tokens: Whole = Field(
        2048,
        ge=1,
        le=2**20,
        description="length limit, tokens; longer responses are truncated, and their share is reported per benchmark",
    )
    # A key that is not set is not part of a job's settings, so a new key here does not invalidate any generation.
    top_k: Whole | None = Field(None, ge=1, description="draw from this many of the most likely tokens; null for all")
    min_p: Number | None = Field(
        None,
        gt=0,
        le=1,
        description="smallest probability of a drawn token, as a share of that of the most likely token",
    )
    repetition_penalty: Number | None = Field(
        None, gt=0, le=2, description="above 1: tokens that have already occurred become less likely"
    )
    # For base models, whose answers end with a line break.
    stop: list[Annotated[str, Field(min_length=1)]] | None = Field(
        None, min_length=1, max_length=16, description="texts that end a response"
    )

    @field_validator("temperature")
    @classmethod
    def _check_temperature(cls, temperature: float) -> float:
        if 0 < temperature < 0.01:
            raise ValueError("must be 0 or at least 0.01, which vLLM would use instead")
        return temperature


def _check_prompt_variables(variables: dict[str, Any]) -> dict[str, Any]:
    for name in variables:
        if not re.fullmatch("[a-z_]+", name) or name in PLACEHOLDERS:
            raise ValueError(f"'{name}' must be lower-case letters and '_', but not one of {', '.join(PLACEHOLDERS)}")
    return variables


Variables = Annotated[dict[str, str | int | float], AfterValidator(_check_prompt_variables)]
# Responses of an item are numbered from 0 in a column of 16 bits.
Samples = Annotated[Whole, Field(ge=1, le=2**16)]


class Generation(Settings):
    """How responses are generated; the same for all models unless a model says otherwise."""

    prompt: str = Field(
        "solve-step-by-step",
        description="name of the prompt, from study/engines/model_prompts.py or the section `prompts`",
    )
    samples: Samples = Field(1, description="responses per item, each with its own seed")
    sampling: Sampling = Sampling()
    keep_top_token_ids: bool = Field(
        False,
        description="whether traces keep the ids of the 20 tokens, not only their log-probabilities; takes 1.5 "
        "times the disk space",
    )
    # False is not part of a job's settings, so adding this key did not invalidate any generation.
    keep_top_tokens: bool = Field(
        False,
        description="whether traces keep the texts of the 20 tokens, which servers return without ids; a change reruns "
        "generation",
    )
    engine_args: EngineArguments = Field(
        {},
        description="keyword arguments of vllm.LLM, for all models; a change reruns generation. Arguments set by the "
        "pipeline (model, revision, seed, max_logprobs, logprobs_mode, enable_lora, ...) are refused, with the key to "
        "set instead. A CPU build of vLLM also gets the arguments that it needs, unless set here: enforce_eager, "
        "no chunked prefill, a cache of 1 to 16 GiB and so on (study/engines/cpu_settings.py)",
    )
    environment: Annotated[dict[str, str], AfterValidator(_check_environment)] = Field(
        {}, description="environment variables set before vLLM loads; a change reruns generation. Secrets are refused"
    )
    threads: Whole = Field(
        1,
        ge=1,
        le=1024,
        description="CPU cores of one generation job, and threads of a CPU build of vLLM; without a "
        "GPU, set it to all cores of the machine. A change regenerates nothing",
    )

    engine_idle_s: Whole = Field(
        60,
        ge=0,
        le=3600,
        description="seconds that a loaded model waits for its next job: all jobs of a model on one machine share "
        "one engine. 0 starts an engine for each job. A change regenerates nothing",
    )

    @model_validator(mode="after")
    def _refuse_secrets(self) -> "Generation":
        refuse_secrets("environment", self.environment)
        refuse_secrets("engine_args", self.engine_args)
        return self


class PromptSettings(PromptTemplate):
    """The prompt of a model. Jobs get the text of a prompt that the config defines."""

    prompt: str
    prompt_version: int
    prompt_variables: NotRequired[dict[str, str]]


class KeptSettings(TypedDict, total=False):
    """Optional parts of a trace. These keys are newer, so job settings leave them out if they are not set."""

    keep_top_tokens: bool


class LoadingSettings(TypedDict):
    """The settings that only weights have which vLLM loads, besides where they are: they depend on no server."""

    template_date: str | None
    lora: str | None
    lora_revision: str | None


class AskingSettings(PromptSettings, KeptSettings, LoadingSettings):
    """How a model is asked, whatever its engine."""

    samples: int
    sampling: dict[str, Any]
    top_k: int
    seed: int
    engine_args: Free
    chat_template_kwargs: Free
    keep_top_token_ids: bool
    environment: dict[str, str]


class AskedSettings(JobSettings, AskingSettings):
    """What the responses of an engine depend on, apart from the items: Snakemake compares these values.

    Each engine adds the keys that its models return from `engine_settings`.
    """

    engine: str  # the `ENGINE` of a kind of model
    kind_version: NotRequired[int]  # the `VERSION` of the kind of model, from 2 on


class VllmSettings(AskedSettings):
    """What the responses of a model that vLLM loads depend on. A server needs only `ServedSettings`."""

    weights: str
    revision: str | None
    local: bool


class ApiSettings(AskedSettings):
    """What the responses of a model behind an API depend on. The job adds the server's address and limits to `api`."""

    api: dict[str, Any]
    revision: str | None


# Two jobs that agree on these settings can share an engine; prompts and sampling may differ.
_LOADING_KEYS = (
    "weights",
    "local",
    "revision",
    "commit",
    "lora",
    "lora_revision",
    "seed",
    "environment",
    "engine_args",
)


def select_loading_settings(settings: VllmSettings) -> dict[str, Any]:
    """The settings with which an engine is loaded; models that agree on them share an engine."""
    return {name: settings.get(name) for name in _LOADING_KEYS}


# What the traces of a model on a benchmark depend on, apart from the items.
GenerationSettings = AskedSettings | SourceSettings


def are_imported(settings: GenerationSettings) -> "TypeIs[SourceSettings]":
    """Whether the responses are imported instead of generated."""
    return settings["engine"] == "source"


def have_weights(settings: GenerationSettings) -> "TypeIs[VllmSettings]":
    """Whether vLLM loads the model."""
    return settings["engine"] == "vllm"


class Rates(Settings):
    """Assumptions of `entropy-sentinel plan` for models that do not set their own; no result depends on them."""

    tokens_per_response: Number = Field(600, gt=0, le=1e9, description="mean length of a response, tokens")
    bytes_per_token: Number = Field(80, gt=0, le=1e9, description="disk space of a trace, in bytes per token")
    tokens_per_s: Number = Field(
        2500, ge=1e-3, le=1e9, description="speed of a generation job with log-probabilities, in tokens per second"
    )
    contexts_per_s: Number = Field(
        1000,
        ge=1e-3,
        le=1e9,
        description="speed of one job that asks a model again about its responses, in contexts per second",
    )
    engine_start_s: Number = Field(90, ge=0, le=1e9, description="seconds that an engine takes to start")
    gpu_usd_per_h: Number = Field(2.5, ge=0, le=1e9, description="price of one GPU-hour")
    judge_usd_per_response: Number = Field(
        0, ge=0, le=1e9, description="price of one label, if its judge has no prices of its own"
    )
    tokens_per_judgement: Number = Field(
        300, gt=0, le=1e9, description="mean length of the reply of a judge behind a server, reasoning included, tokens"
    )
    estimate_cpu_s: Number = Field(
        5, ge=0, le=1e9, description="CPU-seconds for one model and training group, with all configurations"
    )
    source: Text | None = Field(
        None, description="where these rates were measured, such as the name of the GPU; null if they are assumptions"
    )
