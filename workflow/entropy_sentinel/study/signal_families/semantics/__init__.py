"""Family `semantics`: how an item's answers spread over classes of equal meaning."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.schemas.signal_schema import Family


def signals() -> "dict[str, Family]":
    """The declaration of this family of signals by its name, which the package's registry looks for."""
    from entropy_sentinel.study.signal_families.semantics.semantics_family import FAMILY

    return {"semantics": FAMILY}
