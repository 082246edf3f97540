"""Whether the built site holds together: every link leads somewhere, and nothing is fetched from elsewhere."""

import posixpath
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself, and what a reader has to click.
FETCHED = {("script", "src"), ("img", "src"), ("link", "href"), ("source", "src"), ("iframe", "src")}
CLICKED = {("a", "href")}


class _Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[tuple[str, str, str]] = []
        self.anchors = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        for name in ("src", "href"):
            if name in given and (tag, name) in FETCHED | CLICKED:
                self.links.append((tag, name, given[name]))


def problems(site: Path) -> list[str]:
    """A line for each link of the site's pages that leads nowhere, and each file that comes from elsewhere."""
    pages = {path.relative_to(site).as_posix(): _Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}
    return [problem for name in pages for problem in _problems(site, name, pages)]


def _problems(site: Path, name: str, pages: dict[str, _Page]) -> Iterator[str]:
    for tag, attribute, link in pages[name].links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            if (tag, attribute) in FETCHED and parts.scheme != "data":
                yield f"{name}: {tag} is fetched from elsewhere: {link}"
            continue
        # The page for what is not found is shown at any address, so its links begin at the root.
        path = posixpath.normpath(posixpath.join("/" + posixpath.dirname(name), unquote(parts.path))).lstrip("/")
        path = path if (site / path).is_file() else posixpath.join(path, "index.html")
        target = path if parts.path else name
        if not (site / target).is_file():
            yield f"{name}: {link} leads nowhere"
        elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
            yield f"{name}: {link} leads to no part of {target}"
