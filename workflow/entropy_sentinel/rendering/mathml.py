"""Formulas in the texts of questions and answers: from LaTeX to the elements of MathML, which browsers show themselves.

Texts are untrusted. A formula becomes elements with names of MathML, a few attributes and text: a page makes nodes of
these, or escapes them.
"""

import html
import re
from typing import Any
from xml.etree.ElementTree import Element

# Between \( \), \[ \], $$ $$ or $ $: as Pandoc reads them, so that "$5 and $6" are prices.
_FORMULA = re.compile(
    r"""\\\((?P<inline>.+?)\\\)
    | \\\[(?P<block>.+?)\\\]
    | \$\$(?P<display>.+?)\$\$
    | (?<![\\$])\$(?!\s)(?P<dollars>[^$]+?)(?<![\\\s])\$(?!\d)""",
    re.DOTALL | re.VERBOSE,
)
_LONGEST = 2000
_NAME = re.compile("m[a-z]+")
_ATTRIBUTES = {"display", "mathvariant", "stretchy", "fence", "accent", "notation", "linethickness", "columnalign"}

# A piece of text, or an element: its name, its attributes, its text, the elements in it.
Node = list[Any]
Part = str | dict[str, Any]


def split_formulas(text: str | None) -> list[Part] | None:
    """Split a text into pieces of text and formulas, each with its `source` and its `math`; null for no text.

    A formula that cannot be parsed stays text.
    """
    if text is None:
        return None
    pieces: list[Part] = []
    end = 0
    for match in _FORMULA.finditer(text):
        [latex] = filter(None, match.groups())
        math = _convert_formula(latex, block=match.lastgroup in ("block", "display"))
        if math is not None:
            pieces += [text[end : match.start()], {"source": match[0], "math": math}]
            end = match.end()
    return [piece for piece in (*pieces, text[end:]) if piece]


def _convert_formula(latex: str, block: bool) -> Node | None:
    """A formula as an element of MathML, on a line of its own if it is a `block`; None if it cannot be parsed."""
    from latex2mathml.converter import convert_to_element

    if len(latex) > _LONGEST:
        return None
    try:
        return _convert_element(convert_to_element(latex, display="block" if block else "inline"))
    except Exception:  # any exception: the text is untrusted, and the parser has no common error class
        return None


def _convert_element(element: Element) -> Node:
    """An element as a list: its name, its allowed attributes, its text, and the elements in it."""
    if not _NAME.fullmatch(element.tag):
        raise ValueError(f"expected an element of MathML, got {element.tag!r}")
    attributes = {name: value for name, value in element.attrib.items() if name in _ATTRIBUTES}
    return [element.tag, attributes, html.unescape(element.text or ""), [_convert_element(child) for child in element]]
