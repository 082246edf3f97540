"""Check that a job's inputs belong at their paths: a file copied over another has another model's results."""

import re
from collections.abc import Iterable
from pathlib import Path

from entropy_sentinel.config.layout import STAGE_FOLDERS, StudyLayout
from entropy_sentinel.core.errors import ContractError
from entropy_sentinel.estimators.settings import group_file
from entropy_sentinel.frames.contract import whose


def check_inputs(paths: Iterable[str]) -> None:
    """Raise ContractError for a study file whose model, benchmark, judge or group differs from its path.

    Files elsewhere, and facts that a file does not record, are not checked. Raises DamagedFileError for damaged files.
    """
    for path in paths:
        folder = Path(path).parts[2:3]
        stage = folder[0] if folder and folder[0] in STAGE_FOLDERS else Path(path).stem
        for name, wanted in place(path).items():
            for owner in whose(path, name, stage):
                named = group_file(owner) if name == "group" else owner
                if named != wanted:
                    raise ContractError(
                        f"{path}: must be of {name} '{wanted}', is of '{owner}', perhaps copied from elsewhere. "
                        "Delete it: the right one is rebuilt when needed"
                    )


def place(path: str) -> dict[str, str]:
    """Return the names in a path of `config.layout`, such as model and benchmark; empty for any other path."""
    folders = Path(path).parts
    if len(folders) < 3 or folders[0] != "results":
        return {}
    for template in vars(StudyLayout(folders[1])).values():
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(template))
        match = re.fullmatch(pattern, path)
        if match is not None and template.endswith(".parquet"):
            return match.groupdict()
    return {}
