"""HTML of pages, and of the fragments of tables and figures they contain. All text is escaped."""

import re
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from entropy_sentinel.core.printable import make_printable
from entropy_sentinel.formatting.text_format import format_number
from entropy_sentinel.rendering import mathml

_CODE = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Exhibit:
    """A table or figure: `kind` is `table` or `figure`, `name` begins with the paper's number if it has one."""

    kind: str
    name: str
    title: str

    @property
    def file(self) -> str:
        """Its files without their suffix, and its anchor: `table_2_by_model`."""
        return f"{self.kind}_{self.name}"

    @property
    def folder(self) -> str:
        """The folder of its files, next to the page that shows it: `tables`."""
        return f"{self.kind}s"

    @property
    def published(self) -> "Exhibit":
        """The published values of this exhibit."""
        return Exhibit(self.kind, f"{self.name}_published", f"{self.title}, compared with the paper")

    @property
    def number(self) -> str:
        """The paper's number; empty if it has no such exhibit."""
        number = self.name.partition("_")[0]
        return number if number.isdigit() else ""

    @property
    def heading(self) -> str:
        """`Table 2: AEE and rho by model`; only the title if the paper has no such table."""
        return f"{self.kind.title()} {self.number}: {self.title}" if self.number else self.title


_HERE = Path(__file__).parent


def render(template: str | Path, **content: object) -> str:
    """Render a page from a template, which can extend and import the templates of this folder."""
    template = Path(template)
    return _make_environment(template.parent).get_template(template.name).render(**content)


def render_fragment(kind: str, *content: object) -> str:
    """The HTML of one exhibit: what the macro `kind` of `exhibits.html.j2` makes of its arguments, the `content`."""
    return str(getattr(_make_environment(_HERE).get_template("exhibits.html.j2").module, kind)(*content))


def read_fragment(path: str | Path) -> Markup:
    """Read a fragment written by `render_fragment` for use in a page; it is already escaped."""
    return Markup(Path(path).read_text(encoding="utf-8"))


def _make_visible(value: object) -> object:
    """A text with visible characters for its control characters, which could turn the text around it."""
    return make_printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def mark_code(text: str) -> Markup:
    """A text as HTML, with its parts between backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(_make_visible(text)))))


def _make_environment(folder: Path) -> Environment:
    """Jinja's environment for the templates of `folder` and of this folder."""
    environment = Environment(
        loader=FileSystemLoader([folder, _HERE]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_make_visible,
    )
    environment.filters["number"] = format_number
    environment.filters["code"] = mark_code
    environment.filters["formulas"] = mathml.split_formulas
    return environment
