"""Read files of labels, and the labels that logs of evaluations bring."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.api.input_checks import (
    WEIGHT,
    Paths,
    check_labels,
    coerce_table,
    is_table,
    refuse_verdicts,
    resolve_files,
)
from entropy_sentinel.api.label_merging import LABELLED_AT, LabelFile, merge_label_files
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.external_files import STANDARD_INPUT
from entropy_sentinel.logs.label_table import LABEL_QUESTION, REQUIRED_COLUMNS, list_label_columns, read_label_file
from entropy_sentinel.logs.log_options import ReadOptions
from entropy_sentinel.logs.log_stream import Logs, sort_attempts
from entropy_sentinel.logs.record_decoding import has_labels
from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.schemas.witness_schema import (
    ANSWER,
    COMPARABLE,
    JUDGE,
    PROBABILITY,
    RESPONSE_TEXT,
    TARGET,
    WITNESS,
)

# In a table of `sample`, a slice column whose name another column has begins with this.
_SLICE_PREFIX = "slice_"
_EVALUATION_COLUMNS = [*RESPONSE, "label"]
# Further columns of labels; ids such as 007 must stay text.
_LABEL_COLUMNS = {
    **dict.fromkeys((*RESPONSE[:3], LABEL_QUESTION, LABELLED_AT, JUDGE), pl.String),
    "sample": pl.Int64,
    WEIGHT: pl.Float64,
}
# Further columns of files with the column `judge` or `witness`.
_WITNESS_COLUMNS = {WITNESS: pl.String, PROBABILITY: pl.Float64, COMPARABLE: pl.Boolean}
_WITNESS_COLUMNS |= dict.fromkeys((ANSWER, RESPONSE_TEXT, TARGET), pl.String)


def read_labels(paths: Paths, scorer: str | None = None) -> pl.DataFrame:
    """Read labels from files of stage `labels`, or from Parquet, CSV or JSON Lines with `item_id` and `label`.

    For logs of evaluations (inspect_ai) and samples of lm-evaluation-harness, the labels are the scores.

    If several files label the same response, the newest label counts, and a warning names the responses: the latest
    by the column `labelled_at` (ISO 8601), or without that column the label of the file that is given last.

    Args:
        paths: Files, patterns, folders. A label is true, false, yes, no, 1, 0, in any case, or empty.
        scorer: The scorer whose scores are the labels, if the log of an evaluation has several.

    Returns:
        One row per label: `item_id`, `label`, and if the files have them `model`, `benchmark`, `sample`,
        `weight` (how many responses the label represents), `judge` (the model whose verdict the label is; labels by
        people have none), and beside it `witness`, `probability` and `comparable`. Samples of lm-evaluation-harness
        have the question in `asked`, by which `fit` joins them if no id matches. For evaluations, `label_reason` says
        why a label is null.

    Raises:
        InputError: For a file without the two columns; with file, row and value for an invalid label or weight; with
            file, id and rows for two labels of a response in one file that differ.

    Examples:
        >>> import entropy_sentinel as es
        >>> labels = read_labels(es.example().labels)
        >>> labels.height, labels["label"].mean()
        (150, 0...)
    """
    return merge_label_files(read_label_frames(paths, scorer))


def read_people_labels(paths: Paths, scorer: str | None = None) -> pl.DataFrame:
    """`read_labels`; raises InputError, which names the file, if it has the verdicts of a judge."""
    frames = read_label_frames(paths, scorer)
    for file in frames:
        refuse_verdicts(file.rows, file.name)
    return merge_label_files(frames)


def coerce_labels(source: Any, scorer: str | None = None) -> pl.DataFrame:
    """Labels by people: those of a table, or of files as `read_people_labels` reads them.

    Raises the errors of `check_labels` or `read_people_labels`.
    """
    if is_table(source):
        return check_labels(source)
    for path in source if isinstance(source, list | tuple) else [source]:
        if not isinstance(path, str | Path):
            raise InputError(
                f"labels: must be a table, such as that of `read_labels`, or files; got {type(path).__name__}"
            )
    return check_labels(read_people_labels(source, scorer))


def read_label_frames(paths: Paths, scorer: str | None = None, title: str = "labels") -> list[LabelFile]:
    """The labels of each file; those of evaluations are together. The error without a file names `title`."""
    evaluations: list[Path] = []
    label_frames: list[LabelFile] = []
    for path in resolve_label_files(paths):
        if has_labels(path):
            evaluations.append(path)
        else:
            label_frames.append(LabelFile(str(path), read_label_file(path, _LABEL_COLUMNS, scorer, _WITNESS_COLUMNS)))
    if evaluations:  # together, because a newer attempt replaces an older one
        label_frames.append(LabelFile(str(evaluations[-1]), _read_evaluations(evaluations, scorer)))
    if not label_frames:
        raise InputError(f"{title}: name at least one file")
    return label_frames


def resolve_label_files(paths: Paths) -> list[Path]:
    """The files of labels that paths name; in a folder, Parquet files and inspect_ai's evaluations."""
    return resolve_files(paths, (".parquet", ".eval"))


def read_sample_columns(paths: Paths) -> list[str]:
    """The columns by which the labels in files of `sample` were drawn; empty if they differ or are unknown."""
    column_sets: set[tuple[str, ...]] = set()
    for path in resolve_label_files(paths):
        if not has_labels(path):
            column_sets.add(tuple(find_sample_columns(list_label_columns(path))))
    return list(column_sets.pop()) if len(column_sets) == 1 else []


def find_sample_columns(names: Sequence[str]) -> list[str]:
    """The slice columns of a table of `sample` with these columns: those before the ids; none without weights."""
    if WEIGHT not in names:
        return []
    drawn = takewhile(lambda name: name not in RESPONSE, names)
    return [name.removeprefix(_SLICE_PREFIX) for name in drawn]


def read_table_labels(features: Any) -> pl.DataFrame | None:
    """The labels in a table of features; null if there are none."""
    frame = coerce_table(features, "features")
    if frame.schema.get("label") != pl.Boolean or frame["label"].null_count() == len(frame):
        return None
    return frame.select(_EVALUATION_COLUMNS)


def merge_logged_labels(labels_by_path: Mapping[str, Sequence[pl.DataFrame]]) -> pl.DataFrame | None:
    """The labels that logs of evaluations brought with their responses; null if there are none.

    `labels_by_path` are frames of labels by the path of their log. A retried evaluation has a log for each attempt, and
    the label of the newest one counts.
    """
    frames: list[pl.DataFrame] = []
    for path in sort_attempts([*labels_by_path]):
        if Path(path).suffix != ".parquet" and path != STANDARD_INPUT:
            frames += labels_by_path[path]
    if not frames:
        return None
    labels = pl.concat(frames).unique(RESPONSE, keep="first", maintain_order=True)
    return None if labels["label"].null_count() == len(labels) else labels


def _read_evaluations(paths: Sequence[Path], scorer: str | None) -> pl.DataFrame:
    """The scores in logs of evaluations as labels: columns of RESPONSE, `label`, and `label_reason` of a null label."""
    frames = [frame.select(*_EVALUATION_COLUMNS, "label_reason") for frame in Logs(paths, ReadOptions(scorer=scorer))]
    return pl.concat(frames) if frames else pl.DataFrame(schema=dict.fromkeys(REQUIRED_COLUMNS, pl.Null))
