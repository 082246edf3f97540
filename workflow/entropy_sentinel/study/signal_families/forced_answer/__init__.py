"""Family `forced_answer`: the entropy of an answer inserted after each token of a response, and its area."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.schemas.signal_schema import Family


def signals() -> "dict[str, Family]":
    """The declaration of this family of signals by its name, which the package's registry looks for."""
    from entropy_sentinel.study.signal_families.forced_answer.forced_answer_family import FAMILY

    return {"forced_answer": FAMILY}
