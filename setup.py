"""What a package index shows of README.md; everything else is in pyproject.toml."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
# A link or picture whose target is a file of the repository: `[text](docs/how.md#part)`.
_RELATIVE = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)")


def readme_elsewhere(text: str, repository: str | None) -> str:
    """README's text with links that lead to files of the repository; without its address, with plain text instead."""

    def elsewhere(link: re.Match[str]) -> str:
        picture, words, path = link.groups()
        if repository is None:
            return "" if picture else words
        return f"{picture}[{words}]({repository}/{'raw' if picture else 'blob'}/HEAD/{path})"

    return re.sub(r"\n{3,}", "\n\n", _RELATIVE.sub(elsewhere, text))


if __name__ == "__main__":  # setuptools runs this file as a script
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    setup(
        long_description=readme_elsewhere((ROOT / "README.md").read_text("utf-8"), urls.get("Repository")),
        long_description_content_type="text/markdown",
    )
