"""What a state knows of one file beside its sums."""

from dataclasses import dataclass, field
from typing import Any

from entropy_sentinel.monitor.catalogue import VERSIONS

# The statistics of files whose state does not say which it has: those that there were when it did not.
_FIRST = {"n_responses": 1, "n_estimated": 1, "cut_off_share": 1}


@dataclass
class FileSums:
    """What is known of one file beside its sums.

    `replaces` are keys of what it begins with. `seen` are columns with a value, `problems` is `Problems.as_dict`,
    `rejected` counts responses by what they are of and the estimator is not, `taken` those taken all the same.
    `checksums` are those of its files, by folder; `statistics` the versions of those that its sums have.
    """

    path: str
    key: str
    n_bytes: int
    replaces: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    problems: dict[str, Any] = field(default_factory=dict)
    rejected: dict[str, int] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)
    n_responses: int = 0
    checksums: dict[str, str] = field(default_factory=dict)
    statistics: dict[str, int] = field(default_factory=lambda: dict(VERSIONS))

    @classmethod
    def of(cls, content: dict[str, Any]) -> "FileSums":
        """Back from a state's JSON."""
        return cls(**{"statistics": _FIRST, **content})

    @property
    def unknown(self) -> list[str]:
        """The statistics that its sums do not have, or of another version."""
        return [name for name, version in VERSIONS.items() if self.statistics.get(name) != version]
