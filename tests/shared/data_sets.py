"""Data sets as they lie on the hub and in its local cache, made of rows of a test."""

import json
import os
from pathlib import Path
from typing import Any

import yaml

COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER_COMMIT = "fedcba9876543210fedcba9876543210fedcba98"


def data_set(folder: Path, split: str, configs: dict[str, list[dict[str, Any]]]) -> str:
    """A repository with one JSON Lines file per configuration, and the card that names them."""
    entries = []
    for name, rows in configs.items():
        file = folder / name / f"{split}.jsonl"
        file.parent.mkdir(parents=True)
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        files = [{"split": split, "path": f"{name}/{file.name}"}]
        entries.append({"config_name": name, "data_files": files})
    (folder / "README.md").write_text(f"---\n{yaml.safe_dump({'configs': entries})}---\n")
    return str(folder)


def put_in_cache(cache: Path, kind: str, repo_id: str, files: Path, commit: str = COMMIT, ref: str = "main") -> None:
    """Lay a repository's files into the hub's cache: blobs, a snapshot of links to them, and a ref to its commit."""
    home = cache / f"{kind}s--{repo_id.replace('/', '--')}"
    for number, file in enumerate(path for path in sorted(files.rglob("*")) if path.is_file()):
        blob = home / "blobs" / f"{commit[:8]}{number:032x}"
        blob.parent.mkdir(parents=True, exist_ok=True)
        blob.write_bytes(file.read_bytes())
        link = home / "snapshots" / commit / file.relative_to(files)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(blob, link.parent))
    (home / "refs").mkdir(exist_ok=True)
    (home / "refs" / ref).write_text(commit)
