"""A family of estimators: what its module fits, and what the estimators are called."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType


@dataclass(frozen=True)
class Family:
    """Estimators of one kind: their description, the module that fits them, and their titles by name.

    `load` imports and returns the module. It has a function `fit(name, rows)`, which returns the fitted estimator, and
    `SAVED`, the classes in the estimators' files. `signals` lists the signals that an estimator needs, by its name, in
    addition to those of its members.
    """

    name: str
    meaning: str
    load: Callable[[], ModuleType]
    titles: dict[str, str]
    signals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
