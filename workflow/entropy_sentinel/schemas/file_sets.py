"""Several files of one contract as one frame."""

from collections.abc import Collection, Mapping, Sequence

import polars as pl

from entropy_sentinel.core.errors import ContractError
from entropy_sentinel.schemas.contract import Contract


def read_all(contract: Contract, paths: Sequence[str]) -> pl.DataFrame:
    """Read several files into one frame, which is empty if there are none."""
    return pl.concat([contract.frame([]), *map(contract.read, paths)])


def read_by_owner(contract: Contract, paths: Sequence[str], expected: Mapping[str, Collection[str]]) -> pl.DataFrame:
    """Read several files of a contract into one frame, each with the rows of its own model, or model and group.

    `expected` has by column, such as "model", the values of this study. Raises ContractError for a file with rows of
    another model or group, or of one that an earlier file already has.
    """
    frames, path_by_owner = [], dict[str, str]()
    for path in paths:
        frame = contract.check(contract.read(path), path)
        for values in frame.select(expected.keys()).unique().iter_rows(named=True):
            owner = ", ".join(f"{column} '{value}'" for column, value in values.items())
            if any(value not in expected[column] for column, value in values.items()):
                raise ContractError(f"{path}: its rows are of {owner}, which is not in this study; delete it")
            if owner in path_by_owner:
                owners = f"of {owner}, and so are those of {path_by_owner[owner]}"
                raise ContractError(f"{path}: its rows are {owners}; delete the wrong file")
            path_by_owner[owner] = path
        frames.append(frame)
    return pl.concat(frames)
