"""Stable codes for flags, problems and alerts.

Code, files, metrics and tests compare codes; only people read the words, so words can improve.

    ES1xx  flags of slices           `monitor.alert_codes.Flag`
    ES2xx  problems of reading       in `monitor.reading`
    ES3xx  kinds of alerts           `monitor.alert_codes.AlertKind`
    ES4xx  notes about an accuracy   `monitor.alert_codes.AccuracyNote`
"""

from enum import StrEnum
from typing import Self


class StableCode(StrEnum):
    """A family of codes: a member equals its number, such as `ES101`, which never gets another meaning.

    Attributes:
        slug: The name in options and labels, such as `few-responses`; as stable as the number.
        words: What outputs for people say.
        meaning: What it means, in a sentence.
        remedy: What to do, in a sentence; empty if there is nothing to do.
    """

    slug: str
    words: str
    meaning: str
    remedy: str

    def __new__(cls, number: str, slug: str, words: str, meaning: str, remedy: str = "") -> "StableCode":
        """Make a member from its number, slug, words, meaning and remedy."""
        member = str.__new__(cls, number)
        member._value_ = number
        member.slug, member.words, member.meaning, member.remedy = slug, words, meaning, remedy
        return member

    @property
    def number(self) -> str:
        """The number as a plain string, for files."""
        return str(self.value)

    @classmethod
    def find_slug(cls, slug: str) -> Self | None:
        """The member with this slug, or None."""
        return next((member for member in cls if member.slug == slug), None)


class ExtensionCode(str):
    """The code of something that an extension declares: it has no number, so its slug is its code.

    It has the attributes of a `StableCode`.
    """

    __slots__ = ("meaning", "remedy", "words")

    words: str
    meaning: str
    remedy: str

    def __new__(cls, slug: str, words: str, meaning: str, remedy: str = "") -> "ExtensionCode":
        """Make a code from its slug, words, meaning and remedy."""
        code = super().__new__(cls, slug)
        code.words, code.meaning, code.remedy = words, meaning, remedy
        return code

    @property
    def number(self) -> str:
        """The slug as a plain string, for files."""
        return str.__str__(self)

    slug = number
