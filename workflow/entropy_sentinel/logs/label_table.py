"""Read a table of labels, also from a spreadsheet: TRUE, 1 or yes, semicolons, decimal commas."""

import csv
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.formatting.spreadsheet import unescape_formulas
from entropy_sentinel.logs.reader_base import extract_question
from entropy_sentinel.logs.value_paths import parse_json
from entropy_sentinel.schemas.witness_schema import JUDGE, PROBABILITY, WITNESS

REQUIRED_COLUMNS = ("item_id", "label")
# Labels as text, in lower case.
_LABELS = {"true": True, "yes": True, "1": True, "1.0": True, "false": False, "no": False, "0": False, "0.0": False}
_SEPARATORS = ",;\t"
# A response may be longer than the csv module's own limit, 128 KiB.
_LONGEST_FIELD = 1 << 30


def read_label_file(
    path: Path,
    columns: Mapping[str, Any],
    scorer: str | None = None,
    witness_columns: Mapping[str, Any] = MappingProxyType({}),
) -> pl.DataFrame:
    """The labels of one file: `label`, and the columns of `columns` (names and dtypes) that the file has.

    If the file names a judge or the kind of a witness, another source whose values stand in for labels, it also returns
    `witness_columns`. `scorer` is the filter whose metrics count in samples of lm-evaluation-harness; null if there is
    only one.

    Raises InputError with file, row and value if `label` is not true, false, yes, no, 1, 0 or empty, or if a value in
    a numeric column is not a number.
    """
    try:
        file_columns, decimal = _READERS.get(path.suffix, _read_parquet)(path, scorer)
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: must be a Parquet, CSV (UTF-8) or JSON Lines file of labels: {error}") from None
    if absent := set(REQUIRED_COLUMNS) - set(file_columns):
        raise InputError(f"{path}: column '{min(absent)}' is missing; columns: {', '.join(map(str, file_columns))}")
    if {JUDGE, WITNESS} & set(file_columns):
        columns = {**columns, **witness_columns}
    wanted = {name: dtype for name, dtype in columns.items() if name in file_columns} | {"label": pl.Boolean}
    return pl.DataFrame(
        [_convert_column(file_columns[name], name, dtype, path, decimal) for name, dtype in wanted.items()]
    )


def list_label_columns(path: Path) -> list[str]:
    """The names of the columns of a file of labels, in order; empty for a file that cannot be read."""
    try:
        columns, _ = _READERS.get(path.suffix, _read_parquet)(path, None)
        return list(map(str, columns))
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError, csv.Error, InputError):
        return []


def _convert_column(column: pl.Series | list[Any], name: str, dtype: Any, path: Path, decimal: str) -> pl.Series:
    """A column in its dtype; empty values become null. `decimal` is the decimal separator of numbers as text."""
    if isinstance(column, pl.Series):
        if column.dtype == dtype or column.dtype.is_unsigned_integer() and dtype.is_integer():
            return column.cast(dtype).alias(name)
        column = column.to_list()
    convert = _CONVERTERS_BY_NAME.get(name, _CONVERTERS[dtype])
    values = list[Any]()
    for number, value in enumerate(column, 1):
        is_nan = value != value
        if value is None or is_nan or (isinstance(value, str) and not value.strip()):
            values.append(None)
            continue
        try:
            if dtype.is_numeric() and isinstance(value, str):
                values.append(convert.read(value.replace(decimal, ".")))
            else:
                values.append(convert.read(value))
        except (ValueError, TypeError, OverflowError, KeyError):
            raise InputError(
                f"{path}: row {number}: '{name}' must be {convert.wanted}, got {str(value)[:100]!r}"
            ) from None
    return pl.Series(name, values, dtype=dtype)


# Each of these functions raises ValueError, or TypeError, for a value of another kind.


def _parse_weight(value: Any) -> float:
    """The weight of a label, above 0 and finite."""
    number = float(value)
    if isinstance(value, bool) or not 0 < number < math.inf:
        raise ValueError
    return number


def _parse_probability(value: Any) -> float:
    """The probability of a label, from 0 to 1."""
    number = float(value)
    if isinstance(value, bool) or not 0 <= number <= 1:
        raise ValueError
    return number


def _parse_text(value: Any) -> str:
    """A value as text that UTF-8 can hold."""
    text = str(value)
    text.encode()  # half a surrogate pair is a ValueError
    return text


def _parse_sample(value: Any) -> int:
    """The number of a sample: whole, from 0."""
    number = float(value)
    if isinstance(value, bool) or not number.is_integer() or not 0 <= number < 2**63:
        raise ValueError
    return int(number)


class _Converter(NamedTuple):
    """A function that reads a value, and what the value must be."""

    read: Callable[[Any], Any]
    wanted: str


# By dtype.
_CONVERTERS = {
    pl.Boolean: _Converter(lambda value: _LABELS[str(value).strip().lower()], "true, false, yes, no, 1, 0 or empty"),
    pl.String: _Converter(_parse_text, "text that UTF-8 can hold"),
    pl.Float64: _Converter(_parse_weight, "a number above 0"),
    pl.Int64: _Converter(_parse_sample, "a whole number from 0"),
}
_CONVERTERS_BY_NAME = {PROBABILITY: _Converter(_parse_probability, "a number from 0 to 1, or empty")}


def _read_csv(path: Path, _: str | None) -> tuple[dict[str, pl.Series], str]:
    """The columns of a table separated by commas, semicolons or tabs, and its decimal separator."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        header = file.readline()
        file.seek(0)
        separator = _guess_separator(header)
        csv.field_size_limit(_LONGEST_FIELD)
        rows = csv.reader(file, delimiter=separator, strict=True)
        names = [name.strip() for name in next(rows, [])]
        columns: list[list[str]] = [[] for _ in names]
        for number, row in enumerate(filter(None, rows), 1):
            if len(row) != len(names):
                raise InputError(
                    f"{path}: row {number}: must have {len(names)} fields like the first line, has {len(row)}"
                )
            for column, value in zip(columns, row, strict=True):
                column.append(value)
    written = pl.when(pl.col("text") != "").then(unescape_formulas(pl.col("text")))
    columns_read = {}
    for name, values in zip(names, columns, strict=True):
        texts = pl.Series("text", values, dtype=pl.String).to_frame()
        columns_read[name] = texts.select(written).to_series()
    return columns_read, "," if separator == ";" else "."


def _guess_separator(header: str) -> str:
    """The separator by which the first line has the most of the required columns."""

    def count_required(separator: str) -> int:
        names = {name.strip().strip('"') for name in header.split(separator)}
        return len(names.intersection(REQUIRED_COLUMNS))

    return max(_SEPARATORS, key=count_required)


def _read_json_lines(path: Path, scorer: str | None) -> tuple[dict[str, list[Any]], str]:
    """The columns of a file of JSON Lines or of samples of lm-evaluation-harness, and the decimal separator."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), 1):
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{path}: line {number}: must be a JSON object: {error}") from None
            if not isinstance(row, dict):
                raise InputError(f"{path}: line {number}: must be a JSON object, got {line[:100]!r}")
            rows.append(row)
    if rows and all(set(row) >= _HARNESS_FIELDS for row in rows):
        rows = _read_harness_labels(rows, scorer, path)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}, "."


# The column with the question of a label whose id is of the evaluation's own, not of the log's.
LABEL_QUESTION = "asked"
# Fields of the samples of lm-evaluation-harness, which `--log_samples` writes.
_HARNESS_FIELDS = {"doc_id", "arguments", "metrics"}


def _read_harness_labels(samples: Sequence[Mapping[str, Any]], scorer: str | None, path: Path) -> list[dict[str, Any]]:
    """A row for each sample: `item_id`, `label` (of a metric with the value 0 or 1), and its question, LABEL_QUESTION.

    Raises InputError if `scorer` names none of several filters, if the metrics of a sample are not a list of names, or
    if they differ.
    """
    filters = list(dict.fromkeys(str(sample.get("filter")) for sample in samples))
    if len(filters) > 1 and scorer not in filters:
        raise InputError(
            f"{path}: has samples of the filters {', '.join(filters)}; name one of them with {format_option('scorer')}"
        )
    labels = []
    for number, sample in enumerate(samples, 1):
        if len(filters) > 1 and str(sample.get("filter")) != scorer:
            continue
        names = sample["metrics"]
        verdicts = set()
        if not isinstance(names, list | Mapping) or not all(isinstance(name, str) for name in names):
            raise InputError(
                f"{path}: line {number}: 'metrics' must be a list of names, got {json.dumps(names, default=str)[:100]}"
            )
        for name in names:
            value = sample.get(name)
            if isinstance(value, int | float) and value in (0, 1):
                verdicts.add(bool(value))
        if len(verdicts) > 1:
            metrics = ", ".join(dict.fromkeys(names))
            raise InputError(f"{path}: line {number}: metrics differ ({metrics}); keep one in the file")
        label = next(iter(verdicts), None)
        labels.append(
            {"item_id": str(sample["doc_id"]), "label": label, LABEL_QUESTION: _extract_prompt(sample["arguments"])}
        )
    return labels


def _extract_prompt(arguments: Any) -> str | None:
    """The prompt of a sample: a text, or the last message of the user in JSON."""
    text = _take_first(_take_first(arguments))
    if isinstance(text, list):  # several texts, or JSON in a list
        text = text[0] if text else None
    if not isinstance(text, str):
        return None
    messages = parse_json(text)
    return (extract_question({"messages": messages}) if isinstance(messages, list) else None) or text


def _take_first(values: Any) -> Any:
    """The first value of a mapping or a list; None for an empty one and for any other value."""
    if isinstance(values, Mapping):
        values = list(values.values())
    return values[0] if isinstance(values, list) and values else None


def _read_parquet(path: Path, _: str | None) -> tuple[dict[str, pl.Series], str]:
    """The columns of a Parquet file, and the decimal separator."""
    return pl.read_parquet(path).to_dict(), "."


_READERS: dict[str, Callable[[Path, str | None], tuple[Mapping[str, pl.Series | list[Any]], str]]] = {
    ".csv": _read_csv,
    ".jsonl": _read_json_lines,
}
