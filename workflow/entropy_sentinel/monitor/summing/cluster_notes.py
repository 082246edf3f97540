"""Notes about dependent responses: what is not known about them, and what can be told with an option."""

from collections.abc import Collection

from entropy_sentinel.monitor.codes import AlertKind
from entropy_sentinel.monitor.reading.clusters import find_conversation_column
from entropy_sentinel.monitor.reading.problems import Problems
from entropy_sentinel.monitor.settings import MonitorOptions
from entropy_sentinel.monitor.summing.file_sums import REPEATS, FileSums

_EARLIER = f"files read by an earlier version, so {REPEATS} in them are unknown; give the files again to recognise them"
_WITHOUT_REQUEST = (
    f"responses without their request: {REPEATS} among them are not recognised, and the promise about false alarms "
    "assumes that all questions differ"
)
_WITHOUT_CLUSTER = "responses without a value of '{}', which count as independent"
_CONVERSATIONS = (
    "columns with conversations ({0}): responses of one conversation depend on each other; with --cluster {0}, "
    "intervals and alarms allow for that"
)


def note_clusters(problems: Problems, files: Collection[FileSums], settings: MonitorOptions) -> None:
    """Note responses whose cluster is unknown, where intervals or a promise depend on it."""
    read = [file for file in files if file.n_responses]
    if earlier := [file.path for file in read if file.n_clustered is None]:
        problems.note(_EARLIER, earlier)
    unknown = sum(file.n_responses - file.n_clustered for file in read if file.n_clustered is not None)
    if not unknown:
        return
    if settings.cluster is not None:
        problems.note(_WITHOUT_CLUSTER.format(settings.cluster), [], unknown)
    elif settings.has_kind(AlertKind.DROP):
        problems.note(_WITHOUT_REQUEST, [], unknown)


def note_conversations(problems: Problems, columns: Collection[str]) -> None:
    """Note a column of the log that seems to name conversations."""
    if (column := find_conversation_column(columns)) is not None:
        problems.note(_CONVERSATIONS.format(column), [], 1)
