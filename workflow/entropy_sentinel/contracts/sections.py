"""The sections of the configuration: every key, its type and default, and what it means.

`contracts.config` puts them together; `config.yaml` explains them to a user.
"""

import string
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from entropy_sentinel.contracts.estimators import BASELINES, CONFIGURATIONS
from entropy_sentinel.contracts.prompts import PROMPTS
from entropy_sentinel.contracts.secrets import refuse_secrets

# Names become parts of file names and of group ids, where benchmarks are joined with "+".
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


def _distinct(names: list[str]) -> list[str]:
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"'{twice[0]}' is there twice; each name once")
    return names


Names = Annotated[list[Name], AfterValidator(_distinct)]
Positive = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(gt=0, lt=1)]
ESTIMATOR_NAMES = tuple(configuration.name for configuration in CONFIGURATIONS)


def check_names(what: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Raise ValueError for the first of `names` that is not among `known`."""
    known = list(known)
    for name in names:
        if name not in known:
            raise ValueError(f"unknown {what} '{name}'; known: {', '.join(map(str, known)) or 'none'}")


class Settings(BaseModel):
    """Base of all sections: immutable, and unknown keys are refused with the list of known ones."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            for key in data:
                if key not in cls.model_fields:
                    raise ValueError(f"unknown key '{key}'; known keys: {', '.join(cls.model_fields)}")
        return data


class SweepSize(Settings):
    """All training groups of one size."""

    size: int = Field(ge=1, description="number of benchmarks in a group")
    configurations: Literal["all", "default"] = Field(
        "default", description="all 48 configurations, or the default one"
    )


class Run(Settings):
    """The axes of the study: what is run. Lists, so that a second config file replaces them whole."""

    models: Names = Field(min_length=1, description="models to run, keys of `models`")
    benchmarks: Names = Field(min_length=2, description="benchmarks to run, keys of `benchmarks`")
    judges: Names = Field(min_length=1, description="judges to run, keys of `judges`; the first is the primary")
    groups: Names = Field(description="named training groups to run, keys of `groups`")
    sizes: list[SweepSize] = Field([], description="training groups to run by size: every subset of `benchmarks`")
    tables: list[Annotated[int, Field(ge=1, le=10)]] = Field(description="numbers of the tables to render")
    figures: list[Annotated[int, Field(ge=1, le=4)]] = Field(description="numbers of the figures to render")


class Sampling(Settings):
    """How tokens are drawn. The log-probabilities kept are those before temperature."""

    temperature: float = Field(0.5, ge=0, description="softmax temperature")
    top_p: float = Field(1.0, gt=0, le=1, description="nucleus; 1 keeps all tokens")
    max_tokens: int = Field(2048, ge=1, description="longest response, tokens")


class Generation(Settings):
    """How responses are generated; the same for all models unless a model says otherwise."""

    prompt: str = Field("solve-step-by-step", description="name of the prompt, see contracts/prompts.py")
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
                    "(entropy_sentinel.presentation.serve does) and leave it out here"
                )
        refuse_secrets("engine_args", self.engine_args)
        refuse_secrets("chat_template_kwargs", self.chat_template_kwargs)
        return self


class Benchmark(Settings):
    """One benchmark: where its rows are and which columns hold question and reference.

    `question` and `reference` are format strings over the row's columns, `{column}`; of several, the first whose
    columns are all filled is taken.
    """

    dataset: str | None = Field(None, description="Hugging Face id of the data set")
    configs: list[str] = Field([], description="configurations of the data set, read one after the other")
    split: str = Field("test", description="split of the data set")
    revision: str | None = Field(None, description="commit, tag or branch of the data set")
    path: str | None = Field(None, description="local file instead: .jsonl, .csv, .parquet, also .gz")
    question: list[str] = Field(min_length=1, description="format strings of the question")
    reference: list[str] = Field(min_length=1, description="format strings of the reference answer")
    reference_after: str | None = Field(None, description="keep what follows the last of this mark in the reference")
    only_if_empty: list[str] = Field([], description="drop rows in which one of these columns (pictures) is filled")
    expected_items: int | None = Field(None, description="published count; another count is a warning")

    @field_validator("question", "reference")
    @classmethod
    def _formats_name_columns(cls, templates: list[str]) -> list[str]:
        for template in templates:
            try:
                fields = [parts[1:] for parts in string.Formatter().parse(template) if parts[1] is not None]
            except ValueError as error:
                raise ValueError(f"'{template}' is no format string: {error}") from None
            if not fields or any(not column or spec or conversion for column, spec, conversion in fields):
                raise ValueError(f"'{template}' must name columns, each as {{column}}")
        return templates

    @model_validator(mode="after")
    def _one_source(self) -> "Benchmark":
        if (self.dataset is None) == (self.path is None):
            raise ValueError("needs exactly one of 'dataset' (a Hugging Face id) and 'path' (a local file)")
        if self.revision is not None and self.path is not None:
            raise ValueError("'revision' goes with 'dataset'; leave it out, or set it to null")
        return self


class Judge(Settings):
    """Who decides whether a response is correct."""

    kind: Literal["math-verify", "file"] = Field(
        description="math-verify: symbolic comparison of the final answer; file: labels made elsewhere"
    )
    path: str | None = Field(None, description="file: folder with the labels, {model}/{benchmark}.parquet")

    @model_validator(mode="after")
    def _path_goes_with_file(self) -> "Judge":
        if (self.kind == "file") != (self.path is not None):
            raise ValueError("needs 'path' (a folder of labels) with kind 'file', and only with it")
        return self


class Estimation(Settings):
    """How estimators are selected and trained."""

    default: str = Field("forest-10d-balanced-isotonic", description="the configuration shown first")
    test_share: Share = Field(0.2, description="share of a training benchmark's items kept for evaluation")
    folds: int = Field(5, ge=2, description="folds of the grid search and of the calibration")
    trees: int = Field(100, ge=1, description="trees of a random forest")
    max_depth: list[Positive] = Field([3, 5, 10], min_length=1, description="grid of the forest")
    min_samples_split: list[Annotated[int, Field(ge=2)]] = Field(
        [2, 5, 10], min_length=1, description="grid of the forest"
    )
    hidden_layers: list[Annotated[list[Positive], Field(min_length=1)]] = Field(
        [[5], [8], [10], [15], [20], [8, 4], [10, 5], [15, 8]], min_length=1, description="grid of the MLP"
    )
    baselines: list[str] = Field(list(BASELINES), description="features that get a Platt-scaled baseline")

    @model_validator(mode="after")
    def _known(self) -> "Estimation":
        check_names("configuration", [self.default], ESTIMATOR_NAMES)
        check_names("baseline", self.baselines, BASELINES)
        return self


class Group(Settings):
    """A named training group."""

    benchmarks: Names = Field(min_length=1, description="benchmarks that the estimator is trained on")
    estimator: str = Field("forest-10d-balanced-isotonic", description="the configuration shown for this group")
    configurations: Literal["all", "default"] = Field("default", description="all 48, or the estimator's alone")

    @model_validator(mode="after")
    def _known(self) -> "Group":
        check_names("configuration", [self.estimator], ESTIMATOR_NAMES)
        return self

    @property
    def group_id(self) -> str:
        """The `{group}` wildcard: benchmark names, sorted and joined with `+`."""
        return group_id(self.benchmarks)


class Rates(Settings):
    """What a study costs, for the forecast of `snakemake plan`; no result depends on them."""

    tokens_per_response: float = Field(600, gt=0, description="mean length of a response, tokens")
    bytes_per_token: float = Field(80, gt=0, description="disk that a trace takes")
    tokens_per_s: float = Field(2500, gt=0, description="speed of one generate job")
    engine_start_s: float = Field(90, ge=0, description="start of one generate job, seconds")
    gpu_usd_per_h: float = Field(2.5, ge=0, description="price of one GPU-hour")
    judge_usd_per_response: float = Field(0, ge=0, description="price of one label")
    estimate_cpu_s: float = Field(100, ge=0, description="CPU-seconds of one model and group, all configurations")


class Presentation(Settings):
    """What the tables and figures show."""

    label: str = Field("", description="shown with every table and figure, e.g. that this is a demo")
    auroc_models: list[str] = Field(description="models of Table 1; the others go to Table 6")
    auroc_benchmarks: list[str] = Field(description="benchmarks of Tables 1 and 6")
    figure_model: str = Field(description="model of Figures 1 and 2")
    figure_benchmark: str = Field(description="benchmark of Figure 2")
    headline_group: str = Field("extremes", description="named group of Figures 1 and 3 and of the summary")


def group_id(benchmarks: Iterable[str]) -> str:
    """The id of a training group: its benchmarks' names, sorted and joined with `+`."""
    return "+".join(sorted(benchmarks))
