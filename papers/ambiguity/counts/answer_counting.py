"""Count each right answer to a question in those chunks of a corpus that have the question's keywords."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.printable import describe_json
from entropy_sentinel.study.items.row_fields import Row, is_empty, look_up, read_answers, to_text
from papers.ambiguity.counts.corpus_index import Index

if TYPE_CHECKING:  # it imports LiteLLM, which plain counting does not need
    from papers.ambiguity.counts.entailment import Entailment


# Largest number of chunks per answer to ask about; the best matches are taken.
MAX_CHUNKS = 1000


@dataclass(frozen=True)
class Columns:
    """Columns of the rows: the question, its keywords (a text or a list of texts), and `answers` as in a benchmark."""

    question: str = "question"
    keywords: str = "keywords"
    answers: str = "answers"


def count_answers(
    rows: Iterable[Row], index: Index, columns: Columns, source: str, entailment: "Entailment | None" = None
) -> Iterator[list[int]]:
    """Yield for each row the number of chunks with all keywords and any name of each answer.

    Args:
        rows: Rows of a benchmark.
        index: The chunks.
        columns: The names of the rows' columns.
        source: The name of the file of the rows, for errors.
        entailment: A model that decides which chunks entail the answer, at most 1,000 per answer; None counts all. Only
        it needs the column of the question.

    Raises:
        InputError: With the row, if keywords or answers are missing, or one of them has no letter or digit.
    """
    for number, row in enumerate(rows):
        position = f"{source}: row {number}"
        # A chunk must have a phrase of each group: each keyword, and any name of the answer.
        keyword_groups = [[keyword] for keyword in _read_keywords(columns.keywords, row, position)]
        answers = read_answers(columns.answers, row, position)
        if answers is None:
            raise InputError(
                f"{position} must have answers in column '{columns.answers}', has none; fill it, or drop the row"
            )
        for text in chain(*keyword_groups, *answers):
            if not any(letter.isalnum() for letter in text):
                raise InputError(f"{position}: a keyword or answer must contain a letter or digit, got '{text}'")
        if entailment is None:
            yield [index.count(*keyword_groups, names) for names in answers]
        else:
            question = to_text(look_up(columns.question, row, position), f"{position}: question ({columns.question})")
            counts = []
            for names in answers:
                texts = index.texts(*keyword_groups, names, limit=MAX_CHUNKS)
                counts.append(entailment.count(texts, f"{question} {names[0]}"))
            yield counts


def _read_keywords(name: str, row: Row, where: str) -> list[str]:
    """The keywords in the row's column `name`, a text or a list of them; `where` is the place for an InputError."""
    value = look_up(name, row, where)
    texts = value if isinstance(value, list) else [value]
    if not texts or any(is_empty(text) for text in texts):
        raise InputError(
            f"{where} must have a keyword, or a list of them, in column '{name}', got {describe_json(value)}"
        )
    return [to_text(text, f"{where}: keywords ({name})") for text in texts]
