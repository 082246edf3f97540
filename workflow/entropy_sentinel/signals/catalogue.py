"""The families of signals by name: `tokens` (the features), the folders beside this module, and those in analyses.

`signals/NAME/__init__.py` has FAMILY, which declares the signals, and `compute(traces)`, which computes them. If a
family needs more than a model's traces on a benchmark, `rules.smk` beside it has its rules. A family that only one
analysis reads is in that analysis's folder `signals`. Planning imports all families, so import heavy packages inside
functions.
"""

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

from entropy_sentinel.features.catalogue import CATALOGUE, FEATURE_FRAME
from entropy_sentinel.frames.signals import Family, Signal

TOKENS = "tokens"
_PACKAGE = Path(__file__).parents[1]
# The folder of each family, by its name.
_FOLDERS = {
    path.parent.name: path.parent
    for pattern in ("signals/*/__init__.py", "analyses/*/signals/*/__init__.py")
    for path in _PACKAGE.glob(pattern)
}
# Columns that precede the signals.
_TAKEN = (*FEATURE_FRAME.schema, "split", "label", "label_reason", "feature_reason")


def _families() -> dict[str, Family]:
    families = {TOKENS: Family("statistics of a response's log-probabilities", tuple(CATALOGUE.values()))}
    taken = dict.fromkeys(_TAKEN, TOKENS)
    for name, folder in sorted(_FOLDERS.items()):
        families[name] = import_module(module_of(name)).FAMILY
        for signal in families[name].signals:
            # The name becomes part of estimator names, and so of file names.
            if not re.fullmatch(r"[a-z][a-z0-9_]*", signal.name):
                raise ValueError(f"{folder}: a signal's name must be like `a_name`, was {signal.name!r}")
            if signal.name in taken:
                raise ValueError(f"{folder}: signal '{signal.name}' is taken by the family '{taken[signal.name]}'")
            taken[signal.name] = name
    return families


def module_of(family: str) -> str:
    """Return the module of a family other than `tokens`."""
    return ".".join(("entropy_sentinel", *_FOLDERS[family].relative_to(_PACKAGE).parts))


def asking_of(family: str) -> ModuleType:
    """Return the module with the questions that a family asks a model again; only for families with `asks`."""
    return import_module(f"{module_of(family)}.asking")


def rules_of(family: str) -> Path | None:
    """Return the path of a family's own rules; None if its signals come only from the traces."""
    path = _FOLDERS[family] / "rules.smk"
    return path if path.is_file() else None


FAMILIES: dict[str, Family] = _families()
SIGNALS: dict[str, Signal] = {signal.name: signal for family in FAMILIES.values() for signal in family.signals}
FAMILY_OF: dict[str, str] = {signal.name: name for name, family in FAMILIES.items() for signal in family.signals}
