"""The recipes of CONTRIBUTING.md, as its code blocks say them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "CONTRIBUTING.md"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"(?:\+\+\+|#|\{#) ([\w./-]+)(?: #\})?\n")


def blocks() -> list[tuple[str, str, str]]:
    """Kind, file and text of every block that names a file in its first line."""
    result = []
    for kind, text in _BLOCK.findall(GUIDE.read_text()):
        if named := _FILE.match(text):
            result.append((kind, named[1], text[named.end() :]))
    return result


def apply(folder: Path, place: str = "") -> dict[str, Any]:
    """Follow all recipes in a copy of the project, or those for files in `place`; the merged config that they show."""
    study: dict[str, Any] = {}
    for kind, name, text in blocks():
        if not name.startswith(place):
            continue
        if kind == "yaml":
            study = merged(study, yaml.safe_load(text))
        elif kind == "diff":
            _add_lines(folder / name, text)
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with (folder / name).open("a") as file:
                file.write(text)
    return study


def _add_lines(path: Path, text: str) -> None:
    """Put the lines with a plus where the other lines stand, which must be one place, and remove those with a minus."""
    lines = text.splitlines()
    assert {line[:1] for line in lines} <= {"+", "-", " ", ""}, text
    before = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
    after = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))
    source = path.read_text()
    assert source.count(before) == 1, f"{path}: {before!r} is there {source.count(before)} times"
    path.write_text(source.replace(before, after))


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two configs as Snakemake merges them: dicts by key, all else replaced."""
    both = dict(below)
    for key, value in above.items():
        both[key] = merged(both.get(key, {}), value) if isinstance(value, Mapping) else value
    return both
