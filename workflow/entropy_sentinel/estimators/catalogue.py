"""The estimators by name, in families: the built-in ones, then those of extensions.

Config checks, tables and figures read names and titles from here.
"""

import re
from collections.abc import Iterable
from types import ModuleType

from entropy_sentinel.estimators.composition import (
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
    Combined,
    Configuration,
    configurations,
    parse,
)
from entropy_sentinel.estimators.family import Family
from entropy_sentinel.features.catalogue import FEATURES
from entropy_sentinel.frames import extensions
from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.signals.catalogue import SIGNALS

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
    "Combined",
    "Configuration",
    "Family",
    "family_of",
    "further_signals",
    "in_order",
    "is_known",
    "made_of",
    "module_of",
    "parse",
    "signals_of",
    "title",
]

_ROOM = "entropy_sentinel.estimators"


def _declared_in(family: str) -> str:
    return extensions.module_of("estimators", family)


def _is_built_in(family: Family) -> bool:
    return _declared_in(family.name) == _ROOM


def _by_estimator() -> dict[str, Family]:
    by_estimator: dict[str, Family] = {}
    for key, family in extensions.declared("estimators").items():
        where = _declared_in(key)
        if not isinstance(family, Family):
            raise ConfigError(
                f"{where}: '{key}' in estimators() must be a Family (entropy_sentinel.estimators.family), was "
                f"{family!r:.100}"
            )
        if family.name != key:
            raise ConfigError(f"{where}: the family '{family.name}' has another key in estimators(): '{key}'")
        for name in family.titles:
            # Names of files contain it.
            if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
                raise ConfigError(f"{where}: an estimator's name must be like `a-name`, was '{name}'")
            if name in by_estimator:
                other = by_estimator[name].name
                raise ConfigError(
                    f"{where}: the estimator '{name}' is taken by the family '{other}' of {_declared_in(other)}"
                )
            by_estimator[name] = family
    return by_estimator


_FAMILY_OF = _by_estimator()
FAMILIES: tuple[Family, ...] = tuple(extensions.declared("estimators").values())
ESTIMATORS: tuple[str, ...] = tuple(_FAMILY_OF)


def is_known(name: str) -> bool:
    """Return whether an estimator has this name."""
    return name in _FAMILY_OF


def family_of(name: str) -> Family:
    """Return the family of an estimator; raise ConfigError for an unknown name."""
    if name not in _FAMILY_OF:
        shares = [f"doc-{signal}" for signal, entry in SIGNALS.items() if entry.share]
        further = [name for family in FAMILIES if not _is_built_in(family) for name in family.titles]
        raise ConfigError(
            f"unknown estimator '{name}'; known: classifier-features-balancing-calibration "
            f"({configurations()}), baseline-SIGNAL, atc-SIGNAL, log-FEATURE, log-SET, atc-log-..., doc-ESTIMATOR, "
            f"{', '.join((*shares, *COMBINATIONS, RECOMMENDED, 'group-accuracy', *further))}; "
            f"signals: {', '.join(SIGNALS)}"
        )
    return _FAMILY_OF[name]


def module_of(name: str) -> ModuleType:
    """Return the module that fits an estimator.

    Raises ConfigError if a package that it needs is not installed, or if it has no function `fit`.
    """
    family = family_of(name)
    try:
        module = family.load()
    except ModuleNotFoundError as error:
        install = "install it with: pip install 'entropy-sentinel[study]'" if _is_built_in(family) else "install it"
        raise ConfigError(f"estimator '{name}': needs the package {error.name}; {install}") from None
    if not callable(getattr(module, "fit", None)):
        raise ConfigError(
            f"estimator '{name}': `load` of its family in {_declared_in(family.name)} must return a module with a "
            f"function `fit(name, rows)`, returned {module!r:.200}"
        )
    return module


def title(name: str) -> str:
    """Return the title of an estimator for tables and figures."""
    return family_of(name).titles[name]


def made_of(name: str) -> set[str]:
    """Return the estimators that this one is fitted from: members, candidates, and the X of atc-X and doc-X."""
    combined = COMBINATIONS.get(name)
    direct = CANDIDATES if name == RECOMMENDED else (*combined.members, *combined.rankers) if combined else ()
    inner = name.removeprefix("atc-").removeprefix("doc-")
    parts = {*direct, *([inner] if inner != name and inner in _FAMILY_OF else [])}
    return parts.union(*map(made_of, parts))


def signals_of(name: str) -> tuple[str, ...]:
    """Return the signals that an estimator needs, in the order of their catalogue."""
    parts = {name, *made_of(name)}
    needed = {signal for part in parts for signal in family_of(part).signals.get(part, ())}
    return tuple(signal for signal in SIGNALS if signal in needed)


def further_signals(name: str) -> tuple[str, ...]:
    """Return the signals that an estimator needs in addition to the features."""
    return tuple(signal for signal in signals_of(name) if signal not in FEATURES)


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return the estimators in the order of the catalogue, each once."""
    wanted = set(names)
    return tuple(name for name in ESTIMATORS if name in wanted)
