"""The kinds of models that the package has, for the config's section `models`."""

import glob
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator

from entropy_sentinel.core.section_base import DISTINCT, Revision, Text, Whole
from entropy_sentinel.llm_client.server_settings import Server
from entropy_sentinel.schemas.generation_schema import NO_LOGPROBS
from entropy_sentinel.study.engines.generation_section import LoadingSettings
from entropy_sentinel.study.engines.model_base import Model
from entropy_sentinel.study.engines.model_weights import GGUF_END, find_gguf_problem, fingerprint_folder
from entropy_sentinel.study.items.benchmark_settings import SOURCE_SUFFIXES

if TYPE_CHECKING:
    from entropy_sentinel.study.engines.engine_interface import Engine

TokenId = Annotated[Whole, Field(ge=0, lt=2**32)]


def _check_day(value: Any) -> Any:
    """The value, if it is a date, or text that Pydantic will read as one."""
    # Pydantic would take a number for seconds since 1970.
    if not isinstance(value, date) and not (isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value)):
        raise ValueError("must be a day, YYYY-MM-DD")
    return value


class Api(Server):
    """A server behind an API, called through LiteLLM. It returns log-probabilities, unless `logprobs` is false."""

    logprobs: bool = Field(
        True,
        description="whether to request log-probabilities; false for a model that has none, such as Claude: its "
        "answers are labelled and shown, without features",
    )

    @field_validator("model")
    @classmethod
    def _check_provider(cls, model: str) -> str:
        provider, _, name = model.partition("/")
        if provider in ("ollama", "ollama_chat"):
            raise ValueError(
                f"LiteLLM cannot request log-probabilities from '{provider}/'; use Ollama's other address: "
                f"{{model: hosted_vllm/{name}, base_url: http://localhost:11434/v1}}"
            )
        return model


class VllmModel(Model):
    """A model that vLLM loads."""

    ENGINE: ClassVar[str] = "vllm"
    ASKED_BY_TOKENS: ClassVar[bool] = True
    LOADS_WEIGHTS: ClassVar[bool] = True

    template_date: Annotated[date, BeforeValidator(_check_day)] | None = Field(
        None,
        description="the day (YYYY-MM-DD) that a chat template uses as today's date",
    )
    lora: Text | None = Field(None, description="folder of a LoRA adapter on top of the model")

    @classmethod
    def load(cls) -> "Callable[[Any, int], Engine]":
        """Import and return the function that makes the engine (`Model.load`)."""
        from entropy_sentinel.study.engines.engine_client import make_shared_engine

        return make_shared_engine

    def loading_settings(self) -> LoadingSettings:
        """The template's day and the adapter, with a fingerprint of its content as revision."""
        return {
            "template_date": self.template_date.isoformat() if self.template_date else None,
            "lora": self.lora,
            "lora_revision": self.lora and fingerprint_folder(self.lora),
        }

    def needed_files(self, benchmarks: Iterable[str]) -> Iterator[tuple[Path, str]]:
        """Yield each local file that must exist, and the error if it is missing (`Model.needed_files`)."""
        if self.lora is not None:
            folder = f".lora: must be a folder with an adapter_config.json; '{self.lora}' has none"
            yield Path(self.lora) / "adapter_config.json", folder


def _check_hub_id(name: str) -> str:
    if not re.fullmatch(r"[\w.-]{1,96}(/[\w.-]{1,96})?", name):
        raise ValueError("must be a Hugging Face id, owner/name; a folder with weights goes to 'path'")
    if name.lower().endswith(GGUF_END):
        must = find_gguf_problem(name)
        raise ValueError(f"must be a Hugging Face id, owner/name; weights on this machine go to 'path', which {must}")
    return name


class HubModel(VllmModel):
    """A model of the Hugging Face hub, run on vLLM."""

    kind: ClassVar[Literal["id"]] = "id"
    ON_HUB: ClassVar[bool] = True

    id: Annotated[str, AfterValidator(_check_hub_id)] = Field(description="Hugging Face id, run on vLLM")
    revision: Revision | None = Field(None, description="commit, tag or branch of the id")

    @property
    def has_fixed_weights(self) -> bool:
        """Whether another day's weights are the same."""
        return self.revision is not None

    def engine_settings(self) -> dict[str, Any]:
        """The weights on the hub."""
        return {"weights": self.id, "revision": self.revision, "local": False}


_NO_REVISION = "is a key of 'id' and 'api' models; leave it out, or set it to null"


class LocalModel(VllmModel):
    """A model in a local folder, run on vLLM."""

    kind: ClassVar[Literal["path"]] = "path"
    ELSEWHERE: ClassVar[Mapping[str, str]] = {"revision": _NO_REVISION}

    path: Text = Field(description="folder with the weights, run on vLLM; safetensors, not GGUF")

    def engine_settings(self) -> dict[str, Any]:
        """The folder of the weights, with a fingerprint of their content as revision."""
        return {"weights": self.path, "revision": fingerprint_folder(self.path), "local": True}

    def needed_files(self, benchmarks: Iterable[str]) -> Iterator[tuple[Path, str]]:
        """Yield each local file that must exist, and the error if it is missing (`Model.needed_files`)."""
        if must := find_gguf_problem(self.path):
            # Some have a config.json beside a GGUF file.
            yield Path(self.path) / "model.safetensors", f".path: {must}"
        else:
            yield folder_of_weights(self.path)
        yield from super().needed_files(benchmarks)


def folder_of_weights(path: str) -> tuple[Path, str]:
    """A file that a folder of weights must have, and the error if it is missing, which begins with `.path: `."""
    return Path(path) / "config.json", f".path: must be a folder with a config.json; '{path}' has none"


_SERVER_SIDE_KEY = (
    "cannot be sent to a server; give it to the server when it starts (`entropy-sentinel serve` does) and leave it out "
    "here"
)


class ApiModel(Model):
    """A model behind a server, through LiteLLM."""

    kind: ClassVar[Literal["api"]] = "api"
    ENGINE: ClassVar[str] = "api"
    ASKED_BY_TOKENS: ClassVar[bool] = True
    ELSEWHERE: ClassVar[Mapping[str, str]] = {"template_date": _SERVER_SIDE_KEY, "lora": _SERVER_SIDE_KEY}

    api: Api = Field(description="a server, through LiteLLM")
    revision: Text | None = Field(None, description="version of the server's weights, any text; a change asks again")
    end_tokens: Annotated[list[TokenId], DISTINCT] | None = Field(
        None,
        min_length=1,
        description="ids of the tokens that end a response, eos_token_id in generation_config.json; the family "
        "beam_search of run.features needs them, and servers do not report them",
    )

    @classmethod
    def load(cls) -> "Callable[[Any, int], Engine]":
        """Import and return the function that makes the engine (`Model.load`)."""
        from entropy_sentinel.study.engines.api_engine import make_api_engine

        return make_api_engine

    @property
    def no_logprobs(self) -> str | None:
        """The setting that leaves responses without log-probabilities; None if they have them."""
        return None if self.api.logprobs else "api.logprobs: false"

    @property
    def server(self) -> Server:
        """The section with the server that is asked."""
        return self.api

    def unreported_facts(self) -> dict[str, Any]:
        """Facts that the server does not report, from the config.

        `vocabulary` is the number of tokens, None if it is not set. If they are set, `end_tokens` are there, too.
        """
        ends = {} if self.end_tokens is None else {"end_tokens": self.end_tokens}
        return {"vocabulary": self.vocabulary, **ends}

    def engine_settings(self) -> dict[str, Any]:
        """The model's name at its server and its revision; defaults are left out."""
        api = {"model": self.api.model} | ({} if self.api.logprobs else {"logprobs": False})
        return {"api": api, "revision": self.revision}


class SourceModel(Model):
    """Imported traces, or a log, instead of an engine."""

    kind: ClassVar[Literal["source"]] = "source"
    ELSEWHERE: ClassVar[Mapping[str, str]] = {"revision": _NO_REVISION}

    source: Text = Field(
        description="folder with imported traces instead of an engine: {benchmark}.parquet with item_id, text, "
        "finish_reason, token_logprobs and top_logprobs; a log, {benchmark}.jsonl; or logs of inspect_ai, the "
        "latest for the task {benchmark}"
    )
    source_logprobs_mode: Literal["raw_logprobs", "none"] | None = Field(
        None,
        description="raw_logprobs: the log-probabilities are those before temperature, if the files do not say so "
        "themselves; none: the files have only text",
    )
    source_passes: Text | None = Field(
        None,
        description="folder with the files of families of run.features that asked a model again about these "
        "responses: {family}/{benchmark}.parquet, as in a study's passes/{family}/{model}. A family with files asks "
        "no model and ignores its section of `signals`; other families ask the model named in same_as",
    )

    @property
    def no_logprobs(self) -> str | None:
        """The setting that leaves responses without log-probabilities; None if they have them."""
        return "source_logprobs_mode: none" if self.source_logprobs_mode == NO_LOGPROBS else None

    def given_passes(self, family: str) -> Path | None:
        """The folder of a family's imported pass over these traces; None if `source_passes` has none."""
        if self.source_passes is None:
            return None
        folder = Path(self.source_passes)
        has_pass = (folder / family).is_dir()
        # A missing folder is reported when its files are read.
        return folder / family if has_pass or not folder.is_dir() else None

    def engine_settings(self) -> dict[str, Any]:
        """Whether the files have log-probabilities from before temperature, none, or say so themselves (null)."""
        return {"logprobs_mode": self.source_logprobs_mode}

    def file(self, benchmark: str) -> str:
        """The first file that exists: Parquet, a log, inspect_ai's latest log of this task; else the Parquet."""
        files = [Path(self.source) / f"{benchmark}{end}" for end in SOURCE_SUFFIXES]
        evaluations = sorted(Path(self.source).glob(f"*_{glob.escape(benchmark)}_*.eval"), reverse=True)
        return str(next((file for file in [*files, *evaluations] if file.is_file()), files[0]))

    def needed_files(self, benchmarks: Iterable[str]) -> Iterator[tuple[Path, str]]:
        """Yield each local file that must exist, and the error if it is missing (`Model.needed_files`)."""
        for benchmark in benchmarks:
            file = Path(self.file(benchmark))
            yield file, f".source: must hold {file.name}; '{self.source}' does not"
