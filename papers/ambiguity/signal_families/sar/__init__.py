"""Family `sar`: the uncertainty of the answers to an item, weighted by relevance to their meaning."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.schemas.signal_schema import Family


def signals() -> "dict[str, Family]":
    """The family of signals, by its name in run.features."""
    from papers.ambiguity.signal_families.sar.sar_family import FAMILY

    return {"sar": FAMILY}
