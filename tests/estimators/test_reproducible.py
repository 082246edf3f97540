"""Fitted again on the same rows, an estimator's file has the same bytes: a monitor's state is of one checksum."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from production import fitted, saved, traffic, written

import entropy_sentinel as es

# One of each kind of parts: thresholds, regressions, trees, networks, isotonic steps, a choice among several.
NAMES = ("recommended", "median-of-seven", "forest-10d-balanced-isotonic", "mlp-10d-balanced-isotonic")

FIT = """
import sys
from pathlib import Path
from production import saved
for name in sys.argv[2:]:
    saved(Path(sys.argv[1]), name)
"""


@pytest.mark.slow
def test_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    path = os.pathsep.join(sys.path)
    for seed in ("1", "2"):
        (tmp_path / seed).mkdir()
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", FIT, tmp_path / seed, *NAMES], env=environment, check=True)
    for name in NAMES:
        one, other = ((tmp_path / seed / f"{name}.estimator").read_bytes() for seed in ("1", "2"))
        assert one == other, name


@pytest.mark.parametrize("name", NAMES)
def test_read_and_written_again_it_is_the_same_and_says_the_same(tmp_path: Path, name: str) -> None:
    path, features = saved(tmp_path, name), traffic(200)
    again = es.load(path)
    es.save(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    wanted, found = (one.estimator for one in (fitted(name), es.load(tmp_path / "again")))
    assert found.accuracy(features) == wanted.accuracy(features)
    p = [one.p_correct(features) for one in (wanted, found)]
    assert p[0].tolist() == p[1].tolist()


def test_the_state_of_an_estimator_is_that_of_one_fitted_again(tmp_path: Path) -> None:
    log = written(traffic(300), tmp_path / "log.parquet")
    es.monitor(saved(tmp_path), log, by=["route"], state=tmp_path / "state")
    (tmp_path / "again").mkdir()
    found = es.monitor(saved(tmp_path / "again"), log, by=["route"], state=tmp_path / "state")
    assert found.provenance["files"] == {"read_now": 0, "known": 1, "in_all": 1}
