"""Files that come with the package, to try verbs and commands on."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Example:
    """Files that come with the package: what a small open model answered to questions of published benchmarks.

    They are 30 questions of each of five, a part of the repository's `examples/real`. To be small, log-probabilities
    are rounded: no probability moves by more than 0.00012.

    Attributes:
        traces: A folder with the responses and their log-probabilities.
        labels: A file with their labels, by final answers; null where an answer could not be read.
        log: Some short responses as a log, with five alternatives to a token.
        sources: Where model and questions come from, and their licences.
    """

    traces: Path
    labels: Path
    log: Path
    sources: Path


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
    return Example(folder / "traces", folder / "labels.parquet", folder / "log.jsonl", folder / "SOURCES.md")
