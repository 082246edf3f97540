"""Which code made a result: the version of this package, and the commit of the tree that it lies in."""

import subprocess
from pathlib import Path

from entropy_sentinel import __version__


def code_version() -> str:
    """`1.0.0, commit 0123456789ab`, `with changes` where the tree has any; the version alone without a tree of git."""
    commit = _git("rev-parse", "--short=12", "HEAD")
    if commit is None:
        return __version__
    changed = " with changes" if _git("status", "--porcelain", "--untracked-files=no", "--", ".") else ""
    return f"{__version__}, commit {commit}{changed}"


def _git(*arguments: str) -> str | None:
    """What git says of the package's folder; null where it is not installed or the folder is in no tree of its own."""
    package = Path(__file__).parents[1]
    try:
        # A copy that is installed inside another project's tree is none of that tree's files.
        subprocess.run(["git", "ls-files", "--error-unmatch", __file__], cwd=package, capture_output=True, check=True)
        found = subprocess.run(["git", *arguments], cwd=package, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()
