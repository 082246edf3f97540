"""A family of estimators: what its module fits, and what the estimators are called."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType


@dataclass(frozen=True)
class EstimatorFamily:
    """Estimators of one kind: their description, the module that fits them, and their titles by name.

    `load` imports and returns the module. It has a function `fit(name, rows)`, which returns the fitted estimator, and
    `SAVED`, the classes in the estimators' files. By an estimator's name, `members` lists the estimators that it is
    fitted from, and `signals` the signals that it needs in addition to theirs.
    """

    name: str
    meaning: str
    load: Callable[[], ModuleType]
    titles: dict[str, str]
    signals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict, kw_only=True)
