r"""What an answer in words and formulas comes down to: without the label before it, numbers in digits.

After `content`, what is left in `\text{...}` stands behind the number or within the formula, and has yet to be read.
"""

import re

from entropy_sentinel.judges.qualifiers import changed, no_answer
from entropy_sentinel.judges.spelled_numbers import in_digits, mixed

_TEXT_WITH_NUMBER = re.compile(r"\\text\{([^{}]*\d[^{}]*)\}")
# `\text{Area: } 5`, `\text{The answer is } 5`, `Answer: 5`.
_LABEL = re.compile(
    r"(?:\\text\{\s*(?P<inside>[^{}]*?)\s*(?:[:=]|\bis\b|\bare\b)\s*\}|"
    r"(?P<plain>[A-Za-z' ]*\b(?:answer|result|solution|total)\b[A-Za-z' ]*?)\s*(?:[:=]|\bis\b|\bare\b))"
    r"\s*(?P<rest>[^=\s].*)",
    re.IGNORECASE | re.DOTALL,
)
_ABOUT = re.compile(
    r"\\text\{\s*(?:about|approximately|approx\.?|around|roughly|exactly|only|a total of)\s*(\}|(?=\S))", re.IGNORECASE
)
WORDS_AFTER = re.compile(r"(?<=\S)\s*\\text\{([^{}]*)\}$")
_UNSURE = re.compile(
    r"(?<!\\)\b(?:not|never|wrong|incorrect|invalid|reject\w*|if|when|unless|otherwise|provided|maybe|perhaps|possibly)\b",
    re.IGNORECASE,
)


class Unclear(Exception):
    """The judge cannot say; the message is the reason."""


def unsure(text: str) -> bool:
    """Whether words in an answer deny it, or say that it holds in some cases only."""
    return bool(_UNSURE.search(text))


def content(text: str) -> str:
    """Cleaned `text` without label, its numbers in digits. Raises Unclear where the label says that it is no answer."""
    text = _TEXT_WITH_NUMBER.sub(r" \1 ", mixed(text)).strip()
    if found := _LABEL.fullmatch(text):
        label, text = found["inside"] or found["plain"] or "", found["rest"]
        if no_answer(label) or changed(label, ""):
            raise Unclear("answer says what it is not")
        text = content(text)
    text = _ABOUT.sub(lambda found: "" if found[1] else r"\text{", text, count=1).strip()
    return in_digits(text)
