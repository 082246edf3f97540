"""What grid searches chose, kept beside the estimates: most of a training group's time goes into them.

They depend on the group's training rows alone. So a benchmark that is added to the study, or a job that was killed,
costs the fits of the chosen settings and no search; and an edit to one family of estimators the searches of that one.
"""

import hashlib
import json
from collections import UserDict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

from entropy_sentinel.estimators.catalogue import modules
from entropy_sentinel.frames.files import whole_file
from entropy_sentinel.jobs.fingerprint import fingerprint


class Choices(UserDict[str, Any]):
    """Chosen settings by search, saved to a file with every search that ends.

    A search's name begins with an estimator's, whose family's code is part of what is kept.
    """

    def __init__(self, path: str, x: np.ndarray, y: np.ndarray, settings: Mapping[str, Any]) -> None:
        """Open the choices in `path`; those made on other rows, settings or scikit-learn are left behind.

        A file that cannot be read, or is none of ours, counts as absent: its searches are run again.

        x: (n_rows, n_features), y: (n_rows,) labels of the training rows.
        """
        self._path, self._rows = Path(path), identity(x, y, settings)
        super().__init__()
        self.data = self._kept()

    def _kept(self) -> dict[str, Any]:
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        mine = isinstance(kept, dict) and kept.get("rows") == self._rows and isinstance(kept.get("choices"), dict)
        return kept["choices"] if mine else {}

    def __contains__(self, search: object) -> bool:
        return super().__contains__(_with_code(str(search)))

    def __getitem__(self, search: str) -> Any:
        return super().__getitem__(_with_code(search))

    def __setitem__(self, search: str, chosen: Any) -> None:
        super().__setitem__(_with_code(search), chosen)
        with whole_file(self._path) as partial:
            partial.write_text(json.dumps({"rows": self._rows, "choices": self.data}))


def identity(x: np.ndarray, y: np.ndarray, settings: Mapping[str, Any]) -> str:
    """What every search of a training group depends on; a search's name has its grid."""
    about = json.dumps([settings["folds"], settings["seed"], sklearn.__version__, x.shape])
    return hashlib.sha256(about.encode() + np.ascontiguousarray(x).tobytes() + y.tobytes()).hexdigest()[:16]


@cache
def _with_code(search: str) -> str:
    """The search's name with a hash of the code that runs it."""
    code = fingerprint("estimate.py", *modules([search.split(" ")[0]]))
    return f"{search} {hashlib.sha256(json.dumps(code).encode()).hexdigest()[:12]}"
