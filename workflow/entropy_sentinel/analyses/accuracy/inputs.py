"""What exhibits are made from: a function gets those inputs that its parameters name."""

from collections.abc import Mapping, Sequence
from inspect import signature
from types import ModuleType
from typing import Any

import polars as pl

from entropy_sentinel.frames.estimate import ESTIMATES


def call(function: str, modules: Sequence[ModuleType], inputs: Mapping[str, Any]) -> Any:
    """Call the function of this name, wherever in `modules`, with those of `inputs` that it takes."""
    found = next(getattr(module, function) for module in modules if hasattr(module, function))
    return found(**{name: inputs[name] for name in signature(found).parameters})


def read_estimates(paths: Sequence[str]) -> pl.DataFrame:
    """One frame ESTIMATES of several files."""
    return pl.concat(map(ESTIMATES.read, paths)) if paths else ESTIMATES.frame([])
