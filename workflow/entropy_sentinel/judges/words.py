r"""References that are words: true or false, the letter of an option, a word, a text.

What a text says can be said in many ways, so that only a person or a language model can compare it. Whether a row is
compared at all depends on its reference alone: if a text were correct where it is repeated and unclear elsewhere, the
accuracy over the labelled rows would be 1.
"""

import re

from entropy_sentinel.judges.notation import clean
from entropy_sentinel.judges.qualifiers import guessed, no_answer

_TRUTHS = {
    **dict.fromkeys(("true", "yes"), True),
    **dict.fromkeys(("false", "no"), False),
}
_NEGATION = re.compile(r"\b(?:not|never|neither|cannot|isn't|doesn't|aren't|don't|\w+n't)\b|\\neq|≠", re.IGNORECASE)
_ARTICLES = {"a", "an", "the", "is", "it", "its", "option", "choice", "answer"}
_IN_PART = re.compile(
    r"\b(?:if|partly|partially|mostly|almost|nearly|half|hardly|depends|doubt\w*|wrong|incorrect|mistake\w*)\b",
    re.IGNORECASE,
)
_BEFORE_LETTER = re.compile(
    r"^(?:(?:the\s+)?(?:final\s+|correct\s+)?(?:options?|choices?|answers?)\b\s*(?:is\b|are\b|:)?\s*)+", re.IGNORECASE
)
_ONE_LETTER = r"(?:\(\s*[A-Ja-j]\s*\)|[A-J](?:\)|(?![A-Za-z]))|[a-j](?:\)|(?![A-Za-z])))"
_JOINTS = re.compile(r"\b(?:and|or|either|both|also|options?|choices?)\b", re.IGNORECASE)
# Letters and nothing else: `A`, `(A)(B)`, `A and B`, `either A or B`.
_LETTERS = re.compile(
    rf"(?:(?:either|both)\s+)?{_ONE_LETTER}\.?"
    rf"(?:\s*(?:[,;/&+]|(?:,\s*)?(?:and also|and|or)\b)?\s*(?:option\s+)?{_ONE_LETTER})*\.?",
    re.IGNORECASE,
)
# A letter with its text behind it.
_LETTER = re.compile(r"\(\s*([A-Ja-j])\s*\)|([A-J])(?=[).:])|([a-j])(?=\))")
_OTHER_LETTER = re.compile(r"\([A-J]\)|(?<![A-Za-z\\])[B-HJ](?![A-Za-z'_\d])|\b(?:or|and)\s+A\b")
_COMMAND = re.compile(r"\\(?!text)[A-Za-z]+")
_WORD = re.compile(r"[A-Za-z]{3,}|\b(?:no|if|is|of|to|be|we)\b", re.IGNORECASE)
_FUNCTIONS = {
    "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "log", "exp",
    "sqrt", "max", "min", "gcd", "lcm", "mod", "inf", "det", "and", "begin", "end", "matrix", "pmatrix", "bmatrix",
    "vmatrix", "array", "frac", "text",
}  # fmt: skip


def negated(text: str) -> bool:
    """Whether a sentence says what something is not."""
    return bool(_NEGATION.search(text))


def truth(text: str) -> bool | None:
    """Whether `text` says true or yes, false or no; None if it says neither, both, not so, or only in some cases."""
    found = {_TRUTHS[word] for word in _lower_words(text) if word in _TRUTHS}
    unsure = negated(text) or guessed(text) or _IN_PART.search(text)
    return found.pop() if len(found) == 1 and not unsure else None


def is_truth(reference: str) -> bool:
    """Whether a reference is one of the words for true and false."""
    return len(words := _lower_words(reference)) == 1 and words[0] in _TRUTHS


def options(text: str) -> frozenset[str]:
    r"""The letters of options that `text` names, in upper case: `(C)`, `\text{c}`, `C. 42`, `option C`, `A and B`.

    None of them if it names none for sure: it asks, guesses, or says which one is not the answer.
    """
    plain = re.sub(r"\\text\{([^{}]*)\}", r" \1 ", clean(text)).replace("\\{", " ").replace("\\}", " ").strip()
    plain = _BEFORE_LETTER.sub("", plain)
    if found := _LETTERS.fullmatch(plain):
        return frozenset(re.findall(r"[A-J]", _JOINTS.sub(" ", found[0]).upper()))
    found = _LETTER.match(plain)
    if found is None:
        return frozenset()
    rest = plain[found.end() :]
    if no_answer(rest) or guessed(rest) or _OTHER_LETTER.search(rest):
        return frozenset()
    return frozenset(next(filter(None, found.groups())).upper())


def option(text: str) -> str | None:
    """The one letter of an option that `text` names, in upper case; None if it names none or several."""
    found = options(text)
    return next(iter(found)) if len(found) == 1 else None


def is_option(reference: str) -> bool:
    """Whether a reference is the letter of an option and no more."""
    return bool(re.fullmatch(r"\$?\\text\{\s*\(?[A-J]\)?\s*\}\$?|\([A-Ja-j]\)|\$?[A-E]\$?", reference.strip()))


def is_words(reference: str) -> bool:
    """Whether a cleaned reference, no number with a unit, is a word or a text and no formula."""
    words = {word.casefold() for word in _WORD.findall(_COMMAND.sub(" ", reference).replace("\\text", " "))}
    return bool(words - _FUNCTIONS)


def single_word(text: str) -> str | None:
    r"""The one word of `text`, in lower case, `\alpha-decay` too; None if there are more or other things."""
    plain = re.sub(r"\\text\{([^{}]*)\}", r"\1", clean(text)).strip(" .,;:!*'\"`")
    words = [word for word in plain.split() if word.casefold() not in _ARTICLES]
    one = words[0].strip(".,;:!*'\"`") if len(words) == 1 else ""
    return one.casefold() if re.fullmatch(r"(?:\\[A-Za-z]+)?[A-Za-z-]*", one) and one else None


def mentions(text: str, word: str) -> bool:
    """Whether `word`, in lower case, is among others in `text`."""
    return word in re.split(r"[^a-z\\-]+", clean(text).casefold().replace("\\text{", " "))


def _lower_words(text: str) -> list[str]:
    return [word.casefold() for word in re.findall(r"[A-Za-z]+", _COMMAND.sub(" ", text).replace("\\text", " "))]
