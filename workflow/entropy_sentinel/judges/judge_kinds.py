"""The kinds of judges that the package has, for the config's section `judges`."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Set
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from entropy_sentinel.core.section_base import DISTINCT, Name, Number, Text, Whole
from entropy_sentinel.judges.judge_base import Kind
from entropy_sentinel.judges.judge_interface import DEFAULT_UNANSWERED, Judge, Unanswered
from entropy_sentinel.llm_client.server_settings import Prompt, ServedSettings, Server

# Suffixes of files with imported labels; the first existing file counts.
LABEL_ENDS = (".parquet", ".csv", ".jsonl")

NoOption = Literal["incorrect", "unlabelled"]
NO_OPTION = (
    "label of an answer that matches no option of a multiple-choice question: `incorrect`, or `unlabelled` for null, "
    "which leaves the answer out of accuracies"
)


class ComparingKind(Kind):
    """The base class of the kinds that compare a response's final answer with the reference."""

    unanswered: Unanswered = Field(
        DEFAULT_UNANSWERED,
        description="label of a response without a final answer, because it is empty, declines, thinks only, or is "
        "truncated before one: `incorrect`, as LLMs judge, or `unlabelled` for null. An answer that cannot be compared "
        "is null in any case",
    )

    def tracked(self, prompts: Mapping[str, Prompt], served: ServedSettings | None) -> dict[str, Any]:
        """The settings that labels depend on, by key.

        Without `unanswered` if it is the default, as in labels of versions without the key.
        """
        settings = super().tracked(prompts, served)
        return {key: value for key, value in settings.items() if (key, value) != ("unanswered", DEFAULT_UNANSWERED)}


class MathVerify(ComparingKind):
    """Compares the last boxed or stated answer with the reference, by algebra, units and tolerance.

    It needs no network. A label is null, with the reason, if the judge cannot decide. If the reference has several
    words, the label is always null.
    """

    # 4: words around an unboxed number or after a formula, numbers in words, ratios, times and longer lists in other
    # brackets are no longer read, and an answer that the response takes back or changes does not count. 5: tags,
    # headings, other languages and answers after the thinking are read; wrong equations and inequalities are told from
    # right ones. 6: dates, ranges, scores, telephone numbers and versions are not calculated, ratios and times of day
    # are compared; matrices are multiplied by numbers; other letters of constants, decimal commas and a numeral's base
    # are left open; digits that go on are read, and an answer that is no option of the question is incorrect.
    VERSION: ClassVar[int] = 6
    TOLERANT: ClassVar[bool] = True
    ELSEWHERE: ClassVar[Mapping[str, str]] = {"path": "(a folder of labels) is a key of kind 'file'"}

    kind: Literal["math-verify"] = Field(description="math-verify: symbolic comparison of the final answer")
    no_option: NoOption = Field("incorrect", description=NO_OPTION)

    @classmethod
    def load(cls) -> Callable[[Any], Judge]:
        """Import and return the function that makes the judge from its `JudgeSettings`."""
        from entropy_sentinel.judges.separate_process import make

        return make


class Exact(ComparingKind):
    """The final answer and the reference as text, ignoring case and white space."""

    # 2: an answer that the response takes back or changes does not count. 3: as math-verify's 5.
    VERSION: ClassVar[int] = 3

    kind: Literal["exact"] = Field(description="exact: the final answer is the reference, letter by letter")

    @classmethod
    def load(cls) -> Callable[[Any], Judge]:
        """Import and return the function that makes the judge from its `JudgeSettings`."""
        from entropy_sentinel.judges.text_judges import make

        return make


class Choice(ComparingKind):
    """The letter of an option of a multiple-choice question, or its text."""

    # 2: the last lettered lines of a question are its options, and `A, B` names two of them. 3: as exact's 2.
    # 4: as exact's 3, and an option with which the response begins and which it then explains. 5: an answer that is no
    # option is incorrect, and a letter with the text of another option is null.
    VERSION: ClassVar[int] = 5

    kind: Literal["choice"] = Field(description="choice: the letter or the text of a multiple-choice option")
    no_option: NoOption = Field("incorrect", description=NO_OPTION)

    @classmethod
    def load(cls) -> Callable[[Any], Judge]:
        """Import and return the function that makes the judge from its `JudgeSettings`."""
        from entropy_sentinel.judges.text_judges import make

        return make


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
        """The path of the labels of a model's responses to a benchmark: the first that exists, or Parquet."""
        files = [Path(self.path) / model / f"{benchmark}{end}" for end in LABEL_ENDS]
        return str(next((file for file in files if file.is_file()), files[0]))

    def missing_file(self, model: str, benchmark: str) -> Iterator[tuple[Path, str]]:
        """Yield the file of labels that must exist, and the error if it is missing, which begins with a key."""
        must = f"must hold {model}/{benchmark}.parquet ({' or '.join(LABEL_ENDS[1:])})"
        yield Path(self.file(model, benchmark)), f".path: {must}; '{self.path}' does not"


class Llm(Kind, Server):
    """A chat model that sees question, response and reference, called through LiteLLM.

    A reply that does not end with one clear {"success": true or false} is null; {benchmark}.unreadable.jsonl beside the
    labels has the exchange. Replies are cached by request and server, so reruns cost nothing (docs/servers.md).
    results/<study>/{judge}/costs.csv has the costs. A change of `model` or `served`, `revision`, `prompt`, `shown`,
    `structured_output`, `temperature` or `max_tokens` reruns judging; no label depends on the other keys.
    """

    # 2: a reply may have text before its verdict, further keys, quotes and end tokens. No new calls: replies are
    # cached.
    VERSION: ClassVar[int] = 2
    HAS_LEDGER: ClassVar[bool] = True
    UNTRACKED: ClassVar[Set[str]] = {
        *Server.UNTRACKED,
        "usd_per_million_input_tokens",
        "usd_per_million_output_tokens",
        "budget_usd",
    }
    # The keys of a request.
    ASKED: ClassVar[set[str]] = {
        "model",
        "revision",
        "prompt",
        "shown",
        "structured_output",
        "temperature",
        "max_tokens",
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
        description="`corresponds`, the paper's (judges/judge_prompts.py), or a name of the section `prompts`",
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

    @classmethod
    def load(cls) -> Callable[[Any], Judge]:
        """Import and return the function that makes the judge from its `JudgeSettings`."""
        from entropy_sentinel.judges.llm_judge import make

        return make

    @property
    def served_by(self) -> str | None:
        """The model of the config that its jobs serve and ask; None if they start no server."""
        return self.served

    @property
    def asks_with(self) -> str:
        """The name of its prompt."""
        return self.prompt

    @property
    def prices(self) -> tuple[float | None, float | None]:
        """USD per million tokens of prompts and of replies, None if they are not known."""
        return self.usd_per_million_input_tokens, self.usd_per_million_output_tokens

    @property
    def budget(self) -> float | None:
        """Most USD for the study's requests; None without a limit."""
        return self.budget_usd

    @property
    def longest_reply(self) -> float:
        """Most tokens of a reply."""
        return self.max_tokens

    def tracked(self, prompts: Mapping[str, Prompt], served: ServedSettings | None) -> dict[str, Any]:
        """The settings of a request, and those of the server that the jobs start.

        They are under `llm`, because `model` of a label file is the model that answered.
        """
        prompt = prompts[self.prompt]
        request = self.model_dump(include=self.ASKED) | {"prompt_version": prompt.version, "messages": prompt.chat}
        if served is None:
            return {"kind": self.kind, "llm": request}
        request["model"] = f"hosted_vllm/{self.served}"
        # A cached reply is valid as long as the server is the same.
        request["revision"] = hashlib.sha256(json.dumps(served, sort_keys=True).encode()).hexdigest()[:12]
        return {"kind": self.kind, "llm": request, "server": served}

    @model_validator(mode="after")
    def _budget_has_prices(self) -> "Llm":
        """Refuse one price without the other, and a budget without prices."""
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
        """Refuse a server's own keys beside `served`, which names a model that the jobs serve."""
        # A default may be written out.
        explicit_keys = {
            name
            for name in ("model", "base_url", "revision")
            if getattr(self, name) != type(self).model_fields[name].default
        }
        if self.served and explicit_keys:
            raise ValueError(f"'served' starts its own server, so it excludes '{min(explicit_keys)}'")
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
