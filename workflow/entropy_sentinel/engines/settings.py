"""What is asked of engines: the config's sections `generation` and `models`."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from entropy_sentinel.chat.settings import Server
from entropy_sentinel.config.settings import Rates
from entropy_sentinel.frames.secrets import refuse_secrets
from entropy_sentinel.frames.sections import Free, Number, Revision, Settings, Text, Whole

# Arguments of vllm.LLM, and of its server, that the pipeline sets itself, and the key to set instead.
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


def _engine_arguments(arguments: Free) -> Free:
    for key, value in arguments.items():
        if not re.fullmatch(r"[a-z][a-z0-9_]*", key):
            raise ValueError(f"'{key}' is no keyword argument: lower-case letters, digits and '_'")
        if key in SET_ELSEWHERE:
            raise ValueError(f"'{key}' is set by the pipeline; set {SET_ELSEWHERE[key]}")
        if key in PARALLEL_SIZES and (type(value) is not int or not 1 <= value <= 1024):
            raise ValueError(f"'{key}' must be a number of GPUs, 1 to 1024")
    return arguments


def _environment(variables: dict[str, str]) -> dict[str, str]:
    for name in variables:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ValueError(f"'{name}' is no name of an environment variable: letters, digits and '_'")
    return variables


def _day(value: Any) -> Any:
    # Pydantic would take a number for seconds since 1970.
    if not isinstance(value, date) and not (isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value)):
        raise ValueError("must be a day, YYYY-MM-DD")
    return value


EngineArguments = Annotated[Free, AfterValidator(_engine_arguments)]


class Sampling(Settings):
    """How tokens are drawn. The log-probabilities kept are those before temperature."""

    temperature: Number = Field(0.5, ge=0, le=100, description="softmax temperature; 0, or at least 0.01")
    top_p: Number = Field(1.0, gt=0, le=1, description="nucleus; 1 keeps all tokens")
    max_tokens: Whole = Field(2048, ge=1, le=2**20, description="longest response, tokens")

    @field_validator("temperature")
    @classmethod
    def _temperature_is_kept(cls, temperature: float) -> float:
        if 0 < temperature < 0.01:
            raise ValueError("must be 0 or at least 0.01, which vLLM would take in its place")
        return temperature


class Generation(Settings):
    """How responses are generated; the same for all models unless a model says otherwise."""

    prompt: str = Field("solve-step-by-step", description="name of the prompt, of engines/catalogue.py or `prompts`")
    # Responses of an item are numbered from 0 in a column of 16 bits.
    samples: Whole = Field(1, ge=1, le=2**16, description="responses per item")
    sampling: Sampling = Sampling()
    keep_top_token_ids: bool = Field(False, description="whether traces keep the ids of the top 20 tokens")
    engine_args: EngineArguments = Field({}, description="keyword arguments of vllm.LLM")
    environment: Annotated[dict[str, str], AfterValidator(_environment)] = Field(
        {}, description="environment variables set before the engine is loaded"
    )
    threads: Whole = Field(1, ge=1, le=1024, description="CPU cores of one generate job")

    @model_validator(mode="after")
    def _known(self) -> "Generation":
        refuse_secrets("environment", self.environment)
        refuse_secrets("engine_args", self.engine_args)
        return self


class Api(Server):
    """A server behind an API that returns log-probabilities, called through LiteLLM."""


class Model(Settings):
    """What all kinds of models have."""

    kind: ClassVar[str]

    sampling: dict[str, Any] = Field({}, description="what differs from generation.sampling")
    engine_args: EngineArguments = Field({}, description="what differs from generation.engine_args")
    chat_template_kwargs: Free = Field({}, description="variables of the model's chat template")
    trace_after: Text | None = Field(None, description="token that ends the thinking: features are over what follows")
    rates: dict[str, Any] = Field({}, description="what differs from `rates`")

    @field_validator("sampling")
    @classmethod
    def _sampling_is_known(cls, sampling: dict[str, Any]) -> dict[str, Any]:
        return Sampling.model_validate(sampling).model_dump(include=set(sampling))

    @field_validator("rates")
    @classmethod
    def _rates_are_known(cls, rates: dict[str, Any]) -> dict[str, Any]:
        return Rates.model_validate(rates).model_dump(include=set(rates))

    @model_validator(mode="after")
    def _no_secrets(self) -> "Model":
        refuse_secrets("engine_args", self.engine_args)
        refuse_secrets("chat_template_kwargs", self.chat_template_kwargs)
        return self


class Weights(Model):
    """A model that vLLM loads."""

    template_date: Annotated[date, BeforeValidator(_day)] | None = Field(
        None, description="the day that the chat template takes for today"
    )
    lora: Text | None = Field(None, description="folder of a LoRA adapter on top of the model")


def _hub_id(name: str) -> str:
    if not re.fullmatch(r"[\w.-]{1,96}(/[\w.-]{1,96})?", name):
        raise ValueError("must be a Hugging Face id, owner/name; a folder with weights goes to 'path'")
    return name


class HubModel(Weights):
    """A model of the Hugging Face hub, run on vLLM."""

    kind: ClassVar[str] = "id"

    id: Annotated[str, AfterValidator(_hub_id)] = Field(description="Hugging Face id, run on vLLM")
    revision: Revision | None = Field(None, description="commit, tag or branch of the id")


_NO_REVISION = "goes with 'id' and 'api'; leave it out, or set it to null"


class LocalModel(Weights):
    """A model in a local folder, run on vLLM."""

    kind: ClassVar[str] = "path"
    ELSEWHERE: ClassVar[Mapping[str, str]] = {"revision": _NO_REVISION}

    path: Text = Field(description="folder with the weights, run on vLLM")


_AT_THE_SERVER = (
    "cannot be sent to a server; give it to the server when it starts (`entropy-sentinel serve` does) and leave it out "
    "here"
)


class ApiModel(Model):
    """A model behind a server."""

    kind: ClassVar[str] = "api"
    ELSEWHERE: ClassVar[Mapping[str, str]] = {"template_date": _AT_THE_SERVER, "lora": _AT_THE_SERVER}

    api: Api = Field(description="server that answers instead")
    revision: Text | None = Field(None, description="what the server says of its weights: another one asks again")


class SourceModel(Model):
    """Traces made elsewhere, in the place of an engine."""

    kind: ClassVar[str] = "source"
    ELSEWHERE: ClassVar[Mapping[str, str]] = {"revision": _NO_REVISION}

    source: Text = Field(
        description="folder with traces made elsewhere, no engine: {benchmark}.parquet, or a log, {benchmark}.jsonl"
    )
    source_logprobs_mode: Literal["raw_logprobs"] | None = Field(
        None, description="set to raw_logprobs, before temperature, where the source's files do not say so themselves"
    )


KINDS = {kind.kind: kind for kind in (HubModel, LocalModel, ApiModel, SourceModel)}


def _which(model: Any) -> Any:
    """Leave out keys that are null, by which a second config file takes back one of the first, and see what is left."""
    if not isinstance(model, Mapping):
        return model
    given = {key: value for key, value in model.items() if value is not None}
    if sum(kind in given for kind in KINDS) != 1:
        raise ValueError(
            "needs exactly one of 'id' (a Hugging Face id), 'path' (a local folder), 'api' (a server) and "
            "'source' (a folder of traces); null takes one back that another file sets"
        )
    return given


def _kind(model: Any) -> str | None:
    """Pydantic's tag; in brackets, since it is no key of the config and errors leave it out."""
    if isinstance(model, Model):
        return f"[{model.kind}]"
    return next((f"[{kind}]" for kind in KINDS if kind in model), None) if isinstance(model, Mapping) else None


AnyModel = Annotated[
    Annotated[HubModel, Tag("[id]")]
    | Annotated[LocalModel, Tag("[path]")]
    | Annotated[ApiModel, Tag("[api]")]
    | Annotated[SourceModel, Tag("[source]")],
    Discriminator(_kind, custom_error_type="section", custom_error_message="must be a section with keys"),
    BeforeValidator(_which),
]
