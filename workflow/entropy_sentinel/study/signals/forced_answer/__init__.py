"""Family `forced_answer`: the entropy of an answer inserted after each token of a response, and its area."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.schemas.signals import Family


def signals() -> "dict[str, Family]":
    """The family."""
    from entropy_sentinel.study.signals.forced_answer.family import FAMILY

    return {"forced_answer": FAMILY}
