"""What is asked of engines: the config's sections `generation` and `models`."""

from datetime import date
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from entropy_sentinel.engines.catalogue import PROMPTS
from entropy_sentinel.frames.secrets import refuse_secrets
from entropy_sentinel.frames.sections import Settings, check_names


class Sampling(Settings):
    """How tokens are drawn. The log-probabilities kept are those before temperature."""

    temperature: float = Field(0.5, ge=0, description="softmax temperature")
    top_p: float = Field(1.0, gt=0, le=1, description="nucleus; 1 keeps all tokens")
    max_tokens: int = Field(2048, ge=1, description="longest response, tokens")


class Generation(Settings):
    """How responses are generated; the same for all models unless a model says otherwise."""

    prompt: str = Field("solve-step-by-step", description="name of the prompt, see engines/catalogue.py")
    samples: int = Field(1, ge=1, description="responses per item")
    sampling: Sampling = Sampling()
    keep_top_token_ids: bool = Field(False, description="whether traces keep the ids of the top 20 tokens")
    engine_args: dict[str, Any] = Field({}, description="keyword arguments of vllm.LLM")
    environment: dict[str, str] = Field({}, description="environment variables set before the engine is loaded")
    threads: int = Field(1, ge=1, description="CPU cores of one generate job")

    @model_validator(mode="after")
    def _known(self) -> "Generation":
        check_names("prompt", [self.prompt], PROMPTS)
        refuse_secrets("environment", self.environment)
        refuse_secrets("engine_args", self.engine_args)
        return self


class Api(Settings):
    """A server behind an API that returns log-probabilities, called through LiteLLM."""

    model: str = Field(description="LiteLLM's name of the model: `openai/gpt-4o`, `hosted_vllm/name`")
    base_url: str | None = Field(None, description="address of the server; null for the provider's own")
    concurrency: int = Field(16, ge=1, description="requests at a time")
    timeout_s: float = Field(300, gt=0, description="longest wait for one reply, seconds")
    retries: int = Field(6, ge=0, description="further tries after 429, 5xx and time-outs, with growing pauses")

    # Over the whole section: the message about a field would show its value.
    @model_validator(mode="after")
    def _address_holds_no_secret(self) -> "Api":
        address = urlsplit(self.base_url or "")
        if "@" in address.netloc or address.query:
            raise ValueError(
                "base_url must be an address without user, password and query, since it is written into trace files; "
                "put the key into the provider's environment variable"
            )
        return self


class Model(Settings):
    """One language model: a Hugging Face id, a local folder, a server behind an API, or traces made elsewhere."""

    id: str | None = Field(None, description="Hugging Face id, run on vLLM")
    revision: str | None = Field(None, description="commit, tag or branch of the id")
    path: str | None = Field(None, description="folder with the weights, run on vLLM")
    api: Api | None = Field(None, description="server that answers instead")
    source: str | None = Field(None, description="folder with traces made elsewhere, {benchmark}.parquet, no engine")
    source_logprobs_mode: Literal["raw_logprobs"] | None = Field(
        None, description="set to raw_logprobs, before temperature, where the source's files do not say so themselves"
    )
    sampling: dict[str, Any] = Field({}, description="what differs from generation.sampling")
    engine_args: dict[str, Any] = Field({}, description="what differs from generation.engine_args")
    chat_template_kwargs: dict[str, Any] = Field({}, description="variables of the model's chat template")
    template_date: date | None = Field(None, description="the day that the chat template takes for today")
    trace_after: str | None = Field(None, description="token that ends the thinking: features are over what follows")
    lora: str | None = Field(None, description="folder of a LoRA adapter on top of the model")

    @field_validator("sampling")
    @classmethod
    def _sampling_is_known(cls, sampling: dict[str, Any]) -> dict[str, Any]:
        return Sampling.model_validate(sampling).model_dump(include=set(sampling))

    @model_validator(mode="after")
    def _one_source(self) -> "Model":
        if sum(one is not None for one in (self.id, self.path, self.api, self.source)) != 1:
            raise ValueError(
                "needs exactly one of 'id' (a Hugging Face id), 'path' (a local folder), 'api' (a server) and "
                "'source' (a folder of traces)"
            )
        return self

    @model_validator(mode="after")
    def _settings_reach_the_engine(self) -> "Model":
        if self.revision is not None and (self.path or self.source):
            raise ValueError("'revision' goes with 'id' and 'api'; leave it out, or set it to null")
        for key in ("template_date", "lora"):
            if self.api is not None and getattr(self, key) is not None:
                raise ValueError(
                    f"'{key}' cannot be sent to a server; give it to the server when it starts "
                    "(`entropy-sentinel serve` does) and leave it out here"
                )
        refuse_secrets("engine_args", self.engine_args)
        refuse_secrets("chat_template_kwargs", self.chat_template_kwargs)
        return self
