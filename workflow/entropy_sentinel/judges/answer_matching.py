"""Whether two models give the same answer, from their texts alone, and whether answers can be compared in this way.

Both texts become words: lower case, without punctuation, articles, accents and text marks. A number is one word with
its value, so `1,000`, `1000.0` and `$1000` are the same. If one answer has at most SHORT_ANSWER words, the shorter must
stand in the longer. Otherwise the last numbers must be the same or, without numbers, the last lines.

A yes, a no, a number and the letter of an option stand in many texts that do not answer with them, so they must be
what the longer text states: "no" is not the answer of "I do not know, no idea", and 3 is not that of "3 and 5 are 8".

Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese do not separate words, or only with their endings. Their letters
are compared instead, and two of them count as one word.
"""

import re
import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from entropy_sentinel.judges.answers import final_answer, option_first
from entropy_sentinel.judges.judge import Unclear
from entropy_sentinel.judges.markers import after_thinking
from entropy_sentinel.judges.words import option

# An answer of at most so many words is looked for in the other one.
SHORT_ANSWER = 6
# A slice can be compared if this share of its logged answers can.
COMPARABLE_SHARE = 0.5

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\U00020000-\U0003ffff"
)
# Letters, digits, and the marks of scripts whose vowels are marks.
_LETTER = rf"(?:(?![{_UNSPACED}_])[\w\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff])"
_WORD = re.compile(
    r"(?<![A-Za-z_.\d/])(?P<number>-?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+(?!\.?\d))?|-?\.\d+)(?P<exponent>[eE][-+]?\d{1,3}(?![\w.]))?"
    r"(?:/(?P<below>\d+)(?![\d/]))?|"
    rf"(?P<letter>[{_UNSPACED}])|(?P<operator>[<>=+≤≥≠±×÷]+|(?<=[A-Za-z])#)|(?P<word>{_LETTER}+)"
)
_NUMBER = re.compile(r"-?\d+(?:/\d+)?")
# Characters of a number that is compared by its value; Python refuses to convert many more digits.
_LONGEST_NUMBER = 1000
_MINUS = str.maketrans(dict.fromkeys("−–‒", "-"))
# White space and marks between thousands, initials, and marks of accents.
_THOUSANDS = re.compile(r"(?<=\d)[\u00a0\u2009\u202f'’](?=\d{3}(?!\d))")
_INITIALS = re.compile(r"(?<![\w.])(?:[A-Za-z]\.){2,}")
_ACCENTS = re.compile("[\u0300-\u036f]")
_CURRENCY = re.compile(r"\\?[$€£¥₹]\s?(?=[-.\d])")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{\s*(-?\d+)\s*\}\s*\{\s*(\d+)\s*\}")
# Commands of LaTeX that only frame or set a text, and tags.
_FRAME = re.compile(
    r"\\(?:f?boxed|text\w*|math(?:rm|bf|it|sf|bb)|left|right|q?quad|displaystyle)(?![A-Za-z])|\\[()\[\],;!]|"
    r"</?[A-Za-z]\w*>"
)
# An article stands before a word. `A` within a sentence is the letter of an option.
_ARTICLE = re.compile(
    r"\b(?i:the|an)\b(?=\s+[*`'\"]*\w)|\ba\b(?=\s+[*`'\"]*[^\W\d_])|(?:^|(?<=[.!?]\s))A(?=\s+[a-z])", re.MULTILINE
)
_APOSTROPHE = re.compile(r"(?<=\w)['’](?!s\b)(?=\w)")
# What an answer may begin with before the answer itself.
_LABEL = re.compile(
    r"""^[\s*#>"']*(?:the\s+)?(?:(?:final|correct)\s+)?(?:answer|result)[\s*]*(?:is\b|[:=])[\s*:"']*(?=\S)""",
    re.IGNORECASE,
)
# Fences, and lines of common languages without a fence.
_CODE = re.compile(
    r"```|~~~|^\s*(?:(?:def|class)\s+\w+.*:|return\b.*[(\[=.;]|import\s+\w+$|from\s+\w[\w.]*\s+import\b|#include\b|"
    r"SELECT\s.*\bFROM\b|INSERT\s+INTO\b|DELETE\s+FROM\b|CREATE\s+TABLE\b|UPDATE\s+\w+\s+SET\b|"
    r"(?:const|let|var|function|public|private)\s+\w+.*[={;(]|[}\]][;,)]*\s*$|.*\)\s*(?:\{|;)\s*$)",
    re.MULTILINE,
)
# Why replies that their model has not ended have no answer, by their finish reasons.
TRUNCATED = "the second model's reply is truncated at its largest length"
_NOT_ENDED = {"length": TRUNCATED, "content_filter": "the second model's reply was ended by a content filter"}
_TRUTHS = {"yes": True, "true": True, "no": False, "false": False}
# A yes or no before a sign, with which an answer begins.
_FIRST_TRUTH = re.compile(r"[\s*\"'(]*(yes|no|true|false)[*\"')]*\s*(?:[.,;:!–—-]|\n|$)", re.IGNORECASE)
# What a text calls its answer, among its words.
_STATED = re.compile(r".* answer (?:is |(?:option|choice|correct|indeed) )*(?P<word>\S+) ")
# A word before an answer that denies it.
_DENIALS = {"not", "never", "nor", "isnt", "wasnt", "arent", "nicht", "pas", "不", "没", "沒", "非", "未"}
_OPTION_LETTER = re.compile(r"""[\s*_(\["'`$\\{]*([A-HJ])[\s*_)\]"'`$\\}.:,;]*""")
_CAPITAL = re.compile(r"(?<![\w'’\\])[A-HJ](?![\w'’])")


class _Answer(NamedTuple):
    """An answer's text and its words; `length` counts them, and `stated` is the word that it calls its answer."""

    text: str
    words: list[str]
    length: float
    stated: str


def normalize_answer(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation and articles; a number is written as its value."""
    text = _ACCENTS.sub("", unicodedata.normalize("NFKD", _THOUSANDS.sub("", text)))
    text = unicodedata.normalize("NFKC", text).replace("\u2044", "/").translate(_MINUS)
    text = _INITIALS.sub(lambda initials: initials[0].replace(".", ""), text)
    text = _FRACTION.sub(r" \1/\2 ", text)
    text = _APOSTROPHE.sub("", _ARTICLE.sub(" ", _FRAME.sub(" ", _CURRENCY.sub("", text))))
    return [_word(match) for match in _WORD.finditer(text)]


def match_answers(first: str | None, second: str | None) -> bool | None:
    """Return whether two responses to the same question give the same answer; null if one gives none.

    A response without text, or with nothing after its thinking, gives none.
    """
    answers = _read_answer(first), _read_answer(second)
    if answers[0] is None or answers[1] is None:
        return None
    shorter, longer = sorted((answers[0], answers[1]), key=lambda answer: len(answer.words))
    if not shorter.words:  # signs only, such as emoji
        return not longer.words and shorter.text.casefold() == longer.text.casefold()
    first_words = [_FIRST_TRUTH.match(answer.text) for answer in (shorter, longer)]
    if first_words[0] and first_words[1]:
        return _TRUTHS[first_words[0][1].casefold()] == _TRUTHS[first_words[1][1].casefold()]
    if shorter.length <= SHORT_ANSWER:
        return _states(longer, shorter)
    numbers = [[word for word in answer.words if _NUMBER.fullmatch(word)] for answer in (shorter, longer)]
    if numbers[0] or numbers[1]:
        return numbers[0][-1:] == numbers[1][-1:]
    return _last_line(shorter.text) == _last_line(longer.text)


def is_comparable(response: str | None) -> bool:
    """Return whether a logged response can be compared by its text.

    It can with at most SHORT_ANSWER words, or with a number in its last line and no code.
    """
    answer = _read_answer(response)
    if answer is None:
        return False
    if answer.length <= SHORT_ANSWER:
        return True
    return not _CODE.search(answer.text) and any(map(_NUMBER.fullmatch, _last_line(answer.text)))


def is_slice_comparable(comparable: Sequence[bool]) -> bool:
    """Return whether a slice can be compared: COMPARABLE_SHARE of its logged responses can."""
    return bool(comparable) and sum(comparable) >= COMPARABLE_SHARE * len(comparable)


def reason_without_answer(text: str | None, finish_reason: str) -> str | None:
    """Return why a reply of a second model has no answer; null if it has one. A refusal in words is an answer."""
    if finish_reason in _NOT_ENDED:
        return _NOT_ENDED[finish_reason]
    return "the second model's reply is empty" if _read_answer(text) is None else None


def _read_answer(response: str | None) -> _Answer | None:
    """Return what follows the thinking of a response and the words `answer:`; null for nothing."""
    start = after_thinking(response) if response else None
    if response is None or start is None or not (text := response[start:].strip()):
        return None
    text, n_labels = _LABEL.subn("", text)
    words = normalize_answer(text)
    match = _STATED.match(f" {' '.join(words)} ")
    stated = match["word"] if match else words[0] if n_labels and words else ""
    n_letters = sum(map(_is_letter, words))
    n_operators = sum(not word[-1].isalnum() and not _is_letter(word) for word in words)
    return _Answer(text, words, len(words) - n_operators - n_letters / 2, stated)


def _word(match: re.Match[str]) -> str:
    """Return one word as it is compared."""
    if len(match[0]) > _LONGEST_NUMBER:
        return match[0].casefold()
    if (number := match["number"]) is None:
        word = match[0].casefold()
        return str(int(word)) if word.isdecimal() else word
    value = Fraction(number.replace(",", "") + (match["exponent"] or ""))
    below = int(match["below"] or 1)
    return str(value / below) if below else f"{value}/0"


def _is_letter(word: str) -> bool:
    """Return whether a word is one letter of a script that does not separate words."""
    return len(word) == 1 and re.match(f"[{_UNSPACED}]", word) is not None


def _states(longer: _Answer, shorter: _Answer) -> bool:
    """Return whether an answer states the words of a shorter one."""
    if len(shorter.words) == 1 and (truth := _TRUTHS.get(shorter.words[0])) is not None:
        return _stated_truth(longer) == truth
    if len(shorter.words) == 1 and _NUMBER.fullmatch(shorter.words[0]) and longer.length > SHORT_ANSWER:
        return _stated_number(longer) == shorter.words[0]
    if (letter := _OPTION_LETTER.fullmatch(shorter.text)) and _CAPITAL.search(longer.text):
        return _stated_option(longer) == letter[1]
    if len(shorter.words) > 1 and (letter_before := option_first(shorter.text)):
        stated = _stated_option(longer)
        return stated == letter_before if stated else _contains(longer.words, shorter.words[1:])
    return _contains(longer.words, shorter.words)


def _contains(words: list[str], part: list[str]) -> bool:
    """Return whether words have a part as a run that no word before it denies."""
    n = len(part)
    for begin in range(len(words) - n + 1):
        if words[begin : begin + n] == part and not (begin and words[begin - 1] in _DENIALS):
            return True
    return False


def _stated_truth(answer: _Answer) -> bool | None:
    """Return the yes or no that an answer begins or ends with, or that it calls its answer; null without one."""
    words = (answer.stated, answer.words[0], answer.words[-1])
    return next((_TRUTHS[word] for word in words if word in _TRUTHS), None)


def _stated_number(answer: _Answer) -> str | None:
    """Return the number that an answer calls its answer, or the last one; null without one."""
    numbers = [word for word in (*answer.words, answer.stated) if _NUMBER.fullmatch(word)]
    return numbers[-1] if numbers else None


def _stated_option(answer: _Answer) -> str | None:
    """Return the letter of the option that an answer states, or the only one that it names; null without one."""
    if re.fullmatch("[a-hj]", answer.stated):
        return answer.stated.upper()
    try:
        if letter := option(final_answer(answer.text, truncated=False).text):
            return letter
    except Unclear:
        pass
    letters = set(_CAPITAL.findall(_ARTICLE.sub(" ", answer.text)))
    return letters.pop() if len(letters) == 1 else None


def _last_line(text: str) -> list[str]:
    """Return the words of the last line that has any."""
    return next(
        (words for line in reversed(text.splitlines()) if (words := normalize_answer(_LABEL.sub("", line)))), []
    )
