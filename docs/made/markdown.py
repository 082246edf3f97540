"""Format tables and text as Markdown, for the generated pages."""

import html
import re
from collections.abc import Iterable, Sequence

# What Markdown would read as emphasis, a link, a heading, a tag or the end of a cell.
_SPECIAL = str.maketrans(
    {one: f"\\{one}" for one in "\\*_[]#"} | {"<": "&lt;", ">": "&gt;", "|": "&#124;", "&": "&amp;"}
)


def plain(text: str) -> str:
    """The text as one line with Markdown escaped, except `code` in backticks."""
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(code(part[1:-1]) if part.startswith("`") else part.translate(_SPECIAL) for part in parts)


def code(text: object) -> str:
    """The text as code that is also valid in a table cell."""
    return f"<code>{html.escape(str(text), quote=False).replace('|', '&#124;')}</code>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table from cells, each one line of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def paragraphs(docstring: str | None) -> str:
    """A docstring's paragraphs up to its first example, as Markdown."""
    blocks = re.split(r"\n\s*\n", (docstring or "").split(">>>")[0].strip())
    return "\n\n".join(plain(block) for block in blocks)
