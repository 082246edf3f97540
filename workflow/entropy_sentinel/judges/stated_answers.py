"""What an answer states: its words, and the yes, number or option that the text gives among others."""

import itertools
import re
from typing import NamedTuple

from entropy_sentinel.judges.answer_markers import find_thinking_end
from entropy_sentinel.judges.answer_words import ARTICLE, NUMBER, RATIONAL, is_letter, split_words
from entropy_sentinel.judges.final_answers import find_final_answer
from entropy_sentinel.judges.judge_interface import Unclear
from entropy_sentinel.judges.reference_words import find_only_letter

# The line after a number explains it if it has so many words that are not numbers.
_FEWEST_EXPLAINING_WORDS = 3
# What an answer may begin with before the answer itself.
LABEL = re.compile(
    r"""^[\s*#>"']*(?:the\s+)?(?:(?:final|correct)\s+)?(?:answer|result)[\s*]*(?:is\b|[:=])[\s*:"']*(?=\S)""",
    re.IGNORECASE,
)
TRUTHS = {"yes": True, "true": True, "no": False, "false": False}
# A yes or no before a sign, with which an answer begins.
_TRUTH_ENDS = r"""[*"')]*\s*(?:[.,;:!–—-]|\n|$|\$|(?:because|since|as|it|he|she|they|we|i|you|this|that|there)\b)"""
FIRST_TRUTH = re.compile(rf"""[\s*"'(]*(?!no\.?\s*\d+\s*$)(yes|no|true|false){_TRUTH_ENDS}""", re.IGNORECASE)
# A yes or no that a text calls its answer, and one at its end that nothing before it denies or opposes.
_CALLED_TRUTH = re.compile(
    rf"""\banswer\b[\s*]*(?:is\b|[:=])[\s*"':]*(?:indeed\s+)?(yes|no|true|false){_TRUTH_ENDS}""", re.IGNORECASE
)
_LAST_TRUTH = re.compile(
    r"""(?:(?P<before>[^\W\d_]+(?:['’]t)?)[\W_]*[\s"'*(:])?(?P<truth>yes|no|true|false)[\W_]*$""", re.IGNORECASE
)
# The characters of an answer in which its last yes or no is looked for.
_END = 100
# What a text calls its answer, among its words.
_STATED_WORD = re.compile(r".* answer (?:is |(?:option|choice|correct|indeed) )*(?P<word>\S+) ")
# A word before an answer that denies it.
DENIALS = {"not", "never", "nor", "isnt", "wasnt", "arent", "nicht", "pas", "不", "没", "沒", "非", "未"}
# Words before a yes or no that leave it open, and before a number that is not the answer of a short text: `12 of 15`.
_OPEN_TRUTHS = {"or", "and", "neither", "either", "say", "says", "said", "whether"}
_ASIDE = {"of", "in", "from", "per", "than", "after", "before", "since", *DENIALS}
# Words that make another value of what stands beside them: `x` is not `x^2`.
CHANGES_AFTER, CHANGES_BEFORE = {"sqrt", "^", "-"}, {"^", "pi", "sqrt"}
CAPITAL = re.compile(r"(?<![\w'’\\])[A-HJ](?![\w'’])")


class StatedAnswer(NamedTuple):
    """An answer's text and its words; `length` counts them, and `stated` is the word that it calls its answer.

    `first` is a number in the first line, which the rest explains; empty without one.
    """

    text: str
    words: list[str]
    length: float
    stated: str
    first: str


def read_answer(response: str | None) -> StatedAnswer | None:
    """What follows the thinking of a response and the words `answer:`; null for nothing."""
    start = find_thinking_end(response) if response else None
    if response is None or start is None or not (text := response[start:].strip()):
        return None
    return read_words(text)


def read_words(text: str) -> StatedAnswer:
    """An answer that has no thinking before it."""
    text, n_labels = LABEL.subn("", text)
    words = split_words(text)
    match = _STATED_WORD.match(f" {' '.join(words)} ")
    first_word = words[0] if n_labels and words else ""  # after a label such as `answer:`
    stated = match["word"] if match else first_word
    n_letters = sum(map(is_letter, words))
    n_operators = sum(not word[-1].isalnum() and not is_letter(word) for word in words)
    length = len(words) - n_operators - n_letters / 2
    return StatedAnswer(text, words, length, stated, "" if match else _find_first_number(text))


def _find_first_number(text: str) -> str:
    """The number that is the whole first line of a text before an explanation; empty without one."""
    first, _, rest = text.partition("\n")
    words = split_words(first)
    begins_list = re.match(r"\s*\d+[.)]\s*$", first)  # `1.` or `1)` alone on its line
    if len(words) != 1 or not NUMBER.fullmatch(words[0]) or begins_list:
        return ""
    lines = [split_words(line) for line in rest.splitlines() if line.strip()]
    explains = bool(lines) and sum(not NUMBER.fullmatch(word) for word in lines[0]) >= _FEWEST_EXPLAINING_WORDS
    return words[0] if explains else ""


def find_truth(answer: StatedAnswer) -> bool | None:
    """The yes or no that an answer calls its answer, or begins or ends with; null without one.

    A first word counts only before a sign, and a last one only if nothing denies it: `No one knows` is no no.
    """
    called = list(_CALLED_TRUTH.finditer(answer.text))
    if match := called[-1] if called else FIRST_TRUTH.match(answer.text):
        return TRUTHS[match[1].casefold()]
    if (match := _LAST_TRUTH.search(answer.text[-_END:])) is None:
        return None
    before = (match["before"] or "").replace("’", "'").casefold()
    is_open = before in DENIALS | _OPEN_TRUTHS or before.endswith("n't")
    return None if is_open else TRUTHS[match["truth"].casefold()]


def find_number(answer: StatedAnswer) -> str | None:
    """The number that an answer calls its answer, its first line, or its last number; null without one."""
    if answer.first:
        return answer.first
    numbers = [word for word in (*answer.words, answer.stated) if NUMBER.fullmatch(word)]
    return numbers[-1] if numbers else None


def find_short_number(answer: StatedAnswer) -> str | None:
    """The number that a short answer gives; of several the last one that is none of an aside like `of 15`."""
    if NUMBER.fullmatch(answer.stated) or answer.first:
        return find_number(answer)
    numbers = []  # "" for one that the word beside it denies or makes another value
    main_numbers = []  # without those of asides
    for place, word in enumerate(answer.words):
        # The word beside it, if there is one.
        before = answer.words[place - 1 : place] if place else []
        after = answer.words[place + 1 : place + 2]
        if not NUMBER.fullmatch(word):
            continue
        changed = {*before} & (CHANGES_AFTER | DENIALS) or {*after} & CHANGES_BEFORE
        numbers.append("" if changed else word)
        if not {*before} & _ASIDE:
            main_numbers.append(numbers[-1])
    if not numbers:
        return None
    if re.match(r"\S+\s*\(", answer.text) and answer.words[0] == numbers[0]:  # `5 (of 12)`
        return numbers[0]
    return main_numbers[-1] if main_numbers else numbers[-1]


def find_amount(answer: StatedAnswer, unit: str) -> str | None:
    """The last number before a unit in an answer; null without one."""
    pairs = list(itertools.pairwise(answer.words))
    return next((number for number, word in reversed(pairs) if word == unit and RATIONAL.fullmatch(number)), None)


def find_option(answer: StatedAnswer) -> str | None:
    """The letter of the option that an answer states, or the only one that it names; null without one."""
    if re.fullmatch("[a-hj]", answer.stated):
        return answer.stated.upper()
    try:
        if letter := find_only_letter(find_final_answer(answer.text, truncated=False).text):
            return letter
    except Unclear:
        pass
    letters = set(CAPITAL.findall(ARTICLE.sub(" ", answer.text)))
    return letters.pop() if len(letters) == 1 else None
