"""The config's section `judges`. A new kind of judge is a module, and a class in `JudgeKind`."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NotRequired, TypedDict, get_args

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from entropy_sentinel.chat.settings import Prompt, Server
from entropy_sentinel.engines.generation import ServedSettings
from entropy_sentinel.frames.sections import DISTINCT, Name, Number, Settings, Text, Whole, check_names

# Suffixes of files with imported labels; the first existing file counts.
LABEL_ENDS = (".parquet", ".csv", ".jsonl")


class Kind(Settings):
    """The base class of the kinds of judges."""

    # The module with the function `make(settings)`; none for a judge that combines others.
    MODULE: ClassVar[str] = ""
    # Raise it when verdicts change: labels of this kind are then rebuilt. It replaces a code hash, because labels
    # may cost money, and other changes of the code must not rebuild them.
    VERSION: ClassVar[int] = 1
    # Whether a benchmark's tolerance is one of the judge's settings.
    TOLERANT: ClassVar[bool] = False
    # Whether its labels are imported from files.
    IMPORTED: ClassVar[bool] = False
    # Whether its jobs ask a server: they are told its `UNTRACKED` keys, and the costs go to a ledger.
    ASKS_SERVER: ClassVar[bool] = False

    @property
    def served_by(self) -> str | None:
        """The model of the config that its jobs serve and ask; None if they start no server."""
        return None

    @property
    def asks_with(self) -> str | None:
        """The name of its prompt; None without one."""
        return None

    @property
    def prices(self) -> tuple[float | None, float | None]:
        """USD per million tokens of prompts and of replies, if it asks a server and they are known."""
        return None, None

    @property
    def budget(self) -> float | None:
        """Most USD for the study's requests; None without a limit."""
        return None

    @property
    def longest_reply(self) -> float:
        """Most tokens of a reply."""
        return math.inf

    def tracked(self, prompts: Mapping[str, Prompt], served: ServedSettings | None) -> dict[str, Any]:
        """Return the settings that labels depend on, besides `VERSION`: a change rebuilds the labels.

        `prompts` are the config's prompts for judges by name, and `served` has the settings of the model `served_by`.
        """
        return self.model_dump(exclude_none=True, exclude={*self.UNTRACKED})

    def file(self, model: str, benchmark: str) -> str | None:
        """Return the file of imported labels of a model's responses to a benchmark; None if labels are not imported."""
        return None

    def missing_file(self, model: str, benchmark: str) -> Iterator[tuple[Path, str]]:
        """Yield the local file that must exist, and the error if it is missing, which begins with a key: `.path: `."""
        return iter(())


class MathVerify(Kind):
    """Compares the last boxed or stated answer with the reference, by algebra, units and tolerance.

    It needs no network. A label is null, with the reason, if the judge cannot decide. If the reference has several
    words, the label is always null.
    """

    MODULE: ClassVar[str] = "entropy_sentinel.judges.separate_process"
    # 4: words around an unboxed number or after a formula, numbers in words, ratios, times and longer lists in other
    # brackets are no longer read, and an answer that the response takes back or changes does not count. 5: tags,
    # headings, other languages and answers after the thinking are read; wrong equations and inequalities are told from
    # right ones.
    VERSION: ClassVar[int] = 5
    TOLERANT: ClassVar[bool] = True
    ELSEWHERE: ClassVar[Mapping[str, str]] = {"path": "(a folder of labels) is a key of kind 'file'"}

    kind: Literal["math-verify"] = Field(description="math-verify: symbolic comparison of the final answer")


class Exact(Kind):
    """The final answer and the reference as text, ignoring case and white space."""

    MODULE: ClassVar[str] = "entropy_sentinel.judges.exact"
    # 2: an answer that the response takes back or changes does not count. 3: as math-verify's 5.
    VERSION: ClassVar[int] = 3

    kind: Literal["exact"] = Field(description="exact: the final answer is the reference, letter by letter")


class Choice(Kind):
    """The letter of an option of a multiple-choice question, or its text."""

    MODULE: ClassVar[str] = "entropy_sentinel.judges.exact"
    # 2: the last lettered lines of a question are its options, and `A, B` names two of them. 3: as exact's 2.
    # 4: as exact's 3, and an option with which the response begins and which it then explains.
    VERSION: ClassVar[int] = 4

    kind: Literal["choice"] = Field(description="choice: the letter or the text of a multiple-choice option")


class LabelsFile(Kind):
    """Labels from files, made by people or another judge."""

    IMPORTED: ClassVar[bool] = True

    kind: Literal["file"] = Field(description="file: imported labels")
    path: Text = Field(
        description="folder with the labels, {model}/{benchmark}.parquet, .csv or .jsonl, columns item_id and label "
        "(true, false or null), and optionally sample and reason. A benchmark without references needs no file: "
        "without one, it has no labels"
    )

    def file(self, model: str, benchmark: str) -> str:
        """Return the path of the labels of a model's responses to a benchmark: the first that exists, or Parquet."""
        files = [Path(self.path) / model / f"{benchmark}{end}" for end in LABEL_ENDS]
        return str(next((file for file in files if file.is_file()), files[0]))

    def missing_file(self, model: str, benchmark: str) -> Iterator[tuple[Path, str]]:
        """See `Kind.missing_file`."""
        must = f"must hold {model}/{benchmark}.parquet ({' or '.join(LABEL_ENDS[1:])})"
        yield Path(self.file(model, benchmark)), f".path: {must}; '{self.path}' does not"


class Llm(Kind, Server):
    """A chat model that sees question, response and reference, called through LiteLLM.

    A reply that does not end with one clear {"success": true or false} is null; {benchmark}.unreadable.jsonl beside the
    labels has the exchange. Replies are cached by request and server, so reruns cost nothing (docs/servers.md).
    results/<study>/{judge}/costs.csv has the costs. A change of `model` or `served`, `revision`, `prompt`, `shown`,
    `structured_output`, `temperature` or `max_tokens` reruns judging; no label depends on the other keys.
    """

    MODULE: ClassVar[str] = "entropy_sentinel.judges.llm"
    # 2: a reply may have text before its verdict, further keys, quotes and end tokens. No new calls: replies are
    # cached.
    VERSION: ClassVar[int] = 2
    ASKS_SERVER: ClassVar[bool] = True
    UNTRACKED: ClassVar[Set[str]] = {
        *Server.UNTRACKED,
        *("usd_per_million_input_tokens", "usd_per_million_output_tokens", "budget_usd"),
    }
    # The keys of a request.
    ASKED: ClassVar[set[str]] = {
        *("model", "revision", "prompt", "shown", "structured_output", "temperature", "max_tokens")
    }

    kind: Literal["llm"] = Field(description="llm: a chat model behind an API, through LiteLLM")
    model: Text = Field(
        "xai/grok-4-1-fast-reasoning",
        description="LiteLLM's name of the judge; its key comes from the environment (XAI_API_KEY, "
        "OPENAI_API_KEY, HOSTED_VLLM_API_KEY, ...)",
    )
    served: Name | None = Field(
        None, description="name of a model of `models` with weights, which the label jobs serve; replaces `model`"
    )
    revision: Text | None = Field(
        None,
        description="version of the judge, any text, if its model changes but not its name; a new value reruns judging",
    )
    prompt: str = Field(
        "corresponds",
        description="`corresponds`, the paper's (judges/catalogue.py), or a name of the section `prompts`",
    )
    shown: Literal["response", "answer"] = Field(
        "response",
        description="what the judge sees: the whole `response`, or its final `answer` (the last box, or else the "
        "last line)",
    )
    structured_output: bool = Field(True, description="false for servers that do not support `response_format`")
    temperature: Number | None = Field(None, ge=0, le=100, description="null leaves it to the server")
    max_tokens: Whole = Field(4096, ge=1, le=2**20, description="length limit of a reply, reasoning included, tokens")
    usd_per_million_input_tokens: Number | None = Field(
        None, ge=0, le=1e6, description="price of the prompts, from the provider's list"
    )
    usd_per_million_output_tokens: Number | None = Field(
        None, ge=0, le=1e6, description="price of the replies, likewise"
    )
    budget_usd: Number | None = Field(
        None,
        ge=0,
        le=1e9,
        description="limit for all of the study's requests to this judge. A request that might exceed it is not "
        "sent: the job ends with an error, and continues when the budget is raised. Needs both prices. If a reply "
        "exceeds max_tokens, for example by its reasoning, later requests reserve the same excess",
    )

    @property
    def served_by(self) -> str | None:
        """See `Kind.served_by`."""
        return self.served

    @property
    def asks_with(self) -> str:
        """See `Kind.asks_with`."""
        return self.prompt

    @property
    def prices(self) -> tuple[float | None, float | None]:
        """See `Kind.prices`."""
        return self.usd_per_million_input_tokens, self.usd_per_million_output_tokens

    @property
    def budget(self) -> float | None:
        """See `Kind.budget`."""
        return self.budget_usd

    @property
    def longest_reply(self) -> float:
        """See `Kind.longest_reply`."""
        return self.max_tokens

    def tracked(self, prompts: Mapping[str, Prompt], served: ServedSettings | None) -> dict[str, Any]:
        """Return the settings of a request, and those of the server that the jobs start.

        They are under `llm`, because `model` of a label file is the model that answered.
        """
        prompt = prompts[self.prompt]
        asked = self.model_dump(include=self.ASKED) | {"prompt_version": prompt.version, "messages": prompt.chat}
        if served is None:
            return {"kind": self.kind, "llm": asked}
        asked["model"] = f"hosted_vllm/{self.served}"
        # A cached reply is valid as long as the server is the same.
        asked["revision"] = hashlib.sha256(json.dumps(served, sort_keys=True).encode()).hexdigest()[:12]
        return {"kind": self.kind, "llm": asked, "server": served}

    @model_validator(mode="after")
    def _budget_has_prices(self) -> "Llm":
        prices = self.usd_per_million_input_tokens, self.usd_per_million_output_tokens
        if (prices[0] is None) != (prices[1] is None):
            raise ValueError("set both of usd_per_million_input_tokens and usd_per_million_output_tokens, or neither")
        if self.budget_usd is not None and None in prices:
            raise ValueError(
                "budget_usd needs usd_per_million_input_tokens and usd_per_million_output_tokens: the price list of "
                "the provider; 0 for a server of your own"
            )
        return self

    @model_validator(mode="after")
    def _one_server(self) -> "Llm":
        given = self.model_fields_set & {"model", "base_url", "revision"}
        if self.served and given:
            raise ValueError(f"'served' starts its own server, so it excludes '{min(given)}'")
        return self


Members = Annotated[list[Name], Field(min_length=2), DISTINCT]


class FirstOf(Kind):
    """Each judge sees only what the judges before it left null: the exact one first, an LLM for the rest."""

    kind: Literal["first_of"] = Field(description="first_of: the first of several judges with a verdict")
    judges: Members = Field(description="names of other judges, in their order")


class Majority(Kind):
    """The verdict of more than half of the judges; each label names those that decided it."""

    kind: Literal["majority"] = Field(
        description="majority: the verdict of more than half of several judges, else null"
    )
    judges: Members = Field(description="names of other judges")


JudgeKind = (
    Annotated[MathVerify, Tag("[math-verify]")]
    | Annotated[Llm, Tag("[llm]")]
    | Annotated[Exact, Tag("[exact]")]
    | Annotated[Choice, Tag("[choice]")]
    | Annotated[LabelsFile, Tag("[file]")]
    | Annotated[FirstOf, Tag("[first_of]")]
    | Annotated[Majority, Tag("[majority]")]
)
# Tags are in brackets because they are not keys of the config; errors omit them.
KINDS: dict[str, type[Kind]] = {tag.tag.strip("[]"): kind for kind, tag in map(get_args, get_args(JudgeKind))}


class LlmSettings(TypedDict):
    """The settings of a request to an LLM judge: `Llm.ASKED` and its prompt."""

    model: str
    revision: str | None
    prompt: str
    shown: Literal["response", "answer"]
    structured_output: bool
    temperature: float | None
    max_tokens: int
    prompt_version: int
    messages: list[dict[str, str]]


class JudgeSettings(TypedDict):
    """The settings that a judge's labels depend on, compared by Snakemake. Its kind adds further keys."""

    version: int
    judge: str
    kind: str
    llm: NotRequired[LlmSettings]
    server: NotRequired[ServedSettings]  # for a judge that its jobs serve
    tolerance: NotRequired[dict[str, Any]]  # the benchmark's
    path: NotRequired[str]
    judges: NotRequired[list[str]]
    members: NotRequired[dict[str, "JudgeSettings"]]  # the settings that the labels of each of `judges` depend on
    replaces: NotRequired[str]  # for a benchmark's own judge: the judge of the study in whose folder its labels are
    content: NotRequired[str]  # for label files (jobs/content.py)


def account(settings: LlmSettings, model: str, benchmark: str) -> str:
    """Return the account of calls in a judge's ledger: `model/benchmark/hash`, a hash of `Llm.ASKED` and the prompt."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    return f"{model}/{benchmark}/{digest[:12]}"


def _given(judge: Any) -> Any:
    """Remove null keys: a second config file uses null to unset a key of the first."""
    return {key: value for key, value in judge.items() if value is not None} if isinstance(judge, Mapping) else judge


def _kind(judge: Any) -> str | None:
    kind = judge.get("kind") if isinstance(judge, Mapping) else getattr(judge, "kind", None)
    return f"[{kind}]"


AnyJudge = Annotated[
    JudgeKind,
    Discriminator(
        _kind,
        custom_error_type="kind",
        custom_error_message=f"must be a section with 'kind': {' or '.join(KINDS)}",
    ),
    BeforeValidator(_given),
]


def members(judge: Settings) -> list[str]:
    """Return the names of the judges that a judge combines; empty for a basic judge."""
    return list(getattr(judge, "judges", []))


def basic_judges(name: str, judges: Mapping[str, Settings]) -> list[str]:
    """Return the basic judges behind the judge `name`: itself, or those that it combines, at any depth.

    Raises ValueError for a name that is not in `judges`, and for a judge that contains itself.
    """
    return list(dict.fromkeys(_basic_judges([name], judges)))


def _basic_judges(way: list[str], judges: Mapping[str, Settings]) -> list[str]:
    *above, name = way
    if name in above:
        raise ValueError(f"judges.{way[0]}.judges: a judge must not be part of itself, was {' -> '.join(way)}")
    check_names(f"judge in judges.{above[-1] if above else name}.judges:", [name], judges)
    parts = members(judges[name])
    return [judge for part in parts for judge in _basic_judges([*way, part], judges)] or [name]
