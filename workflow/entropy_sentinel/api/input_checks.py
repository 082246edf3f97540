"""Check what users pass to a verb or a command: paths of files, or tables."""

import glob
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.api.label_merging import check_conflicts
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.external_files import STANDARD_INPUT
from entropy_sentinel.core.named_pipes import copy_pipe, is_pipe
from entropy_sentinel.core.object_stores import get_local_path, list_remote_files
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.core.printable import make_one_line
from entropy_sentinel.core.urls import format_path, make_file_name, parse_url
from entropy_sentinel.features.feature_registry import FEATURE_FRAME, FEATURES
from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.logs.format_registry import SUFFIXES
from entropy_sentinel.logs.label_table import LABEL_QUESTION, REQUIRED_COLUMNS
from entropy_sentinel.logs.reader_base import QUESTION
from entropy_sentinel.logs.record_decoding import is_csv_log
from entropy_sentinel.logs.response_selection import coalesce_columns
from entropy_sentinel.logs.table_format import TRACE_COLUMNS
from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.schemas.signal_schema import add_reasons
from entropy_sentinel.schemas.witness_schema import JUDGE, WITNESS

log = logging.getLogger(__name__)

# Largest number of files that a message names.
_MOST_NAMES = 5

Paths = str | Path | Sequence[str | Path]
# Column with the number of responses that a labelled one represents, if not all were equally likely to be labelled.
WEIGHT = "weight"
# Columns that all verbs need; a verb or the user's slices may need more (sample, facts of the log-probabilities).
_FEATURE_COLUMNS = (*FEATURES, "item_id", "model", "benchmark", "reason")


def resolve_files(paths: Paths, suffixes: Sequence[str]) -> list[Path]:
    """The files that paths, folders, patterns and URLs name, in order; `-` is standard input.

    From a folder it takes the files with one of `suffixes`, optionally with `.gz`. A remote file is copied.
    Raises InputError for a path that names no file.
    """
    matched: list[Path] = []
    for path in list_paths(paths):
        matches = list(_match_files(path, suffixes))
        if not matches:
            raise InputError(f"{format_path(path)}: {_explain_no_file(path, suffixes)}")
        matched += matches
    return matched


def list_paths(paths: Any) -> list[str | Path]:
    """One path or several as a list; raises InputError for anything else."""
    path_list = list(paths) if isinstance(paths, list | tuple) else [paths]
    for path in path_list:
        if not isinstance(path, str | Path):
            raise InputError(f"files: must be paths, folders or patterns, or a list of them; got {type(path).__name__}")
    return path_list


def resolve_log_files(paths: Any) -> list[Path]:
    """The files of logs, traces or features that paths name, as `resolve_files` finds them.

    In a folder, CSV files without the columns of log-probabilities are skipped, with a warning.
    """
    logs: list[Path] = []
    for path in list_paths(paths):
        path_files = resolve_files(path, SUFFIXES)
        in_folder = _is_folder(path, path_files)
        skipped = [
            file for file in path_files if in_folder and _has_suffix(file.name, (".csv",)) and not is_csv_log(file)
        ]
        if skipped == path_files:
            raise InputError(f"{format_path(path)}: {_explain_no_file(path, SUFFIXES)}; {_describe_skipped(skipped)}")
        if skipped:
            log.warning("%s: %s", format_path(path), _describe_skipped(skipped))
        logs += [file for file in path_files if file not in skipped]
    return logs


def _is_folder(path: str | Path, files: Sequence[Path]) -> bool:
    """Whether a path that names these files is a folder."""
    if parse_url(path) is None:
        return Path(path).is_dir()
    # A URL that is neither a pattern nor the address of the only file.
    return not glob.has_magic(str(path)) and [file.name for file in files] != [make_file_name(path)]


def _match_files(path: str | Path, suffixes: Sequence[str]) -> Iterator[Path]:
    """Yield the files that a path, folder, pattern, pipe or URL names.

    Of a folder or URL, only the files with one of `suffixes`; a file, a pipe or a pattern's files may have any.
    """
    if (url := parse_url(path)) is not None:
        yield from map(get_local_path, list_remote_files(url, lambda name: _has_suffix(Path(name).name, suffixes)))
    elif str(path) == STANDARD_INPUT or Path(path).is_file():
        yield Path(path)
    elif is_pipe(path):
        yield copy_pipe(path)
    elif Path(path).is_dir():
        for file in sorted(Path(path).rglob("*")):
            if _has_suffix(file.name, suffixes) and file.is_file():
                yield file
    else:
        matches = map(Path, glob.glob(str(path), recursive=True))
        yield from sorted(filter(Path.is_file, matches))


def _explain_no_file(path: str | Path, suffixes: Sequence[str]) -> str:
    """Why a path names no file."""
    if Path(path).is_dir():
        return f"the folder contains no log ({', '.join(suffixes)}, or one of these with .gz)"
    return "no file matches this pattern" if glob.has_magic(str(path)) else "no such file or folder"


def _describe_skipped(tables: Sequence[Path]) -> str:
    """That these CSV files were skipped, and why."""
    names = [file.name for file in tables[:_MOST_NAMES]]
    if len(tables) > _MOST_NAMES:
        names.append("...")
    return f"skipped CSV files without the columns {' and '.join(TRACE_COLUMNS)}: {', '.join(names)}"


def _has_suffix(name: str, suffixes: Sequence[str]) -> bool:
    return not name.startswith(".") and name.removesuffix(".gz").endswith(tuple(suffixes))


def is_table(value: Any) -> bool:
    """Whether this is a Polars, pandas or Arrow table, or an object that can be read as an Arrow table."""
    return isinstance(value, pl.DataFrame | pl.LazyFrame) or hasattr(value, "__arrow_c_stream__")


def coerce_table(value: Any, name: str) -> pl.DataFrame:
    """A table as a Polars frame; raises InputError, which begins with `name`, for anything else."""
    if isinstance(value, pl.DataFrame):
        return value
    if not is_table(value) or isinstance(value, pl.Series):
        raise InputError(f"{name}: must be a Polars, pandas or Arrow table, got {type(value).__name__}")
    try:
        if isinstance(value, pl.LazyFrame):
            return value.collect()
        # For pandas, NaN in numeric columns becomes null, and the index is dropped.
        read = pl.from_pandas if type(value).__module__.startswith("pandas.") else pl.DataFrame
        return read(value)
    except Exception as error:  # of any table library
        raise InputError(f"{name}: cannot be read as a table: {' '.join(str(error).split())[:300]}") from None


def check_features(table: Any, name: str = "features", signals: Sequence[str] = ()) -> pl.DataFrame:
    """A table of features like that of `es.features`, with the columns that verbs need in their dtypes.

    `signals` are the further signals that an estimator needs; a response without one gets this as its `reason`.
    Raises InputError for a missing column or one of another type, and for the first response without a `reason` whose
    features are not finite numbers.
    """
    frame = coerce_table(table, name)
    _require_columns(frame, _FEATURE_COLUMNS, name)
    for signal in signals:
        if signal not in frame.columns:
            raise InputError(
                f"{name}: no column '{signal}', a signal that the estimator needs; read or compute the "
                f"features with signals=['{signal}']. {_format_columns(frame)}"
            )
    frame = _cast_columns(frame, FEATURE_FRAME.schema | dict.fromkeys(signals, pl.Float64), name)
    for feature in FEATURES:
        is_invalid = pl.col("reason").is_null() & pl.col(feature).is_finite().not_().fill_null(True)
        rows = frame.select(is_invalid).to_series().arg_true()
        if len(rows):
            row = frame.row(rows[0], named=True)
            raise InputError(
                f"{name}: row {rows[0]} (item '{row['item_id']}'): '{feature}' must be a finite number, got "
                f"{row[feature]!r}; a response without features needs a 'reason'"
            )
    return add_reasons(frame, signals)


def check_labels(table: Any, name: str = "labels") -> pl.DataFrame:
    """A table of labels: `item_id`, `label` (true, false, null), and columns of RESPONSE and WEIGHT, if any.

    Raises InputError for any other table, and for verdicts of a judge.
    """
    frame = coerce_table(table, name)
    _require_columns(frame, REQUIRED_COLUMNS, name)
    refuse_verdicts(frame, name)
    frame = frame.drop(JUDGE, WITNESS, strict=False)
    label = frame["label"]
    if label.dtype != pl.Boolean and label.null_count() < len(label):
        raise InputError(f"{name}: column 'label' must be true, false or null, got {label.dtype}")
    dtypes = {column: FEATURE_FRAME.schema[column] for column in RESPONSE}
    frame = _cast_columns(frame, dtypes | {"label": pl.Boolean, WEIGHT: pl.Float64, LABEL_QUESTION: pl.String}, name)
    if WEIGHT in frame.columns:
        invalid_rows = frame.filter(pl.col("label").is_not_null(), ~(pl.col(WEIGHT).is_finite() & (pl.col(WEIGHT) > 0)))
        if len(invalid_rows):
            row = invalid_rows.row(0, named=True)
            raise InputError(f"{name}: item '{row['item_id']}': 'weight' must be above 0, got {row[WEIGHT]}")
    return frame


def refuse_verdicts(labels: pl.DataFrame, name: str) -> None:
    """Raise InputError, beginning with `name`, if some labels are those of a model instead of people's."""
    model_columns = [column for column in (JUDGE, WITNESS) if column in labels.columns]
    verdicts = labels.filter(pl.any_horizontal(pl.col(model_columns).is_not_null()), pl.col("label").is_not_null())
    if not model_columns or verdicts.is_empty():
        return
    judges = verdicts[model_columns[0]].cast(pl.String).drop_nulls().unique().sort().to_list()
    raise InputError(
        f"{name}: {format_count(len(verdicts), 'label')} are verdicts of a judge (column '{model_columns[0]}': "
        f"{', '.join(map(make_one_line, judges[:_MOST_NAMES]))}), which makes errors. Give them to `fit` or "
        "`monitor` as "
        f"{format_option('judged')}, and labels by people of some of these responses as {format_option('labels')}, "
        "which correct the judge. "
        f"If people gave these labels, remove the column '{model_columns[0]}'"
    )


def read_slice_values(frame: pl.DataFrame, column: str, name: str) -> pl.Series:
    """Each row's value of a column of a log, (n_rows,).

    Raises InputError, which begins with `name`, for a column that is empty, or has several values per row.
    """
    # A name may match several columns of the log; all values are null if it matches none.
    values = coalesce_columns(frame, [column])
    if values.null_count() == len(frame):
        raise InputError(f"{name}: column '{column}' is empty for every response; {_format_columns(frame)}")
    if values.dtype.is_nested():
        raise InputError(f"{name}: column '{column}' must have one value per response, got {values.dtype}"[:300])
    return values


def add_labels(features: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """The features with these labels instead of their own; null for responses without one.

    If no id of a label is that of a response, labels with questions are joined by the question.
    """
    has_questions = LABEL_QUESTION in labels.columns and labels[LABEL_QUESTION].null_count() < len(labels)
    if has_questions and not labels["item_id"].is_in(features["item_id"].unique().implode()).any():
        return _add_question_labels(features, labels)
    key = [name for name in RESPONSE if name in labels.columns and name in features.columns]
    id_labels = labels.select(*key, "label")
    check_conflicts(id_labels, key, "labels")
    id_labels = id_labels.sort(pl.col("label").is_not_null(), maintain_order=True).unique(key, keep="last")
    return features.drop("label", strict=False).join(id_labels, on=key, how="left", maintain_order="left")


def _add_question_labels(features: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """The features with the labels of their questions; a question with labels that differ has none."""
    if QUESTION not in features.columns:
        raise InputError(
            "labels: no item_id is that of a response, and the features have no column 'question' to join the labels' "
            f"questions; give the logs themselves, or read them with {format_option('columns', 'question')}"
        )
    key = pl.col(QUESTION).str.strip_chars().alias("(question)")
    question_labels = (
        labels.drop_nulls(["label", LABEL_QUESTION])
        .group_by(pl.col(LABEL_QUESTION).str.strip_chars().alias("(question)"))
        .agg(label=pl.when(pl.col("label").n_unique() == 1).then(pl.col("label").first()))
    )
    joined = features.drop("label", strict=False).with_columns(key)
    labelled = joined.join(question_labels, on="(question)", how="semi")
    if n_repeated := labelled.select(pl.struct("(question)", "model").is_duplicated().sum()).item():
        raise InputError(
            f"labels: are joined by their question, but {n_repeated} responses share it with another one; give logs "
            "with one response per question, or labels with the item_id of their response"
        )
    return joined.join(question_labels, on="(question)", how="left", maintain_order="left").drop("(question)")


def require_one_value(rows: pl.DataFrame, column: str) -> Any:
    """The only value of a column; raises InputError if it has several."""
    counts = dict(rows[column].value_counts(sort=True).iter_rows())
    refuse_several_values(column, counts)
    return next(iter(counts), None)


def refuse_several_values(column: str, counts: Mapping[Any, int], is_partial: bool = False) -> None:
    """Raise InputError if a column has several values.

    `counts` are numbers of responses by value; with `is_partial`, of the responses read so far.
    """
    if len(counts) < 2:
        return
    values = ", ".join([f"{value} ({format_count(n, 'response')})" for value, n in counts.items()][:_MOST_NAMES])
    so_far = " among those read so far" if is_partial else ""
    one = format_option("where", f"{column}={next(iter(counts))}", function="read_features")
    remedy = f"use one of them, for example with {one}"
    if column == "top_k_returned":
        smallest = format_option("top_k", min(counts), function="read_features")
        remedy += f", or cut all to the smallest with {smallest}"
    raise InputError(f"features: {column} must be the same in all rows, got {values}{so_far}: {remedy}")


def _require_columns(frame: pl.DataFrame, columns: Sequence[str], name: str) -> None:
    """Raise InputError, which begins with `name`, for a missing column."""
    for column in columns:
        if column not in frame.columns:
            raise InputError(f"{name}: column '{column}' is missing; {_format_columns(frame)}")


def _format_columns(frame: pl.DataFrame) -> str:
    return f"columns: {', '.join(frame.columns)[:1000] or 'none'}"


def _cast_columns(frame: pl.DataFrame, dtypes: Mapping[str, Any], name: str) -> pl.DataFrame:
    """A frame in which these columns, as far as they exist, have these dtypes; raises InputError otherwise."""
    for column, dtype in dtypes.items():
        actual = frame.schema.get(column, dtype)
        if actual != dtype:
            try:
                frame = frame.with_columns(pl.col(column).cast(dtype))
            except pl.exceptions.PolarsError:
                raise InputError(f"{name}: column '{column}' must be {dtype}, got {actual}") from None
    return frame
