"""Who labels: the config's section `judges`. A judge of another kind is its module, and one more class in `KINDS`."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Union

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from entropy_sentinel.chat.settings import Server
from entropy_sentinel.frames.sections import DISTINCT, Name, Number, Settings, Text, Whole, check_names


class MathVerify(Settings):
    """Comparison of the final answer by algebra, units and the benchmark's tolerance."""

    # Where the judge is made: a function `make(settings)`.
    MODULE: ClassVar[str] = "entropy_sentinel.judges.math_verify"
    # Of this kind's rules, in place of LABEL_VERSION: raised by hand when its verdicts move.
    VERSION: ClassVar[int] = 3
    # Whether a benchmark's tolerance is one of the judge's settings.
    TOLERANT: ClassVar[bool] = True
    ELSEWHERE: ClassVar[Mapping[str, str]] = {"path": "(a folder of labels) goes with kind 'file'"}

    kind: Literal["math-verify"] = Field(description="math-verify: symbolic comparison of the final answer")


class Exact(Settings):
    """The final answer and the reference as text, without differences of case and space."""

    MODULE: ClassVar[str] = "entropy_sentinel.judges.exact"

    kind: Literal["exact"] = Field(description="exact: the final answer is the reference, letter by letter")


class Choice(Settings):
    """The letter of an option of a multiple-choice question, or its text."""

    MODULE: ClassVar[str] = "entropy_sentinel.judges.choice"
    # 2: the last lettered lines of a question are its options, and `A, B` names two of them.
    VERSION: ClassVar[int] = 2

    kind: Literal["choice"] = Field(description="choice: the letter or the text of a multiple-choice option")


class LabelsFile(Settings):
    """Labels made elsewhere."""

    kind: Literal["file"] = Field(description="file: labels made elsewhere")
    path: Text = Field(description="file: folder with the labels, {model}/{benchmark}.parquet")

    def file(self, model: str, benchmark: str) -> str:
        """Where the labels of a model's responses to a benchmark are."""
        return str(Path(self.path) / model / f"{benchmark}.parquet")


class Llm(Server):
    """A chat model that is shown question, response and reference, called through LiteLLM."""

    MODULE: ClassVar[str] = "entropy_sentinel.judges.llm"
    # What labels depend on; the other keys say where and how fast they are made.
    ASKED: ClassVar[frozenset[str]] = frozenset(
        ("model", "revision", "prompt", "shown", "structured_output", "temperature", "max_tokens")
    )

    kind: Literal["llm"] = Field(description="llm: a chat model behind an API, through LiteLLM")
    model: Text = Field("xai/grok-4-1-fast-reasoning", description="LiteLLM's name of the judge")
    served: Name | None = Field(
        None, description="llm: name of a model of `models` with weights, which its jobs serve; in place of `model`"
    )
    revision: Text | None = Field(None, description="llm: the judge's version: another one asks again")
    prompt: str = Field("corresponds", description="llm: name of the prompt, of judges/catalogue.py or `prompts`")
    shown: Literal["response", "answer"] = Field(
        "response", description="llm: what is judged, the whole response or its final answer: last box or last line"
    )
    structured_output: bool = Field(True, description="llm: whether the server is told the form of a reply")
    temperature: Number | None = Field(None, ge=0, le=100, description="llm: null for the server's own")
    max_tokens: Whole = Field(4096, ge=1, le=2**20, description="llm: longest reply, its reasoning included, tokens")
    usd_per_million_input_tokens: Number | None = Field(None, ge=0, le=1e6, description="llm: price, US dollars")
    usd_per_million_output_tokens: Number | None = Field(None, ge=0, le=1e6, description="llm: price, US dollars")
    budget_usd: Number | None = Field(
        None, ge=0, le=1e9, description="llm: the study's calls to this judge stop before they cost more; needs prices"
    )

    @model_validator(mode="after")
    def _budget_has_prices(self) -> "Llm":
        prices = self.usd_per_million_input_tokens, self.usd_per_million_output_tokens
        if (prices[0] is None) != (prices[1] is None):
            raise ValueError("usd_per_million_input_tokens and usd_per_million_output_tokens go together")
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
            raise ValueError(f"'served' starts a server of its own: it does not go together with '{min(given)}'")
        return self


Members = Annotated[list[Name], Field(min_length=2), DISTINCT]


class FirstOf(Settings):
    """Each judge is asked only about what those before it left null."""

    kind: Literal["first_of"] = Field(description="first_of: the first of several judges that has a verdict")
    judges: Members = Field(description="first_of: names of other judges, in the order in which they are asked")


class Majority(Settings):
    """The verdict that more than half of the judges give."""

    kind: Literal["majority"] = Field(description="majority: what more than half of several judges say, else null")
    judges: Members = Field(description="majority: names of other judges")


KINDS: dict[str, type[Settings]] = {
    "math-verify": MathVerify,
    "llm": Llm,
    "exact": Exact,
    "choice": Choice,
    "file": LabelsFile,
    "first_of": FirstOf,
    "majority": Majority,
}


def account(asked: Mapping[str, Any], model: str, benchmark: str) -> str:
    """Whose calls they are in a judge's ledger, `model/benchmark/hash`: of `Llm.ASKED` and the prompt, the hash."""
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
    return f"{model}/{benchmark}/{digest[:12]}"


def _given(judge: Any) -> Any:
    """Leave out keys that are null, by which a second config file takes back one of the first."""
    return {key: value for key, value in judge.items() if value is not None} if isinstance(judge, Mapping) else judge


def _kind(judge: Any) -> str | None:
    """Pydantic's tag; in brackets, since it is no key of the config and errors leave it out."""
    kind = judge.get("kind") if isinstance(judge, Mapping) else getattr(judge, "kind", None)
    return f"[{kind}]"


AnyJudge = Annotated[
    Union[tuple(Annotated[settings, Tag(f"[{kind}]")] for kind, settings in KINDS.items())],  # noqa: UP007
    Discriminator(
        _kind,
        custom_error_type="kind",
        custom_error_message=f"must be a section with 'kind': {' or '.join(KINDS)}",
    ),
    BeforeValidator(_given),
]


def members(judge: Settings) -> list[str]:
    """The names of the judges that a judge is made of; none for one that is asked itself."""
    return list(getattr(judge, "judges", []))


def asked(name: str, judges: Mapping[str, Settings]) -> list[str]:
    """The judges that are asked where the judge `name` is run: itself, or those that it is made of, at any depth.

    Raises ValueError for a name that is not among `judges`, and for a judge that is part of itself.
    """
    return list(dict.fromkeys(_asked([name], judges)))


def _asked(way: list[str], judges: Mapping[str, Settings]) -> list[str]:
    *above, name = way
    if name in above:
        raise ValueError(f"judges.{way[0]}.judges: a judge must not be part of itself, was {' -> '.join(way)}")
    check_names(f"judge in judges.{above[-1] if above else name}.judges:", [name], judges)
    parts = members(judges[name])
    return [one for part in parts for one in _asked([*way, part], judges)] or [name]
