"""Write the file and the page for labelling, without losing existing labels."""

import json
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.api.input_checks import WEIGHT
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.whole_files import is_stream, write_whole
from entropy_sentinel.formatting.spreadsheet import read_csv, write_table
from entropy_sentinel.logs.conversation import LoggedMessage
from entropy_sentinel.monitor.labelling.sample_plan import Sample
from entropy_sentinel.monitor.labelling.sample_table import MESSAGES, REFERENCE_ANSWER
from entropy_sentinel.rendering.labelling_page import render_labelling_page
from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.schemas.witness_schema import JUDGE

LABEL = "label"
# Separators that a spreadsheet may use.
_SEPARATORS = ",;\t"

Row = dict[str, Any]
# The label that `read_labels` reads for each answer on the page; 'unsure' gives no label.
_LABEL_TEXTS = {"correct": "true", "incorrect": "false"}


def write_label_sheet(responses: pl.DataFrame, path: str | Path) -> int:
    """Write `Sample.responses` to a .csv or .jsonl file; return the number of existing labels that were kept.

    Existing labels and the columns that people have added are kept as written. Raises InputError, and writes nothing,
    if an existing label belongs to a response that is not in `responses`, or if the file is not a label file.
    """
    path = Path(path)
    exists = path.is_file() and not is_stream(path) and path.stat().st_size
    rows = _read_filled_rows(path, responses.columns) if exists else []
    write_table(_merge_work(responses, rows, path), path)
    return sum(_is_filled(row[LABEL]) for row in rows)


def _is_filled(value: Any) -> bool:
    """Whether a cell is not empty."""
    return value not in (None, "")


def _read_filled_rows(path: Path, written: Sequence[str]) -> list[Row]:
    """The rows of a file with a label, or with a value in a column that was not `written` before."""
    remedy = "it may contain somebody's work, so name another file or move this one"
    try:
        rows = _READERS[path.suffix](path)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: exists but cannot be read as a label file ({why}); {remedy}") from None
    for name in ("item_id", LABEL):
        if not _have_column(rows, name):
            raise InputError(f"{path}: exists, but is not a label file (no column '{name}'); {remedy}")
    if any(_is_filled(row.get(JUDGE)) for row in rows):
        raise InputError(f"{path}: exists, and has the verdicts of a judge, which are not labels by people; {remedy}")
    written_columns = set(written) - {LABEL}
    filled = []
    for row in rows:
        work = [value for name, value in row.items() if name not in written_columns]
        if any(map(_is_filled, work)):
            filled.append(row)
    return filled


def _have_column(rows: Sequence[Row], name: str) -> bool:
    return all(name in row for row in rows)


def _merge_work(responses: pl.DataFrame, rows: Sequence[Row], path: Path) -> pl.DataFrame:
    """The responses with the labels and the added columns of `rows`, the rows that people have filled in `path`.

    Raises InputError if one of these belongs to no response, or to several, and would be lost.
    """
    if not rows:
        return responses
    key = [name for name in RESPONSE if name in responses.columns and _have_column(rows, name)]
    places: dict[tuple[str, ...], list[int]] = {}
    for place, response in enumerate(responses.select(key).iter_rows()):
        places.setdefault(tuple(map(str, response)), []).append(place)
    matches: dict[int, Row] = {}
    lost: list[Any] = []
    columns: dict[str, list[Any]] = {LABEL: [None] * len(responses)}
    for row in rows:
        match = places.pop(tuple(str(row[name]) for name in key), [])
        if len(match) == 1:
            matches[match[0]] = row
        else:
            lost.append(row["item_id"])
        for name in row:
            if name not in responses.columns:
                columns.setdefault(name, [None] * len(responses))
    if lost:
        raise InputError(
            f"{path}: {len(lost)} of its {len(rows)} completed rows are not among the responses to label now "
            f"(first: {lost[0]}), and would be lost; name another file"
        )
    for place, row in matches.items():
        for name, values in columns.items():
            values[place] = row.get(name)
    return responses.with_columns(pl.Series(name, values, strict=False) for name, values in columns.items())


def _read_csv(path: Path) -> list[Row]:
    """The rows of a CSV file as texts, with the separator that its first line has most often."""
    head = path.read_text(encoding="utf-8").partition("\n")[0]
    separator = max(_SEPARATORS, key=head.count)
    table = read_csv(path, separator=separator, infer_schema=False)
    # For a file without rows, return one empty row, so that its columns can be checked.
    return table.to_dicts() or [dict.fromkeys(table.columns)]


def _read_jsonl(path: Path) -> list[Row]:
    """The rows of a file with a JSON object in each line; raises ValueError, which names the line, for another."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"line {number}: must be a JSON object: {error}") from None
        if not isinstance(row, dict):
            raise ValueError(f"line {number}: must be a JSON object, got {line[:100]!r}")
        rows.append(row)
    return rows


_READERS: dict[str, Callable[[Path], list[Row]]] = {".csv": _read_csv, ".jsonl": _read_jsonl}
SUFFIXES = tuple(_READERS)


def read_label_sheet(path: str | Path) -> pl.DataFrame:
    """The rows of a file of responses to label; raises InputError for another file."""
    path = Path(path)
    if path.suffix not in _READERS:
        raise InputError(f"{path}: must be a file of `sample`, {' or '.join(SUFFIXES)}")
    try:
        rows = _READERS[path.suffix](path)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {' '.join(str(error).split())[:200]}") from None
    return pl.DataFrame([_parse_column(name, rows, path) for name in dict.fromkeys(chain.from_iterable(rows))])


def _parse_column(name: str, rows: Sequence[Row], path: Path) -> pl.Series:
    """One column of a file; raises InputError for a value that is not of the type of those above it."""
    values = [row.get(name) for row in rows]
    first: type | None = None
    for number, value in enumerate(values, 1):
        if value is None:
            continue
        kind = float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)
        first = first or kind
        expected = (
            "a text, a number, true or false" if kind in (dict, list) else f"{_TYPES[first]} as in the rows above"
        )
        if kind is not first or kind in (dict, list) or not _is_storable(value):
            raise InputError(f"{path}: row {number}: '{name}' must be {expected}, got {ascii(value)[:100]}")
    return pl.Series(name, values, strict=False)


_TYPES: dict[type, str] = {str: "a text", float: "a number", bool: "true or false", dict: "an object", list: "a list"}


def _is_storable(value: Any) -> bool:
    """Whether a table can hold a value: no whole number beyond 64 bits, no half of a surrogate pair."""
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def write_page(sample: Sample, path: str | Path) -> None:
    """Write the page for labelling, which hides the estimates and saves labels for `monitor` or `fit`.

    Raises InputError if the responses have no texts because they were read from features.
    """
    rows = sample.responses
    if rows["response"].null_count() == len(rows):
        raise InputError("--html: needs the texts of the responses, which features lack; give logs or traces instead")
    keys = [name for name in RESPONSE if name in rows.columns]
    texts = ["question", "response", *([REFERENCE_ANSWER] if REFERENCE_ANSWER in rows.columns else [])]
    page_rows = rows.select(list(dict.fromkeys([*keys, WEIGHT, *texts, *sample.by]))).to_dicts()
    if MESSAGES in rows.columns:
        page_rows = [
            row | {"context": _describe_context(messages)}
            for row, messages in zip(page_rows, rows[MESSAGES], strict=True)
        ]
    content = render_labelling_page(
        title="Responses to label",
        rows=page_rows,
        keys=keys,
        columns=[*keys, WEIGHT, "label"],
        initial_answers=[None] * len(rows),
        saved=_LABEL_TEXTS,
        file="labelled.csv",
        command=f"entropy-sentinel {sample.next_step} --labels FILE",
        shielded=True,
        facts=sample.by,
        reference_is_rule=False,
    )
    write_whole(path, content)


def _describe_context(messages: str | None) -> str | None:
    """What precedes the last question of a conversation (JSON), as text; None if there is nothing."""
    turns: list[LoggedMessage] = json.loads(messages or "[]")
    last = max((place for place, turn in enumerate(turns) if turn["role"] == "user"), default=0)
    texts = [f"{turn['role']}: {turn['content']}{_describe_omitted(turn)}" for turn in turns[:last]]
    texts += [f"with the question:{_describe_omitted(turn)}" for turn in turns[last:] if "omitted" in turn]
    return "\n\n".join(texts) or None


def _describe_omitted(turn: LoggedMessage) -> str:
    """The kinds of a message's parts besides text, such as images; "" if it has only text."""
    return f" [{', '.join(turn['omitted'])}]" if "omitted" in turn else ""
