"""Text from logs and models that cannot change a terminal.

On a terminal, no such text can move the cursor, change colours, or reverse the order of characters (Unicode, UAX 9 and
UTR 36).
"""

import json
import unicodedata
from typing import Any

# Joiners of letters in some scripts and in emoji.
_JOINERS = "\u200c\u200d"
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def make_printable(text: str) -> str:
    """The text with a visible character for each control character; line breaks and tabs stay."""
    if text.isprintable():
        return text
    return "".join(char if char in "\n\t" else _make_visible(char) for char in text)


def make_one_line(text: str) -> str:
    """The text like `make_printable`, on one line."""
    return text if text.isprintable() else "".join(map(_make_visible, text))


def describe_json(value: Any) -> str:
    """A value of a file as its writer knows it: `null` and `true` instead of Python's words, texts in quotes."""
    return repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _make_visible(char: str) -> str:
    """The symbol of a control character, U+FFFD for another invisible one, any other character unchanged."""
    if not is_hidden(char):
        return char
    if char < " ":
        return chr(0x2400 + ord(char))
    return "\N{SYMBOL FOR DELETE}" if char == "\x7f" else "\N{REPLACEMENT CHARACTER}"


def is_hidden(char: str) -> bool:
    """Whether a character is invisible and changes how others appear; joiners of letters do not."""
    return unicodedata.category(char) in _HIDDEN and char not in _JOINERS
