r"""Find the final answer of a response: its `<answer>` or last box, or else its last statement.

The thinking before the response does not count. Without tag and box, the last statement counts if it calls itself the
answer (`The answer is 5`, `#### 5`, `Antwort: 5`, the line below a heading `Final Answer`), repeats the result of the
last calculation (`3 + 4 = 7. So she has 7 apples.`), is the whole response, or begins it with the letter of an option.
Text after an answer may explain it. If that text takes the answer back, or has another number or option, the response
has no final answer.
"""

import re
from fractions import Fraction
from typing import NamedTuple

from entropy_sentinel.judges.answer_markers import (
    TextPart,
    find_foreign_answers,
    find_tagged_answers,
    find_thinking_end,
)
from entropy_sentinel.judges.judge_interface import NoAnswerError, Unclear
from entropy_sentinel.judges.notation import NUMBER, clean_notation, parse_number, read_braces
from entropy_sentinel.judges.units import find_leading_unit
from entropy_sentinel.schemas.label_schema import NoAnswer

_BOX = re.compile(r"\\f?boxed\s*(?=\{)")
# The last boxes of a response that are read; no more form one answer.
_MOST_BOXES = 20
# Between boxes that together form one answer: `\boxed{1}$ and $\boxed{2}`, `$x = \boxed{1}$, $y = \boxed{2}$`.
_BETWEEN_BOXES = re.compile(
    r"[\s$]*(?:\\\)|\\\])?[\s$]*(?:,|;|,?\s*(?:and|or)\b)[\s$]*(?:\\\(|\\\[)?[\s$]*(?:[A-Za-z_0-9]{1,4}\s*=\s*)?"
)
# Between boxes that are parts of one statement: `\boxed{93} tomatoes and \boxed{80}`.
_ENUMERATION = re.compile(r"(?:,|;|\b(?:and|or|plus|with|by)\b)", re.IGNORECASE)
_NEXT_STEP = re.compile(
    r"\b(?:so|therefore|thus|hence|then|gives?|means|no|wait|actually|rather|correction|sorry|is|are|equals?)\b|=",
    re.IGNORECASE,
)
# A formula between its delimiters.
_SPAN = re.compile(
    r"\$\$(?P<a>.+?)\$\$|\\\[(?P<b>.+?)\\\]|\\\((?P<c>.+?)\\\)|(?<![\\$])\$(?=\S)(?P<d>(?:\\\$|[^$\n])+?)(?<![\s\\])\$(?!\d)",
    re.DOTALL,
)
# What comes before a stated answer: `####`, `the answer is`, `result:`, or a heading `Final Answer`.
_ANCHOR = re.compile(
    r"####|(?:\b(?:answers?|result|solution)\b(?:\s+(?!is\b|are\b|was\b)[\w'-]+){0,8}\s*(?:\bis\b|\bare\b|\bwas\b|=|:)+)"
    r"(?:\s*(?:\bis\b|\bare\b|:))*|"
    r"^[ \t#>]*(?:the\s+)?(?:(?:final|correct)\s+)?answers?[ \t#]*\n+",
    re.IGNORECASE | re.MULTILINE,
)
_MARK = re.compile(r"\*\*|__|`")
_SENTENCE_END = re.compile(r"(?<=[.!?])(?=\s|$)|\n+")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
# `12 - 7 = 5` after an answer checks it; it is not another answer.
_CALCULATION = re.compile(
    r"(?<![\d.,])[\d.,]++(?:\s*(?:[-+*/×÷]|\\times|\\cdot|\\div)\s*[\d.,]++){1,20}+\s*=\s*[-+]?[\d.,]*\d"
)
_CONCLUSION = re.compile(r"\W*(?:so|therefore|thus|hence)\b", re.IGNORECASE)
_RESULT = re.compile(rf"(?:=|\\approx|≈)\s*\\?\$?\s*({NUMBER})")
_AMOUNT = re.compile(
    rf"{_SPAN.pattern}|(?:[-+]?\\?\$\s*)?{NUMBER}(?:\s*\\?%)?(?![\d\w]|\s*(?:[x×*^/]|\\times)\s*\d)", re.DOTALL
)
# `0.333...`
_GOES_ON = re.compile(r"\.\d+\s*(?:\.{3,}|…)$")
_DIGITS_GO_ON = re.compile(r"\.{3,}|…|\s*\\l?dots")
# The result of a calculation and the sentence that repeats it may differ by rounding.
_SAME = Fraction(1, 1000)

# Words in an answer's clause that deny it, make it hypothetical, or change its sign: `39 fewer`.
_DOUBT = re.compile(
    r"\b(?:not|never|neither|nor|cannot|\w+n't|wrong|incorrect\w*|mistake\w*|doubts?|could|might|maybe|"
    # The month is no doubt: `1 May`, `May 2021`.
    r"(?<!\d\s)(?<!\dst\s)(?<!\bof\s)may(?!\.?\s+\d)|"
    r"perhaps|possibly|either|whether|unless|guess|suppose|assume|if|claimed|thought|fewer|less|"
    r"nicht|kein\w*|falsche?\w*|pas|jamais|fau(?:x|sse)|nunca|niet|geen|nie|não)\b|\\neq(?![A-Za-z])|≠",
    re.IGNORECASE,
)
# The same in the clause before an answer; the answer itself may be one of these words.
_DENIAL = re.compile(
    r"\b(?:(?:wrong|incorrect|false|untrue|mistaken?|doubts?)\s+(?:that|to|answer)|either|maybe|perhaps)\b",
    re.IGNORECASE,
)
# Words after an answer that take it back.
_TAKEN_BACK = re.compile(
    r"(?:^|[.!?]\s*|\n\s*)(?:no|wait|but|actually|however|oops|sorry|correction|hmm+|or)\b|"
    r"\b(?:wrong|incorrect|mistaken?|false|untrue|an error|take (?:that|it) back|scratch that|kidding)\b|"
    r"\bnot (?:right|correct|true|possible|the answer)\b",
    re.IGNORECASE,
)
# Text directly before or after an answer that makes it part of something else, or denies it.
_SIGN = r"<>≤≥≠+*/_-]|\\(?:[lgn]eq?|[lg]t|cdot|times|pm|mp|div)(?![A-Za-z])"
_BEFORE = re.compile(
    r"(?:\b(?:(?:not|never|n't|cannot)(?: be| equal| equal to)?|than|least|most|or|\d\W*and|between|minus|negative|"
    rf"twice|under|over|almost)[\s$\\(\[{{]*|(?<=\S) *(?:[\d^{_SIGN}|\\sqrt\{{?) *)$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    rf"\}}* *(?:[?\d{{{_SIGN}|\^(?! *\{{? *\\circ))|[\s$)\\\]}},;]*(?:\?|or\b|(?:and|to)\s+(?:[\\$(]*\d|an?\b)|"
    r"(?:is|was|are|were|does|do|can)\s+(?:not|never|wrong|incorrect|false|untrue|impossible)\b|\w+n't\b|cannot\b)",
    re.IGNORECASE,
)

# A response that begins with the letter of an option: `B) Neon`, `(b) Neon`, `c. Hydrogen`, `**B** because ...`.
LETTER_FIRST = re.compile(
    r"(?:\(\s*(?P<a>[A-Ja-j])\s*\)|(?P<b>[A-J])(?=[).:](?!\w)|\s*(?:[,–—]|$)|\s+(?:-\s|because\b|since\b))|"
    r"(?P<c>[a-hj])(?=\)|[.:]\s))",
    re.MULTILINE,
)
_LETTER_IN_TEXT = re.compile(
    r"\(([A-Ja-j])\)|(?<![A-Za-z\\'])([B-HJ])(?![A-Za-z'_\d])|\b(?:or|and|option|choice|answer)\s+(A)\b|"
    r"(?<![A-Za-z\\'(])(A)(?=[).:](?:\s|$))|(?<![A-Za-z\\'(\d])([a-j])(?=\)\s)"
)

# Characters before and after an answer in which such text is looked for.
_NEAR = 200
# A unit directly after a box that changes the number.
_MULTIPLE = re.compile(r"[\s$)\\\]}]*(?:text\{\s*)?(?:dozen|hundred|thousand|\w+illion)\b", re.IGNORECASE)


class FinalAnswer(NamedTuple):
    """The text of a final answer, and the character of the response at which it ends."""

    text: str
    end: int


def find_last_boxed(response: str) -> str | None:
    r"""The content of the last `\boxed{...}`; boxes that only `and` or a comma separates are joined with commas.

    None without a box, or if the last one is not closed.
    """
    boxes = _find_last_boxes(response)
    if boxes is None:
        return None
    contents, _, _ = boxes
    return ", ".join(contents)


def find_final_answer(response: str, truncated: bool) -> FinalAnswer:
    """The answer that a response ends with. Raises Unclear if it has none, or then doubts or changes it.

    The error is NoAnswerError if the response certainly has none.
    """
    if not response.strip():
        raise NoAnswerError(NoAnswer.EMPTY)
    start = find_thinking_end(response)
    if start is None:
        if not truncated and _BOX.search(response):
            raise Unclear("a box in thinking that has no end")
        raise NoAnswerError(NoAnswer.ENDLESS_THINKING)
    if not response[start:].strip():
        raise NoAnswerError(NoAnswer.NOTHING_AFTER_THINKING)
    answer = _find_in_reply(response[start:], truncated)
    return FinalAnswer(answer.text, start + answer.end)


def _find_in_reply(response: str, truncated: bool) -> FinalAnswer:
    """The final answer by the first rule that finds one: tags, boxes, stated answers, the result of a calculation."""
    if (answer := _find_in_tags(response, truncated)) is not None:
        return answer
    if (boxes := _find_last_boxes(response)) is not None:
        contents, start, end = boxes
        content_end = len(response[: end - 1].rstrip())  # before the last brace
        return _check_surroundings(response, ", ".join(contents), start, end, content_end)
    if truncated:
        if _begins_answer(response):
            raise Unclear("cut off, and the answer is not in a whole box")
        raise NoAnswerError(NoAnswer.CUT_OFF)
    text = _blank_marks(response)
    if (stated := _find_stated_answer(text) or _find_foreign_answer(text) or _take_single_line(response)) is not None:
        return stated
    try:
        return _find_calculated(text)
    except Unclear:
        if (chosen := _find_leading_letter(text)) is None:
            raise
        return chosen


def _begins_answer(response: str) -> bool:
    """Whether an answer may begin in a response: a box, tag, statement or option, or only a number."""
    text = _blank_marks(response)
    if _BOX.search(text) or find_leading_option(text.strip()) or any(find_foreign_answers(text)):
        return True
    if any(tag.inside.text.strip() for tag in find_tagged_answers(response)):
        return True
    for anchor in _ANCHOR.finditer(text):
        clause = next((sentence.text for sentence in _split_sentences(text, anchor.end())), "")
        if (clause and "answer" in anchor[0].casefold()) or _has_value(clause):
            return True
    return bool(_AMOUNT.fullmatch(text.strip()))


def _blank_marks(text: str) -> str:
    """A text with spaces in place of bold and code marks, so that places stay."""
    return _MARK.sub(lambda mark: " " * len(mark[0]), text)


def _find_in_tags(response: str, truncated: bool) -> FinalAnswer | None:
    """The answer inside the last `<answer>...</answer>`; None without such tags.

    Raises Unclear if other tags, or a box outside of them, have another answer.
    """
    tags = find_tagged_answers(response)
    if not tags or (truncated and not tags[-1].is_closed):
        return None
    *earlier, last = tags
    try:
        answer = find_final_answer(last.inside.text, truncated=False)
    except NoAnswerError as error:
        if _begins_answer(response[: last.start] + response[last.end :]):
            raise Unclear("an answer outside of the tags only") from None
        raise error
    rivals: list[str | None] = [find_last_boxed(tag.inside.text) or tag.inside.text for tag in earlier]
    for outside in (response[: last.start], response[last.end :]):
        if _BOX.search(outside):
            rivals.append(find_last_boxed(outside))
    for rival in rivals:
        if rival is None or _strip_spaces(rival) != _strip_spaces(answer.text):
            raise Unclear("several final answers")
    return _check_surroundings(response, answer.text, last.start, last.end, last.inside.start + answer.end)


def _find_last_boxes(response: str) -> tuple[list[str], int, int] | None:
    """The contents of the last boxes that belong together, the start of the first and the end of the last.

    None without a box, or if the last one is not closed.
    """
    boxes: list[tuple[int, int, str | None]] = []  # start, end and content; None if the box is not closed
    for box in list(_BOX.finditer(response))[-_MOST_BOXES:]:
        inside = read_braces(response, box.end())
        boxes.append((box.start(), box.end() + len(inside or "") + 2, inside))
    if not boxes:
        return None
    *earlier, (start, last_end, last) = boxes
    if last is None:
        return None
    answers = [last.strip()]
    for begin, end, inside in reversed(earlier):
        if inside is None or end > start:
            break
        between = response[end:start]
        if not _BETWEEN_BOXES.fullmatch(between):
            if inside.strip() not in answers and _is_enumeration(between):
                raise Unclear("several boxes in one sentence")
            break
        answers.insert(0, inside.strip())
        start = begin
    return answers, start, last_end


def _is_enumeration(between: str) -> bool:
    """Whether the text between two boxes of one sentence lists them, rather than leads from one to the next."""
    one_sentence = not _SENTENCE_END.search(between.rstrip())
    return one_sentence and bool(_ENUMERATION.search(between)) and not _NEXT_STEP.search(between)


def _check_surroundings(response: str, answer: str, start: int, end: int, answer_end: int) -> FinalAnswer:
    """The answer in the box or tag from `start` to `end`. Raises Unclear if the text around it denies it.

    `answer_end` is the character at which the answer itself ends.
    """
    before, after = _blank_marks(response[:start]), _blank_marks(response[end:])
    opening = _get_last_clause(before)
    near_before, near_after = before[-_NEAR:], after[:_NEAR]
    changed = _BEFORE.search(near_before) or _AFTER.match(near_after) or _MULTIPLE.match(near_after)
    if changed or _DENIAL.search(opening):
        raise Unclear("words around the box say that it is not the answer, or not all of it")
    _check_following(answer, after)
    return FinalAnswer(answer, answer_end)


def _check_following(answer: str, following: str) -> None:
    """Raise Unclear if the text after an answer takes it back, names another answer, or has other numbers.

    Numbers in the answer's own sentence or in calculations do not count, nor do those in a sentence that repeats the
    answer's number.
    """
    if _TAKEN_BACK.search(following):
        raise Unclear("the answer is taken back")
    if anchors := list(_ANCHOR.finditer(following)):
        sentences = _split_sentences(following, anchors[-1].end())
        clause = sentences[0].text if sentences else answer
        states_answer = "answer" in anchors[-1][0].casefold() or _has_value(clause)
        if states_answer and _strip_spaces(clause) != _strip_spaces(answer):
            raise Unclear("several final answers")
    for value in find_foreign_answers(following):
        if _strip_spaces(value.text) != _strip_spaces(answer):
            raise Unclear("several final answers")
    numbers = _list_numbers(answer)
    sentence_end = _SENTENCE_END.search(following)
    if sentence_end is None:
        return
    for sentence in _split_sentences(following, sentence_end.end()):
        following_numbers = _list_numbers(_CALCULATION.sub(" ", sentence.text))
        if following_numbers and not following_numbers & numbers:
            raise Unclear("another number follows the answer")


def _find_stated_answer(text: str) -> FinalAnswer | None:
    """What the last statement calls the answer; None without one, or if sentences with numbers follow it."""
    anchors = list(_ANCHOR.finditer(text))
    sentences = _split_sentences(text, anchors[-1].end()) if anchors else []
    if not sentences:
        return None
    answer = sentences[0].text
    if not _GOES_ON.search(answer):
        answer = answer.rstrip(" .")
    following = [sentence.text for sentence in sentences[1:]]
    if answer.startswith("that ") or any(map(_has_value, following)):
        return None
    opening = _get_last_clause(text[: anchors[-1].start()]) + anchors[-1][0]
    if _DENIAL.search(opening) or _DOUBT.search(f"{opening} {answer}"):
        raise Unclear("last sentence says what the answer is not, or guesses")
    if answer.endswith(("?", "!")):
        raise Unclear("last sentence asks or exclaims")
    if _TAKEN_BACK.search("\n".join(following)):
        raise Unclear("the answer is taken back")
    return FinalAnswer(answer, sentences[0].start + len(answer))


def _find_foreign_answer(text: str) -> FinalAnswer | None:
    """The bare value that the last line calls the answer in another language; None without one.

    Other words may deny it in that language, so none may follow.
    """
    values = list(find_foreign_answers(text))
    if not values or re.search(r"\w", text[values[-1].end :]):
        return None
    if len({_strip_spaces(value.text) for value in values}) > 1:
        raise Unclear("several final answers")
    return FinalAnswer(values[-1].text, values[-1].end)


def _find_leading_letter(text: str) -> FinalAnswer | None:
    """The first line of a response that begins with the letter of an option and then explains only that one."""
    lines = text.strip().split("\n", 1)
    if len(lines) == 1 or (letter := find_leading_option(lines[0])) is None:
        return None
    if list_other_options(lines[1], letter) or is_doubtful(lines[1]) or _TAKEN_BACK.search(lines[1]):
        raise Unclear("several options, or one that is argued against")
    return FinalAnswer(lines[0].strip(), text.index(lines[0]) + len(lines[0].rstrip()))


def find_leading_option(text: str) -> str | None:
    """The letter of an option that a text begins with, in upper case, before its text or its reason."""
    match = LETTER_FIRST.match(text)
    return next(filter(None, match.groups())).upper() if match else None


def list_other_options(text: str, letter: str) -> set[str]:
    """The letters of options that a text names besides `letter`."""
    letters = {next(filter(None, groups)).upper() for groups in _LETTER_IN_TEXT.findall(text)}
    return letters - {letter}


def _take_single_line(response: str) -> FinalAnswer | None:
    """A response of one line unchanged."""
    answer = response.strip()
    return None if "\n" in answer else FinalAnswer(answer, len(response.rstrip()))


def _find_calculated(text: str) -> FinalAnswer:
    """The number in a last sentence that begins with `so` or the like, if the last calculation results in it.

    For example `5 km` in "2 + 3 = 5. So he walks 5 km.".
    """
    value_sentences = [sentence for sentence in _split_sentences(text) if _has_value(sentence.text)]
    sentence, start, end = value_sentences[-1] if value_sentences else TextPart("", 0, 0)
    results = _RESULT.findall(text[:start])
    if not results or not _CONCLUSION.match(sentence) or _TAKEN_BACK.search(text[end:]):
        raise Unclear("no final answer")
    if _DOUBT.search(sentence):
        raise Unclear("last sentence says what the answer is not, or guesses")
    for amount in reversed(list(_AMOUNT.finditer(text, start, end))):
        if _matches_result(amount, results[-1]):
            if _BEFORE.search(text[start : amount.start()][-_NEAR:]) or _AFTER.match(text[amount.end() : end]):
                raise Unclear("words around the number change it")  # such as `at least 5`, or `5 or 6`
            value = _strip_delimiters(amount)
            value_end = amount.end()
            goes_on = _DIGITS_GO_ON.match(text, amount.end()) if "." in amount[0] else None
            if goes_on:  # `0.333...`
                value = f"{value}..."
                value_end = goes_on.end()
            unit = find_leading_unit(clean_notation(re.split(r"[,;()]", text[value_end:end])[0]))
            return FinalAnswer(f"{value} \\text{{ {unit}}}" if unit else value, value_end)
    raise Unclear("no final answer")


def _matches_result(amount: re.Match[str], result: str) -> bool:
    """Whether an amount begins with the result of a calculation, or a rounding of it; signs may differ."""
    first = re.search(NUMBER, _strip_delimiters(amount))
    number, wanted = parse_number(clean_notation(first[0] if first else "")), parse_number(clean_notation(result))
    if number is None or wanted is None:
        return False
    size = abs(Fraction(wanted.value))
    return abs(abs(Fraction(number.value)) - size) <= _SAME * size


def _strip_delimiters(amount: re.Match[str]) -> str:
    """A formula without its delimiters, or a number with its currency or per cent sign."""
    return next((amount[name] for name in "abcd" if amount[name] is not None), amount[0]).strip().rstrip(".,")


def _get_last_clause(text: str) -> str:
    """What follows the last punctuation mark or line end of a text."""
    return re.split(r"[.!?,;:\n]", text)[-1]


def _has_value(sentence: str) -> bool:
    """Whether a sentence has a formula or a digit."""
    return bool(_SPAN.search(sentence) or re.search(r"\d", sentence))


def _list_numbers(text: str) -> set[str]:
    """The numbers in a text as they are written, without signs and commas."""
    return {number.replace(",", "") for number in _DIGITS.findall(text)}


def _strip_spaces(text: str) -> str:
    """A text in one notation without white space, to compare two answers."""
    return re.sub(r"\s", "", clean_notation(text)).rstrip("!")


def _split_sentences(text: str, begin: int = 0) -> list[TextPart]:
    """Each sentence or line from `begin` on, without white space around it; formulas are never split."""
    masked = text[:begin] + _SPAN.sub(lambda span: "\x00" * len(span[0]), text[begin:])
    sentences = []
    start = begin
    for end in (*(match.end() for match in _SENTENCE_END.finditer(masked, begin)), len(text)):
        part = text[start:end]
        if part.strip(" .!?\n*#-"):
            sentence_start = start + len(part) - len(part.lstrip())
            sentences.append(TextPart(part.strip(), sentence_start, start + len(part.rstrip())))
        start = end
    return sentences


def is_doubtful(text: str) -> bool:
    """Whether a text is a denial, a supposition, a guess or a question."""
    return bool(_DOUBT.search(text)) or text.rstrip(" *_\"')").endswith("?")
