"""Family `digits`: the model's uncertainty about the tokens of its response that contain a digit."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.schemas.signal_schema import Family


def signals() -> "dict[str, Family]":
    """The family of signals, by its name in run.features."""
    from entropy_sentinel.signal_families.digits.digits_family import FAMILY

    return {"digits": FAMILY}
