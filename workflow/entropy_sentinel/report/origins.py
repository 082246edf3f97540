"""The provenance of results: code version, settings that files share, settings that differ, and conflicts."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropy_sentinel import __version__
from entropy_sentinel.frames.secrets import is_secret_name, without_keys

Provenance = Sequence[Mapping[str, Any]]

# Facts of a single file, which are expected to differ.
_OF_ONE_FILE = {"benchmark", "model", "prompts_hash", "stage", "identity", "source_content"}
# Facts that are shown but are not a conflict if files of one model differ in them: the file that each was taken from,
# and how much of it existed before its job was killed.
_EACH_ITS_OWN = {"source", "resumed_responses", "cpu_settings"}


@dataclass(frozen=True)
class Origins:
    """Settings as text: `shared` by all files, or in a row per model or benchmark, under `headings`.

    `conflicts` says in words which settings differ between files of the same model or benchmark.
    """

    shared: tuple[tuple[str, str], ...]
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    conflicts: tuple[str, ...]


def origins(provenance: Provenance, by: str) -> Origins:
    """Sort the settings of `provenance` (one dict per file, nested ones too) by model or by benchmark.

    `by` is the key, `model` or `benchmark`, that every dict has. Settings empty everywhere are left out.
    """
    entries = [(str(entry[by]), _flat(entry)) for entry in provenance]
    names = list(dict.fromkeys(name for name, _ in entries))
    keys = [key for key in dict.fromkeys(key for _, entry in entries for key in entry) if key not in _OF_ONE_FILE]
    values = {
        key: {name: _distinct(entry.get(key, "") for other, entry in entries if other == name) for name in names}
        for key in keys
    }
    shared = {key: set(map(tuple, texts_of.values())) for key, texts_of in values.items()}
    same = [key for key in keys if len(shared[key]) == 1]
    different = [key for key in keys if len(shared[key]) > 1]
    texts = {key: " / ".join(next(iter(shared[key]))) for key in same}
    return Origins(
        tuple((_title(key), text) for key, text in texts.items() if text),
        (_title(by), *map(_title, different)),
        tuple((name, *(" / ".join(values[key][name]) or "-" for key in different)) for name in names),
        tuple(
            f"{name}: {_title(key)} differs between files: {', '.join(value or 'empty' for value in texts_of)}."
            for key in keys
            for name, texts_of in values[key].items()
            if len(texts_of) > 1 and key not in _EACH_ITS_OWN
        ),
    )


def miscounts(benchmarks: Provenance, expected: Mapping[str, int | None]) -> tuple[str, ...]:
    """Return a line for each benchmark whose source has a different number of items than published."""
    return tuple(
        f"{entry['benchmark']}: {entry['items_in_source']} items, the published count is {published}."
        for entry in benchmarks
        if (published := expected.get(entry["benchmark"])) not in (None, entry["items_in_source"])
    )


def _distinct(values: Any) -> list[str]:
    return list(dict.fromkeys(values))


def _flat(entry: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return nested settings by their path, such as `sampling temperature`, as text; empty ones as ""."""
    flat: dict[str, str] = {}
    for key, value in entry.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key} ")
        else:
            # Imported traces and traces of earlier releases may contain values that are now rejected.
            flat[prefix + key] = "***" if is_secret_name(key) and isinstance(value, str) else without_keys(_text(value))
    return flat


def _text(value: Any) -> str:
    if value is None or value == []:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _title(key: str) -> str:
    """Return a key as words; names of environment variables are unchanged."""
    return " ".join(word if word.isupper() else word.replace("_", " ") for word in key.split(" "))


def code_version() -> str:
    """Return `1.0.0, commit 0123456789ab`, plus `with changes` for a changed tree; only the version without git."""
    commit = _git("rev-parse", "--short=12", "HEAD")
    if commit is None:
        return __version__
    changed = " with changes" if _git("status", "--porcelain", "--untracked-files=no", "--", ".") else ""
    return f"{__version__}, commit {commit}{changed}"


def _git(*arguments: str) -> str | None:
    """Return git's description of the package's folder; null without git, or if the folder has no work tree."""
    package = Path(__file__).parents[1]
    try:
        # A copy installed inside another project's work tree does not belong to that tree.
        subprocess.run(["git", "ls-files", "--error-unmatch", __file__], cwd=package, capture_output=True, check=True)
        result = subprocess.run(["git", *arguments], cwd=package, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return result.stdout.strip()
