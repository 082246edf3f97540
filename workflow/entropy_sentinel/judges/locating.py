"""Where in a response its own final answer stands, whatever it is compared with."""

import re
from typing import NamedTuple

from entropy_sentinel.judges import answers, statements

# Marks that `answers.stated` leaves out of what it gives.
_MARKS = r"(?:\*\*|__|`)*"


class Located(NamedTuple):
    """The text of a final answer, and the character of the response at which it ends."""

    answer: str
    end: int


def located(response: str, truncated: bool) -> Located | None:
    """The final answer of a response: what is in its last box, or else what its last statement says.

    Of several boxes that are one answer the last one's end. None where there is no answer, and where a response is cut
    off before a box.
    """
    if (boxed := answers.last_boxed(response)) is not None:
        _, after = answers.around_boxes(response)
        return Located(boxed, len(response.removesuffix(after).removesuffix("}").rstrip()))
    if truncated:
        return None
    statement = answers.stated(response)
    place = _last(statement.clause, response)
    if place is None:
        return None
    found = statements.expression(statement.clause, statement.anchored)
    if found and (start := response.find(found.text, *place)) >= 0:
        return Located(found.text, start + len(found.text))
    answer = statement.clause.rstrip(" .!")
    if found or not statement.anchored or not answer:
        # What was read is not written there as it was read: "twelve" of 12.
        return Located(found.text, place[1]) if found else None
    return Located(answer, place[0] + response[slice(*place)].rindex(answer[-1]) + 1)


def _last(clause: str, response: str) -> tuple[int, int] | None:
    """Where a clause of a response stands last, whatever marks are between its characters."""
    if not clause:
        return None
    places = list(re.finditer(_MARKS.join(map(re.escape, clause)), response))
    return places[-1].span() if places else None
