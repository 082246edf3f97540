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
    other_format = _OTHER_FORMAT.get(settings["load_format"] or "", "consolidated*.safetensors")
    _prefetch("model", settings["id"], settings["revision"], output, (*_COPIES, other_format))


def prefetch_dataset(settings: Mapping[str, Any], output: str) -> None:
    """Download a benchmark's data set, with the keys of its section, to the cache and read it once."""
    dataset = settings["dataset"]
    folder = _prefetch("dataset", dataset, settings["revision"], output)
    n_rows = 0
    for _ in read_folder_rows(folder, settings["configs"], settings["split"], dataset):
        n_rows += 1
    log.info("%s: %d rows", dataset, n_rows)


def _prefetch(kind: RepoKind, repo_id: str, revision: str | None, output: str, ignore: tuple[str, ...] = ()) -> str:
    commit = pin_commit(kind, repo_id, revision, Path(output).parents[2] / "revisions")
    folder = download_snapshot(kind, repo_id, commit, ignore)
    write_json(output, {"id": repo_id, "revision": revision, "commit": commit})
    return folder
