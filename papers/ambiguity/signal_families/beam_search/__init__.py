"""Family `beam_search`: the likeliest responses to an item by beam search, and the improbability of the likeliest."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.schemas.signal_schema import Family


def signals() -> "dict[str, Family]":
    """The family of signals, by its name in run.features."""
    from papers.ambiguity.signal_families.beam_search.beam_search_family import FAMILY

    return {"beam_search": FAMILY}
