"""Models that extend another, with what they have from it written out."""

from collections.abc import Mapping
from typing import Any

from entropy_sentinel.engines.settings import KINDS
from entropy_sentinel.frames.sections import check_names, merged


def extended(models: Mapping[str, Any]) -> dict[str, Any]:
    """The section `models` with all that a model has from the one that it extends written out.

    ValueError for a model that extends an unknown one, or itself, or that names other weights.
    """
    return {name: _extended(name, models, ()) for name in models}


def _extended(name: str, models: Mapping[str, Any], below: tuple[str, ...]) -> Any:
    own = models[name]
    if not isinstance(own, Mapping) or not isinstance(own.get("extends"), str):
        return own
    base, chain = own["extends"], (*below, name)
    check_names(f"model in models.{name}.extends:", [base], models)
    if base in chain:
        raise ValueError(f"models.{chain[0]}.extends: a model cannot extend itself: {' -> '.join((*chain, base))}")
    for kind in KINDS:
        if own.get(kind) is not None:
            raise ValueError(f"models.{name}: has the weights of '{base}', which it extends; leave '{kind}' out")
    of_base = _extended(base, models, chain)
    return merged(of_base, own) if isinstance(of_base, Mapping) else own
