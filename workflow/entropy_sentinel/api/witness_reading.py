"""Read witnesses, from files or tables.

A witness is a source of labels that are not by people: the verdicts of one judge on responses, or the second opinions
of one other model, which agree with a response or not.

A row without a probability counts with its label as 0 or 1, also beside rows that have one. Both are on one scale, and
labels by people correct either, so a witness that gives few probabilities loses nothing.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.api.input_checks import WEIGHT, check_labels, coerce_table, is_table
from entropy_sentinel.api.label_merging import LABELLED_AT, LabelFile, merge_label_files
from entropy_sentinel.api.label_reading import read_label_frames
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.core.printable import make_one_line
from entropy_sentinel.formatting.text_format import format_count, format_list
from entropy_sentinel.logs.label_table import LABEL_QUESTION
from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.schemas.witness_schema import (
    ANSWER,
    COMPARABLE,
    JUDGE,
    PROBABILITY,
    RESPONSE_TEXT,
    SAMPLE,
    SAMPLES,
    TARGET,
    VALUE,
    WITNESS,
    WitnessKind,
    name_witness,
)

log = logging.getLogger(__name__)
# The beginning of errors and warnings about witnesses: the option and the argument.
JUDGED = "judged"
_KINDS = [kind.value for kind in WitnessKind]
# The columns of a witness that every file's rows have, and their values where a file has none.
_OPTIONAL_COLUMNS = {
    PROBABILITY: pl.Float64,
    COMPARABLE: pl.Boolean,
    WEIGHT: pl.Float64,
    WITNESS: pl.String,
    JUDGE: pl.String,
}
# Largest number of files without `judge` that a name lists.
_MOST_FILES = 2


@dataclass(frozen=True)
class Witness:
    """What one model says of some responses.

    `rows` are without nulls in `label` and `value`, and each response is in them once. They have:

    - the columns of RESPONSE that the files have;
    - `label`: its verdict, or whether it agrees;
    - `value`: its probability of "correct", or the label as 0 or 1;
    - `weight` and `comparable`, null if unknown;
    - of a second opinion, the texts that the file has: `answer`, `response`, and the reference, `target`.

    `model` is null if no file names it; `sources` are the files. If several files have weights, `samples` has those of
    each file, by the columns of RESPONSE: a list SAMPLES, because their logs may overlap.
    """

    kind: WitnessKind
    model: str | None
    rows: pl.DataFrame
    sources: tuple[str, ...]
    samples: pl.DataFrame | None = None

    @property
    def name(self) -> str:
        """Its name for people: that of the model, or of the files if these do not name the model."""
        # A table in memory, JUDGED, has no file name.
        files = [Path(source).name for source in self.sources if source != JUDGED]
        return make_one_line(name_witness(self.kind, self.model or format_list(files, _MOST_FILES)))

    @property
    def key(self) -> list[str]:
        """The columns that identify a response."""
        return [name for name in RESPONSE if name in self.rows.columns]

    @cached_property
    def has_probabilities(self) -> bool:
        """Whether some values are neither 0 nor 1."""
        return bool(((self.rows[VALUE] > 0) & (self.rows[VALUE] < 1)).any())


def read_witnesses(judged: Any, scorer: str | None = None, labels: pl.DataFrame | None = None) -> list[Witness]:
    """The witnesses in a table, a file, or several of either, in their order; witnesses as they are.

    A witness is a model that judges responses or answers the same questions. Rows with the same kind (column `witness`)
    and model (column `judge`) are one witness, and so are files without the column `judge`; if several files have a
    response, the newest row counts, as in `read_labels`. `labels` are those by people.

    Raises InputError, which names file, row and column, for a value that is not allowed; and for a file without `judge`
    that repeats the labels by people.
    """
    if isinstance(judged, list) and judged and all(isinstance(each, Witness) for each in judged):
        return judged
    files_by_source: dict[tuple[WitnessKind, str | None], list[LabelFile]] = {}
    for file in _read_files(judged, scorer):
        rows = _complete_rows(file)
        if labels is not None:
            _refuse_people_labels(LabelFile(file.name, rows), labels)
        for (kind, model), model_rows in rows.group_by(WITNESS, JUDGE, maintain_order=True):
            files_by_source.setdefault((WitnessKind(kind), model), []).append(LabelFile(file.name, model_rows))
    witnesses = [_merge_parts(kind, model, files) for (kind, model), files in files_by_source.items()]
    if len(witnesses) > 1:
        for witness in witnesses:
            if witness.model is None:
                log.warning(
                    "%s: %s: no column '%s', so all its rows are one witness; add the column with the model's name",
                    JUDGED,
                    ", ".join(witness.sources),
                    JUDGE,
                )
    return witnesses


def _read_files(judged: Any, scorer: str | None) -> list[LabelFile]:
    """The rows of each table and file."""
    sources = list(judged) if isinstance(judged, list | tuple) else [judged]
    tables = [source for source in sources if is_table(source)]
    paths = [source for source in sources if not is_table(source)]
    files: list[LabelFile] = []
    for number, source in enumerate(tables, 1):
        files.append(
            LabelFile(JUDGED if len(tables) == 1 else f"{JUDGED}: table {number}", coerce_table(source, JUDGED))
        )
    if paths or not files:
        files += read_label_frames(paths, scorer, JUDGED)
    return files


def _complete_rows(file: LabelFile) -> pl.DataFrame:
    """The rows of a file with the columns `label`, VALUE and _OPTIONAL_COLUMNS without PROBABILITY.

    A probability without a label also gives the label. Raises InputError, which begins with the file and the number of
    the row, for a value that is not allowed.
    """
    # `check_labels` refuses labels by a model.
    model_columns = [name for name in (JUDGE, WITNESS) if name in file.rows.columns]
    rows = check_labels(file.rows.drop(model_columns), file.name).with_columns(file.rows.select(model_columns))
    for name, dtype in _OPTIONAL_COLUMNS.items():
        if name not in rows.columns:
            rows = rows.with_columns(pl.lit(None, dtype).alias(name))
        elif rows.schema[name] != dtype:
            try:
                rows = rows.with_columns(pl.col(name).cast(dtype))
            except pl.exceptions.PolarsError:
                raise InputError(f"{file.name}: column '{name}' must be {dtype}, got {rows.schema[name]}") from None
    rows = rows.with_columns(pl.col(PROBABILITY).fill_nan(None), pl.col(WITNESS).fill_null(WitnessKind.VERDICT.value))
    rows = rows.with_columns(_replace_blank(JUDGE))
    _refuse_first(file.name, rows, ~pl.col(PROBABILITY).is_between(0, 1), PROBABILITY, "from 0 to 1, or empty")
    _refuse_first(file.name, rows, ~pl.col(WITNESS).is_in(_KINDS), WITNESS, f"one of {', '.join(_KINDS)}")
    label = pl.coalesce("label", pl.col(PROBABILITY) >= 0.5)
    rows = rows.with_columns(label=label, **{VALUE: pl.coalesce(PROBABILITY, label.cast(pl.Float64))})
    if rows[JUDGE].null_count() < len(rows):
        has_no_judge = pl.col(JUDGE).is_null() & pl.col("label").is_not_null()
        _refuse_first(
            file.name,
            rows,
            has_no_judge,
            JUDGE,
            f"the model that gave the label; labels by people are {format_option('labels')}",
        )
    return rows.drop(PROBABILITY)


def _replace_blank(name: str) -> pl.Expr:
    """A column of texts without spaces around them, null for a blank one."""
    stripped = pl.col(name).str.strip_chars()
    return pl.when(stripped != "").then(stripped).alias(name)


def _refuse_first(file: str, rows: pl.DataFrame, is_wrong: pl.Expr, name: str, expected: str) -> None:
    """Raise InputError about the first row that is wrong in the column `name`, if there is one."""
    wrong = rows.select(is_wrong.fill_null(False)).to_series().arg_true()
    if len(wrong):
        value = rows[name][wrong[0]]
        was = "empty" if value is None else repr(value)[:100]
        raise InputError(f"{file}: row {wrong[0] + 1}: '{name}' must be {expected}, got {was}")


def _merge_parts(kind: WitnessKind, model: str | None, files: Sequence[LabelFile]) -> Witness:
    """The witness of this kind and model, of which `files` have the rows."""
    sources = tuple(dict.fromkeys(file.name for file in files))
    name = name_witness(kind, model)
    columns = [*RESPONSE, LABEL_QUESTION, LABELLED_AT, "label", VALUE, WEIGHT, COMPARABLE]
    if kind == WitnessKind.SECOND_OPINION:
        columns += [ANSWER, RESPONSE_TEXT, TARGET]
    kept = [
        LabelFile(file.name, file.rows.select(pl.col(c) for c in columns if c in file.rows.columns)) for file in files
    ]
    rows = merge_label_files(kept, f"{JUDGED}: {name}")
    labelled = rows.filter(pl.col("label").is_not_null())
    if labelled.is_empty():
        log.warning("%s: %s: none of %s has a verdict", JUDGED, ", ".join(sources), format_count(len(rows), "row"))
    key = [column for column in RESPONSE if column in labelled.columns]
    samples = _list_samples([file.rows.filter(pl.col("label").is_not_null()) for file in kept], key)
    return Witness(kind, model, rows=labelled, sources=sources, samples=samples)


def _refuse_people_labels(file: LabelFile, labels: pl.DataFrame) -> None:
    """Raise InputError if a file that names no model has the labels by people, in any order and format."""
    rows = file.rows.filter(pl.col("label").is_not_null())
    if rows.is_empty() or rows[JUDGE].null_count() < len(rows):
        return
    key = [name for name in RESPONSE if name in rows.columns and name in labels.columns]
    people = labels.filter(pl.col("label").is_not_null()).select(*key, people="label")
    both = rows.select(*key, "label").join(people, on=key, how="left", maintain_order="left", nulls_equal=True)
    if both.select((pl.col("label") == pl.col("people")).fill_null(False).all()).item():
        raise InputError(
            f"{file.name}: has the same {format_count(len(rows), 'label')} as the labels by people "
            f"({format_option('labels')}), which cannot correct themselves. Give as {format_option('judged')} what a "
            f"model said; if a model did say this, add the column '{JUDGE}' with its name"
        )


def _list_samples(files: Sequence[pl.DataFrame], key: Sequence[str]) -> pl.DataFrame | None:
    """The SAMPLES of each response, by the columns `key`: a list of structs of SAMPLE (the file's number) and WEIGHT.

    `files` are the rows of one witness (judge or second model) in each of its files. None if not more than one of them
    has weights.
    """
    parts = [
        file.drop_nulls([*key, WEIGHT]).select(*key, pl.lit(number, pl.Int64).alias(SAMPLE), WEIGHT)
        for number, file in enumerate(files)
    ]
    if sum(len(part) > 0 for part in parts) < 2:
        return None
    each = pl.concat(parts).unique([*key, SAMPLE], keep="last", maintain_order=True)
    return each.group_by(key, maintain_order=True).agg(pl.struct(SAMPLE, WEIGHT).alias(SAMPLES))
