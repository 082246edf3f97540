"""How an extra of the package is installed."""

from typing import Literal

# The extras of pyproject.toml that messages recommend.
Extra = Literal["judge", "cloud", "inspect", "study"]


def install_command(extra: Extra) -> str:
    """The command for messages; no index has the package, so that its name alone would install something else."""
    return f"pip install '.[{extra}]' in the repository's folder"
