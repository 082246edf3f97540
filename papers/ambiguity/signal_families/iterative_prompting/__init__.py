"""Family `iterative_prompting`: how much the model changes its answer if one of its own answers is in the prompt."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.schemas.signal_schema import Family


def signals() -> "dict[str, Family]":
    """The family of signals, by its name in run.features."""
    from papers.ambiguity.signal_families.iterative_prompting.iterative_prompting_family import FAMILY

    return {"iterative_prompting": FAMILY}
