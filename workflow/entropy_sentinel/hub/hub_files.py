"""Find commits and files on the Hugging Face hub. This is the only module that imports huggingface_hub.

With HF_HUB_OFFLINE=1 everything comes from the local cache, which `snakemake prefetch` fills. Error messages never
quote the hub's answer, because it may contain parts of a request.
"""

import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import httpx
import huggingface_hub
from huggingface_hub import constants, errors

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.whole_files import write_whole

log = logging.getLogger(__name__)

RepoKind = Literal["dataset", "model"]


def pin_commit(kind: RepoKind, repo_id: str, revision: str | None, folder: str | Path) -> str:
    """The commit that a study uses: the commit of `revision` when the study first used it.

    `folder` is `results/<study>/revisions`, with a JSON record per id. If a branch moves later, the study keeps its
    commit: to use the new commit, set `revision` to another value, such as this commit, or delete the record. Raises
    InputError in the same cases as `resolve_commit`, and for an unreadable record.
    """
    record = locate_commit_record(kind, repo_id, folder)
    recorded = _read_record(record) if record.exists() else None
    if recorded is not None and recorded["revision"] == revision:
        return str(recorded["commit"])
    commit = resolve_commit(kind, repo_id, revision)
    if recorded is not None:
        log.warning("%s %s: commit %s instead of %s, as configured", kind, repo_id, commit, recorded["commit"])
    write_json(record, {"id": repo_id, "revision": revision, "commit": commit})
    return commit


def locate_commit_record(kind: RepoKind, repo_id: str, folder: str | Path) -> Path:
    """The JSON file in `folder`, `results/<study>/revisions`, that records which commit of an id the study uses."""
    return Path(folder) / f"{kind}s" / f"{repo_id.replace('/', '--')}.json"


class Access(StrEnum):
    """Whether the files of a repository of the hub can be downloaded."""

    GRANTED = "granted"
    GATED = "gated"  # this account, or nobody, has accepted the licence
    ABSENT = "absent"  # it does not exist, or is private
    NOT_CACHED = "not-cached"  # in offline mode
    UNKNOWN = "unknown"  # the hub did not answer


def check_access(kind: RepoKind, repo_id: str, revision: str | None) -> Access:
    """Whether files of a repository can be downloaded, by one request; in offline mode, whether they are cached."""
    try:
        if constants.is_offline_mode():
            resolve_commit(kind, repo_id, revision)
        else:
            huggingface_hub.HfApi().auth_check(repo_id, repo_type=kind)
    except InputError:
        return Access.NOT_CACHED
    except errors.GatedRepoError:
        return Access.GATED
    except (errors.RepositoryNotFoundError, errors.HFValidationError):
        return Access.ABSENT
    except (OSError, httpx.HTTPError):  # HfHubHTTPError is one of them
        return Access.UNKNOWN
    return Access.GRANTED


def format_page_url(kind: RepoKind, repo_id: str) -> str:
    """The address of a model's or data set's page."""
    return f"https://huggingface.co/{'datasets/' if kind == 'dataset' else ''}{repo_id}"


def _read_record(path: Path) -> dict[str, Any]:
    """Read the revision and the commit in a record of `pin_commit`; raise InputError if it is damaged."""
    try:
        recorded = json.loads(path.read_text())
        return {key: recorded[key] for key in ("revision", "commit")}
    except (OSError, ValueError, TypeError, KeyError):
        raise InputError(
            f"{path}: cannot be read, but must contain the commit that this study uses; restore it "
            '({"revision": null, "commit": "..."}), or delete the file to use the newest commit'
        ) from None


def resolve_commit(kind: RepoKind, repo_id: str, revision: str | None) -> str:
    """The commit (40 hex digits) of a commit, tag or branch; None means the default branch.

    Raises InputError if it does not exist, if there is no access or network, or, when offline, if it is not cached.
    """
    api, offline = huggingface_hub.HfApi(), constants.is_offline_mode()
    with _translate_errors(kind, repo_id, revision):
        if not offline:
            api.auth_check(repo_id, repo_type=kind)  # metadata of a gated repository is public, its files are not
        repository: dict[str, Any] = {"repo_id": repo_id, "repo_type": kind, "local_files_only": offline}
        commit = api.resolve_revision(**repository, revision=revision).resolved
        if offline:  # a commit hash resolves to itself, even if it is not in the cache
            api.snapshot_download(**repository, revision=commit, ignore_patterns=["*"])
    return commit


def download_snapshot(kind: RepoKind, repo_id: str, commit: str, ignore: Iterable[str] = ()) -> str:
    """The cache folder with the files of a commit, except those that match a pattern in `ignore`.

    Missing files are downloaded. Raises InputError in the same cases as `resolve_commit`.
    """
    with _translate_errors(kind, repo_id, commit):
        return huggingface_hub.HfApi().snapshot_download(
            repo_id,
            repo_type=kind,
            revision=commit,
            ignore_patterns=list(ignore),
            local_files_only=constants.is_offline_mode(),
        )


def write_json(path: str | Path, content: dict[str, str | None]) -> None:
    """Write a small JSON file in one step, so that readers see the whole file or none."""
    write_whole(path, json.dumps(content, indent=2) + "\n")


@contextmanager
def _translate_errors(kind: RepoKind, repo_id: str, revision: str | None) -> Iterator[None]:
    """Turn the errors of huggingface_hub into InputErrors that say what to do."""
    page = format_page_url(kind, repo_id)
    try:
        yield
    except errors.GatedRepoError:
        problem = (
            f"is gated, and this account has no access: accept its licence at {page}, and set HF_TOKEN to an "
            "access token of that account; if all files are cached, set HF_HUB_OFFLINE=1"
        )
    except errors.RevisionNotFoundError:
        problem = f"has no revision '{revision}'; set its `revision` to a commit, tag or branch of {page}"
    except errors.RepositoryNotFoundError:
        problem = f"does not exist or is private (see {page}); check the id, and set HF_TOKEN for a private one"
    except errors.HFValidationError:
        problem = "must be an id of the hub, `owner/name`; for a local file or folder set `path` instead"
    except errors.HfHubHTTPError as error:
        problem = (
            f"the hub replied with HTTP status {error.response.status_code}; for 401 or 403 check HF_TOKEN, "
            "for 429 or 5xx wait, or use the cache with HF_HUB_OFFLINE=1"
        )
    except (OSError, httpx.HTTPError, errors.RevisionResolutionError) as error:
        problem = _explain_no_connection(type(error).__name__)
    else:
        return
    raise InputError(f"{kind} {repo_id}: {problem}") from None


def _explain_no_connection(error: str) -> str:
    """Why a file cannot be had without an answer of the hub, and what to do; `error` is the name of the exception."""
    if constants.is_offline_mode():
        return (
            "is not completely in the cache, and offline mode is on (HF_HUB_OFFLINE): run "
            f"`snakemake prefetch` on a machine with internet and the same cache, {constants.HF_HUB_CACHE}"
        )
    return (
        f"cannot be downloaded ({error}). Check the connection to {constants.ENDPOINT} and the space in "
        f"{constants.HF_HUB_CACHE}. Without internet, use a cache filled by `snakemake prefetch`, with "
        "HF_HUB_OFFLINE=1"
    )


def find_cached_file(repo_id: str, name: str, commit: str | None) -> Path | None:
    """A model's file in the hub's cache, or None if it is not cached; nothing is downloaded."""
    try:
        path = huggingface_hub.try_to_load_from_cache(repo_id, name, revision=commit)
    except ValueError:  # a path instead of an id of the hub
        return None
    return Path(path) if isinstance(path, str) else None
