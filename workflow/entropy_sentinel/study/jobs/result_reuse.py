"""Responses, passes and labels that another study has: a job copies them in place of computing them again.

Two outputs are the same if their keys are: a hash of the settings and of the content that the job reads. Names of
studies, paths, threads and addresses are not part of it. Studies in the same `results` folder are searched, and then
the folder $ENTROPY_SENTINEL_STORE, which also receives what jobs finish.

Snakemake's between-workflow caching does not do this: docs/reruns.md says why.
"""

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.core.errors import ConfigError, EntropySentinelError
from entropy_sentinel.core.whole_files import whole_file
from entropy_sentinel.schemas.contract import Contract, read_provenance

log = logging.getLogger(__name__)

STORE_VARIABLE = "ENTROPY_SENTINEL_STORE"
# In the environment of the jobs of a run that is forced to compute outputs again.
_FORCED_VARIABLE = "ENTROPY_SENTINEL_FORCED"
# The key in the provenance of an output.
REUSE_KEY = "reuse_key"
# Part of every key. Raise it when the composition of keys changes.
_KEY_VERSION = 1
# Settings whose content another setting identifies: the key of the path, and that of the fingerprint.
_FINGERPRINTED_KEYS = (("weights", "revision"), ("lora", "lora_revision"))
# Variables that say where the hub's files are, not what is in them.
_HUB_PREFIX = "HF_"
# The suffix of a file of labels' exchanges.
_EXCHANGES_SUFFIX = ".unreadable.jsonl"
# In the line of a job's log that says where its output comes from.
_REUSED = "reused from"


def compute_reuse_key(stage: str, settings: Mapping[str, Any], *content: Any) -> str:
    """The key of an output: a hash of the settings and of the content that its job reads."""
    parts = [_KEY_VERSION, stage, remove_places(dict(settings)), *content]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def remove_places(value: Any) -> Any:
    """Settings without the paths of local weights, which have a fingerprint, and of the hub's cache.

    So the key of an output does not change when weights are moved. Nested sections and lists are treated alike.
    """
    if isinstance(value, Mapping):
        settings = {name: remove_places(item) for name, item in value.items()}
        for place, fingerprint in _FINGERPRINTED_KEYS:
            # `weights` is a path only of a local model; else it is an id on the hub, which stays.
            if settings.get(fingerprint) and (place != "weights" or settings.get("local")):
                settings.pop(place, None)
        if isinstance(environment := settings.get("environment"), dict):
            settings["environment"] = {
                name: text for name, text in environment.items() if not name.startswith(_HUB_PREFIX)
            }
        return settings
    if isinstance(value, list | tuple):
        return [remove_places(item) for item in value]
    return value


def reuse_output(
    output: str, study: Path, key: str, contract: Contract, rows: pl.DataFrame, identity: str | None = None
) -> bool:
    """Copy the output with this key to `output`, from another study or the store; return False if there is none.

    `study` is the study's folder. A file counts only if it is whole and has exactly `rows`. Outputs of earlier versions
    have no key: they count by their `identity`.
    """
    if os.environ.get(_FORCED_VARIABLE):
        return False
    path = find_output(Path(output), study, key, contract, rows, identity)
    if path is None:
        return False
    try:
        _copy_output(path, output)
    except OSError as error:
        log.warning("%s cannot be reused: %s", path, error)
        return False
    log.info("%s: %s %s, which has the same settings and content", output, _REUSED, path)
    share_output(output, key, contract.stage)
    return True


def was_reused(job_log: Path) -> bool:
    """Whether the job with this log only copied its output; False without a log."""
    try:
        return f": {_REUSED} " in job_log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def find_output(
    output: Path,
    study: Path,
    key: str,
    contract: Contract,
    rows: pl.DataFrame | None = None,
    identity: str | None = None,
) -> Path | None:
    """The file of another study or of the store with the key of `output`, None if there is none.

    With `rows`, it must be whole and have exactly these responses; without, only its provenance is read. Outputs of
    earlier versions have no key: they count by their `identity`.
    """
    store_path = _find_store_path(key, contract.stage)
    # A folder of the store that this user may not read has no file; `Path.exists` would raise an error.
    store_files = [store_path] if store_path is not None and os.path.exists(store_path) else []
    for path in [*list_sibling_files(output, study), *store_files]:
        try:
            provenance = read_provenance(path)
            has_key = provenance.get(REUSE_KEY, "") == key
            # Outputs of earlier versions have no key but their `identity`. Imported files (`source`) never have one.
            is_older = not {REUSE_KEY, "source"} & provenance.keys() and provenance.get("identity", "") == identity
            if (has_key or is_older) and (rows is None or _has_rows(path, contract, rows)):
                return path
        except (EntropySentinelError, OSError) as error:
            log.warning("%s cannot be reused: %s", path, error)
    return None


def _has_rows(path: Path, contract: Contract, rows: pl.DataFrame) -> bool:
    """Whether a file is of exactly these responses; a pass may have several rows of each."""
    return contract.read(path, rows.columns).unique(maintain_order=True).equals(rows)


def list_sibling_files(output: Path, study: Path) -> Iterator[Path]:
    """Yield the files of other studies in the place of `output`, a file in the folder `study`."""
    for path in sorted(study.parent.glob(f"*/{escape(str(output.relative_to(study)))}")):
        if path != output:
            yield path


def _copy_output(source: Path, output: str) -> None:
    """Copy a file of results here, and with labels the exchanges with the judge, if any, beside them."""
    with whole_file(output) as partial:
        shutil.copyfile(source, partial)
    exchanges = source.with_suffix(_EXCHANGES_SUFFIX)
    if exchanges.exists():
        with whole_file(Path(output).with_suffix(_EXCHANGES_SUFFIX)) as partial:
            shutil.copyfile(exchanges, partial)


def share_output(output: str, key: str, stage: str) -> None:
    """Copy a finished output to the store, with the permissions of its folder; only a warning if that fails."""
    path = _find_store_path(key, stage)
    if path is None or (os.path.exists(path) and not os.environ.get(_FORCED_VARIABLE)):
        return
    try:
        _make_folders(path.parent)
        # The output last: it is what readers look for.
        for suffix in (_EXCHANGES_SUFFIX, Path(output).suffix):
            source = Path(output).with_suffix(suffix)
            if source.exists():
                with whole_file(path.with_suffix(suffix)) as partial:
                    shutil.copyfile(source, partial)
                    # Those who may read the store may read the file; only this user may write it.
                    partial.chmod(_store_mode() & 0o444 | 0o200)
    except OSError as error:
        log.warning("%s is not shared: %s", output, error)


def _make_folders(folder: Path) -> None:
    """Create `folder`, which is in the store, with the store's permissions, whatever the umask."""
    root = Path(os.environ[STORE_VARIABLE])
    missing_folders = [path for path in (folder, *folder.parents) if root in path.parents and not path.exists()]
    for missing_folder in reversed(missing_folders):  # from the outermost
        with suppress(FileExistsError):  # another job has just made it
            missing_folder.mkdir()
            missing_folder.chmod(_store_mode())


def _store_mode() -> int:
    """The permissions of the store's folder."""
    return Path(os.environ[STORE_VARIABLE]).stat().st_mode & 0o7777


def has_store() -> bool:
    """Whether this user shares outputs with others."""
    return bool(os.environ.get(STORE_VARIABLE))


def _find_store_path(key: str, stage: str) -> Path | None:
    """The path in the store of the output with this key; None without a store."""
    store = os.environ.get(STORE_VARIABLE)
    return Path(store, stage, key[:2], f"{key}.parquet") if store else None


def forbid_reuse() -> None:
    """Let the jobs of this run reuse nothing, because it is forced to compute outputs that could be reused."""
    os.environ[_FORCED_VARIABLE] = "1"


def check_store() -> None:
    """Raise ConfigError if the store is not a folder that can be read."""
    store = os.environ.get(STORE_VARIABLE)
    if not store:
        return
    if not Path(store).is_dir():
        raise ConfigError(f"{STORE_VARIABLE}: there is no folder '{store}'; create it, writable by all who share it")
    if not os.access(store, os.R_OK | os.X_OK):
        raise ConfigError(f"{STORE_VARIABLE}: '{store}' cannot be read by this user")


def describe_store() -> list[str]:
    """A line if this user can read the store but not add to it."""
    store = os.environ.get(STORE_VARIABLE)
    if not store or os.access(store, os.W_OK):
        return []
    return [
        f"{STORE_VARIABLE}: '{store}' cannot be written by this user: outputs are taken from it, but none are added"
    ]
