"""What a judge is: it is shown cases, and gives a verdict on each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Unclear(Exception):
    """A judge cannot say; the message is the reason."""


@dataclass(frozen=True)
class Case:
    """What a judge is shown."""

    question: str
    response: str
    reference: str
    truncated: bool
    # Whose response it is and to what, for the accounts; not shown.
    model: str = ""
    benchmark: str = ""


@dataclass(frozen=True)
class Verdict:
    """What a judge says: correct (True), incorrect (False), or None with the reason; never a guess."""

    label: bool | None
    answer: str | None = None
    reason: str | None = None
    # What was said and replied where no label could be read: {"messages": ..., "reply": ...}.
    exchange: Mapping[str, Any] | None = None
    # What in the response spoke to the judge, and what was done about it.
    caution: str | None = None


class Judge(Protocol):
    """Anything that labels responses. `version` names the software behind it, for the provenance."""

    version: str

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, in order."""
        ...
