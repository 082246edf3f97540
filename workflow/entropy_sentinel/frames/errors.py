"""Errors that a user can act on: which thing, what it must be, what it was, what to do."""


class EntropySentinelError(Exception):
    """Base class: shown to the user as its message alone, without a traceback."""


class ConfigError(EntropySentinelError):
    """The configuration names something unknown, contradictory or absent."""


class InputError(EntropySentinelError):
    """A file from outside has a row or a field that nothing sensible can be done with."""


class IncompleteFileError(InputError):
    """A file from outside cannot be read to its end; what stands before was read."""


class ContractError(EntropySentinelError):
    """A frame does not have the columns, dtypes or keys that its stage has promised."""


class DamagedFileError(ContractError):
    """A file of the pipeline is absent, incomplete, or no Parquet file: what is wrong with it, and what to do."""

    def __str__(self) -> str:
        return "; ".join(map(str, self.args))


class VersionError(EntropySentinelError):
    """A job runs with other package versions than the host that submitted it has."""


class ProvenanceError(EntropySentinelError):
    """Rows or traces of different origin would be mixed (another log-probability mode, another commit)."""
