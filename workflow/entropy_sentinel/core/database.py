"""SQLite files of this package, marked so that another program's file is never overwritten."""

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from entropy_sentinel.core.errors import InputError


@dataclass(frozen=True)
class DatabaseKind:
    """A kind of SQLite file: its name in messages, its `application_id`, and the version and SQL of its tables."""

    name: str
    application: int
    version: int
    tables: str


def check_size(path: str | Path | None, kind: DatabaseKind) -> None:
    """Raise InputError for a file of one byte, which SQLite would treat as empty and overwrite."""
    if path is not None and os.path.isfile(path) and os.path.getsize(path) == 1:
        raise InputError(f"{path}: must be {kind.name} or a new file, got another file; name another path")


def prepare_database(file: sqlite3.Connection, path: str | Path, kind: DatabaseKind) -> None:
    """Check that an open file is of this kind; create the tables of an empty one.

    Raises InputError for a file of another kind or version, before anything is written.
    """
    (application,) = file.execute("PRAGMA application_id").fetchone()
    (version,) = file.execute("PRAGMA user_version").fetchone()
    if (application, version) == (kind.application, kind.version):
        return
    if application == kind.application:
        raise InputError(f"{path}: must be {kind.name} of version {kind.version}, got {version}; delete it")
    if application or version or file.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise InputError(f"{path}: must be {kind.name}, got another SQLite file; name another path")
    file.executescript(
        f"BEGIN IMMEDIATE; {kind.tables} PRAGMA application_id = {kind.application};"
        f" PRAGMA user_version = {kind.version}; COMMIT;"
    )
