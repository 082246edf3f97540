"""The chunks of a corpus in a search index: SQLite's full-text search, with Porter's stemmer."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from entropy_sentinel.frames.database import Kind, begin
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.corpus.chunks import chunks, corpus_files

# Without case and accents, words by their stems: `grape` finds `Grapes`.
_TABLES = """
CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, bytes INTEGER, modified_ns INTEGER, text_column TEXT);
CREATE VIRTUAL TABLE IF NOT EXISTS chunks USING fts5 (text, tokenize = 'porter unicode61 remove_diacritics 2');
"""
# The version is raised by hand where the same corpus would give other chunks or other words.
INDEX = Kind("the index of a corpus", 0x45536978, 1, _TABLES)


class Index:
    """Chunks in which phrases are looked for; `n_chunks` of them."""

    def __init__(self, file: sqlite3.Connection) -> None:
        self._file = file
        self.n_chunks = int(file.execute("SELECT count(*) FROM chunks").fetchone()[0])

    def count(self, *together: Sequence[str]) -> int:
        """In how many chunks each of `together` is found, which it is by any one of its phrases."""
        found = self._file.execute("SELECT count(*) FROM chunks WHERE chunks MATCH ?", (_sought(together),))
        return int(found.fetchone()[0])

    def texts(self, *together: Sequence[str], most: int) -> list[str]:
        """These chunks, of more than `most` those that match best (BM25)."""
        sought = "SELECT text FROM chunks WHERE chunks MATCH ? ORDER BY rank LIMIT ?"
        return [text for (text,) in self._file.execute(sought, (_sought(together), most))]


@contextmanager
def opened(path: Path, folder: Path, column: str) -> Iterator[Index]:
    """The index of a corpus in the file `path`: made, or gone on with after the last file that is whole in it.

    Args:
        path: The index, a file of SQLite.
        folder: The corpus.
        column: The column with the text of files of JSON lines.

    Raises:
        InputError: For a file of the corpus that cannot be read, or is another than when it was indexed; for an index
            that is another program's file, is of another version, or which another process writes.
    """
    files = corpus_files(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        try:
            begin(file, path, INDEX)
            _check_same(file, path, folder, column)
            for one in files:
                _add(file, one, folder, column)
            yield Index(file)
        except sqlite3.Error as error:
            raise InputError(f"{path}: cannot be used as an index: {error}; name another with --index") from None


def _check_same(file: sqlite3.Connection, path: Path, folder: Path, column: str) -> None:
    """InputError where the index has a file that is gone from the corpus or is another now."""
    for name, *before in file.execute("SELECT path, bytes, modified_ns, text_column FROM files"):
        if not (folder / name).is_file() or [*_state(folder / name), column] != before:
            raise InputError(
                f"{path}: is the index of another corpus: {folder / name} has changed since, or was read with another "
                "--text; delete the index, or name another with --index"
            )


def _add(file: sqlite3.Connection, one: Path, folder: Path, column: str) -> None:
    """The chunks of a file, all in one step; nothing where they are there."""
    name = one.relative_to(folder).as_posix()
    file.execute("BEGIN IMMEDIATE")
    try:
        if not file.execute("SELECT 1 FROM files WHERE path = ?", (name,)).fetchone():
            file.execute("INSERT INTO files VALUES (?, ?, ?, ?)", (name, *_state(one), column))
            file.executemany("INSERT INTO chunks VALUES (?)", ((text,) for text in chunks(one, column)))
        file.execute("COMMIT")
    except BaseException:
        file.execute("ROLLBACK")
        raise


def _state(path: Path) -> tuple[int, int]:
    """Size in bytes and time of the last change in nanoseconds: others where a file is another."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _sought(together: Iterable[Sequence[str]]) -> str:
    """What SQLite is asked for: of each of `together` one phrase at least."""
    return " AND ".join(f"({' OR '.join(map(_phrase, phrases))})" for phrases in together)


def _phrase(text: str) -> str:
    """Words one after the other, as SQLite is told."""
    return '"' + text.replace('"', '""') + '"'
