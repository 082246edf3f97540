"""Fill in the table of an extension's functions on the page about extensions."""

import re

from entropy_sentinel.core.extensions import KINDS, PACKAGE
from made.markdown import code, plain, table

MARK = "<!-- extensions -->"


def filled(markdown: str) -> str:
    """The text of a page with its placeholder replaced by the table of functions."""
    if MARK not in markdown:
        return markdown
    rows = ([code(f"{kind}()"), *map(_marked, text.split(": ", 1))] for kind, text in KINDS.items())
    return markdown.replace(MARK, table(["function", "for each name", "which is"], rows))


def _marked(text: str) -> str:
    """A description in which names are code, those of the package's classes in full."""
    names = re.sub(r"\b[a-z_.]+\.[A-Z]\w+", lambda name: f"`{PACKAGE}.{name[0]}`", text)
    return plain(re.sub(r"\brules\.smk\b", "`rules.smk`", names))
