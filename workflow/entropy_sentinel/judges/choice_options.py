"""The options of a multiple-choice question, and which of them an answer names by its letter or its text."""

import re
import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from entropy_sentinel.judges import reference_words
from entropy_sentinel.judges.final_answers import doubted, other_options
from entropy_sentinel.judges.judge_interface import Unclear
from entropy_sentinel.judges.notation import clean, in_another_script, plain_number

_OPTION = re.compile(r"^\s*\(?([A-J])[).:]\s+(\S.*?)\s*$", re.MULTILINE)
# An option's letter and what may be its text: `(C) Neon`, `Option c: Neon`, `C, which is Neon`.
_LETTERED = re.compile(
    r"(?:(?:the\s+)?(?:option|choice|answer)s?\s*(?:is\s+|:\s*)?)*\(?\s*(?P<letter>[A-Ja-j])\s*\)?(?:\s*[).:,=–—-]+\s*|\s+)"
    r"(?:(?:which|that|it)\s+(?:is|says|equals)\s+)?(?P<text>\S.*)",
    re.DOTALL | re.IGNORECASE,
)
_ONLY_A_LETTER = re.compile(r"\(?\s*[A-Ja-j]\s*\)?[.):]?")
_ON_THE_LINE = re.compile(r"[}$ \t).:*,–—-]*([^\n]+)")
_LETTERS = "ABCDEFGHIJ"
_MARKS = " *`\"'"
_WORD = re.compile(r"[^\W_]{2,}")
# Words that do not tell one answer from another.
_COMMON = {
    "the", "an", "of", "is", "are", "it", "its", "in", "on", "at", "to", "and", "or", "by", "for", "with", "as", "be",
    "that", "this", "answer", "option", "text", "mathrm",
}  # fmt: skip
# Words for options that other words describe, and numbers in words.
_OPEN = re.compile(
    r"\b(?:none|all|both|neither|either|every|each|any|others?|above|below|first|second|third|fourth|last|zero|one|two|"
    r"three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty|hundred|thousand|\w+illion|half|dozen)\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"(?P<number>[-+]?\s*\\?[$€£]?\s*\d[\d.,]*)\s*(?P<unit>[^\d\s].*)?", re.DOTALL)


class NotAnOptionError(Unclear):
    """An answer is certainly none of the options."""


class Option(NamedTuple):
    """One option of a question."""

    letter: str
    text: str


def normalised(text: str) -> str:
    r"""Text in one letter case, without runs of white space, `$`, `\text{}` and punctuation at its ends."""
    text = re.sub(r"\\(?:text|mathrm|textbf|mathbf)\{([^{}]*)\}", r"\1", unicodedata.normalize("NFKC", text))
    return " ".join(text.replace("$", "").split()).strip(" .,;:!\"'`*").casefold()


def offered(question: str) -> list[Option]:
    """The options of a question: its last consecutive lines `A. text`, `B. text` and so on.

    Earlier lettered lines belong to the question itself.
    """
    options: list[Option] = []
    for letter, text in _OPTION.findall(question):
        if letter == "A":
            options = []
        if letter == _LETTERS[len(options) : len(options) + 1]:
            options.append(Option(letter, text))
    return options


def letter_of(text: str, options: Sequence[Option]) -> str | None:
    """The letter that `text` names: by an option's text, alone, or before other text; None without one."""
    return _by_text(text, options) or reference_words.option(text.strip(_MARKS))


def same_option(expected: str, answer: str, options: Sequence[Option], following: str = "") -> bool:
    """Whether an answer names the expected option and no other; `following` is the response after the answer.

    Raises NotAnOptionError for an answer that is none of the options, and Unclear if that cannot be told.
    """
    texts = {option.letter: option.text for option in options}
    if _ONLY_A_LETTER.fullmatch(_without_marks(answer)):
        answer += (
            f") {after[1]}" if (after := _ON_THE_LINE.match(following)) and _begins_with(after[1], options) else ""
        )
    match = _LETTERED.fullmatch(_without_marks(answer))
    letter = match["letter"].upper() if match else ""
    if match and letter in texts and letter in (reference_words.option(answer.strip(_MARKS)), _punctuated(answer)):
        named = _begins_with(match["text"], options) or letter
        if named != letter and expected in (named, letter):
            raise Unclear("the letter and the text are of different options")
        if named != letter:
            return False
        _require_its_number(texts[letter], match["text"])
        if normalised(match["text"]) == normalised(texts[letter]):
            return letter == expected
    chosen = _by_text(answer, options) or _by_number(answer, options)
    if chosen is None and not doubted(answer):
        chosen = reference_words.option(answer.strip(_MARKS))
    if chosen is None:
        raise (
            NotAnOptionError("answer is not an option of the question")
            if _is_outside(answer, options)
            else Unclear("which option the answer means cannot be told")
        )
    if texts and chosen not in texts:
        if any(re.search(rf"(?<![A-Za-z]){chosen}(?![a-z])", text) for text in texts.values()):
            raise Unclear("a letter of no option, but part of the text of one")
        raise NotAnOptionError("answer is not an option of the question")
    return chosen == expected


def _without_marks(answer: str) -> str:
    """An answer without bold, code and text commands, which may be around its letter only."""
    return re.sub(r"\*\*|`|[{}$]", "", re.sub(r"\\(?:text|textbf|mathrm|mathbf)\s*\{", "", answer)).strip(_MARKS)


def _punctuated(answer: str) -> str:
    """The capital letter that an answer begins with, if a sign shows that it is one of an option."""
    match = re.match(r"\(?([A-J])[).:]", _without_marks(answer))
    return match[1] if match else ""


def _by_text(text: str, options: Sequence[Option]) -> str | None:
    """The letter of the only option with this text."""
    letters = [option.letter for option in options if normalised(option.text) == normalised(text)]
    return letters[0] if len(letters) == 1 else None


def _begins_with(text: str, options: Sequence[Option]) -> str | None:
    """The letter of the longest option that a text begins with."""
    plain, longest, letter = normalised(text), 0, None
    for option in options:
        start = normalised(option.text)
        ends = not re.match(r"\w|[.,]\d|/\d", plain[len(start) :])
        if plain.startswith(start) and ends and len(start) > longest:
            longest, letter = len(start), option.letter
    return letter


def _require_its_number(option_text: str, text: str) -> None:
    """Raise Unclear if an answer gives another number than the option whose letter it names."""
    own, given = plain_number(clean(option_text)), plain_number(clean(text))
    if own is not None and given is not None and own.value != given.value:
        raise Unclear("the option with this letter has another number")


def _by_number(answer: str, options: Sequence[Option]) -> str | None:
    """The letter of the only option with the answer's number, in another notation or with a unit besides."""
    given, letters = _amount(answer), []
    for letter, text in options if given else ():
        expected = _amount(text)
        if given and expected and expected[0] == given[0] and given[1] in ("", expected[1]):
            letters.append(letter)
    return letters[0] if len(letters) == 1 else None


def _is_outside(answer: str, options: Sequence[Option]) -> bool:
    """Whether an answer is certainly none of the options, in other words, notation or units either."""
    if doubted(answer) or reference_words.options(answer) or other_options(answer, "") or in_another_script(answer):
        return False
    if _OPEN.search(answer) or not normalised(answer):
        return False
    return all(_is_other(answer, option.text) for option in options)


def _is_other(answer: str, option: str) -> bool:
    given, expected = _amount(answer), _amount(option)
    if given is not None and expected is not None:
        (number, unit), (other, other_unit) = given, expected
        return number != other and (unit == other_unit or not unit)
    symbols = [bool(re.search(r"[\d\\^_=]", normalised(text))) for text in (answer, option)]
    if all(symbols) or (symbols[0] and (_OPEN.search(option) or len(normalised(option)) < 2)):
        return False
    return not _content_words(answer) & _content_words(option)


def _amount(text: str) -> tuple[Fraction | float, str] | None:
    """A number and the text of its unit, which may be empty; None for any other text."""
    cleaned = clean(text)
    if (number := plain_number(cleaned)) is not None:
        return number.value, ""
    match = _AMOUNT.fullmatch(cleaned)
    if match is None or re.search(r"\d", re.sub(r"\^\{?-?\d\}?", "", match["unit"] or "")):
        return None
    number = plain_number(re.sub(r"\\?[$€£]", "", match["number"]))
    return None if number is None else (number.value, normalised(match["unit"] or ""))


def _content_words(text: str) -> set[str]:
    return {word for word in _WORD.findall(normalised(text)) if word not in _COMMON}
