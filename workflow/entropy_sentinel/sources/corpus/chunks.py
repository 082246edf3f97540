"""Files of a corpus as chunks: paragraphs, the long ones split at the ends of sentences."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from pathlib import Path

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.rows import local_rows, text_lines

# What a file of a corpus ends with.
FORMATS = (".txt", ".txt.gz", ".jsonl", ".jsonl.gz")
# Paragraphs of more characters are split at the ends of sentences (Tomov et al., Appendix C.1).
LONGEST = 2000
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def corpus_files(folder: Path) -> list[Path]:
    """The files of a corpus, in the folder and in folders in it, by name.

    Raises InputError where there are none.
    """
    found = sorted(path for path in folder.rglob("*") if path.name.endswith(FORMATS) and path.is_file())
    if not found:
        raise InputError(f"{folder}: must be a folder with files of {', '.join(FORMATS)}, has none")
    return found


def chunks(path: Path, column: str) -> Iterator[str]:
    """The chunks of a file, one after the other; of JSON lines, those of the text in `column`.

    Blank lines part paragraphs. Raises InputError naming file and line for a line that is too long or not UTF-8, and
    naming the row for one without such a column.
    """
    texts = _texts_of_rows(path, column) if ".jsonl" in path.suffixes else [(line for _, line in text_lines(path))]
    for text in texts:
        for blank, lines in groupby(text, key=lambda line: not line.strip()):
            if not blank:
                yield from split(line.strip() for line in lines)


def split(lines: Iterable[str]) -> Iterator[str]:
    """A paragraph from its lines; of one that is too long, as many whole sentences together as are not.

    A sentence stays whole. No more than these are held in memory.
    """
    lines, begun, length = iter(lines), list[str](), -1
    for line in lines:
        begun.append(line)
        length += 1 + len(line)
        if length > LONGEST:
            break
    else:
        yield " ".join(begun)
        return
    taken = ""
    for sentence in _sentences(chain(begun, lines)):
        if taken and len(taken) + 1 + len(sentence) > LONGEST:
            yield taken
            taken = sentence
        else:
            taken = f"{taken} {sentence}".lstrip()
    yield taken


def _sentences(lines: Iterable[str]) -> Iterator[str]:
    """The sentences of lines without space at their ends; one may go over several of them."""
    begun: list[str] = []
    for line in lines:
        for part in _SENTENCE_END.split(line):
            if begun and begun[-1].endswith((".", "!", "?")):
                yield " ".join(begun)
                begun = []
            begun.append(part)
    yield " ".join(begun)


def _texts_of_rows(path: Path, column: str) -> Iterator[list[str]]:
    for number, row in enumerate(local_rows(str(path))):
        text = row.get(column)
        if not isinstance(text, str):
            has = f"has {', '.join(row)}" if column not in row else f"'{column}' was {type(text).__name__}"
            raise InputError(f"{path}: row {number} must have a text in column '{column}', {has}; name it with --text")
        yield text.splitlines()
