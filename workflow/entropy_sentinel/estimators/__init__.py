"""Estimators of accuracy from features, one module per family."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.estimators.family import EstimatorFamily


def estimators() -> "dict[str, EstimatorFamily]":
    """Return the built-in families."""
    from entropy_sentinel.estimators.built_in import FAMILIES

    return {family.name: family for family in FAMILIES}
