"""Files in object stores and on web servers, by fsspec: reading copies a file to this machine, writing sends it.

A copy has the ETag of its file and is reused while the store reports the same ETag. An interrupted download resumes.
So all readers see local files, and a monitor's state recognises them.
"""

import glob
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from entropy_sentinel.frames.errors import URLS, InputError
from entropy_sentinel.frames.folders import private_folder, user_folder

# Files of object stores and web servers. Also with one slash, because Path("s3://bucket/key") is s3:/bucket/key.
_URL = re.compile(r"(s3|gs|gcs|az|abfs|hf|https?|memory):/+(.+)")
_BLOCK = 1 << 20


def url_of(path: str | Path) -> str | None:
    """Return the path's URL; None for a local path."""
    match = _URL.fullmatch(str(path))
    return f"{match[1]}://{match[2]}" if match else None


def local(path: str | Path) -> Path:
    """Return the path of a local file, or of the copy of a remote one."""
    url = url_of(path)
    return Path(path) if url is None else _copy(url)


def remote_files(url: str, wanted: Callable[[str], bool]) -> Iterator[str]:
    """Yield the URLs of the files that a URL or a pattern names, or those `wanted` in a folder, in order.

    A question mark is not a pattern: it precedes a URL's signature.
    """
    fs, path = _store(url)
    try:
        if glob.has_magic(path.partition("?")[0]):
            names = [name for name in fs.glob(path) if fs.isfile(name)]
        else:
            names = [path] if fs.isfile(path) else list(filter(wanted, fs.find(path)))
        yield from map(fs.unstrip_protocol, sorted(names))
    except Exception as error:  # of any store
        raise InputError(f"{shown(url)}: cannot be listed: {_words(error)}") from None


def send(content: Path, url: str) -> None:
    """Write a local file to a URL; a store shows it as a whole or not at all."""
    fs, path = _store(url)
    try:
        fs.put_file(str(content), path)
    except Exception as error:  # of any store
        raise InputError(f"{shown(url)}: cannot be written: {_words(error)}") from None


def _store(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise InputError(f"{shown(url)}: needs fsspec: pip install 'entropy-sentinel[cloud]'") from None
    try:
        fs, path = url_to_fs(url)
        # Listings must be current: other programs write logs.
        fs.invalidate_cache()
    except (ImportError, ValueError) as error:
        raise InputError(f"{shown(url)}: {_words(error)}; pip install 'entropy-sentinel[cloud]'") from None
    return fs, path


def _copy(url: str) -> Path:
    """Return the path of a current copy. Raises InputError if the file does not exist or the connection is lost."""
    fs, path = _store(url)
    folder = user_folder() / "remote" / hashlib.sha256(url.encode()).hexdigest()[:16]
    private_folder(folder)
    target, facts = folder / PurePosixPath(urlsplit(url).path or path).name, folder / ".facts.json"
    URLS[str(target)] = shown(url)
    partial = target.with_name(f".{target.name}.partial")
    try:
        info = fs.info(path)
        now = {"etag": info.get("ETag") or info.get("etag") or fs.ukey(path), "size": info.get("size")}
        with suppress(OSError, ValueError):
            if json.loads(facts.read_text()) == now and target.exists():
                return target
        _download(fs, path, partial, facts, now)
    except InputError:
        raise
    except Exception as error:  # of any store
        read = partial.stat().st_size if partial.exists() else 0
        begun = f" after {read:,} bytes, the next run continues from there" if read else ""
        raise InputError(f"{shown(url)}: cannot be read{begun}: {_words(error)}") from None
    partial.replace(target)
    return target


def _download(fs: Any, path: str, partial: Path, facts: Path, now: dict[str, Any]) -> None:
    """Download the rest of a file, or all of it if the partial copy is from another version."""
    begun = partial.with_name(f"{partial.name}.json")
    same = begun.exists() and partial.exists() and json.loads(begun.read_text()) == now
    begun.write_text(json.dumps(now))
    with fs.open(path, "rb") as source, partial.open("ab" if same else "wb") as copy:
        if same:
            source.seek(copy.tell())
        while block := source.read(_BLOCK):
            copy.write(block)
            copy.flush()
    if now["size"] is not None and partial.stat().st_size != now["size"]:
        raise OSError(f"the connection ended before {now['size']:,} bytes")
    facts.write_text(json.dumps(now))
    begun.unlink()


def shown(path: str | Path) -> str:
    """Return a path, or a URL without possible secrets (signature, password)."""
    url = url_of(path)
    if url is None:
        return str(path)
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
