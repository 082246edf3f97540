"""Who labels: the config's section `judges`. A judge of another kind is its module, and one more class in `KINDS`."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Union

from pydantic import BeforeValidator, Discriminator, Field, Tag

from entropy_sentinel.frames.sections import Settings, Text


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


KINDS: dict[str, type[Settings]] = {"math-verify": MathVerify, "exact": Exact, "choice": Choice, "file": LabelsFile}


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
