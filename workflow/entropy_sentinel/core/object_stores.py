"""Files in object stores and on web servers, by fsspec: reading copies a file to this machine, writing sends it.

A copy has the version of its file (ETag, or time of its change) and is reused while the store reports the same version.
An interrupted download of the same version resumes. So all readers see local files, and a monitor's state recognises
them. Commands that need the same file at the same time download it once.
"""

import glob
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from entropy_sentinel.core.cache_folders import make_private_folder, user_folder
from entropy_sentinel.core.errors import URLS, InputError
from entropy_sentinel.core.extras import install_command
from entropy_sentinel.core.file_locks import hold_lock
from entropy_sentinel.core.urls import format_path, hide_secrets, make_file_name, parse_url

_BLOCK = 1 << 20
# Longest silence of a server, and longest wait for a connection, in seconds.
SILENT_S, CONNECT_S = 60.0, 20.0
# How often a file is downloaded if it is replaced meanwhile, or if its server cannot continue a download.
_MOST_TRIES = 3
# What states the version of a file, the best first; other stores than web servers have `fs.ukey` besides.
_VERSIONS = ("ETag", "etag", "Content-MD5", "Digest", "Last-Modified")
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(?:\d+|\*)")


def get_local_path(path: str | Path) -> Path:
    """The path of a local file, or of the copy of a remote one."""
    url = parse_url(path)
    return Path(path) if url is None else _fetch_copy(url)


def list_remote_files(url: str, wanted: Callable[[str], bool]) -> Iterator[str]:
    """Yield the URLs of the files that a URL or a pattern names, or those `wanted` in a folder, in order.

    A question mark is not a pattern: it precedes a URL's signature. Brackets around an IPv6 address are none either.
    """
    fs, path = _open_store(url)
    try:
        if glob.has_magic(re.sub(r"^\w+://\[[^/]*\]", "", path.partition("?")[0])):
            names = list(filter(fs.isfile, fs.glob(path)))
        elif _is_file(fs, path):
            names = [path]
        else:
            names = list(filter(wanted, fs.find(path)))
        yield from map(fs.unstrip_protocol, sorted(names))
    except Exception as error:  # of any store
        raise InputError(f"{format_path(url)}: cannot be listed: {_describe_error(error, url)}") from None


def send_file(content: Path, url: str) -> None:
    """Write a local file to a URL; a store shows it as a whole or not at all."""
    fs, path = _open_store(url)
    try:
        fs.put_file(str(content), path)
    except Exception as error:  # of any store
        raise InputError(f"{format_path(url)}: cannot be written: {_describe_error(error, url)}") from None


def _open_store(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise InputError(f"{format_path(url)}: needs fsspec: {install_command('cloud')}") from None
    try:
        fs, path = url_to_fs(url, **_make_time_limits(url.partition(":")[0]))
        # Listings must be current: other programs write logs.
        fs.invalidate_cache()
    except ImportError as error:
        raise InputError(f"{format_path(url)}: {_describe_error(error, url)}; {install_command('cloud')}") from None
    except ValueError as error:
        raise InputError(f"{format_path(url)}: must be a URL of a file: {_describe_error(error, url)}") from None
    return fs, path


def _make_time_limits(scheme: str) -> dict[str, Any]:
    """The options of a store that end the wait for a silent server. Raises ImportError without its library."""
    if scheme in ("http", "https"):
        from aiohttp import ClientTimeout

        limit = ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=SILENT_S)
        return {"client_kwargs": {"timeout": limit, "raise_for_status": _check_range}}
    if scheme == "s3":
        return {"config_kwargs": {"connect_timeout": CONNECT_S, "read_timeout": SILENT_S}}
    return {}


async def _check_range(response: Any) -> None:
    """Raise OSError if a web server answers with another part of a file than the requested one."""
    wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", response.request_info.headers.get("Range", ""))
    if wanted is None or response.status not in (200, 206):
        return
    begin, end = map(int, wanted.groups())
    stated = response.headers.get("Content-Range")
    sent = _CONTENT_RANGE.fullmatch(stated or "")
    if sent is None or int(sent[1]) != begin or int(sent[2]) > end:
        raise WrongPartError(f"the server must send bytes {begin:,} to {end:,}, got Content-Range {stated}")


class WrongPartError(OSError):
    """A web server sent another part of a file than the requested one."""


def _fetch_copy(url: str) -> Path:
    """The path of a current copy. Raises InputError if the file does not exist or the connection is lost."""
    fs, path = _open_store(url)
    folder = user_folder() / "remote" / hashlib.sha256(url.encode()).hexdigest()[:16]
    make_private_folder(folder.parent)
    make_private_folder(folder)
    with hold_lock(folder.with_suffix(".lock"), f"{format_path(url)}: waiting for another command that downloads it"):
        return _update_copy(fs, path, url, folder / make_file_name(url))


def _update_copy(fs: Any, path: str, url: str, target: Path) -> Path:
    """The copy `target`, downloaded if it is missing, of another version, or changed since."""
    URLS[str(target)] = format_path(url)
    facts = target.parent.with_suffix(".json")  # the state of the copied file, and the identity of the copy
    partial = target.parent.with_suffix(".partial")
    try:
        state = _read_file_state(fs, path)
        with suppress(OSError, ValueError):
            if state["version"] and json.loads(facts.read_text()) == {**state, "copy": _identify_copy(target)}:
                return target
        state = _download_whole(fs, path, partial, state)
    except Exception as error:  # of any store
        n_bytes = partial.stat().st_size if partial.exists() else 0
        progress = ""
        if n_bytes and _read_partial_state(partial):
            progress = f" after {n_bytes:,} bytes, the next run continues from there"
        raise InputError(f"{format_path(url)}: cannot be read{progress}: {_describe_error(error, url)}") from None
    partial.replace(target)
    facts.write_text(json.dumps({**state, "copy": _identify_copy(target)}))
    return target


def _download_whole(fs: Any, path: str, partial: Path, state: dict[str, Any]) -> dict[str, Any]:
    """Download a file; return the state of the downloaded one, which may be newer than `state`.

    A state is the `version` and `size` that the server reports.
    """
    failure: Exception = OSError("the file changes while it is read; read a copy that no program writes")
    for _ in range(_MOST_TRIES):
        try:
            _download_rest(fs, path, partial, state)
        except (WrongPartError, ValueError) as error:  # ValueError: a file that cannot be read from its middle
            partial.unlink(missing_ok=True)
            failure = error
            continue
        previous_state, state = state, _read_file_state(fs, path)
        if state == previous_state:
            return state
        partial.unlink()
    raise failure


def _read_file_state(fs: Any, path: str) -> dict[str, Any]:
    """A dict: the `version` of a file and its `size` in bytes, each None if the server does not state it."""
    fs.invalidate_cache()
    info = _query_info(fs, path)
    stated = [str(info[name]) for name in _VERSIONS if info.get(name)]
    version = stated[0] if stated else None
    if version is None and not _is_web_server(fs):
        version = fs.ukey(path)
    return {"version": version, "size": info.get("size")}


def _is_file(fs: Any, path: str) -> bool:
    """Whether a path is a file; raise the error of a store that does not answer."""
    try:
        return bool(_query_info(fs, path)["type"] == "file")
    except FileNotFoundError:
        return False


def _query_info(fs: Any, path: str) -> dict[str, Any]:
    """What a store says about a file; raises FileNotFoundError only if the store says that there is none.

    fsspec raises it also for a web server that does not answer, and asks such a server twice.
    """
    if not _is_web_server(fs):
        return dict(fs.info(path))
    from aiohttp import ClientResponseError, ClientTimeout
    from fsspec.asyn import sync

    limit = ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=SILENT_S / 2)
    try:
        # `fs.info` would take the limit as its own.
        return dict(sync(fs.loop, partial(fs._info, path, timeout=limit)))
    except FileNotFoundError as error:
        if error.__cause__ is None or isinstance(error.__cause__, ClientResponseError):
            raise
        raise error.__cause__ from None


def _is_web_server(fs: Any) -> bool:
    return "http" in fs.protocol


def _identify_copy(copy: Path) -> list[int]:
    """Numbers that differ if another program changes or replaces a copy: its inode, size and time of change."""
    status = copy.lstat()
    return [status.st_ino, status.st_size, status.st_mtime_ns]


def _read_partial_state(partial: Path) -> dict[str, Any] | None:
    """The state (`version` and `size`) of the file that a partial copy is from; None if its version is unknown."""
    with suppress(OSError, ValueError):
        facts = json.loads(partial.with_suffix(".partial.json").read_text())
        return facts if isinstance(facts, dict) and facts.get("version") else None
    return None


def _download_rest(fs: Any, path: str, partial: Path, state: dict[str, Any]) -> None:
    """Download the rest of a file, or all of it if the partial copy is from another version.

    `state` has the `version` and `size` that the server reports.
    """
    is_resumed = partial.is_file() and _read_partial_state(partial) == state
    if not is_resumed:
        partial.unlink(missing_ok=True)
    partial.with_suffix(".partial.json").write_text(json.dumps(state))
    # A web server sends a whole file as one answer, and a part of it only if it can.
    options = {"block_size": 0} if _is_web_server(fs) and not is_resumed else {}
    with fs.open(path, "rb", **options) as source, partial.open("ab") as copy:
        if is_resumed:
            source.seek(copy.tell())
        while (block := source.read(_BLOCK)) and (state["size"] is None or copy.tell() <= state["size"]):
            copy.write(block)
            copy.flush()
    read = partial.stat().st_size
    if state["size"] is not None and read < state["size"]:
        raise OSError(f"the connection ended before {state['size']:,} bytes")
    if state["size"] is not None and read > state["size"]:
        partial.unlink()
        raise WrongPartError(f"the server announced {state['size']:,} bytes, but sent more")


def _describe_error(error: BaseException, url: str) -> str:
    """An error of a store's library in words, without secrets; its class if it has none besides the URL."""
    words = hide_secrets(str(error), url)
    words = type(error).__name__ if words in ("", format_path(url)) else words
    return f"the server does not answer ({words})" if isinstance(error, TimeoutError) else words
