"""What brings the records of a file to replies, a `Reader` for each format, and which columns it keeps of a record."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from entropy_sentinel.sources.logs import columns
from entropy_sentinel.sources.logs.question import QUESTION, question_of
from entropy_sentinel.sources.logs.reply import Reply, scalar, storable


class Reader:
    """Brings the records of one file to replies.

    Attributes:
        wanted: Dotted names of the columns to keep; null for the usual ones.
        further: Names of columns that are kept beside these, where a record has them.
    """

    wanted: Sequence[str] | None = None
    further: Sequence[str] = ()

    def replies(self, record: Mapping[str, Any]) -> Iterable[Reply]:
        """The responses in a record; InputError for one that cannot be used, Ignored for what is no response."""
        raise NotImplementedError

    def rest(self) -> Iterable[Callable[[], Reply]]:
        """What makes the responses that are left when the file is at its end, each by itself: one may fail."""
        return ()

    def columns(self, record: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
        """The columns that were asked for, by the name of a usual one or by their place; or else the `usual` ones.

        The metadata of every format is among these. What is asked for as `question` is looked for in the request, too.
        """
        usual = {**columns.metadata(record), **usual}
        names = [*(usual if self.wanted is None else self.wanted), *self.further]
        found = {name: usual[name] if name in usual else scalar(look_up(record, name)) for name in names}
        if QUESTION in names and found[QUESTION] is None and (asked := question_of(record)) is not None:
            found[QUESTION] = storable(asked)
        return found


def look_up(record: Any, name: str) -> Any:
    """What stands at a dotted name, `request.messages.0.content`; None where there is nothing."""
    if isinstance(record, Mapping) and name in record:
        return record[name]
    for part in name.split("."):
        if isinstance(record, Mapping):
            record = record.get(part)
        elif isinstance(record, list) and part.isdecimal() and int(part) < len(record):
            record = record[int(part)]
        else:
            return None
    return record
