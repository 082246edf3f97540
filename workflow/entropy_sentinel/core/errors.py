"""Errors that a user can act on: which thing, what it must be, what it was, what to do."""

# URLs of remote files by the paths of their local copies.
URLS: dict[str, str] = {}
# Most characters of a line in a message.
_LONGEST_LINE = 2000


def restore_urls(text: str) -> str:
    """A message with URLs in place of the paths of local copies."""
    for copy, url in URLS.items():
        text = text.replace(copy, url)
    return text


class EntropySentinelError(Exception):
    """Base class; the user sees its message without a traceback."""

    def __str__(self) -> str:
        text = restore_urls("; ".join(map(str, self.args)))
        return "\n".join(map(_shorten_line, text.split("\n")))


def _shorten_line(line: str) -> str:
    """A line without the middle of a long one: a name in it may have any length."""
    if len(line) <= _LONGEST_LINE:
        return line
    return f"{line[: _LONGEST_LINE * 3 // 4]} … {line[-_LONGEST_LINE // 5 :]}"


class ConfigError(EntropySentinelError):
    """The configuration names something unknown, contradictory or missing."""


class InputError(EntropySentinelError):
    """A file from outside has an unusable row or field."""


class IncompleteFileError(InputError):
    """A file from outside is damaged; the part before the damage was read."""


class ContractError(EntropySentinelError):
    """A frame does not have the columns, dtypes or keys that its stage promises."""


class DamagedFileError(ContractError):
    """A file of the pipeline is missing, incomplete or not Parquet; the message says what is wrong and what to do."""


class BudgetSpentError(EntropySentinelError):
    """The budget of a server has no room for the next request; the answered ones are cached."""


class VersionError(EntropySentinelError):
    """A job runs with other package versions than the host that submitted it."""


class ProvenanceError(EntropySentinelError):
    """Rows or traces of different origin would be mixed (another log-probability mode, another commit)."""
