"""The provenance of results: code version, settings that files share, settings that differ, and conflicts."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropy_sentinel import __version__
from entropy_sentinel.core.secrets import is_secret_name, mask_keys

Provenance = Sequence[Mapping[str, Any]]

# Facts of a single file, which are expected to differ.
_FILE_FACTS = {"benchmark", "model", "prompts_hash", "stage", "identity", "reuse_key", "source_content"}
# Facts that are shown but are not a conflict if files of one model differ in them: the file that each was taken from,
# and how much of it existed before its job was killed.
_VARYING_FACTS = {"source", "resumed_responses", "cpu_settings"}


@dataclass(frozen=True)
class Origins:
    """Settings as text: `shared` by all files, or in a row per model or benchmark, under `headings`.

    `conflicts` says in words which settings differ between files of the same model or benchmark.
    """

    shared: tuple[tuple[str, str], ...]
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    conflicts: tuple[str, ...]


def collect_origins(provenance: Provenance, by: str) -> Origins:
    """Sort the settings of `provenance` (one dict per file, nested ones too) by model or by benchmark.

    `by` is the key, `model` or `benchmark`, that every dict has. Settings empty everywhere are left out.
    """
    # The settings of each file, by model or benchmark; and all keys in the order in which they first occur.
    by_name: dict[str, list[dict[str, str]]] = {}
    keys: dict[str, None] = {}
    for file in provenance:
        settings = _flatten(file)
        by_name.setdefault(str(file[by]), []).append(settings)
        keys |= dict.fromkeys(settings)
    shared: list[tuple[str, str]] = []
    conflicts: list[str] = []
    headings = [_format_key(by)]
    rows = [[name] for name in by_name]
    for key in keys:
        if key in _FILE_FACTS:
            continue
        # A list per model or benchmark: the distinct values in its files.
        values = [list(dict.fromkeys(settings.get(key, "") for settings in files)) for files in by_name.values()]
        if all(distinct == values[0] for distinct in values):
            text = " / ".join(values[0])
            if text:
                shared.append((_format_key(key), text))
        else:
            headings.append(_format_key(key))
            for row, distinct in zip(rows, values, strict=True):
                row.append(" / ".join(distinct) or "-")
        if key not in _VARYING_FACTS:
            conflicts += _describe_conflicts(key, dict(zip(by_name, values, strict=True)))
    return Origins(tuple(shared), tuple(headings), tuple(map(tuple, rows)), tuple(conflicts))


def _describe_conflicts(key: str, values: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a line for each model or benchmark with several values; `values` has the distinct ones by name."""
    for name, distinct in values.items():
        if len(distinct) > 1:
            different = ", ".join(value or "empty" for value in distinct)
            yield f"{name}: {_format_key(key)} differs between files: {different}."


def describe_miscounts(benchmarks: Provenance, expected: Mapping[str, int | None]) -> tuple[str, ...]:
    """A line for each benchmark whose source has another number of items than `expected`, the published number."""
    lines = []
    for entry in benchmarks:
        published = expected.get(entry["benchmark"])
        if published not in (None, entry["items_in_source"]):
            lines.append(f"{entry['benchmark']}: {entry['items_in_source']} items, the published count is {published}.")
    return tuple(lines)


def _flatten(entry: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested settings by their path, such as `sampling temperature`, as text; empty ones as ""."""
    flat: dict[str, str] = {}
    for key, value in entry.items():
        # Imported traces and traces of earlier releases may contain secrets, which are now rejected.
        if isinstance(value, Mapping):
            flat |= _flatten(value, f"{prefix}{key} ")
        elif value is None or value == []:
            flat[prefix + key] = ""
        elif isinstance(value, str):
            flat[prefix + key] = "***" if is_secret_name(key) else mask_keys(value)
        else:
            flat[prefix + key] = mask_keys(json.dumps(value))
    return flat


def _format_key(key: str) -> str:
    """A key as words; names of environment variables are unchanged."""
    return " ".join(word if word.isupper() else word.replace("_", " ") for word in key.split(" "))


def describe_code_version() -> str:
    """`1.0.0, commit 0123456789ab`, plus `with changes` for a changed tree; without git only `1.0.0`."""
    commit = _run_git("rev-parse", "--short=12", "HEAD")
    if commit is None:
        return __version__
    changed = " with changes" if _run_git("status", "--porcelain", "--untracked-files=no", "--", ".") else ""
    return f"{__version__}, commit {commit}{changed}"


def _run_git(*arguments: str) -> str | None:
    """Git's description of the package's folder; null without git, or if the folder has no work tree."""
    package = Path(__file__).parents[2]
    try:
        # A copy installed inside another project's work tree does not belong to that tree.
        subprocess.run(["git", "ls-files", "--error-unmatch", __file__], cwd=package, capture_output=True, check=True)
        result = subprocess.run(["git", *arguments], cwd=package, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return result.stdout.strip()
