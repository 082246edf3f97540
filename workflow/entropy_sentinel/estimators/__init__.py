"""Estimators of accuracy from features, one module per family.

A family fits, estimates and says how it is stored; `validation` says how far its estimates can be trusted.
May be imported by: `api`, `capture` and every room above.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.estimators.family_declaration import EstimatorFamily


def estimators() -> "dict[str, EstimatorFamily]":
    """The built-in families."""
    from entropy_sentinel.estimators.estimator_families import FAMILIES

    return {family.name: family for family in FAMILIES}
