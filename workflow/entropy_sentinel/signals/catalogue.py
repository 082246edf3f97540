"""The families of signals by name: `tokens`, the features, and the folders of this room and of analyses.

`signals/NAME/__init__.py` has FAMILY, what its signals are, and `compute(traces)`, which makes them. `rules.smk` beside
it has its own rules if it needs more than the traces of a model on a benchmark. A family that only one analysis reads
is in the folder `signals` of that analysis. Planning imports all families, so import heavy packages inside functions.
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
# Columns that signals stand beside.
_TAKEN = (*FEATURE_FRAME.schema, "split", "label", "label_reason", "feature_reason")


def _families() -> dict[str, Family]:
    families = {TOKENS: Family("statistics of a response's log-probabilities", tuple(CATALOGUE.values()))}
    taken = dict.fromkeys(_TAKEN, TOKENS)
    for name, folder in sorted(_FOLDERS.items()):
        families[name] = import_module(module_of(name)).FAMILY
        for signal in families[name].signals:
            # It becomes a part of the names of estimators, and so of files.
            if not re.fullmatch(r"[a-z][a-z0-9_]*", signal.name):
                raise ValueError(f"{folder}: a signal's name must be like `a_name`, was {signal.name!r}")
            if signal.name in taken:
                raise ValueError(f"{folder}: signal '{signal.name}' is taken by the family '{taken[signal.name]}'")
            taken[signal.name] = name
    return families


def module_of(family: str) -> str:
    """The module of a family other than `tokens`."""
    return ".".join(("entropy_sentinel", *_FOLDERS[family].relative_to(_PACKAGE).parts))


def asking_of(family: str) -> ModuleType:
    """The module with what a family asks a model again; for families with `asks`."""
    return import_module(f"{module_of(family)}.asking")


def rules_of(family: str) -> Path | None:
    """The rules of a family's own; None where it is made from the traces alone."""
    path = _FOLDERS[family] / "rules.smk"
    return path if path.is_file() else None


FAMILIES: dict[str, Family] = _families()
SIGNALS: dict[str, Signal] = {signal.name: signal for family in FAMILIES.values() for signal in family.signals}
FAMILY_OF: dict[str, str] = {signal.name: name for name, family in FAMILIES.items() for signal in family.signals}
