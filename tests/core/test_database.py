"""SQLite files of other programs, and of our own for something else, are refused and stay as they are."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from entropy_sentinel.core.database import DatabaseKind, prepare_database
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.llm_client.spending.ledger import Ledger, Terms

INDEX = DatabaseKind("the index of a corpus", 0x12345678, 1, "CREATE TABLE IF NOT EXISTS files (path TEXT);")


def index(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        prepare_database(file, path, INDEX)


def ledger(path: Path) -> None:
    Ledger(path, Terms())


def of_another_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE bookmarks (address TEXT)")


@pytest.mark.parametrize("open_", [index, ledger])
@pytest.mark.parametrize("make", [index, ledger, of_another_program])
def test_a_file_of_another_kind_is_refused_and_unchanged(
    make: Callable[[Path], None], open_: Callable[[Path], None], tmp_path: Path
) -> None:
    make(path := tmp_path / "file.sqlite")
    before = path.read_bytes()
    if make is open_:
        open_(path)
    else:
        with pytest.raises(InputError, match=rf"{path}: must be .*, got another SQLite file; name another path"):
            open_(path)
    assert path.read_bytes() == before


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    index(path := tmp_path / "corpus.index")
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA user_version = 7")
    with pytest.raises(InputError, match=f"{path}: must be the index of a corpus of version 1, got 7; delete it"):
        index(path)
