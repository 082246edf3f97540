"""The base of the kinds of models."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, field_validator, model_validator

from entropy_sentinel.core.secrets import refuse_secrets
from entropy_sentinel.core.section_base import Free, Name, Settings, Text, Whole
from entropy_sentinel.study.engines.generation_section import (
    EngineArguments,
    LoadingSettings,
    Rates,
    Samples,
    Sampling,
    Variables,
)

if TYPE_CHECKING:
    from entropy_sentinel.study.engines.engine_interface import Engine


class Model(Settings):
    """The keys that all kinds of models share."""

    kind: ClassVar[str]
    # Raise it when responses change, such as with a new protocol: they are then generated again. It replaces a code
    # hash, because responses cost GPU time or money, and other changes of the code must not generate them again.
    VERSION: ClassVar[int] = 1
    # The engine's name in job settings; no engine for imported traces.
    ENGINE: ClassVar[str] = ""
    # Whether its engine can be asked again about responses by token ids: passes need it
    # (study/engines/engine_interface.py).
    ASKED_BY_TOKENS: ClassVar[bool] = False
    # Whether vLLM loads weights, on the GPUs of the job.
    LOADS_WEIGHTS: ClassVar[bool] = False
    # Whether the weights are on the Hugging Face hub.
    ON_HUB: ClassVar[bool] = False

    title: Text | None = Field(
        None,
        description="name displayed in the paper's tables and figures (analyses.accuracy.style); null for the key",
    )
    extends: Name | None = Field(
        None,
        description="a model from which this one copies its weights and all missing keys but `title`, as in "
        "{extends: qwen3-4b, sampling: {temperature: 1.0}, samples: 10}",
    )
    prompt: str | None = Field(None, description="name of its prompt; null for generation.prompt")
    prompt_variables: Variables = Field(
        {}, description="values for additional placeholders of its prompt: {level: 90} fills `{level}`"
    )
    samples: Samples | None = Field(None, description="responses per item; null for generation.samples")
    sampling: dict[str, Any] = Field({}, description="keys that differ from generation.sampling")
    engine_args: EngineArguments = Field({}, description="keys that differ from generation.engine_args")
    chat_template_kwargs: Free = Field({}, description="variables of the model's chat template")
    trace_after: Text | None = Field(
        None,
        description="the token that ends a model's thinking, `</think>`: features use only the tokens after it; null "
        "for all tokens. A change rebuilds features but does not rerun generation",
    )
    vocabulary: Whole | None = Field(
        None,
        ge=2,
        description="size of the model's vocabulary, which bounds the error of the entropy over the 20 most likely "
        "tokens; null if unknown",
    )
    same_as: Name | None = Field(
        None,
        description="a model of this config with the same weights, for imported traces, which have no engine: a "
        "family of run.features that asks the model again asks this model instead. Both must have the same prompt",
    )
    rates: dict[str, Any] = Field({}, description="keys that differ from the section `rates`; only for the forecast")

    @classmethod
    def load(cls) -> "Callable[[Any, int], Engine]":
        """Import and return the function that makes the engine from its job's settings and a number of CPU cores.

        Raises NotImplementedError if a kind has none.
        """
        raise NotImplementedError(f"{cls.__name__}: has no engine")

    @property
    def no_logprobs(self) -> str | None:
        """The setting that leaves responses without log-probabilities; None if they have them."""
        return None

    @property
    def server(self) -> Settings | None:
        """The section with the server that is asked; None if the model is loaded or its traces are imported.

        Jobs are told its `UNTRACKED` keys: `llm_client.server_settings.read_announced_server("models.NAME.KIND")`.
        """
        return None

    @property
    def has_fixed_weights(self) -> bool:
        """Whether another day's weights are the same."""
        return True

    def engine_settings(self) -> dict[str, Any]:
        """The settings that identify the model for its engine, such as its id and revision.

        Responses depend on them, and on how the model is asked (`AskingSettings`: prompt, sampling and so on).
        """
        return {}

    def loading_settings(self) -> LoadingSettings:
        """The chat template's day and the LoRA adapter of weights that vLLM loads; responses depend on them, too."""
        return {"template_date": None, "lora": None, "lora_revision": None}

    def unreported_facts(self) -> dict[str, Any]:
        """Facts that a loaded model reports itself and a server does not, as far as the config has them."""
        return {}

    def file(self, benchmark: str) -> str | None:
        """The file of imported traces, Parquet or a log, that replaces an engine; None if it has one."""
        return None

    def needed_files(self, benchmarks: Iterable[str]) -> Iterator[tuple[Path, str]]:
        """Yield each local file that must exist, and the error if it is missing, which begins with a key: `.path: `."""
        return iter(())

    def given_passes(self, family: str) -> Path | None:
        """The folder of a family's imported pass over the responses; None if a job has to run it.

        In a pass, a family of signals asks a model again, about its responses.
        """
        return None

    @field_validator("sampling")
    @classmethod
    def _check_sampling(cls, sampling: dict[str, Any]) -> dict[str, Any]:
        return Sampling.model_validate(sampling).model_dump(include=set(sampling))

    @field_validator("rates")
    @classmethod
    def _check_rates(cls, rates: dict[str, Any]) -> dict[str, Any]:
        return Rates.model_validate(rates).model_dump(include=set(rates))

    @model_validator(mode="after")
    def _no_secrets(self) -> "Model":
        refuse_secrets("engine_args", self.engine_args)
        refuse_secrets("chat_template_kwargs", self.chat_template_kwargs)
        return self
