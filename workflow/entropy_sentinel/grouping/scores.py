"""Scores of pairs of texts by a model, each asked for once and kept on disk: a killed job goes on, a second one reads.

They lie in `pairs/` beside the replies of servers (frames/files.py), an SQLite file per model, which any number of
jobs may share. Texts are there as hashes alone.
"""

import hashlib
import json
import logging
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager

import numpy as np

from entropy_sentinel.frames.errors import EntropySentinelError
from entropy_sentinel.frames.files import cache_folder, private_folder

log = logging.getLogger(__name__)

TextPair = tuple[str, str]
# Part of what names a file: raised when a score is another number, or a key is made in another way.
_LAYOUT = 1
# Jobs wait so long for each other's turn, seconds; each turn takes milliseconds.
_TURN_S = 60.0
_TELL_EVERY_S = 30.0


class KeptScores:
    """What `score` says of pairs, a number each.

    `asked` counts the pairs that it was shown, `saved` those that were known, each pair once in every call.
    `identity` says which model it is, and what is made of what it says: another identity has another file.
    """

    def __init__(
        self, score: Callable[[Sequence[TextPair]], np.ndarray], identity: Sequence[str], batch_size: int
    ) -> None:
        self._score, self._batch_size = score, batch_size
        name = hashlib.sha256(json.dumps([_LAYOUT, *identity]).encode()).hexdigest()[:16]
        self._path = cache_folder("pairs") / f"{name}.sqlite"
        self.asked = self.saved = 0

    def __call__(self, pairs: Iterable[TextPair]) -> dict[TextPair, float]:
        """The score of each different pair. Raises EntropySentinelError where the file cannot be used."""
        # By length, so that little is padding. Batches are made before what is known is left out, and kept whole: so
        # a job that goes on asks for the rest in the batches, and gets the numbers, of one that was not killed.
        ordered = sorted(dict.fromkeys(pairs), key=lambda pair: (len(pair[0]) + len(pair[1]), pair))
        found: dict[TextPair, float] = {}
        told = time.monotonic()
        with self._file() as file:
            for start in range(0, len(ordered), self._batch_size):
                found |= self._batch(file, ordered[start : start + self._batch_size])
                if time.monotonic() - told > _TELL_EVERY_S:
                    told = time.monotonic()
                    log.info("%d of %d pairs of texts", len(found), len(ordered))
        log.info("%d pairs of texts asked about so far, %d known from before", self.asked, self.saved)
        return found

    @property
    def counts(self) -> dict[str, int]:
        """How many pairs the model was asked about, and how many were known, for the provenance."""
        return {"pairs_asked": self.asked, "pairs_saved": self.saved}

    def _batch(self, file: sqlite3.Connection, pairs: Sequence[TextPair]) -> dict[TextPair, float]:
        keys = {_key(pair): pair for pair in pairs}
        places = ", ".join("?" * len(keys))
        rows = file.execute(f"SELECT pair, score FROM scores WHERE pair IN ({places})", list(keys)).fetchall()
        known = {keys[key]: score for key, score in rows}
        asked = [pair for pair in pairs if pair not in known]
        scores = dict(zip(asked, map(float, self._score(asked)), strict=True)) if asked else {}
        with file:  # one transaction
            file.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", ((_key(one), scores[one]) for one in asked))
        self.asked += len(asked)
        self.saved += len(known)
        return known | scores

    @contextmanager
    def _file(self) -> Iterator[sqlite3.Connection]:
        try:
            private_folder(self._path.parent)
            with closing(sqlite3.connect(self._path, timeout=_TURN_S)) as file:
                # Whole however a process ends. A power cut may damage it, which costs the scores and no result.
                file.execute("PRAGMA synchronous = OFF")
                file.execute(
                    "CREATE TABLE IF NOT EXISTS scores (pair BLOB PRIMARY KEY, score REAL NOT NULL) WITHOUT ROWID"
                )
                yield file
        except (OSError, sqlite3.Error) as error:
            raise EntropySentinelError(
                f"{self._path}: scores of pairs of texts are kept here, and it cannot be used: {error}; delete it, or "
                "set ENTROPY_SENTINEL_CACHE to a folder that can be written"
            ) from None


def _key(pair: TextPair) -> bytes:
    return hashlib.sha256(json.dumps(pair).encode()).digest()
