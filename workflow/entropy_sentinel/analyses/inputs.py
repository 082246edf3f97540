"""What exhibits are made from: a function gets those inputs that its parameters name."""

from collections.abc import Collection, Mapping, Sequence
from inspect import signature
from types import ModuleType
from typing import Any

import polars as pl

from entropy_sentinel.frames.contract import Contract
from entropy_sentinel.frames.errors import ContractError


def call(function: str, modules: Sequence[ModuleType], inputs: Mapping[str, Any]) -> Any:
    """Call the function of this name, wherever in `modules`, with those of `inputs` that it takes."""
    found = next(getattr(module, function) for module in modules if hasattr(module, function))
    return found(**{name: inputs[name] for name in signature(found).parameters})


def read_all(contract: Contract, paths: Sequence[str]) -> pl.DataFrame:
    """One frame of several files, or of none."""
    return pl.concat([contract.frame([]), *map(contract.read, paths)])


def read_several(contract: Contract, paths: Sequence[str], expected: Mapping[str, Collection[str]]) -> pl.DataFrame:
    """One frame of several files, which say themselves whose rows they hold.

    `expected` has the values that a column can have. Raises ContractError for a file whose rows are of another model
    or group, or of one that an earlier file holds.
    """
    frames, seen = [], dict[str, str]()
    for path in paths:
        frame = contract.check(contract.read(path), path)
        for whose in frame.select(expected.keys()).unique().iter_rows(named=True):
            said = ", ".join(f"{column} '{value}'" for column, value in whose.items())
            if any(value not in expected[column] for column, value in whose.items()):
                raise ContractError(f"{path}: its rows are of {said}, which is another than this study's; delete it")
            if said in seen:
                raise ContractError(
                    f"{path}: its rows are of {said}, as those of {seen[said]} are; delete the wrong file"
                )
            seen[said] = path
        frames.append(frame)
    return pl.concat(frames)
