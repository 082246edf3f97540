"""What a check finds: a problem with a code, its severity, and its remedy."""

from dataclasses import asdict, dataclass
from enum import StrEnum


class Severity(StrEnum):
    """Whether a run would fail (`error`), or end with less than expected (`warning`)."""

    ERROR = "error"
    WARNING = "warning"


class ProblemCode(StrEnum):
    """The kinds of problems; `--json` has them, and they stay the same in later versions."""

    CONFIG = "config"
    MISSING_FILE = "missing-file"
    MISSING_KEY = "missing-key"
    NO_ACCESS = "no-access"
    NOT_CACHED = "not-cached"
    HUB_NOT_CHECKED = "hub-not-checked"
    DISK_SPACE = "disk-space"
    TOO_FEW_GPUS = "too-few-gpus"
    NO_ACCOUNTING = "no-accounting"
    FEW_ROWS = "few-rows"


@dataclass(frozen=True)
class Problem:
    """A problem: the key of the config that it is about (empty if none), what is wrong, and what to do."""

    code: ProblemCode
    severity: Severity
    key: str
    message: str
    remedy: str

    def __str__(self) -> str:
        """The problem as one line."""
        subject = f"{self.key}: " if self.key else ""
        return f"{self.severity.upper()} {subject}{self.message}. {self.remedy}"

    def to_dict(self) -> dict[str, str]:
        """The problem as `--json` shows it."""
        return {name: str(value) for name, value in asdict(self).items()}
