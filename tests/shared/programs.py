"""Programs that some tests start. Where one is missing, its tests are skipped; with `--all-programs` they fail."""

import shutil

import pytest

# In the reason of every such skip; conftest.py looks for it.
NOT_INSTALLED = "is not installed"


def find_program(program: str, package: str) -> str:
    """Return the path of a program; skip the test where Debian's `package` is missing."""
    if not (path := shutil.which(program)):
        pytest.skip(f"{program} {NOT_INSTALLED} (apt-get install {package})")
    return path


def skip_without(found: object, name: str, install: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test unless `found`; `install` is the command that installs it."""
    return pytest.mark.skipif(not found, reason=f"{name} {NOT_INSTALLED} ({install})")
