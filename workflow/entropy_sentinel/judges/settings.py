"""Who labels: the config's section `judges`. A judge of another kind is its module, and one more class in `KINDS`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Union

from pydantic import BeforeValidator, Discriminator, Field, Tag

from entropy_sentinel.frames.sections import DISTINCT, Name, Settings, Text, check_names


class MathVerify(Settings):
    """Comparison of the final answer by algebra, units and the benchmark's tolerance."""

    # Where the judge is made: a function `make(settings)`.
    MODULE: ClassVar[str] = "entropy_sentinel.judges.math_verify"
    # Of this kind's rules, in place of LABEL_VERSION: raised by hand when its verdicts move.
    VERSION: ClassVar[int] = 2
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

    kind: Literal["choice"] = Field(description="choice: the letter or the text of a multiple-choice option")


class LabelsFile(Settings):
    """Labels made elsewhere."""

    kind: Literal["file"] = Field(description="file: labels made elsewhere")
    path: Text = Field(description="file: folder with the labels, {model}/{benchmark}.parquet")

    def file(self, model: str, benchmark: str) -> str:
        """Where the labels of a model's responses to a benchmark are."""
        return str(Path(self.path) / model / f"{benchmark}.parquet")


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
    "exact": Exact,
    "choice": Choice,
    "file": LabelsFile,
    "first_of": FirstOf,
    "majority": Majority,
}


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
