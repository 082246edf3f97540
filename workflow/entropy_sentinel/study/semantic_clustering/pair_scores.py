"""Scores of pairs of texts by a model, computed once and kept on disk for killed jobs and later ones.

They are in `pairs/` beside the servers' replies (core/whole_files.py), in an SQLite file per model that any number of
jobs may share. It has only hashes of texts.
"""

import hashlib
import json
import logging
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager

import numpy as np

from entropy_sentinel.core.cache_folders import cache_folder, make_private_folder
from entropy_sentinel.core.errors import EntropySentinelError

log = logging.getLogger(__name__)

TextPair = tuple[str, str]
# Part of the file's name. Raise it when scores or keys are computed differently.
_LAYOUT = 1
# The longest wait for another job's turn, in seconds; a turn takes milliseconds.
_TURN_S = 60.0
_REPORT_INTERVAL_S = 30.0


class CachedScores:
    """The scores of pairs of texts by `score`, kept in a file.

    `n_compared` counts the pairs given to `score`, `n_saved` those from the file, each pair once per call. `identity`
    describes the model and what is computed from its output: each identity has its own file.
    """

    def __init__(
        self, score: Callable[[Sequence[TextPair]], np.ndarray], identity: Sequence[str], batch_size: int
    ) -> None:
        self._score, self._batch_size = score, batch_size
        name = hashlib.sha256(json.dumps([_LAYOUT, *identity]).encode()).hexdigest()[:16]
        self._path = cache_folder("pairs") / f"{name}.sqlite"
        self.n_compared = self.n_saved = 0

    def __call__(self, pairs: Iterable[TextPair]) -> dict[TextPair, float]:
        """The score of each different pair. Raises EntropySentinelError if the file cannot be used."""
        # Sorted by length, to limit padding. Batches are formed before known pairs are removed, and computed whole, so
        # a resumed job gets the same batches, and the same numbers, as one that was not killed.
        ordered = sorted(dict.fromkeys(pairs), key=lambda pair: (len(pair[0]) + len(pair[1]), pair))
        scores: dict[TextPair, float] = {}
        last_report = time.monotonic()
        with self._file() as file:
            for start in range(0, len(ordered), self._batch_size):
                scores |= self._batch(file, ordered[start : start + self._batch_size])
                if time.monotonic() - last_report > _REPORT_INTERVAL_S:
                    last_report = time.monotonic()
                    log.info("%d of %d pairs of texts", len(scores), len(ordered))
        log.info("%d pairs of texts compared so far, %d from the cache", self.n_compared, self.n_saved)
        return scores

    @property
    def counts(self) -> dict[str, int]:
        """How many pairs the model compared, and how many came from the cache, for the provenance."""
        return {"pairs_asked": self.n_compared, "pairs_saved": self.n_saved}

    def _batch(self, file: sqlite3.Connection, pairs: Sequence[TextPair]) -> dict[TextPair, float]:
        """The score of each pair, from the file if it has it; else computed, and added to the file."""
        pairs_by_hash = {_hash_pair(pair): pair for pair in pairs}
        placeholders = ", ".join("?" * len(pairs_by_hash))
        query = f"SELECT pair, score FROM scores WHERE pair IN ({placeholders})"
        cached = {pairs_by_hash[key]: score for key, score in file.execute(query, list(pairs_by_hash))}
        new_pairs = [pair for pair in pairs if pair not in cached]
        scores = dict(zip(new_pairs, map(float, self._score(new_pairs)), strict=True)) if new_pairs else {}
        with file:  # one transaction
            file.executemany(
                "INSERT OR REPLACE INTO scores VALUES (?, ?)", ((_hash_pair(pair), scores[pair]) for pair in new_pairs)
            )
        self.n_compared += len(new_pairs)
        self.n_saved += len(cached)
        return cached | scores

    @contextmanager
    def _file(self) -> Iterator[sqlite3.Connection]:
        """Open the file of scores; raises EntropySentinelError if it cannot be used."""
        try:
            make_private_folder(self._path.parent)
            with closing(sqlite3.connect(self._path, timeout=_TURN_S)) as file:
                # The file survives a killed process. A power cut may damage it; this loses scores, but no result.
                file.execute("PRAGMA synchronous = OFF")
                file.execute(
                    "CREATE TABLE IF NOT EXISTS scores (pair BLOB PRIMARY KEY, score REAL NOT NULL) WITHOUT ROWID"
                )
                yield file
        except (OSError, sqlite3.Error) as error:
            raise EntropySentinelError(
                f"{self._path}: the cache of text comparisons cannot be used: {error}; delete it, or set "
                "ENTROPY_SENTINEL_CACHE to a writable folder"
            ) from None


def _hash_pair(pair: TextPair) -> bytes:
    return hashlib.sha256(json.dumps(pair).encode()).digest()
