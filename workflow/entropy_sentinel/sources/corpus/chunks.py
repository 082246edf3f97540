"""Files of a corpus as chunks: paragraphs, the long ones split at the ends of sentences."""

import gzip
import re
import zlib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.rows import local_rows

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

    Blank lines part paragraphs. Raises InputError naming file and line for what is not UTF-8 or has no such column.
    """
    texts = _texts_of_rows(path, column) if ".jsonl" in path.suffixes else [_lines(path)]
    for text in texts:
        for blank, lines in groupby(text, key=lambda line: not line.strip()):
            if not blank:
                yield from split(" ".join(line.strip() for line in lines))


def split(paragraph: str) -> Iterator[str]:
    """A paragraph; of one that is too long, as many whole sentences together as are not. A sentence stays whole."""
    if len(paragraph) <= LONGEST:
        yield paragraph
        return
    taken = ""
    for sentence in _SENTENCE_END.split(paragraph):
        if taken and len(taken) + 1 + len(sentence) > LONGEST:
            yield taken
            taken = sentence
        else:
            taken = f"{taken} {sentence}".lstrip()
    yield taken


def _texts_of_rows(path: Path, column: str) -> Iterator[list[str]]:
    for number, row in enumerate(local_rows(str(path))):
        text = row.get(column)
        if not isinstance(text, str):
            has = f"has {', '.join(row)}" if column not in row else f"'{column}' was {type(text).__name__}"
            raise InputError(f"{path}: row {number} must have a text in column '{column}', {has}; name it with --text")
        yield text.splitlines()


def _lines(path: Path) -> Iterator[str]:
    """Decoded line by line, so that an error is of the line that it names."""
    number = 0
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as lines:
            for number, line in enumerate(lines, start=1):
                yield _decoded(line, f"{path}: line {number}")
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read after line {number}: {error}") from None


def _decoded(line: bytes, where: str) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{where} must be UTF-8: {error}; convert the file") from None
