"""What a reference is: a quantity, a list, and whether it can be compared at all."""

import json
import re
from functools import lru_cache

from entropy_sentinel.judges import expressions
from entropy_sentinel.judges.expressions import UnreadableError
from entropy_sentinel.judges.names import bare, without_name
from entropy_sentinel.judges.notation import clean
from entropy_sentinel.judges.quantities import Quantity, quantity
from entropy_sentinel.judges.structure import Structure, split

WORDS_AFTER = re.compile(r"(?<=\S)\s*\\text\{([^{}]*)\}$")
_ON_A_LINE = re.compile(r"\b(?:interval|domain|range|inequalit|for (?:which|what) values)", re.IGNORECASE)


def reference_quantity(reference: str) -> Quantity | None:
    """The number of a reference, with its unit; None if it is no such."""
    return quantity(without_name(clean(reference))[1], units_in_letters(reference))


def units_in_letters(reference: str) -> bool:
    """Whether `2 m` in a reference is two metres and no product: it is in text, not in a formula."""
    return not reference.lstrip().startswith(("$", "\\("))


def json_list(reference: str, question: str) -> Structure | None:
    """`[0, 5]` as a list in order; `$[0, 5]$` is an interval, as are `[0,5]` and the answer to a question for one."""
    try:
        found = json.loads(reference)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list):
        return None
    rises = len(found) == 2 and all(isinstance(part, int | float) for part in found) and found[0] < found[1]
    if rises and (json.dumps(found) != reference.strip() or _ON_A_LINE.search(question)):
        return None
    return Structure("list", tuple(str(part) for part in found))


@lru_cache(maxsize=4096)
def readable(reference: str, letters: bool) -> bool:
    """Whether a reference can be compared at all: with no answer, otherwise, or being right would make the label."""
    text = bare(reference)
    if (structure := split(text)) is not None:
        return all(readable(part, letters) for part in structure.parts)
    if quantity(text, letters):
        return True
    name, value = without_name(text)
    if name is not None:
        return readable(value, letters)
    try:
        expressions.read(WORDS_AFTER.sub("", text))
    except UnreadableError:
        return False
    return True
