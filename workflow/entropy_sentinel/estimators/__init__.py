"""Estimators of accuracy from features, one module per family."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.estimators.family import Family


def estimators() -> "dict[str, Family]":
    """Return the built-in families."""
    from entropy_sentinel.estimators.built_in import FAMILIES

    return {family.name: family for family in FAMILIES}
