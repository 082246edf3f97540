"""Scores of pairs of texts are asked for once, whatever becomes of the job."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.study.semantic_clustering.pair_scores import CachedScores, TextPair

PAIRS = [("a" * (number % 7 + 1), "b" * (number % 5 + 1)) for number in range(35)]
# In a process of its own: the third batch kills it.
KILLED = """
import os, signal, sys
from test_kept_scores import PAIRS, Counting
from entropy_sentinel.study.semantic_clustering.pair_scores import CachedScores

counting = Counting(after=2, then=lambda: os.kill(os.getpid(), signal.SIGKILL))
CachedScores(counting, ["model"], 4)(PAIRS)
"""


class Counting:
    """A score that depends on the others in its batch, as with padding; it counts, and may stop."""

    def __init__(self, after: int = sys.maxsize, then: object = None) -> None:
        self.batches: list[list[TextPair]] = []
        self.after, self.then = after, then

    def __call__(self, pairs: Sequence[TextPair]) -> np.ndarray:
        if len(self.batches) == self.after:
            assert callable(self.then)
            self.then()
        self.batches.append(list(pairs))
        lengths = np.array([len(first) + 2.5 * len(second) for first, second in pairs])
        return lengths / lengths.sum()


def test_a_second_time_nothing_is_asked() -> None:
    first, again, other = Counting(), Counting(), Counting()
    kept = CachedScores(first, ["model"], 4)
    result = kept([*PAIRS, *PAIRS])
    assert sorted(result) == sorted(set(PAIRS))
    assert kept.counts == {"pairs_asked": 35, "pairs_saved": 0}
    assert [len(batch) for batch in first.batches] == [4] * 8 + [3]
    later = CachedScores(again, ["model"], 4)
    assert later(PAIRS) == result
    assert (later.counts, again.batches) == ({"pairs_asked": 0, "pairs_saved": 35}, [])
    # Another model knows nothing of it, nor is the other direction known.
    assert CachedScores(other, ["other"], 4)(PAIRS[:2]).keys() == set(PAIRS[:2])
    assert CachedScores(other, ["model"], 4)([("b", "a")]).keys() == {("b", "a")}
    assert len(other.batches) == 2


def test_killed_in_the_middle_it_continues_with_the_same_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    done = subprocess.run([sys.executable, "-c", KILLED], env={**os.environ, "PYTHONPATH": path}, check=False)
    assert done.returncode == -signal.SIGKILL
    rest = Counting()
    kept = CachedScores(rest, ["model"], 4)
    resumed = kept(PAIRS)
    assert kept.counts == {"pairs_asked": 27, "pairs_saved": 8}
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path / "empty"))
    assert CachedScores(Counting(), ["model"], 4)(PAIRS) == resumed  # to the last bit


def test_only_unknown_pairs_of_a_batch_are_asked() -> None:
    CachedScores(Counting(), ["model"], 4)(PAIRS[:3])
    further = Counting()
    CachedScores(further, ["model"], 100)(PAIRS[:5])
    assert [set(batch) for batch in further.batches] == [set(PAIRS[3:5])]


def test_texts_do_not_stand_on_the_disk_and_only_the_user_reads_it(tmp_path: Path) -> None:
    CachedScores(Counting(), ["model"], 4)([("my secret answer", "another secret")])
    (file,) = (tmp_path / "cache" / "pairs").iterdir()
    assert b"secret" not in file.read_bytes()
    assert file.parent.stat().st_mode & 0o077 == 0


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    CachedScores(Counting(), ["model"], 4)(PAIRS)
    (file,) = (tmp_path / "cache" / "pairs").iterdir()
    file.write_bytes(b"no database" * 1000)
    with pytest.raises(EntropySentinelError, match=rf"{file.name}: .*delete it"):
        CachedScores(Counting(), ["model"], 4)(PAIRS)


def test_two_jobs_share_a_file() -> None:
    """One writes while another reads: neither fails, and what both ask for is there once."""
    inner = CachedScores(Counting(), ["model"], 4)

    def both(pairs: Sequence[TextPair]) -> np.ndarray:
        inner(pairs)
        return np.ones(len(pairs))

    outer = CachedScores(both, ["model"], 4)
    assert set(outer(PAIRS).values()) == {1.0}
    with sqlite3.connect(outer._path) as file:
        assert file.execute("SELECT count(*) FROM scores").fetchone() == (35,)
