"""Text of logs and models as a terminal may show it: nothing in it moves the cursor, colours, or turns the order round.

Source: Unicode, Bidirectional Algorithm (UAX 9) and Security Considerations (UTR 36).
"""

import unicodedata

# What joins letters in some scripts and in emoji.
_JOINERS = "\u200c\u200d"
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def printable(text: str) -> str:
    """The text with a visible character in the place of each that acts on a terminal; lines and tabs stay."""
    return text if text.isprintable() else "".join(char if char in "\n\t" else _visible(char) for char in text)


def one_line(text: str) -> str:
    """The text as `printable` has it, on one line."""
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(char: str) -> str:
    """The picture of a control character, U+FFFD for others that are not seen; other characters as they are."""
    if unicodedata.category(char) not in _HIDDEN or char in _JOINERS:
        return char
    if char < " ":
        return chr(0x2400 + ord(char))
    return "\N{SYMBOL FOR DELETE}" if char == "\x7f" else "\N{REPLACEMENT CHARACTER}"
