"""URLs of remote files: which paths are URLs, and how a message shows them without secrets."""

import hashlib
import re
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

# Files of object stores and web servers. Also with one slash, because Path("s3://bucket/key") is s3:/bucket/key.
_URL = re.compile(r"(s3|gs|gcs|az|abfs|hf|https?|memory):/+(.+)", re.DOTALL)
# URLs in the message of a library, and the end of one from its question mark.
_URL_IN_TEXT, _QUERY = re.compile(r"[a-z][a-z0-9+.-]*://?[^\s'\"<>]+", re.IGNORECASE), re.compile(r"\?[^\s'\"<>]*")
# Longest file name in bytes, with room for the suffixes of partial files; longest part of a message, characters.
_LONGEST_NAME, _LONGEST_TEXT = 200, 200
HIDDEN = "…"


def parse_url(path: str | Path) -> str | None:
    """The path's URL; None for a local path."""
    match = _URL.fullmatch(str(path))
    return f"{match[1]}://{match[2]}" if match else None


def format_path(path: str | Path) -> str:
    """A path, or a URL without possible secrets: user, password, query and fragment."""
    url = parse_url(path)
    return str(path) if url is None else _hide_url_secrets(url)


def make_file_name(path: str | Path) -> str:
    """A name for a local copy of a URL: the last part of its path, or a hash and its end if it cannot be a name."""
    name = Path(path).name
    if parse_url(path):
        _, rest = _split_scheme(str(path))
        name = re.split("[?#]", rest)[0].rpartition("/")[2]
    valid = "".join(char if char.isprintable() and char != "\\" else "_" for char in name)
    if valid.strip(".") and len(valid.encode()) <= _LONGEST_NAME:
        return valid
    ending = valid.encode()[-_LONGEST_NAME // 2 :].decode(errors="ignore") if valid.strip(".") else ""
    return hashlib.sha256(name.encode()).hexdigest()[:16] + ending


def hide_secrets(text: str, url: str) -> str:
    """A library's message on one line, without secrets of this URL or of any URL in it."""
    text = " ".join(text.split())
    text = _URL_IN_TEXT.sub(lambda quoted: _hide_url_secrets(quoted[0]), text)
    text = _QUERY.sub(f"?{HIDDEN}", text)
    for secret in sorted(_find_secrets(url), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text[:_LONGEST_TEXT]


def _hide_url_secrets(url: str) -> str:
    """A URL without user, password, query and fragment; only its scheme if it is unclear where its host begins."""
    scheme, rest = _split_scheme(url)
    login_and_host = re.split("[/?#]", rest)[0]
    host = login_and_host.rpartition("@")[2]
    port = re.sub(r"^\[[^\]]*\]?", "", host).partition(":")[2]  # an IPv6 address in brackets has colons
    # A password may contain unquoted slashes or question marks: then the host seems to have a port that is no number.
    is_password = bool(port) and not port.isdecimal()
    if "@" in login_and_host:
        rest = host + rest[len(login_and_host) :]
    elif is_password and "@" in rest:
        rest = rest.rpartition("@")[2]
    elif is_password:
        return f"{scheme}://{HIDDEN}"
    return f"{scheme}://{re.split('[?#]', rest)[0]}"


def _split_scheme(url: str) -> tuple[str, str]:
    """The scheme of a URL, and what follows its slashes."""
    scheme, _, rest = url.partition(":")
    return scheme, rest.lstrip("/")


def _find_secrets(url: str) -> set[str]:
    """The user, the password, and the values of the query of a URL, as written and decoded."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return set()
    user = parts.netloc.rpartition("@")[0].split(":")
    values = [*user, *map(unquote, user)]
    values += [pair.partition("=")[2] for pair in parts.query.split("&")]
    values += [value for _, value in parse_qsl(parts.query)]
    # Shorter ones occur in ordinary words of a message.
    return {value for value in values if len(value) > 3}
