"""What is asked of engines: the config's sections `generation` and `models`."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from entropy_sentinel.chat.settings import PLACEHOLDERS, Server
from entropy_sentinel.engines.rates import Rates
from entropy_sentinel.frames.secrets import refuse_secrets
from entropy_sentinel.frames.sections import Free, Name, Number, Revision, Settings, Text, Whole, check_names, merged

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
    """How tokens are drawn. The log-probabilities of the 20 most likely ones are kept, before temperature.

    A key that is not set is no part of a job's settings.
    """

    temperature: Number = Field(
        0.5, ge=0, le=100, description="softmax temperature; 0, or 0.01 and more: vLLM takes 0.01 for what is smaller"
    )
    top_p: Number = Field(1.0, gt=0, le=1, description="nucleus; 1 keeps all tokens")
    max_tokens: Whole = Field(
        2048,
        ge=1,
        le=2**20,
        description="longest response, tokens; longer ones are cut off, and their share is reported per benchmark",
    )
    # What is not set is no part of a job's settings, so that a key that is new here generates nothing again.
    top_k: Whole | None = Field(None, ge=1, description="tokens drawn from, the most likely ones; null for all")
    min_p: Number | None = Field(
        None,
        gt=0,
        le=1,
        description="least probability of a token that is drawn, as a share of the likeliest one's",
    )
    repetition_penalty: Number | None = Field(
        None, gt=0, le=2, description="above 1: tokens that were there before are less likely"
    )
    # A line's end alone ends answers of base models.
    stop: list[Annotated[str, Field(min_length=1)]] | None = Field(
        None, min_length=1, max_length=16, description="texts that end a response"
    )

    @field_validator("temperature")
    @classmethod
    def _temperature_is_kept(cls, temperature: float) -> float:
        if 0 < temperature < 0.01:
            raise ValueError("must be 0 or at least 0.01, which vLLM would take in its place")
        return temperature


def _variables(variables: dict[str, Any]) -> dict[str, Any]:
    for name in variables:
        if not re.fullmatch("[a-z_]+", name) or name in PLACEHOLDERS:
            raise ValueError(f"'{name}' must be lower-case letters and '_', and none of {', '.join(PLACEHOLDERS)}")
    return variables


# Responses of an item are numbered from 0 in a column of 16 bits.
Samples = Annotated[Whole, Field(ge=1, le=2**16)]


class Generation(Settings):
    """How responses are generated; the same for all models unless a model says otherwise."""

    prompt: str = Field(
        "solve-step-by-step", description="name of the prompt, of engines/catalogue.py or of the section `prompts`"
    )
    samples: Samples = Field(1, description="responses per item, each with its own seed")
    sampling: Sampling = Sampling()
    keep_top_token_ids: bool = Field(
        False,
        description="whether traces keep the ids of the 20 tokens, not only their log-probabilities: 1.5 times the "
        "disk",
    )
    engine_args: EngineArguments = Field(
        {},
        description="keyword arguments of vllm.LLM, for all models; a change generates again. What the pipeline sets "
        "itself (model, revision, seed, max_logprobs, logprobs_mode, enable_lora, ...) is refused, with the key to "
        "set instead. A CPU build of vLLM gets what it needs by itself, where it is not set here: enforce_eager, "
        "no chunked prefill, a cache of 1 to 4 GiB and so on (engines/cpu.py)",
    )
    environment: Annotated[dict[str, str], AfterValidator(_environment)] = Field(
        {}, description="environment variables set before vLLM is loaded; a change generates again. Secrets are refused"
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

    extends: Name | None = Field(
        None,
        description="a model whose weights and settings this one has; what is said here is what differs, as in "
        "{extends: qwen3-4b, sampling: {temperature: 1.0}, samples: 10}",
    )
    prompt: str | None = Field(None, description="name of its prompt; null for generation.prompt")
    prompt_variables: Annotated[dict[str, str | int | float], AfterValidator(_variables)] = Field(
        {}, description="what goes to further places of its prompt: {level: 90} to `{level}`"
    )
    samples: Samples | None = Field(None, description="responses per item; null for generation.samples")
    sampling: dict[str, Any] = Field({}, description="what differs from generation.sampling")
    engine_args: EngineArguments = Field({}, description="what differs from generation.engine_args")
    chat_template_kwargs: Free = Field({}, description="variables of the model's chat template")
    trace_after: Text | None = Field(
        None,
        description="the token that ends a model's thinking, `</think>`: features are over what follows; null for all "
        "tokens. A change makes features again, and no generation",
    )
    vocabulary: Whole | None = Field(
        None,
        ge=2,
        description="how many tokens the model chooses from, which bounds what the entropy over the 20 most likely "
        "ones lacks; null where it is not known",
    )
    rates: dict[str, Any] = Field({}, description="what differs from the section `rates`, for the forecast alone")

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
        None,
        description="the day (YYYY-MM-DD) that a template which writes today's date into the prompt takes for today",
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
    """A model behind a server that returns log-probabilities, through LiteLLM."""

    kind: ClassVar[str] = "api"
    ELSEWHERE: ClassVar[Mapping[str, str]] = {"template_date": _AT_THE_SERVER, "lora": _AT_THE_SERVER}

    api: Api = Field(description="a server that returns log-probabilities, through LiteLLM")
    revision: Text | None = Field(None, description="what the server says of its weights: another one asks again")


class SourceModel(Model):
    """Traces made elsewhere, or a log, in the place of an engine."""

    kind: ClassVar[str] = "source"
    ELSEWHERE: ClassVar[Mapping[str, str]] = {"revision": _NO_REVISION}

    source: Text = Field(
        description="folder with traces made elsewhere, no engine: {benchmark}.parquet with item_id, text, "
        "finish_reason, token_logprobs and top_logprobs, or a log, {benchmark}.jsonl"
    )
    source_logprobs_mode: Literal["raw_logprobs"] | None = Field(
        None,
        description="raw_logprobs says that the log-probabilities are those before temperature, where the source's "
        "files do not say so themselves",
    )


KINDS = {kind.kind: kind for kind in (HubModel, LocalModel, ApiModel, SourceModel)}


def extended(models: Mapping[str, Any]) -> dict[str, Any]:
    """The section `models` with all that a model has from the one that it extends written out.

    ValueError for a model that extends an unknown one, or itself, or that names other weights.
    """
    return {name: _extended(name, models, ()) for name in models}


def _extended(name: str, models: Mapping[str, Any], below: tuple[str, ...]) -> Any:
    own = models[name]
    if not isinstance(own, Mapping) or not isinstance(own.get("extends"), str):
        return own
    base, chain = own["extends"], (*below, name)
    check_names(f"model in models.{name}.extends:", [base], models)
    if base in chain:
        raise ValueError(f"models.{chain[0]}.extends: a model cannot extend itself: {' -> '.join((*chain, base))}")
    for kind in KINDS:
        if own.get(kind) is not None:
            raise ValueError(f"models.{name}: has the weights of '{base}', which it extends; leave '{kind}' out")
    of_base = _extended(base, models, chain)
    return merged(of_base, own) if isinstance(of_base, Mapping) else own


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
