"""The families of signals by name: `tokens`, the features, and the folders of this room.

`signals/NAME/__init__.py` has FAMILY, what its signals are, and `compute(traces)`, which makes them. `rules.smk` beside
it has rules of its own where that takes more than the traces of a model on a benchmark. Planning imports all families:
what is heavy is imported where it is used.
"""

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

from entropy_sentinel.features.catalogue import CATALOGUE
from entropy_sentinel.features.feature_frame import FEATURE_FRAME
from entropy_sentinel.frames.signals import Family, Signal

TOKENS = "tokens"
_ROOM = Path(__file__).parent
# Columns that signals stand beside.
_TAKEN = (*FEATURE_FRAME.schema, "split", "label", "label_reason", "feature_reason")


def _families() -> dict[str, Family]:
    found = {TOKENS: Family("statistics of a response's log-probabilities", tuple(CATALOGUE.values()))}
    taken = dict.fromkeys(_TAKEN, TOKENS)
    for name in sorted(path.parent.name for path in _ROOM.glob("*/__init__.py")):
        found[name] = import_module(module_of(name)).FAMILY
        for signal in found[name].signals:
            # It becomes a part of the names of estimators, and so of files.
            if not re.fullmatch(r"[a-z][a-z0-9_]*", signal.name):
                raise ValueError(f"{_ROOM / name}: a signal's name must be like `a_name`, was {signal.name!r}")
            if signal.name in taken:
                raise ValueError(
                    f"{_ROOM / name}: signal '{signal.name}' is taken by the family '{taken[signal.name]}'"
                )
            taken[signal.name] = name
    return found


def module_of(family: str) -> str:
    """The module of a family other than `tokens`."""
    return f"entropy_sentinel.signals.{family}"


def asking_of(family: str) -> ModuleType:
    """The module with what a family asks a model again; for families with `asks`."""
    return import_module(f"{module_of(family)}.asking")


def rules_of(family: str) -> Path | None:
    """The rules of a family's own; None where it is made from the traces alone."""
    path = _ROOM / family / "rules.smk"
    return path if path.is_file() else None


FAMILIES: dict[str, Family] = _families()
SIGNALS: dict[str, Signal] = {signal.name: signal for family in FAMILIES.values() for signal in family.signals}
FAMILY_OF: dict[str, str] = {signal.name: name for name, family in FAMILIES.items() for signal in family.signals}
