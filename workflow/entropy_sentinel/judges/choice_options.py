"""The options of a multiple-choice question, and which of them an answer names by its letter or its text."""

import re
import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from entropy_sentinel.judges import reference_words
from entropy_sentinel.judges.final_answers import is_doubtful, list_other_options
from entropy_sentinel.judges.judge_interface import Unclear
from entropy_sentinel.judges.notation import clean_notation, has_foreign_script, parse_number

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


def normalise_text(text: str) -> str:
    r"""Text in one letter case, without runs of white space, `$`, `\text{}` and punctuation at its ends."""
    text = re.sub(r"\\(?:text|mathrm|textbf|mathbf)\{([^{}]*)\}", r"\1", unicodedata.normalize("NFKC", text))
    return " ".join(text.replace("$", "").split()).strip(" .,;:!\"'`*").casefold()


def list_options(question: str) -> list[Option]:
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


def find_letter(text: str, options: Sequence[Option]) -> str | None:
    """The letter that `text` names: by an option's text, alone, or before other text; None without one."""
    return _match_text(text, options) or reference_words.find_only_letter(text.strip(_MARKS))


def same_option(expected: str, answer: str, options: Sequence[Option], following: str = "") -> bool:
    """Whether an answer names the expected option and no other; `following` is the response after the answer.

    Raises NotAnOptionError for an answer that is none of the options, and Unclear if that cannot be told.
    """
    texts = {option.letter: option.text for option in options}
    # A letter alone, after which the response may give the option's text.
    if _ONLY_A_LETTER.fullmatch(_strip_marks(answer)):
        after = _ON_THE_LINE.match(following)
        if after and _match_beginning(after[1], options):
            answer += f") {after[1]}"
    # A letter and other text, `C) Neon`.
    match = _LETTERED.fullmatch(_strip_marks(answer))
    letter = match["letter"].upper() if match else ""
    certain_letters = (reference_words.find_only_letter(answer.strip(_MARKS)), _find_punctuated_letter(answer))
    if match and letter in texts and letter in certain_letters:
        text_letter = _match_beginning(match["text"], options) or letter
        if text_letter != letter and expected in (text_letter, letter):
            raise Unclear("the letter and the text are of different options")
        if text_letter != letter:
            return False
        _check_number(texts[letter], match["text"])
        if normalise_text(match["text"]) == normalise_text(texts[letter]):
            return letter == expected
    # The text or the number of an option, or a letter in other words.
    chosen = _match_text(answer, options) or _match_number(answer, options)
    if chosen is None and not is_doubtful(answer):
        chosen = reference_words.find_only_letter(answer.strip(_MARKS))
    if chosen is None:
        if _is_outside(answer, options):
            raise NotAnOptionError("answer is not an option of the question")
        raise Unclear("which option the answer means cannot be told")
    if texts and chosen not in texts:
        if any(re.search(rf"(?<![A-Za-z]){chosen}(?![a-z])", text) for text in texts.values()):
            raise Unclear("a letter of no option, but part of the text of one")
        raise NotAnOptionError("answer is not an option of the question")
    return chosen == expected


def _strip_marks(answer: str) -> str:
    """An answer without bold, code and text commands, which may be around its letter only."""
    return re.sub(r"\*\*|`|[{}$]", "", re.sub(r"\\(?:text|textbf|mathrm|mathbf)\s*\{", "", answer)).strip(_MARKS)


def _find_punctuated_letter(answer: str) -> str:
    """The capital letter that an answer begins with, if a sign shows that it is one of an option."""
    match = re.match(r"\(?([A-J])[).:]", _strip_marks(answer))
    return match[1] if match else ""


def _match_text(text: str, options: Sequence[Option]) -> str | None:
    """The letter of the only option with this text."""
    letters = [option.letter for option in options if normalise_text(option.text) == normalise_text(text)]
    return letters[0] if len(letters) == 1 else None


def _match_beginning(text: str, options: Sequence[Option]) -> str | None:
    """The letter of the option with the longest text that a text begins with; None without one."""
    plain = normalise_text(text)
    longest = 0
    letter = None
    for option in options:
        start = normalise_text(option.text)
        # `4` is not the beginning of `42`, `4.2` and `4/2`.
        has_ended = not re.match(r"\w|[.,]\d|/\d", plain[len(start) :])
        if plain.startswith(start) and has_ended and len(start) > longest:
            longest = len(start)
            letter = option.letter
    return letter


def _check_number(option_text: str, text: str) -> None:
    """Raise Unclear if an answer gives another number than the option whose letter it names."""
    expected, actual = parse_number(clean_notation(option_text)), parse_number(clean_notation(text))
    if expected is not None and actual is not None and expected.value != actual.value:
        raise Unclear("the option with this letter has another number")


def _match_number(answer: str, options: Sequence[Option]) -> str | None:
    """The letter of the only option with the answer's number, in another notation or with a unit besides."""
    if (amount := _read_amount(answer)) is None:
        return None
    number, unit = amount
    letters = []
    for letter, text in options:
        if (expected := _read_amount(text)) is None:
            continue
        option_number, option_unit = expected
        if option_number == number and unit in ("", option_unit):
            letters.append(letter)
    return letters[0] if len(letters) == 1 else None


def _is_outside(answer: str, options: Sequence[Option]) -> bool:
    """Whether an answer is certainly none of the options, in other words, notation or units either."""
    if (
        is_doubtful(answer)
        or reference_words.find_letters(answer)
        or list_other_options(answer, "")
        or has_foreign_script(answer)
    ):
        return False
    if _OPEN.search(answer) or not normalise_text(answer):
        return False
    return all(_differs_from(answer, option.text) for option in options)


def _differs_from(answer: str, option: str) -> bool:
    """Whether an answer is certainly not an option: another number in its unit, or words of which it has none."""
    actual, expected = _read_amount(answer), _read_amount(option)
    if actual is not None and expected is not None:
        (number, unit), (option_number, option_unit) = actual, expected
        return number != option_number and (unit == option_unit or not unit)
    answer_is_formula, option_is_formula = (
        re.search(r"[\d\\^_=]", normalise_text(text)) is not None for text in (answer, option)
    )
    if answer_is_formula and option_is_formula:
        return False  # they may be equal in another notation
    if answer_is_formula and (_OPEN.search(option) or len(normalise_text(option)) < 2):
        return False  # the option may be the formula in words, or its letter
    return not _list_content_words(answer) & _list_content_words(option)


def _read_amount(text: str) -> tuple[Fraction | float, str] | None:
    """A number and the text of its unit, which may be empty; None for any other text."""
    cleaned = clean_notation(text)
    if (number := parse_number(cleaned)) is not None:
        return number.value, ""
    match = _AMOUNT.fullmatch(cleaned)
    if match is None or re.search(r"\d", re.sub(r"\^\{?-?\d\}?", "", match["unit"] or "")):
        return None
    number = parse_number(re.sub(r"\\?[$€£]", "", match["number"]))
    return None if number is None else (number.value, normalise_text(match["unit"] or ""))


def _list_content_words(text: str) -> set[str]:
    """The words of a text that tell one answer from another."""
    return {word for word in _WORD.findall(normalise_text(text)) if word not in _COMMON}
