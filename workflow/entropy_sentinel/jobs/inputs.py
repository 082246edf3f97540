"""The inputs of a job must belong where they are: a file copied over another has another model's results."""

import re
from collections.abc import Iterable
from pathlib import Path

from entropy_sentinel.config.layout import STAGE_FOLDERS, Layout
from entropy_sentinel.estimators.settings import group_file
from entropy_sentinel.frames.contract import whose
from entropy_sentinel.frames.errors import ContractError


def check_inputs(paths: Iterable[str]) -> None:
    """Raise ContractError for a file of a study that is of another model, benchmark, judge or group than its place.

    Files that lie elsewhere, and what a file does not say of itself, are not checked. Damage is a DamagedFileError.
    """
    for path in paths:
        for name, wanted in place(path).items():
            for owner in whose(path, name, _stage(path)):
                if (group_file(owner) if name == "group" else owner) != wanted:
                    raise ContractError(
                        f"{path}: must be of {name} '{wanted}', is of '{owner}': was it copied from another place? "
                        "Delete it: the right one is made where needed"
                    )


def place(path: str) -> dict[str, str]:
    """The names that a path of `config.layout` has, such as model and benchmark; none for any other path."""
    folders = Path(path).parts
    if len(folders) < 3 or folders[0] != "results":
        return {}
    for template in vars(Layout(folders[1])).values():
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(template))
        if template.endswith(".parquet") and (match := re.fullmatch(pattern, path)):
            return match.groupdict()
    return {}


def _stage(path: str) -> str:
    folder = Path(path).parts[2]
    return folder if folder in STAGE_FOLDERS else Path(path).stem
