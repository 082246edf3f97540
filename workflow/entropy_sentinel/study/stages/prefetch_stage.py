"""Stage `prefetch`: download weights and data sets to the local cache, for jobs on machines without internet.

Each function writes `results/<study>/prefetch/{models,datasets}/{name}.json`: id, requested revision, and commit.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from entropy_sentinel.hub.hub_files import RepoKind, download_snapshot, pin_commit, write_json
from entropy_sentinel.study.items.benchmark_rows import read_folder_rows

log = logging.getLogger(__name__)

# Further copies of the weights in some models, which vLLM does not read.
_COPIES = ("original/*", "metal/*")
_OTHER_FORMAT = {"mistral": "model*.safetensors"}


def prefetch_model(settings: Mapping[str, Any], output: str) -> None:
    """Download a model's weights, by their `id` and `revision`, to the cache; `load_format` is an argument of vLLM."""
    # Weights in the format that vLLM does not load are left out.
    other_format = _OTHER_FORMAT.get(settings["load_format"] or "", "consolidated*.safetensors")
    _prefetch("model", settings["id"], settings["revision"], output, ignored_files=(*_COPIES, other_format))


def prefetch_dataset(settings: Mapping[str, Any], output: str) -> None:
    """Download a benchmark's data set, with the keys of its section, to the cache and read it once."""
    dataset = settings["dataset"]
    folder = _prefetch("dataset", dataset, settings["revision"], output)
    n_rows = 0
    for _ in read_folder_rows(folder, settings["configs"], settings["split"], dataset):
        n_rows += 1
    log.info("%s: %d rows", dataset, n_rows)


def _prefetch(
    kind: RepoKind, repo_id: str, revision: str | None, output: str, ignored_files: tuple[str, ...] = ()
) -> str:
    """Download a repository of the hub at its commit, which `output` then names, and return the local folder.

    The study's folder `revisions` records the commit, to which later jobs keep.
    """
    study = Path(output).parents[2]  # of <study>/prefetch/<models or datasets>/<name>.json
    commit = pin_commit(kind, repo_id, revision, study / "revisions")
    folder = download_snapshot(kind, repo_id, commit, ignored_files)
    write_json(output, {"id": repo_id, "revision": revision, "commit": commit})
    return folder
