"""Rewrite links to files of the repository so that they also work in the site."""

import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Files outside docs/ that are also pages of the site.
ROOT_PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "AGENTS.md": "agents.md",
    "examples/real/README.md": "examples.md",
    "examples/kinds/README.md": "kinds.md",
}
# Where the site has copies of other files of the repository.
COPIES = "repository"
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))|(\b(?:src|href)=\")([^\"#]+)(\")")
# A picture that is in no link.
_PICTURE = re.compile(r'(?<!">)(<img [^>]*?src="([^"]+)"[^>]*>)')
_CODE = re.compile(r"(^(`{3,})[^\n]*\n.*?^\2[ \t]*$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


def source_of(page: str) -> str:
    """The repository file from which a page of the site is built."""
    return next((name for name, uri in ROOT_PAGES.items() if uri == page), f"docs/{page}")


def in_site(text: str, page: str) -> str:
    """A page's text with links that work in the site."""
    folder = posixpath.dirname(page) or "."

    def moved(link: str) -> str:
        target = _target(link, page)
        if target is None:
            return link
        if target in ROOT_PAGES:
            new = ROOT_PAGES[target]
        elif target.startswith("docs/"):
            new = target.removeprefix("docs/")
        else:
            new = f"{COPIES}/{target}"
        return posixpath.relpath(new, folder)

    return _each_link(text, moved)


def copies(text: str, page: str) -> Iterator[str]:
    """Yield the repository files that a page links to and that must be copied into the site."""
    result: list[str] = []

    def seen(link: str) -> str:
        result.append(link)
        return link

    _each_link(text, seen)
    for link in result:
        target = _target(link, page)
        if target and target not in ROOT_PAGES and not target.startswith("docs/") and (ROOT / target).is_file():
            yield target


def _target(link: str, page: str) -> str | None:
    """The path in the repository to which a link points, or None for an external link."""
    if re.match(r"[a-z][a-z0-9+.-]*:|/", link):
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(source_of(page)), link))


def _each_link(text: str, change: Callable[[str], str]) -> str:
    """The text with every link outside code replaced by `changed`."""

    def changed(result: re.Match[str]) -> str:
        before, link, after = [part for part in result.groups() if part is not None]
        return before + change(link) + after

    parts = _CODE.split(text)
    # The pattern has two groups, so code stands at every third place, followed by its fence.
    return "".join(
        "" if number % 3 == 2 else part if number % 3 == 1 else _LINK.sub(changed, part or "")
        for number, part in enumerate(parts)
    )


def with_full_size(html: str) -> str:
    """A page's HTML in which each picture that is in no link is a link to its file."""
    return _PICTURE.sub(r'<a href="\2">\1</a>', html)
