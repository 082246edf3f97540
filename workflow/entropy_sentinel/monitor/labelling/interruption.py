"""What ended the requests to a model before all responses of a sample had an answer."""

from dataclasses import dataclass
from enum import StrEnum

from entropy_sentinel.formatting.text_format import format_count, format_list

# Slices that a message names.
_MOST_NAMES = 5


class InterruptionCode(StrEnum):
    """Why a model was not asked about all responses; the `reason` of those without an answer."""

    BUDGET = "budget"
    SERVER = "server"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Interruption:
    """What ended the requests before all responses had an answer.

    Attributes:
        code: The kind.
        message: The error that ended them.
        n_missing: The number of responses without an answer for this reason.
        n_responses: The number of all responses of the sample.
        slices: The slices without any answer.
        has_weights: Whether the sample has weights, which were raised.
    """

    code: InterruptionCode
    message: str
    n_missing: int
    n_responses: int
    slices: tuple[str, ...]
    has_weights: bool

    def __str__(self) -> str:
        parts = [
            self.message.removesuffix("."),
            f"{self.n_missing:,} of {format_count(self.n_responses, 'response')} have no answer (reason: "
            f"{self.code.value})",
        ]
        if self.has_weights:
            without = (
                f", except {format_list(list(self.slices), _MOST_NAMES)}, without any answer" if self.slices else ""
            )
            parts.append(f"the answered ones represent all responses of their slices by larger weights{without}")
        parts.append("to continue, run the same again: answers that are paid for come from the cache")
        return "; ".join(parts)
