"""Find the columns of a log whose values could be the domains, and how many domains they give."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.estimators.verdict import FEWEST_LABELS
from entropy_sentinel.features.feature_registry import FEATURE_FRAME
from entropy_sentinel.features.hashed_tokens import SCHEMA
from entropy_sentinel.schemas.generation_schema import LOGPROBS
from entropy_sentinel.schemas.response_schema import ITEM

_NEVER_DOMAIN_COLUMNS = {
    *FEATURE_FRAME.schema,
    *LOGPROBS,
    *SCHEMA,
    "model",
    "question",
    "response",
    "time",
    "timestamp",
} - {"benchmark"}
# Largest numbers of columns and of values that a message names.
_MOST_COLUMNS, _MOST_VALUES = 4, 3
# The column with the name of a response's file, the default domain: a study has a file per benchmark.
FILE = "benchmark"
# Parts of names that differ between the files of one log: a date, with a time or the number of a process; the number of
# a part; an id.
_DATE = r"(?:19|20)\d\d([-_.]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])(?:[-_.T]?\d{1,6}Z?)*"
_MONTH_OR_WEEK = r"(?:19|20)\d\d[-_.]W?\d\d"
_PART = r"(?:part|shard|chunk|batch|page|log|file|rank|worker|process|pid|run)[-_.]?\d+|\d+[-_.]?of[-_.]?\d+|0\d{2,}"
_ID = r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}|[0-9a-f]{12,}"
_PART_OF_LOG = re.compile(rf"(?<![A-Za-z0-9])(?:{_DATE}|{_MONTH_OR_WEEK}|{_PART}|{_ID})(?![A-Za-z0-9])", re.IGNORECASE)
# The number of a rotated log, or of a further process.
_NUMBER = re.compile(r"[-_.]\d{1,6}$")


def count_domains(rows: pl.DataFrame, columns: Collection[str]) -> int:
    """The number of combinations of the columns' values that have at least FEWEST_LABELS items and so count as domains.

    `rows` are labelled responses, and an item is a question.
    """
    items = rows.group_by(columns).agg(n=pl.struct(ITEM).n_unique())
    return int((items["n"] >= FEWEST_LABELS).sum())


def are_parts_of_one_log(names: Iterable[str | None]) -> bool:
    """Whether names, such as those of files, tell days or parts of one log apart rather than kinds of questions.

    They do if fewer names are left without dates, numbers of parts and ids.
    """
    distinct_names = {name for name in names if name is not None}
    logs = set()
    for name in distinct_names:
        # `app-2` is a further file of `app`, if there is one.
        first = _NUMBER.sub("", name)
        logs.add(_PART_OF_LOG.sub("", first if first in distinct_names else name))
    return len(logs) < len(distinct_names)


def check_kinds(rows: pl.DataFrame, option: str) -> None:
    """Raise InputError, which begins with `option`, if the files of responses are days or parts of a log.

    It names the columns whose values could be the domains.
    """
    names = rows[FILE].drop_nulls().unique().sort().to_list()
    if are_parts_of_one_log(names) or (len(names) > 1 and all(name.isdecimal() for name in names)):
        files = ", ".join([*names[:_MOST_VALUES], "..."] if len(names) > _MOST_VALUES else names)
        raise InputError(
            f"{option}: the files of the log are days or parts ({files}) rather than kinds of questions; "
            f"{advise_domains(find_domain_columns(rows, [FILE], 1), option)}; if they are kinds, write "
            f"{format_option(option, FILE)}"
        )


def find_domain_columns(rows: pl.DataFrame, chosen_columns: Collection[str], n_domains: int) -> dict[str, int]:
    """The columns, without `chosen_columns`, that divide a log into more than `n_domains` domains.

    The number of domains by column, the most first. `n_domains` is the number that `chosen_columns` give.
    """
    counts = Counter[str]()
    for name, dtype in rows.schema.items():
        if (
            dtype != pl.String
            or name in _NEVER_DOMAIN_COLUMNS
            or name in chosen_columns
            or are_parts_of_one_log(rows[name].unique())
        ):
            continue
        n = count_domains(rows, [name])
        if n > n_domains:
            counts[name] = n
    return dict(counts.most_common())


def advise_domains(domain_columns: Mapping[str, int], option: str) -> str:
    """Advice on how to get more domains: name one of `domain_columns`, with its number of domains, with `option`."""
    if not domain_columns:
        return "no column gives more: group the questions by topic, and write the topics to a column of the log"
    columns = [f"{name} ({n})" for name, n in domain_columns.items()]
    return (
        f"columns that give more: {', '.join(columns[:_MOST_COLUMNS])}. Choose one whose values are kinds of "
        f"questions, such as {format_option(option, next(iter(domain_columns)))}"
    )
