"""Named groups fitted under several seeds, against the stage that fits them under one."""

from pathlib import Path

import polars as pl
from observations import SETTINGS, observations

from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_frames import REPEATS
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_measures import compute_sweep, write_repeats
from entropy_sentinel.study.stages.estimate_stage import estimate_group


def test_errors_under_every_seed_are_those_of_the_estimates_under_it(tmp_path: Path) -> None:
    frame = pl.concat([observations(name) for name in "abcd"])
    OBSERVATIONS.write(frame, tmp_path / "m.parquet", {"logprobs": {}})
    groups = {"a+b": ["forest-10d-balanced-isotonic"], "c": ["atc-max"]}
    write_repeats(str(tmp_path / "m.parquet"), groups, SETTINGS, [42, 43], str(tmp_path / "repeats.parquet"))
    result = REPEATS.check(REPEATS.read(tmp_path / "repeats.parquet"))
    for group, names in groups.items():
        for seed in (42, 43):
            expected = compute_sweep(estimate_group(frame, group, SETTINGS | {"seed": seed, "estimators": names}))
            assert result.filter(group=group, seed=seed).drop("seed").equals(expected)
    forest, atc = (result.filter(group=group, scope="held_out")["aee"].n_unique() for group in groups)
    assert (forest, atc) == (2, 1), "a forest moves with its seed, a threshold does not"
