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
MOST = 1000


@dataclass(frozen=True)
class Columns:
    """Columns of the rows: the question, its keywords (a text or a list of texts), and `answers` as in a benchmark."""

    question: str = "question"
    keywords: str = "keywords"
    answers: str = "answers"


def counted(
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
        where = f"{source}: row {number}"
        together = [[keyword] for keyword in _keywords(columns.keywords, row, where)]
        right = read_answers(columns.answers, row, where)
        if right is None:
            raise InputError(
                f"{where} must have answers in column '{columns.answers}', has none; fill it, or drop the row"
            )
        for text in chain(*together, *right):
            if not any(letter.isalnum() for letter in text):
                raise InputError(f"{where}: a keyword or answer must contain a letter or digit, got '{text}'")
        if entailment is None:
            yield [index.count(*together, names) for names in right]
        else:
            question = to_text(look_up(columns.question, row, where), f"{where}: question ({columns.question})")
            counts = []
            for names in right:
                texts = index.texts(*together, names, most=MOST)
                counts.append(entailment.count(texts, f"{question} {names[0]}"))
            yield counts


def _keywords(name: str, row: Row, where: str) -> list[str]:
    value = look_up(name, row, where)
    texts = value if isinstance(value, list) else [value]
    if not texts or any(is_empty(text) for text in texts):
        raise InputError(
            f"{where} must have a keyword, or a list of them, in column '{name}', got {describe_json(value)}"
        )
    return [to_text(text, f"{where}: keywords ({name})") for text in texts]
