"""What grid searches chose, kept beside the estimates: most of a training group's time goes into them.

They depend on the group's training rows alone. So a benchmark that is added to the study, or a job that was killed,
costs the fits of the chosen settings and no search.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

from entropy_sentinel.frames.files import whole_file
from entropy_sentinel.jobs.fingerprint import fingerprint


class Choices(dict[str, Any]):
    """Chosen settings by search, saved to a file with every search that ends."""

    def __init__(self, path: str, x: np.ndarray, y: np.ndarray, settings: Mapping[str, Any]) -> None:
        """Open the choices in `path`; those made on other rows, settings, code or scikit-learn are left behind, and
        so is a file that cannot be read.

        x: (n_rows, 17) features, y: (n_rows,) labels of the training rows.
        """
        self._path, self._key = Path(path), identity(x, y, settings)
        super().__init__(self._kept())

    def _kept(self) -> dict[str, Any]:
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        mine = isinstance(kept, dict) and kept.get("key") == self._key and isinstance(kept.get("choices"), dict)
        return kept["choices"] if mine else {}

    def __setitem__(self, search: str, chosen: Any) -> None:
        super().__setitem__(search, chosen)
        with whole_file(self._path) as partial:
            partial.write_text(json.dumps({"key": self._key, "choices": self}))


def identity(x: np.ndarray, y: np.ndarray, settings: Mapping[str, Any]) -> str:
    """What every search of a training group depends on; a search's name has its grid."""
    shared = [settings["folds"], settings["seed"]]
    about = json.dumps([shared, fingerprint("estimate.py"), sklearn.__version__, x.shape], sort_keys=True)
    return hashlib.sha256(about.encode() + np.ascontiguousarray(x).tobytes() + y.tobytes()).hexdigest()[:16]
