"""The interface of a judge: it takes cases and returns a verdict on each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from entropy_sentinel.schemas.label_schema import NoAnswer

# Label of a response without a final answer; labels of versions without the key are as with the default.
Unanswered = Literal["incorrect", "unlabelled"]
DEFAULT_UNANSWERED: Unanswered = "unlabelled"


class Unclear(Exception):
    """A judge cannot decide; the message is the reason."""


class NoAnswerError(Unclear):
    """A response has no final answer that a judge could compare."""

    def __init__(self, cause: NoAnswer) -> None:
        super().__init__(cause.value)
        self.cause = cause


@dataclass(frozen=True)
class Case:
    """A response with the question and reference that a judge sees."""

    question: str
    response: str
    reference: str
    truncated: bool
    # The response's model and benchmark, for cost accounting; the judge does not see them.
    model: str = ""
    benchmark: str = ""


@dataclass(frozen=True)
class Verdict:
    """The verdict of a judge: correct (True), incorrect (False), or None with the reason; never a guess.

    An incorrect one without an answer has a reason, too.
    """

    label: bool | None
    answer: str | None = None
    reason: str | None = None
    # The request and the reply, if the reply is not a label: {"messages": ..., "reply": ...}.
    exchange: Mapping[str, Any] | None = None
    # Text in the response that addresses the judge, and how it was treated.
    caution: str | None = None
    # The probability that the judge gave to "correct", in [0, 1]; None if its server does not say.
    probability: float | None = None


class Judge(Protocol):
    """Anything that labels responses. `software` is its name and version, for the provenance."""

    @property
    def software(self) -> str:
        """Name and version."""
        ...

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, in order."""
        ...
