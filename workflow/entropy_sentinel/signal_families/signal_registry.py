"""The families of signals by name: `tokens` (the features), and those that the package and its extensions declare.

If a family needs more than a model's traces on a benchmark, `rules.smk` beside its declaration has its rules. Planning
imports all families, so import heavy packages inside functions.
"""

import re
from pathlib import Path
from types import ModuleType

from entropy_sentinel.core import extensions
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.registry_entries import load_values
from entropy_sentinel.features.feature_registry import CATALOGUE, RESERVED_NAMES
from entropy_sentinel.schemas.signal_schema import Family, Signal

TOKENS = "tokens"


def _load_families() -> dict[str, Family]:
    """The families by name; raises ConfigError for a signal whose name is invalid or taken."""
    families = {TOKENS: Family("statistics of a response's log-probabilities", tuple(CATALOGUE.values()))}
    # The family of each name.
    owners = dict.fromkeys((*CATALOGUE, *RESERVED_NAMES), TOKENS)
    for name, family in sorted(load_values("signals", Family).items()):
        families[name] = family
        for signal in family.signals:
            # The name becomes part of estimator names, and so of file names.
            if not re.fullmatch(r"[a-z][a-z0-9_]*", signal.name):
                raise ConfigError(f"{module_of(name)}: a signal's name must be like `a_name`, got {signal.name!r}")
            if signal.name in owners:
                # A feature of an extension may have the name of one of the package's signals.
                feature = extensions.get_module_name("features", signal.name) if signal.name in CATALOGUE else ""
                by = f", a feature of {feature}" if feature else ""
                raise ConfigError(
                    f"{module_of(name)}: signal '{signal.name}' is taken by the family '{owners[signal.name]}'{by}"
                )
            owners[signal.name] = name
    return families


def module_of(family: str) -> str:
    """The module that declares a family other than `tokens`."""
    return extensions.get_module_name("signals", family)


def load_requery_module(family: str) -> ModuleType:
    """The module of a family's pass: `ask` asks a model again about its responses.

    `unasked` gives the rows of responses that are not asked about.
    """
    requery = FAMILIES[family].requery
    assert requery is not None  # callers pass only families that have a pass
    return requery.load_module()


def find_rules(family: str) -> Path | None:
    """The file with a family's own rules of Snakemake; None if its signals come only from the traces."""
    path = extensions.get_folder("signals", family) / "rules.smk"
    return path if path.is_file() else None


FAMILIES: dict[str, Family] = _load_families()
SIGNALS: dict[str, Signal] = {}
# The name of each signal's family.
FAMILY_OF: dict[str, str] = {}
for _name, _family in FAMILIES.items():
    for _signal in _family.signals:
        SIGNALS[_signal.name] = _signal
        FAMILY_OF[_signal.name] = _name
