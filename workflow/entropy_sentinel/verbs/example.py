"""Files that come with the package, to try verbs and commands on."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Example:
    """Files that come with the package: a tiny model's responses to 160 arithmetic problems, and their labels.

    Attributes:
        traces: A folder with the responses and their log-probabilities.
        labels: A file with their labels.
        log: Some of the responses as the log of a server, with five alternatives to a token.
    """

    traces: Path
    labels: Path
    log: Path


def example() -> Example:
    """Where the example's files are.

    Returns:
        Their paths.

    Examples:
        >>> import entropy_sentinel as es
        >>> es.example().labels.name
        'labels.parquet'
    """
    folder = Path(__file__).parents[1] / "example"
    return Example(folder / "traces", folder / "labels.parquet", folder / "log.jsonl")
