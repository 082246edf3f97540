"""Read the files of rows and the logs for a new study.

In files of rows, the columns of question, reference and options are detected by name. A log is split into the files of
a study: questions, traces and labels of each domain.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.api.label_reading import read_people_labels
from entropy_sentinel.api.response_reading import read_logs
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.logs.reader_base import QUESTION as QUESTION_OF_A_LOG
from entropy_sentinel.logs.response_keys import UNKNOWN_MODEL
from entropy_sentinel.schemas.generation_schema import UNUSABLE
from entropy_sentinel.study.items.benchmark_rows import read_local_rows
from entropy_sentinel.study.items.benchmark_settings import FORMATS
from entropy_sentinel.study.items.item_conversion import match_references, read_options
from entropy_sentinel.study.items.row_fields import fill_first, is_empty

# Names that data sets use, the likeliest first; case does not matter.
QUESTION = ("question", "problem", "prompt", "query", "question_concat", "input", "instruction", "text", "q")
REFERENCE = (
    "answer",
    "reference",
    "reference_answer",
    "correct_answer",
    "final_answer",
    "expected_answer",
    "expected",
    "gold",
    "target",
    "solution",
    "label",
    "output",
    "a",
)
OPTIONS = ("options", "choices")
# Names of columns with an option each, by its letter.
OPTION_FORMS = ("{}", "option_{}", "option {}", "option{}", "choice_{}")
LOWER_LETTERS = "abcdefghij"
# The mark before the final answer in references with reasoning, as in GSM8K.
ANSWER_MARK = "####"
# Number of rows to inspect.
_MAX_ROWS = 500


@dataclass(frozen=True)
class Rows:
    """A file of rows and its columns; `reference` and `options` may be None.

    `options` is one column with a list, or a column for each option. `reference_is` (letter, index, number or text) is
    set if the rows do not show how references name options; `has_answer_mark` means that final answers are after
    ANSWER_MARK; `n_rows_read` is the number of inspected rows, at most 500.
    """

    path: str
    n_rows_read: int
    question: str
    reference: str | None
    has_answer_mark: bool
    options: str | tuple[str, ...] | None
    reference_is: str | None


def detect_columns(path: str, question: str | None = None, reference: str | None = None) -> Rows:
    """Describe a file by its first rows; `question` and `reference` are columns that the user names.

    Raises InputError for a file that cannot be read, has no rows, or no column for the question.
    """
    rows = list(islice(read_local_rows(path), _MAX_ROWS))
    if not rows:
        raise InputError(f"{path}: must have rows, has none")
    columns = list(dict.fromkeys(chain.from_iterable(rows)))
    for name in filter(None, (question, reference)):
        if name not in columns:
            raise InputError(f"{path}: has no column '{name}'; columns: {', '.join(columns)}")
    question_column = question or _find_column(columns, QUESTION)
    if question_column is None:
        raise InputError(
            f"{path}: which column is the question? Name it with --question; columns: {', '.join(columns)}"
        )
    options = _find_options(rows, _find_column(columns, OPTIONS)) or _find_option_columns(columns)
    used_columns = {question_column}
    if options:
        used_columns.update([options] if isinstance(options, str) else options)
    # Not a column that is used already: `a` may be an option, not the answer.
    reference_column = reference or _find_column([name for name in columns if name not in used_columns], REFERENCE)
    references: list[str] = []
    if reference_column:
        rows_with_column = [row for row in rows if reference_column in row]
        references = [text for row in rows_with_column if (text := fill_first([f"{{{reference_column}}}"], row, path))]
    if not references:
        reference_column = None
    reference_is = None
    if options and reference_column:
        reference_is = _detect_reference_form(rows, options, reference_column, path)
    return Rows(
        path,
        n_rows_read=len(rows),
        question=question_column,
        reference=reference_column,
        has_answer_mark=sum(ANSWER_MARK in text for text in references) > len(references) / 2,
        options=options,
        reference_is=reference_is,
    )


def make_name(path: str) -> str:
    """A name for a benchmark or model from its file's name, without suffixes and forbidden characters."""
    stem = Path(path).name
    for end in (".gz", *FORMATS, ".json", ".yaml", ".yml"):
        stem = stem.removesuffix(end)
    cleaned = "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in stem)
    return cleaned.strip("._-")[:80] or "rows"


def find_free_name(name: str, used_names: Iterable[str]) -> str:
    """The name, with a number if it is taken."""
    names = set(used_names)
    candidate = name
    number = 1
    while candidate in names:
        number += 1
        candidate = f"{name}-{number}"
    return candidate


def _find_column(columns: Sequence[str], likely: Sequence[str]) -> str | None:
    """The column with the likeliest name, except names that a format string cannot contain."""
    by_name = {name.casefold(): name for name in columns if not set(name) & set("{}[].:!")}
    for name in likely:
        if name in by_name:
            return by_name[name]
    return None


def _find_options(rows: Sequence[Mapping[str, Any]], column: str | None) -> str | None:
    """The options' place in `column`: the column itself, or its list `column[text]`; None if it has no options."""
    if column is None:
        return None
    values = [row.get(column) for row in rows if not is_empty(row.get(column))]
    if not values:
        return None
    if all(isinstance(value, Mapping) and isinstance(value.get("text"), list) for value in values):
        return f"{column}[text]"
    return column if all(isinstance(value, list | Mapping) for value in values) else None


def _find_option_columns(columns: Sequence[str]) -> tuple[str, ...] | None:
    """The columns of a table with a column per option, such as `A`, `B`, `C` or `option_a`; None without."""
    columns_by_name = {name.casefold(): name for name in columns}
    for form in OPTION_FORMS:
        names = [form.format(letter) for letter in LOWER_LETTERS]
        # Keys of `columns_by_name` are casefolded, too.
        present = [name for name in names if name in columns_by_name]
        # Without a gap: `a` and `c` are no options.
        if len(present) >= 2 and present == names[: len(present)]:
            return tuple(columns_by_name[name] for name in present)
    return None


def _detect_reference_form(
    rows: Sequence[Mapping[str, Any]], options: str | tuple[str, ...], reference: str, path: str
) -> str | None:
    """How references name options, if the config must say so: `index`, which the user must check; else None.

    It is None if the rows show it. A reference such as 1 may be an option's index (from 0) or number (from 1).
    """
    columns = [options] if isinstance(options, str) else options
    options_by_row, references, where_by_row = [], [], []
    for row in rows:
        if reference in row:
            options_by_row.append(read_options(columns, row, path))
            references.append(fill_first([f"{{{reference}}}"], row, path))
            where_by_row.append(path)
    try:
        match_references(references, options_by_row, None, where_by_row)
    except InputError:  # several forms fit
        match_references(references, options_by_row, "index", where_by_row)  # an error if this one does not
        return "index"
    return None


_TRACE = ("item_id", "text", "finish_reason", "tokens", "token_logprobs", "top_logprobs")


def split_log(
    log: Sequence[str], by: str, labels: Sequence[str], scorer: str | None, folder: Path, base: Mapping[str, Any]
) -> tuple[str, dict[str, Rows], set[str]]:
    """Write the responses of a log, the files `log`, by the values of the column `by`, the domains, to a new `folder`.

    `benchmarks/{domain}.jsonl` has the questions, `traces/{domain}.parquet` the responses,
    `labels/{model}/{domain}.parquet` the labels. Returns the model's name, the rows by domain, and the domains with a
    label. `labels` are files of people's labels; without them it takes the log's own, those of the scorer `scorer` if
    it has several. Unusable responses are dropped; names that config.yaml, `base`, already has get a number. Raises
    InputError for a log without the column, questions or labels, and for a log of several models.
    """
    frame = read_logs(log, columns=[QUESTION_OF_A_LOG, by], scorer=scorer)
    files = ", ".join(log)
    if by not in frame.columns or not frame[by].count():
        raise InputError(f"{files}: has no column '{by}', which must have the domains; name another with --by")
    usable = frame.filter(
        pl.col(UNUSABLE).is_null() & pl.col(by).is_not_null() & pl.col(QUESTION_OF_A_LOG).is_not_null()
    )
    if usable.is_empty():
        raise InputError(f"{files}: no response has log-probabilities, a value of '{by}' and its question")
    # A response that failed may lack a name; it counts as one of the others' model.
    models = usable["model"].drop_nulls().unique().sort().to_list()
    models = [name for name in models if name != UNKNOWN_MODEL] or models
    if len(models) != 1:
        raise InputError(f"{files}: must have one model, has {len(models)} ({', '.join(models)})")
    if labels:
        verdicts = read_people_labels(labels, scorer).select("item_id", "label")
        verdicts = verdicts.unique("item_id", keep="last", maintain_order=True)
        usable = usable.drop("label", strict=False).join(verdicts, on="item_id", how="left", maintain_order="left")
    if "label" not in usable.columns:
        raise InputError(f"{files}: has no labels; name files of labels with --labels")
    model = find_free_name(make_name(models[0]), base["models"])
    domains, labelled_domains = dict[str, Rows](), set[str]()
    for (value,), part in usable.group_by(by, maintain_order=True):
        name = find_free_name(make_name(str(value)), [*base["benchmarks"], *domains])
        domains[name] = _write_domain(part, name, model, folder)
        if part["label"].count():
            labelled_domains.add(name)
    return model, domains, labelled_domains


def _write_domain(part: pl.DataFrame, name: str, model: str, folder: Path) -> Rows:
    """Write the three files of one domain, whose responses in the log are `part`, and describe the first, its rows.

    Items are numbered as the stage `benchmarks` will number the rows: `{name}-00000`, `{name}-00001`, ...
    """
    rows = folder / "benchmarks" / f"{name}.jsonl"
    traces = folder / "traces" / f"{name}.parquet"
    labels = folder / "labels" / model / f"{name}.parquet"
    for path in (rows, traces, labels):
        path.parent.mkdir(parents=True, exist_ok=True)
    with rows.open("w", encoding="utf-8") as lines:
        for row in part.select(QUESTION_OF_A_LOG, log_id="item_id").iter_rows(named=True):
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")
    items = part.with_columns(item_id=pl.format("{}-{}", pl.lit(name), pl.int_range(pl.len()).cast(str).str.zfill(5)))
    items.select(_TRACE).write_parquet(traces)
    items.select("item_id", "label").write_parquet(labels)
    return Rows(
        str(rows),
        n_rows_read=len(part),
        question=QUESTION_OF_A_LOG,
        reference=None,
        has_answer_mark=False,
        options=None,
        reference_is=None,
    )
