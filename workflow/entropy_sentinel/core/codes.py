"""Stable codes for flags, problems and alerts.

Code, files, metrics and tests compare codes; only people read the words, so words can improve.

    ES1xx  flags of slices                      `monitor.flag_codes`
    ES2xx  problems of reading                  `monitor.reading.problem_codes`
    ES3xx  kinds of alerts                      `monitor.alerting.alert_kinds`
"""

from enum import StrEnum


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
    def find_slug(cls, slug: str) -> "StableCode | None":
        """Return the member with this slug, or None."""
        return next((member for member in cls if member.slug == slug), None)
