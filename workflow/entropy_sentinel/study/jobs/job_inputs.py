"""Check that a job's inputs belong at their paths: a file copied over another has another model's results."""

import re
from collections.abc import Iterable
from pathlib import Path

from entropy_sentinel.core.errors import ContractError
from entropy_sentinel.estimators.estimator_settings import group_file
from entropy_sentinel.schemas.contract import read_owners
from entropy_sentinel.study.config.study_paths import STAGE_FOLDERS, StudyLayout


def check_inputs(paths: Iterable[str]) -> None:
    """Raise ContractError for a study file whose model, benchmark, judge or group differs from its path.

    Files elsewhere, and facts that a file does not record, are not checked. Raises DamagedFileError for damaged files.
    """
    for path in paths:
        folder = _split_below_results(path)[1:2]  # of results/<study>/<folder>/...
        stage = folder[0] if folder and folder[0] in STAGE_FOLDERS else Path(path).stem
        for name, expected_name in parse_study_path(path).items():
            for owner in read_owners(path, name, stage):
                # Paths have the file name of a training group, which for a large group is shorter than its name.
                owner_name = group_file(owner) if name == "group" else owner
                if owner_name != expected_name:
                    raise ContractError(
                        f"{path}: must be of {name} '{expected_name}', is of '{owner}', perhaps copied from elsewhere. "
                        "Delete it: the right one is rebuilt when needed"
                    )


def parse_study_path(path: str) -> dict[str, str]:
    """The names in the path of a Parquet file of `study.config.study_paths`, such as model and benchmark.

    Empty for any other path.
    """
    # The parts of the path below results/, the study first; `root` is all before them.
    folders = _split_below_results(path)
    if len(folders) < 2:
        return {}
    root = str(Path(path)).removesuffix("/".join(folders))
    # Each attribute of a layout is a template, such as results/<study>/labels/{judge}/{model}/{benchmark}.parquet.
    for template in vars(StudyLayout(folders[0], root)).values():
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(template))
        match = re.fullmatch(pattern, path)
        if match is not None and template.endswith(".parquet"):
            return match.groupdict()
    return {}


def _split_below_results(path: str) -> tuple[str, ...]:
    """The parts of a relative path below the first folder `results`: the study, its folder and so on."""
    folders = Path(path).parts
    if Path(path).is_absolute() or "results" not in folders:
        return ()
    return folders[folders.index("results") + 1 :]
