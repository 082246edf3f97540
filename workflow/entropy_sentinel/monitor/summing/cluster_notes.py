"""Notes about dependent responses: what is not known about them, and what can be told with an option."""

from collections.abc import Collection

from entropy_sentinel.monitor.alert_codes import AlertKind
from entropy_sentinel.monitor.monitor_options import MonitorOptions
from entropy_sentinel.monitor.reading.dependence import find_conversation_column
from entropy_sentinel.monitor.reading.problem_codes import ProblemKind
from entropy_sentinel.monitor.reading.problem_collection import Problems
from entropy_sentinel.monitor.summing.file_sums import FileRecord


def note_clusters(problems: Problems, files: Collection[FileRecord], settings: MonitorOptions) -> None:
    """Note responses whose cluster is unknown, where intervals or a promise depend on it."""
    unknown = sum(file.n_responses - file.n_clustered for file in files if file.n_clustered is not None)
    if not unknown:
        return
    if settings.cluster is not None:
        problems.add(ProblemKind.NO_CLUSTER, count=unknown, subject=settings.cluster)
    elif settings.has_kind(AlertKind.DROP):
        problems.add(ProblemKind.NO_REQUEST, count=unknown)


def note_conversations(problems: Problems, columns: Collection[str]) -> None:
    """Note a column of the log that seems to name conversations."""
    if (column := find_conversation_column(columns)) is not None:
        problems.add(ProblemKind.CONVERSATIONS, count=1, subject=column)
