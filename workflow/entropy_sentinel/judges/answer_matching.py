"""Whether two models give the same answer, from their texts alone, and whether answers can be compared in this way.

Both texts become words: lower case, without punctuation, articles, accents and text marks. A number is one word with
its value, so `1,000`, `1000.0` and `$1000` are the same. If one answer has at most SHORT_ANSWER words, the shorter must
stand in the longer. Otherwise the last numbers must be the same or, without numbers, the last lines.

A yes, a no, a number and the letter of an option stand in many texts that do not answer with them, so they must be
what the longer text states: "no" is not the answer of "I do not know, no idea", and 3 is not that of "3 and 5 are 8".
Numbers, fractions, roots and multiples of pi are compared by their value. A percentage is also the same as a fraction
between 0 and 1, if only one of both answers has the sign.

Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese do not separate words, or only with their endings. Their letters
are compared instead, and two of them count as one word.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from entropy_sentinel.judges.answer_words import (
    LONGEST_NUMBER,
    NUMBER,
    RATIONAL,
    WORD,
    normalise_word,
    read_rational,
    split_words,
    unify_notation,
)
from entropy_sentinel.judges.final_answers import find_leading_option
from entropy_sentinel.judges.stated_answers import (
    CAPITAL,
    CHANGES_AFTER,
    CHANGES_BEFORE,
    DENIALS,
    FIRST_TRUTH,
    LABEL,
    TRUTHS,
    StatedAnswer,
    find_amount,
    find_number,
    find_option,
    find_short_number,
    find_truth,
    read_answer,
    read_words,
)

# An answer of at most so many words is looked for in the other one.
SHORT_ANSWER = 6
# A slice can be compared if this share of its logged answers can.
COMPARABLE_SHARE = 0.5

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
# A per cent after a number; numbers between which a comma stands, and a list of numbers.
_PERCENT = re.compile(r"\s*(?:\\?%|per\s?cent\b|percent\b)", re.IGNORECASE)
_THOUSANDS_OR_LIST = re.compile(r"(?<![\d.])([1-9]\d{0,2}),(?=[1-9]\d{2}(?!\d))")
_LIST = re.compile(r"\d,\s+-?\d")
_OPTION_LETTER = re.compile(r"""[\s*_(\["'`$\\{]*([A-HJ])[\s*_)\]"'`$\\}.:,;]*""")


def match_answers(first: str | None, second: str | None) -> bool | None:
    """Whether two responses to the same question give the same answer; null if one gives none.

    A response without text, or with nothing after its thinking, gives none.
    """
    first_answer, second_answer = read_answer(first), read_answer(second)
    if first_answer is None or second_answer is None:
        return None
    comparisons = (_is_same_as_written, _is_same_list, _is_same_percentage)
    return any(is_same(first_answer, second_answer) for is_same in comparisons)


def _is_same_as_written(first: StatedAnswer, second: StatedAnswer) -> bool:
    """Whether two answers are the same, as they are written. The first rule that applies decides:

    1. One has no words, only signs: both have none, and the same signs.
    2. Both begin with a yes or no: it is the same one.
    3. The shorter has at most SHORT_ANSWER words: the longer states it.
    4. One has a number: the main numbers are the same.
    5. The last lines are the same.
    """
    shorter, longer = sorted((first, second), key=lambda answer: len(answer.words))
    if not shorter.words:  # signs only, such as emoji
        return not longer.words and shorter.text.casefold() == longer.text.casefold()
    shorter_truth, longer_truth = FIRST_TRUTH.match(shorter.text), FIRST_TRUTH.match(longer.text)
    if shorter_truth and longer_truth:  # both begin with a yes or no
        return TRUTHS[shorter_truth[1].casefold()] == TRUTHS[longer_truth[1].casefold()]
    if shorter.length <= SHORT_ANSWER:
        return _states_words(longer, shorter)
    shorter_number, longer_number = _find_main_number(shorter), _find_main_number(longer)
    if shorter_number or longer_number:
        return shorter_number == longer_number
    return _split_last_line(shorter.text) == _split_last_line(longer.text)


def _find_main_number(answer: StatedAnswer) -> str | None:
    """The number in the first line of an answer, if the rest explains it, or else its last number; null without one."""
    numbers = [word for word in answer.words if NUMBER.fullmatch(word)]
    last = numbers[-1] if numbers else None
    return answer.first or last


def _is_same_list(first: StatedAnswer, second: StatedAnswer) -> bool:
    """Whether `100,200` and `100, 200` are the same: a comma of thousands may also separate numbers."""
    for joined, spaced in ((first, second), (second, first)):
        text = _THOUSANDS_OR_LIST.sub(r"\1, ", joined.text)
        if _LIST.search(spaced.text) and text != joined.text:
            return _is_same_as_written(read_words(text), spaced)
    return False


def _is_same_percentage(first: StatedAnswer, second: StatedAnswer) -> bool:
    """Whether one answer is a percentage and the other the same share as a fraction between 0 and 1.

    One of them is nothing but the number. 50 and 0.5 without a per cent are different, and so are 1% and 1.
    """
    for percentage, fraction in ((first, second), (second, first)):
        percent, share = _find_final_number(percentage), _find_final_number(fraction)
        if (
            percent is not None
            and share is not None
            and min(len(percentage.words), len(fraction.words)) == 1
            and percent.is_percent
            and not share.is_percent
            and 0 < share.value < 1
        ):
            return percent.value == 100 * share.value
    return False


class _FinalNumber(NamedTuple):
    """The number that an answer states, and whether it is a percentage."""

    value: Fraction
    is_percent: bool


def _find_final_number(answer: StatedAnswer) -> _FinalNumber | None:
    """The number that an answer states; null without one, or if it occurs both as a percentage and without."""
    stated = find_number(answer)
    if stated is None or not RATIONAL.fullmatch(stated) or len(stated) > LONGEST_NUMBER:
        return None
    text = unify_notation(answer.text)
    percent_flags = {
        _PERCENT.match(text, match.end()) is not None
        for match in WORD.finditer(text)
        if match["number"] is not None and normalise_word(match) == stated
    }
    return _FinalNumber(read_rational(stated), percent_flags.pop()) if len(percent_flags) == 1 else None


def is_comparable(response: str | None) -> bool:
    """Whether a logged response can be compared by its text.

    It can with at most SHORT_ANSWER words, or with a number in its last line and no code.
    """
    answer = read_answer(response)
    if answer is None:
        return False
    if answer.length <= SHORT_ANSWER:
        return True
    return not _CODE.search(answer.text) and any(map(NUMBER.fullmatch, _split_last_line(answer.text)))


def is_slice_comparable(comparable: Sequence[bool]) -> bool:
    """Whether a slice can be compared: COMPARABLE_SHARE of its logged responses can."""
    return bool(comparable) and sum(comparable) >= COMPARABLE_SHARE * len(comparable)


def explain_missing_answer(text: str | None, finish_reason: str) -> str | None:
    """Why a reply of a second model has no answer; null if it has one. A refusal in words is an answer."""
    if finish_reason in _NOT_ENDED:
        return _NOT_ENDED[finish_reason]
    return "the second model's reply is empty" if read_answer(text) is None else None


def _states_words(longer: StatedAnswer, shorter: StatedAnswer) -> bool:
    """Whether an answer states the words of a shorter one: a yes or no, a number, an option, or a run of its words."""
    if len(shorter.words) == 1 and (truth := TRUTHS.get(shorter.words[0])) is not None:
        return find_truth(longer) == truth
    if len(shorter.words) == 1 and NUMBER.fullmatch(shorter.words[0]):
        if longer.length > SHORT_ANSWER:
            return find_number(longer) == shorter.words[0]
        return find_short_number(longer) == shorter.words[0]
    if len(shorter.words) > 1 and RATIONAL.fullmatch(shorter.words[0]):  # a number with its unit
        amount = find_amount(longer, shorter.words[1])
        if amount not in (None, shorter.words[0]):
            return False
    if (letter := _OPTION_LETTER.fullmatch(shorter.text)) and CAPITAL.search(longer.text):
        return find_option(longer) == letter[1]
    if len(shorter.words) > 1 and (letter_before := find_leading_option(shorter.text)):  # `B) Neon`
        stated = find_option(longer)
        return stated == letter_before if stated else _contains_run(longer.words, shorter.words[1:])
    return _contains_run(longer.words, shorter.words)


def _contains_run(words: list[str], part: list[str]) -> bool:
    """Whether words have a part as a run that no word beside it denies or makes another value."""
    n = len(part)
    is_letter = n == 1 and re.fullmatch("[a-z]", part[0])
    for begin in range(len(words) - n + 1):
        # The word beside the run, if there is one.
        before, after = words[begin - 1 : begin], words[begin + n : begin + n + 1]
        if words[begin : begin + n] != part or {*before} & DENIALS:
            continue
        # Also `x` is not `2x`.
        changed = {*before} & CHANGES_AFTER or {*after} & CHANGES_BEFORE
        if not changed and not (is_letter and before and RATIONAL.fullmatch(before[0])):
            return True
    return False


def _split_last_line(text: str) -> list[str]:
    """The words of the last line that has any."""
    for line in reversed(text.splitlines()):
        if words := split_words(LABEL.sub("", line)):
            return words
    return []
