"""A full-text index in SQLite of the paragraphs in a folder of texts, for counting answers.

Long paragraphs are split at the ends of sentences. Words are compared by Porter's stemmer.
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain, groupby
from pathlib import Path

from entropy_sentinel.core.database import DatabaseKind, prepare_database
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.study.items.benchmark_rows import read_local_rows, read_text_lines

# Suffixes of corpus files.
SUFFIXES = (".txt", ".txt.gz", ".jsonl", ".jsonl.gz")
# Paragraphs with more characters are split at the ends of sentences (Tomov et al., Appendix C.1).
MAX_CHARACTERS = 2000
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def list_corpus_files(folder: Path) -> list[Path]:
    """The files of a corpus, in the folder and its subfolders, by name.

    Raises InputError if there are none.
    """
    files = sorted(path for path in folder.rglob("*") if path.name.endswith(SUFFIXES) and path.is_file())
    if not files:
        raise InputError(f"{folder}: must be a folder with files of {', '.join(SUFFIXES)}, has none")
    return files


def read_chunks(path: Path, column: str) -> Iterator[str]:
    """Yield the chunks of a file; for JSON lines, the chunks of the text in `column`.

    Blank lines separate paragraphs. Raises InputError with file and line if a line is too long or not UTF-8, and with
    the row if the column is missing.
    """
    # A text file is one text; in JSON lines, each row has one.
    texts: Iterable[Iterable[str]] = [(line for _, line in read_text_lines(path))]
    if ".jsonl" in path.suffixes:
        texts = _read_row_lines(path, column)
    for text_lines in texts:
        for is_blank, lines in groupby(text_lines, key=lambda line: not line.strip()):
            if not is_blank:
                yield from split_paragraph(line.strip() for line in lines)


def split_paragraph(lines: Iterable[str]) -> Iterator[str]:
    """Yield a paragraph from its lines; split a long one into pieces of as many whole sentences as fit.

    Sentences are not split. Only one piece is in memory.
    """
    lines = iter(lines)
    pending_lines: list[str] = []
    length = -1  # of the lines joined by spaces: the first has none before it
    for line in lines:
        pending_lines.append(line)
        length += 1 + len(line)
        if length > MAX_CHARACTERS:
            break
    else:
        yield " ".join(pending_lines)
        return
    piece = ""
    for sentence in _split_sentences(chain(pending_lines, lines)):
        if piece and len(piece) + 1 + len(sentence) > MAX_CHARACTERS:
            yield piece
            piece = sentence
        else:
            piece = f"{piece} {sentence}".lstrip()
    yield piece


def _split_sentences(lines: Iterable[str]) -> Iterator[str]:
    """Yield the sentences of stripped lines; a sentence may span several lines."""
    pending_parts: list[str] = []
    for line in lines:
        for part in _SENTENCE_END.split(line):
            if pending_parts and pending_parts[-1].endswith((".", "!", "?")):
                yield " ".join(pending_parts)
                pending_parts = []
            pending_parts.append(part)
    yield " ".join(pending_parts)


def _read_row_lines(path: Path, column: str) -> Iterator[list[str]]:
    """Yield the lines of the text in `column`, for each row of a JSON-lines file."""
    for number, row in enumerate(read_local_rows(str(path))):
        text = row.get(column)
        if not isinstance(text, str):
            problem = f"'{column}' was {type(text).__name__}" if column in row else f"has {', '.join(row)}"
            raise InputError(
                f"{path}: row {number} must have a text in column '{column}', {problem}; name it with --text"
            )
        yield text.splitlines()


# Without case and accents, words by their stems: `grape` finds `Grapes`.
_TABLES = """
CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, bytes INTEGER, modified_ns INTEGER, text_column TEXT);
CREATE VIRTUAL TABLE IF NOT EXISTS chunks USING fts5 (text, tokenize = 'porter unicode61 remove_diacritics 2');
"""
# Increase the version by hand when the same corpus would give different chunks or words.
INDEX = DatabaseKind("the index of a corpus", 0x45536978, 1, _TABLES)


class Index:
    """The searchable chunks; `n_chunks` is their number."""

    def __init__(self, file: sqlite3.Connection) -> None:
        self._file = file
        self.n_chunks = int(file.execute("SELECT count(*) FROM chunks").fetchone()[0])

    def count(self, *phrase_groups: Sequence[str]) -> int:
        """Count the chunks that contain at least one phrase from each group in `phrase_groups`."""
        cursor = self._file.execute("SELECT count(*) FROM chunks WHERE chunks MATCH ?", (_make_query(phrase_groups),))
        return int(cursor.fetchone()[0])

    def texts(self, *phrase_groups: Sequence[str], limit: int) -> list[str]:
        """The chunks that `count` counts; if there are more than `limit`, the best matches by BM25."""
        query = "SELECT text FROM chunks WHERE chunks MATCH ? ORDER BY rank LIMIT ?"
        return [text for (text,) in self._file.execute(query, (_make_query(phrase_groups), limit))]


@contextmanager
def open_index(path: Path, folder: Path, column: str) -> Iterator[Index]:
    """Create the index of a corpus in the file `path`, or continue after the last completely indexed file.

    Args:
        path: The index, a SQLite file.
        folder: The corpus.
        column: The column with the text in JSON-lines files.

    Raises:
        InputError: If a corpus file cannot be read, or has changed since it was indexed; if the index belongs to
            another program, has another version, or is being written by another process.
    """
    files = list_corpus_files(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        try:
            prepare_database(file, path, INDEX)
            _check_corpus_unchanged(file, path, folder, column)
            for text_file in files:
                _add_file(file, text_file, folder, column)
            yield Index(file)
        except sqlite3.Error as error:
            raise InputError(f"{path}: cannot be used as an index: {error}; name another with --index") from None


def _check_corpus_unchanged(file: sqlite3.Connection, path: Path, folder: Path, column: str) -> None:
    """Raise InputError if the index has a file that has changed, is no longer in `folder`, or was read otherwise."""
    for name, *indexed_state in file.execute("SELECT path, bytes, modified_ns, text_column FROM files"):
        if not (folder / name).is_file() or [*_read_file_state(folder / name), column] != indexed_state:
            raise InputError(
                f"{path}: is the index of another corpus: {folder / name} has changed since, or was read with another "
                "--text; delete the index, or name another with --index"
            )


def _add_file(file: sqlite3.Connection, text_file: Path, folder: Path, column: str) -> None:
    """Add the chunks of a file in one transaction, unless the index already has them."""
    name = text_file.relative_to(folder).as_posix()
    file.execute("BEGIN IMMEDIATE")
    try:
        if not file.execute("SELECT 1 FROM files WHERE path = ?", (name,)).fetchone():
            file.execute("INSERT INTO files VALUES (?, ?, ?, ?)", (name, *_read_file_state(text_file), column))
            file.executemany("INSERT INTO chunks VALUES (?)", ((text,) for text in read_chunks(text_file, column)))
        file.execute("COMMIT")
    except BaseException:
        file.execute("ROLLBACK")
        raise


def _read_file_state(path: Path) -> tuple[int, int]:
    """A file's size in bytes and modification time in nanoseconds, to detect changes."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _make_query(phrase_groups: Iterable[Sequence[str]]) -> str:
    """The query of SQLite's full-text search for at least one phrase from each group in `phrase_groups`."""
    conditions = []
    for phrases in phrase_groups:
        # In quotes, a phrase of consecutive words.
        quoted = ['"' + phrase.replace('"', '""') + '"' for phrase in phrases]
        conditions.append(f"({' OR '.join(quoted)})")
    return " AND ".join(conditions)
