"""Fill in the table of rooms on the architecture page."""

from made.markdown import code, table
from made.rooms import table_of_imports

MARK = "<!-- rooms -->"


def filled(markdown: str) -> str:
    """The text of a page with its placeholder replaced by the table of rooms."""
    if MARK not in markdown:
        return markdown
    rows = ([floor, code(room), modules, below] for floor, room, modules, below in table_of_imports())
    return markdown.replace(MARK, table(["floor", "room", "modules", "imports from (modules that do)"], rows))
