"""The estimators by name, in families: the built-in ones, then those of extensions.

Config checks, tables and figures read names and titles from here.
"""

import re
from collections.abc import Iterable
from types import ModuleType

from entropy_sentinel.core import extensions, registry_entries
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.extension_guard import guard_extension
from entropy_sentinel.core.extras import install_command
from entropy_sentinel.estimators.family_composition import (
    BASELINES,
    CANDIDATES,
    CLASSIFIERS,
    COMBINATIONS,
    CONFIGURATION_NAMES,
    CONFIGURATIONS,
    FEWEST_FOR_FIRST,
    FEWEST_TO_CHOOSE,
    LOG_SETS,
    RECOMMENDED,
    CombinationEntry,
    Configuration,
    describe_choices,
    parse_configuration,
)
from entropy_sentinel.estimators.family_declaration import EstimatorFamily
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.signal_families.signal_registry import SIGNALS

__all__ = [
    "BASELINES",
    "CANDIDATES",
    "CLASSIFIERS",
    "COMBINATIONS",
    "CONFIGURATIONS",
    "CONFIGURATION_NAMES",
    "ESTIMATORS",
    "FAMILIES",
    "FEWEST_FOR_FIRST",
    "FEWEST_TO_CHOOSE",
    "LOG_SETS",
    "RECOMMENDED",
    "CombinationEntry",
    "Configuration",
    "EstimatorFamily",
    "family_of",
    "extra_signals",
    "sort_estimators",
    "is_known",
    "list_members",
    "module_of",
    "parse_configuration",
    "signals_of",
    "estimator_title",
]

_KIND = "estimators"


def _index_families(families: Iterable[EstimatorFamily]) -> dict[str, EstimatorFamily]:
    """The families by the names of their estimators; raises ConfigError for a name that is invalid or taken."""
    by_estimator: dict[str, EstimatorFamily] = {}
    for family in families:
        where = _declared_in(family)
        for name in family.titles:
            # Names of files contain it.
            if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
                raise ConfigError(f"{where}: an estimator's name must be like `a-name`, got '{name}'")
            if name in by_estimator:
                previous = by_estimator[name]
                raise ConfigError(
                    f"{where}: the estimator '{name}' needs another name: it is one of the family '{previous.name}' "
                    f"({_declared_in(previous)})"
                )
            by_estimator[name] = family
    return by_estimator


def _declared_in(family: EstimatorFamily) -> str:
    """The name of the module that declares a family, for messages."""
    return extensions.get_module_name(_KIND, family.name)


FAMILIES: tuple[EstimatorFamily, ...] = tuple(registry_entries.load_entries(_KIND, EstimatorFamily).values())
_FAMILY_OF = _index_families(FAMILIES)
ESTIMATORS: tuple[str, ...] = tuple(_FAMILY_OF)


def is_known(name: str) -> bool:
    """Whether an estimator has this name."""
    return name in _FAMILY_OF


def family_of(name: str) -> EstimatorFamily:
    """The family of an estimator; raises ConfigError for an unknown name."""
    if name not in _FAMILY_OF:
        error = f"unknown estimator '{name}'; known: {_known_names()}; signals: {', '.join(SIGNALS)}"
        raise ConfigError(extensions.append_failures(error))
    return _FAMILY_OF[name]


def _known_names() -> str:
    """The names of estimators in a short form: those of the configurations and signals as patterns."""
    names = [f"doc-{signal}" for signal, entry in SIGNALS.items() if entry.share]
    names += [*COMBINATIONS, RECOMMENDED, "group-accuracy"]
    for family in FAMILIES:
        if not registry_entries.is_built_in(_KIND, family.name):
            names += family.titles
    return (
        f"classifier-features-balancing-calibration ({describe_choices()}), baseline-SIGNAL, atc-SIGNAL, "
        f"log-FEATURE, log-SET, atc-log-..., doc-ESTIMATOR, {', '.join(names)}"
    )


def module_of(name: str) -> ModuleType:
    """The module that fits an estimator.

    Raises ConfigError if a package that it needs is not installed, or if it has no function `fit`.
    """
    family = family_of(name)
    try:
        with guard_extension(
            _KIND, family.name, f"estimator '{name}': `load` of its family failed", (ModuleNotFoundError,)
        ):
            module = family.load()
    except ModuleNotFoundError as error:
        advice = f"the extension {_declared_in(family)} imports it"
        if registry_entries.is_built_in(_KIND, family.name):
            advice = f"install it with: {install_command('study')}"
        raise ConfigError(f"estimator '{name}': needs the package {error.name}; {advice}") from None
    if not callable(getattr(module, "fit", None)):
        raise ConfigError(
            f"estimator '{name}': `load` of its family ({_declared_in(family)}) must return a module with a function "
            f"`fit(name, rows)`, returned {module!r:.200}"
        )
    return module


def estimator_title(name: str) -> str:
    """The title of an estimator for tables and figures."""
    return family_of(name).titles[name]


def list_members(name: str) -> set[str]:
    """The estimators that this one is fitted from: its members, and theirs."""
    members = set(family_of(name).members.get(name, ()))
    return members.union(*map(list_members, members))


def signals_of(name: str) -> tuple[str, ...]:
    """The signals that an estimator needs, in the order of their catalogue.

    Raises ConfigError if nothing declares one of them.
    """
    needed = set[str]()
    for part in (name, *list_members(name)):
        needed.update(family_of(part).signals.get(part, ()))
    if unknown := sorted(needed - SIGNALS.keys()):
        raise ConfigError(
            f"estimator '{name}' ({_declared_in(family_of(name))}): needs the signal '{unknown[0]}', which is unknown; "
            f"known: {', '.join(SIGNALS)}"
        )
    return tuple(signal for signal in SIGNALS if signal in needed)


def extra_signals(name: str) -> tuple[str, ...]:
    """The signals that an estimator needs in addition to the features."""
    return tuple(signal for signal in signals_of(name) if signal not in FEATURES)


def sort_estimators(names: Iterable[str]) -> tuple[str, ...]:
    """The estimators in the order of the catalogue, each once."""
    wanted = set(names)
    return tuple(name for name in ESTIMATORS if name in wanted)
