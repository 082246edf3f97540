"""Which tables, figures, validations, estimates and monitor outputs differ between two folders of results.

    python tests/compare/results.py BEFORE AFTER [--tolerance 1e-9] [--renamed OLD=NEW]

Compared is what a file says: Parquet by columns and values, JSON by keys and values, figures by what is drawn, other
text by its lines; not versions, commits, checksums, or when and where a file was written. `--renamed` reads the names
of files and columns, keys and text of BEFORE with NEW in the place of OLD. Exit 1 where anything differs.
"""

import argparse
import json
import re
import sys
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.image import imread

# Keys of JSON that say which code wrote a file, and not what it found.
OF_THE_CODE = {"version", "commit", "checksum", "fingerprint"}
# A list of the paths of logs on the machine that read them.
OF_THE_MACHINE = {"places.json"}
TEXT = {".csv", ".md", ".tex", ".txt", ".html", ".prom"}
# A checksum, and the version and commit on pages; no long decimal looks like either.
_CODE = re.compile(r"\b[0-9a-f]{64}\b|(?<=<dt>version</dt><dd>)[^<]*|\bcommit [0-9a-f]{12}\b( with changes)?")
_PICTURE = re.compile(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)")
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
# Names of parts of a drawing that are reckoned from the picture's own name.
_PARTS = re.compile(r'(?<=[#"])[a-z][0-9a-f]{10}(?=[")])')
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.IGNORECASE)

Rename = Callable[[str], str]


def differences(before: Path, after: Path, tolerance: float, rename: Rename) -> tuple[list[str], Counter[str]]:
    """A line for each file that differs or has no counterpart, and how many files were compared, by their ending."""
    old = {rename(path): before / path for path in _files(before)}
    new = {path: after / path for path in _files(after)}
    lines = [f"{path}: only before" for path in sorted(old.keys() - new.keys())]
    lines += [f"{path}: only after" for path in sorted(new.keys() - old.keys())]
    compared: Counter[str] = Counter()
    for path in sorted(old.keys() & new.keys()):
        if compare := _way(new[path]):
            compared[new[path].suffix] += 1
            lines += [f"{path}: {result}" for result in compare(old[path], new[path], tolerance, rename)]
    return lines, compared


def _files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file() and _way(path)]


def _way(path: Path) -> Callable[[Path, Path, float, Rename], Iterator[str]] | None:
    """How files of this kind are compared; None for those that are not: binary copies of what others say."""
    if path.name in OF_THE_MACHINE:
        return None
    if path.suffix in TEXT:
        return _of_text
    return {".parquet": _of_frames, ".json": _of_json, ".png": _of_pixels}.get(path.suffix)


def _of_frames(before: Path, after: Path, tolerance: float, rename: Rename) -> Iterator[str]:
    old, new = pl.read_parquet(before).rename(rename), pl.read_parquet(after)
    if old.schema != new.schema:
        yield f"columns differ: {sorted(set(old.schema.items()) ^ set(new.schema.items()), key=str)}"
    elif len(old) != len(new):
        yield f"{len(old)} rows before, {len(new)} after"
    else:
        for name in (column for column in new.columns if not old[column].equals(new[column], null_equal=True)):
            pairs = list(zip(old[name].to_list(), new[name].to_list(), strict=True))
            unlike = [row for row, pair in enumerate(pairs) if not _same(*pair, tolerance)]
            if unlike:
                first = " -> ".join(map(str, pairs[unlike[0]]))
                yield f"{name}: {len(unlike)} of {len(new)} rows, first {unlike[0]}: {first}"


def _same(old: Any, new: Any, tolerance: float) -> bool:
    """Whether two values of a frame or of JSON are the same; NaN is NaN."""
    match old, new:
        case (list(), list()):
            return len(old) == len(new) and all(map(partial(_same, tolerance=tolerance), old, new))
        case (dict(), dict()):
            return old.keys() == new.keys() and all(_same(old[key], new[key], tolerance) for key in old)
        case (float() | int(), float() | int()):
            return old == new or abs(old - new) <= tolerance or (old != old and new != new)
        case _:
            return bool(old == new)


def _of_json(before: Path, after: Path, tolerance: float, rename: Rename) -> Iterator[str]:
    old, new = (_told(json.loads(text)) for text in (rename(before.read_text()), after.read_text()))
    for key in [*old, *(key for key in new if key not in old)]:
        if key not in old or key not in new:
            yield f"{key}: only {'before' if key in old else 'after'}"
        elif not _same(old[key], new[key], tolerance):
            yield f"{key}: {old[key]!r} -> {new[key]!r}"


def _told(value: Any, key: str = "") -> dict[str, Any]:
    """Every value by its key, such as `models.0.verdict`, without those of the code."""
    if not isinstance(value, dict | list) or not value:
        return {key: _CODE.sub("", value) if isinstance(value, str) else value}
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    result: dict[str, Any] = {}
    for name, part in parts:
        if name not in OF_THE_CODE:
            result |= _told(part, f"{key}.{name}".lstrip("."))
    return result


def _of_text(before: Path, after: Path, tolerance: float, rename: Rename) -> Iterator[str]:
    old, new = (_plain(text).splitlines() for text in (rename(before.read_text()), after.read_text()))
    unlike = [place for place, pair in enumerate(zip_longest(old, new), 1) if not _same_line(*pair, tolerance)]
    if unlike:
        first = [(lines[unlike[0] - 1 : unlike[0]] or ["nothing"])[0].strip()[:160] for lines in (old, new)]
        yield f"{len(unlike)} lines, first {unlike[0]}: {first[0]} -> {first[1]}"


def _plain(text: str) -> str:
    """Text with what its pictures draw, and without what says which code wrote it."""
    drawn = _PICTURE.sub(lambda result: b64decode(result[1]).decode(), text)
    return _PARTS.sub("", _CODE.sub("", _METADATA.sub("", drawn)))


def _same_line(old: str | None, new: str | None, tolerance: float) -> bool:
    if old == new or old is None or new is None or not tolerance:
        return old == new
    numbers = [[float(one) for one in _NUMBER.findall(line)] for line in (old, new)]
    return _NUMBER.sub("#", old) == _NUMBER.sub("#", new) and _same(*numbers, tolerance)


def _of_pixels(before: Path, after: Path, tolerance: float, rename: Rename) -> Iterator[str]:
    old, new = imread(before), imread(after)
    if old.shape != new.shape:
        yield f"{old.shape[1]} x {old.shape[0]} pixels before, {new.shape[1]} x {new.shape[0]} after"
    elif unlike := int((np.abs(old - new) > tolerance).any(axis=-1).sum()):
        yield f"{unlike} of {new.shape[0] * new.shape[1]} pixels"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what differs, and how much was compared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--tolerance", type=float, default=0.0, help="largest difference of two numbers that is none")
    parser.add_argument("--renamed", metavar="OLD=NEW", action="append", default=[])
    asked = parser.parse_args(arguments)
    for folder in (asked.before, asked.after):
        if not folder.is_dir():
            parser.error(f"{folder}: must be a folder of results")

    def rename(text: str) -> str:
        for pair in asked.renamed:
            text = text.replace(*pair.split("=", 1))
        return text

    lines, compared = differences(asked.before, asked.after, asked.tolerance, rename)
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(compared.items()))
    print(*lines, f"{compared.total()} files compared ({counts}), {len(lines)} differences", sep="\n")
    return int(bool(lines) or not compared)


if __name__ == "__main__":
    sys.exit(main())
