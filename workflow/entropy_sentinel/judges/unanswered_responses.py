"""Responses without a final answer: what they are, and their verdict by the judge's key `unanswered`."""

import re
from collections.abc import Callable

from entropy_sentinel.judges.answer_markers import find_thinking_end
from entropy_sentinel.judges.final_answers import list_other_options
from entropy_sentinel.judges.judge_interface import Case, NoAnswerError, Unanswered, Unclear, Verdict
from entropy_sentinel.schemas.label_schema import NoAnswer

# A sentence that declines and goes on with nothing that may be an answer: `I can't see it, but it may be neon`.
_REFUSAL = re.compile(
    r"\b(?:I|we)(?:(?:\s+(?:really|simply|just))?\s+(?:cannot|can not|can't|couldn't|won't|will not)|"
    r"(?:'m|\s+am|'re|\s+are)\s+(?:unable to|not able to))\s+"
    r"(?:help|assist|answer|solve|determine|provide|comply|fulfil\w*|see|view|access|complete|process|compute|calculate)\b"
    r"(?!.*\b(?:but|however|so|thus|likely|probably|would|may|might|is|are|was|other|except|unless)\b)|"
    r"\b(?:I|we)\s+(?:do not|don't)\s+know\W*$",
    re.IGNORECASE,
)
# What else a refusal says.
_REQUEST = re.compile(
    r"(?:(?:I'm|I\s+am|we're|we\s+are)\s+)?(?:(?:so|very)\s+)?sorry\W*|"
    r"(?:please|could you)\s+(?:provide|share|consult|contact|ask|try|rephrase|clarify)\b.*|"
    r"(?:please\s+)?let me know\b.*|I\s+(?:would\s+)?need\s+more\s+(?:information|context|details)\W*",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_VALUE = re.compile(r"\d|\\[(\[a-z]|\$")


def declines_answer(response: str) -> bool:
    """Whether a response does nothing but decline to answer; it names no number, formula or option."""
    text = response[find_thinking_end(response) or 0 :].replace("’", "'").strip()
    sentences = [sentence for sentence in _SENTENCE_END.split(text) if sentence.strip()]
    if _VALUE.search(text) or list_other_options(text, "") or not _REFUSAL.search(text):
        return False
    return all(_REFUSAL.search(sentence) or _REQUEST.fullmatch(sentence.strip()) for sentence in sentences)


def make_unclear_verdict(
    unclear: Unclear,
    case: Case,
    unanswered: Unanswered,
    check_reference: Callable[[], object],
    answer: str | None = None,
) -> Verdict:
    """The verdict on a response whose answer is unclear or missing.

    `unanswered` is the verdict on one without an answer. If `check_reference` raises Unclear, the reference cannot be
    compared; the label is then null, as for all other responses to the item.
    """
    if isinstance(unclear, NoAnswerError):
        cause = unclear.cause
    elif declines_answer(case.response):
        cause = NoAnswer.REFUSAL
        answer = None
    else:
        return Verdict(None, answer=answer, reason=str(unclear))
    try:
        check_reference()
    except Unclear as incomparable:
        return Verdict(None, reason=str(incomparable))
    return Verdict(False if unanswered == "incorrect" else None, reason=cause.value)
