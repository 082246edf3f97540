"""Package versions where a job is planned and where it runs: results must not depend on the node that it got."""

import json
import os
from importlib.metadata import PackageNotFoundError, version

from entropy_sentinel.frames.errors import VersionError

# What results depend on and every environment of the project pins alike. vLLM's version is in each trace file.
PACKAGES = ("snakemake", "polars", "pydantic", "scikit-learn", "scipy", "math-verify")
_VARIABLE = "ENTROPY_SENTINEL_VERSIONS"


def announce_versions() -> None:
    """Put this host's versions into the environment, which jobs inherit, on whatever node they run.

    A job parses the workflow again: what the submitting host has said stays.
    """
    os.environ.setdefault(_VARIABLE, json.dumps(installed_versions()))


def check_versions() -> None:
    """Raise VersionError where a package of this job's node differs from the submitting host's.

    A package that one of the two lacks is not compared: the generation environment has no scikit-learn.
    """
    planned, here = json.loads(os.environ.get(_VARIABLE, "{}")), installed_versions()
    for name in planned.keys() & here.keys():
        if planned[name] != here[name]:
            raise VersionError(
                f"{name} {here[name]} on {os.uname().nodename}, {planned[name]} on the host that submitted the job; "
                "both must be the same: install the environments of envs/ where all nodes see them"
            )


def installed_versions() -> dict[str, str]:
    """Versions of those of `PACKAGES` that are installed."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions
