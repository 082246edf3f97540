"""Family `integers`: the model's distribution over the integers that may be its answer."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.schemas.signal_schema import Family


def signals() -> "dict[str, Family]":
    """The family of signals, by its name in run.features."""
    from papers.intervals.signal_families.integers.integers_family import FAMILY

    return {"integers": FAMILY}
