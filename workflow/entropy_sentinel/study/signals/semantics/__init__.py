"""Family `semantics`: how an item's answers spread over classes of equal meaning."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.schemas.signals import Family


def signals() -> "dict[str, Family]":
    """The family."""
    from entropy_sentinel.study.signals.semantics.family import FAMILY

    return {"semantics": FAMILY}
