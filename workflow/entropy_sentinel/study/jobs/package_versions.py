"""Compare package versions where a job is planned and where it runs, so that results do not depend on the node."""

import json
import os
from importlib.metadata import PackageNotFoundError, version

from entropy_sentinel.core.errors import VersionError

# Packages that results depend on and that all environments pin alike. Each trace file records vLLM's version.
PACKAGES = ("snakemake", "polars", "pydantic", "scikit-learn", "scipy", "math-verify")
_VARIABLE = "ENTROPY_SENTINEL_VERSIONS"


def announce_versions() -> None:
    """Record this host's versions in the environment, which jobs inherit on any node.

    A job parses the workflow again; the submitting host's versions are kept.
    """
    os.environ.setdefault(_VARIABLE, json.dumps(list_installed_versions()))


def check_versions() -> None:
    """Raise VersionError if a package version on this job's node differs from the submitting host's.

    A package that is missing on either side is not compared: the generation environment has no scikit-learn.
    """
    planned = json.loads(os.environ.get(_VARIABLE, "{}"))
    installed = list_installed_versions()
    for name in planned.keys() & installed.keys():
        if planned[name] != installed[name]:
            raise VersionError(
                f"{name} {installed[name]} on {os.uname().nodename}, {planned[name]} on the host that submitted the "
                "job; both must be the same: install the environments of envs/ where all nodes see them"
            )


def list_installed_versions() -> dict[str, str]:
    """The versions of those of `PACKAGES` that are installed."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions
