r"""Compare references that are words: true or false, an option letter, a word, a text.

Texts of several words can be paraphrased, so only a person or a language model can compare them. Whether a row is
compared depends only on its reference: if a repeated text were correct and every other answer unclear, the accuracy
over the labelled rows would be 1.
"""

import re

from entropy_sentinel.judges.final_answers import find_leading_option, is_doubtful, list_other_options
from entropy_sentinel.judges.judge_interface import Unclear
from entropy_sentinel.judges.notation import clean_notation, has_foreign_script, has_words

_TRUTHS = {
    **dict.fromkeys(("true", "yes"), True),
    **dict.fromkeys(("false", "no"), False),
}
_OR_ELSE = re.compile(r"\b(?:true|false|yes|no)\W+or\b|\bor\W+(?:true|false|yes|no)\b", re.IGNORECASE)
_ARTICLES = {"a", "an", "the", "is", "it", "its", "option", "choice", "answer"}
_IN_PART = re.compile(r"\b(?:partly|partially|mostly|almost|nearly|half|hardly|depends|sometimes)\b", re.IGNORECASE)
_BEFORE_LETTER = re.compile(
    r"^(?:(?:the\s+)?(?:final\s+|correct\s+)?(?:options?|choices?|answers?)\b\s*(?:is\b|are\b|:)?\s*)+", re.IGNORECASE
)
_ONE_LETTER = r"(?:\(\s*[A-Ja-j]\s*\)|[A-J](?:\)|(?![A-Za-z]))|[a-j](?:\)|(?![A-Za-z])))"
_JOINTS = re.compile(r"\b(?:and|or|either|both|also|options?|choices?)\b", re.IGNORECASE)
# Only letters: `A`, `(A)(B)`, `A and B`, `either A or B`.
_LETTERS = re.compile(
    rf"(?:(?:either|both)\s+)?{_ONE_LETTER}\.?"
    rf"(?:\s*(?:[,;/&+]|(?:,\s*)?(?:and also|and|or)\b)?\s*(?:option\s+)?{_ONE_LETTER})*\.?",
    re.IGNORECASE,
)
_COMMAND = re.compile(r"\\(?!text)[A-Za-z]+")
# Short words; longer strings of letters are not products of variables.
_SHORT_WORD = re.compile(r"\b(?:no|if|is|of|to|be|we)\b", re.IGNORECASE)


def read_truth(text: str) -> bool | None:
    """True if `text` says true or yes, False if it says false or no; None if it is unclear."""
    values = {_TRUTHS[word] for word in _list_lower_words(text) if word in _TRUTHS}
    unsure = is_doubtful(text) or _IN_PART.search(text) or _OR_ELSE.search(text) or has_foreign_script(text)
    return values.pop() if len(values) == 1 and not unsure else None


def same_truth(reference: str, answer: str) -> bool:
    """Whether answer and reference have the same truth value. Raises Unclear if the answer has none."""
    if (answer_truth := read_truth(answer)) is None:
        raise Unclear("answer is neither true nor false")
    return answer_truth == read_truth(reference)


def is_truth(reference: str) -> bool:
    """Whether a reference is a word for true or false."""
    return len(words := _list_lower_words(reference)) == 1 and words[0] in _TRUTHS


def find_letters(text: str) -> frozenset[str]:
    r"""The option letters that `text` names, in upper case: `(C)`, `\text{c}`, `C. 42`, `option C`, `A and B`.

    Empty if no option is certain: the text asks, guesses, or names an option that is not the answer.
    """
    plain = re.sub(r"\\text\{([^{}]*)\}", r" \1 ", clean_notation(text)).replace("\\{", " ").replace("\\}", " ")
    plain = plain.replace("**", " ").strip()
    plain = _BEFORE_LETTER.sub("", plain)
    if match := _LETTERS.fullmatch(plain):
        return frozenset(re.findall(r"[A-J]", _JOINTS.sub(" ", match[0]).upper()))
    if (letter := find_leading_option(plain)) is None or is_doubtful(plain) or list_other_options(plain, letter):
        return frozenset()
    return frozenset(letter)


def find_only_letter(text: str) -> str | None:
    """The only option letter that `text` names, in upper case; None for no letter or several."""
    letters = find_letters(text)
    return next(iter(letters)) if len(letters) == 1 else None


def is_option(reference: str) -> bool:
    """Whether a reference is just an option letter."""
    return bool(re.fullmatch(r"\$?\\text\{\s*\(?[A-J]\)?\s*\}\$?|\([A-Ja-j]\)|\$?[A-E]\$?", reference.strip()))


def same_option(reference: str, answer: str) -> bool:
    """Whether an answer names only the reference's letter. Raises Unclear if it names no letter."""
    if not (letters := find_letters(answer)):
        raise Unclear("answer is not a letter of an option")
    return letters == {find_only_letter(reference)}


def is_words(reference: str) -> bool:
    """Whether a cleaned reference that is not a quantity is a word or a text rather than a formula."""
    plain = _COMMAND.sub(" ", reference).replace("\\text", " ")
    return has_words(plain) or bool(_SHORT_WORD.search(plain))


def find_single_word(text: str) -> str | None:
    r"""The only word of `text` in lower case, including `\alpha-decay`; None if it has anything else."""
    plain = re.sub(r"\\text\{([^{}]*)\}", r"\1", clean_notation(text)).strip(" .,;:!*'\"`")
    words = [word for word in plain.split() if word.casefold() not in _ARTICLES]
    only = words[0].strip(".,;:!*'\"`") if len(words) == 1 else ""
    return only.casefold() if re.fullmatch(r"(?:\\[A-Za-z]+)?[A-Za-z-]*", only) and only else None


def same_word(reference: str, answer: str) -> bool:
    """Whether an answer is the reference's word. Raises Unclear for several words, or other text around it."""
    if (expected := find_single_word(reference)) is None:
        raise Unclear("reference is text, not an expression")
    word = find_single_word(answer)
    words_of_answer = re.split(r"[^a-z\\-]+", clean_notation(answer).casefold().replace("\\text{", " "))
    if word != expected and expected in words_of_answer:
        raise Unclear("answer says more than the word")
    return word == expected


def _list_lower_words(text: str) -> list[str]:
    """The words of a text in lower case, without commands of LaTeX."""
    return [word.casefold() for word in re.findall(r"[A-Za-z]+", _COMMAND.sub(" ", text).replace("\\text", " "))]
