"""Which kind of judge can compare the answers to a benchmark, by its questions and references alone."""

from collections import Counter
from collections.abc import Iterable

from entropy_sentinel.judges import words
from entropy_sentinel.judges.choice import offered
from entropy_sentinel.judges.exact import normalised
from entropy_sentinel.judges.notation import clean
from entropy_sentinel.judges.structure import reference_quantity


def fitting_kind(items: Iterable[tuple[str, str]]) -> str:
    """The kind of judge for most of these questions and references: `choice`, `math-verify` or `llm`; at least one."""
    return Counter(_kind(question, reference) for question, reference in items).most_common(1)[0][0]


def _kind(question: str, reference: str) -> str:
    options = dict(offered(question))
    named = words.option(reference.strip())
    if named in options or normalised(reference) in map(normalised, options.values()) or words.is_option(reference):
        return "choice"
    text = reference_quantity(reference) is None and words.is_words(clean(reference))
    return "llm" if text and words.single_word(reference) is None and not words.is_truth(reference) else "math-verify"
