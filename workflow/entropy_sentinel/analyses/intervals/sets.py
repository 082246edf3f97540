"""Stage `sets`: coverage by log-probabilities, of the smallest sets of likely integers and of their hulls."""

from collections.abc import Iterator, Sequence
from typing import Any, TypedDict

import numpy as np
import polars as pl

from entropy_sentinel.analyses.intervals.catalogue import BASES, TEST, alpha_of
from entropy_sentinel.analyses.intervals.frames import ADJUSTED, BELIEFS, SETS
from entropy_sentinel.analyses.intervals.methods import TEMPERATURES, end_of
from entropy_sentinel.analyses.intervals.questions import distributions, exponents
from entropy_sentinel.analyses.intervals.smallest_mass import Distribution, best_temperature, hulls, smallest_set
from entropy_sentinel.frames.benchmark import BENCHMARKS
from entropy_sentinel.statistics.conformal import covered

Rows = Iterator[dict[str, Any]]


class SetFiles(TypedDict):
    """Files of all models: distributions, adjusted intervals; items of both halves."""

    beliefs: str
    adjusted: str
    calibration: str
    test: str


def write_sets(files: SetFiles, output: str) -> None:
    """Write the coverage of the smallest sets of every model, basis and level."""
    beliefs, adjusted = BELIEFS.read(files["beliefs"]), ADJUSTED.read(files["adjusted"])
    calibration, test = (exponents(BENCHMARKS.read(files[half])) for half in ("calibration", "test"))
    base = adjusted.filter(half=TEST, method="base")
    SETS.write(SETS.frame(list(sets(beliefs, base, calibration, test))), output, {})


def sets(beliefs: pl.DataFrame, base: pl.DataFrame, calibration: dict[str, int], test: dict[str, int]) -> Rows:
    """Rows of SETS; `base` are rows of ADJUSTED, `calibration` and `test` the right answers by item."""
    for model in beliefs["model"].unique(maintain_order=True):
        own = base.filter(model=model)
        levels = own["level"].unique().sort().to_list()
        for basis in BASES:
            all_of = distributions(beliefs.filter(model=model), basis)
            known, new = ([one for one in all_of if one[0] in half] for half in (calibration, test))
            if not known or not new:
                continue
            true = [calibration[item] for item, _, _ in known]
            at = best_temperature([one for _, one, _ in known], true, [alpha_of(one) for one in levels], TEMPERATURES)
            for level in levels:
                beside = own.filter(pl.col("item_id").is_in([item for item, _, _ in new]), level=level)
                yield {
                    **{"model": model, "basis": basis, "level": level, "n": len(new)},
                    **{"temperature": at, "temperature_end": end_of(at, TEMPERATURES)},
                    **_coverage([one for _, one, _ in new], [test[item] for item, _, _ in new], alpha_of(level), at),
                    **{"missing": float(np.mean([missing for _, _, missing in new]))},
                    **_base(beside.drop_nulls("lower")),
                }


def _coverage(found: Sequence[Distribution], true: Sequence[int], alpha: float, at: float) -> dict[str, float]:
    in_set = [answer in smallest_set(*one, 1 - alpha) for one, answer in zip(found, true, strict=True)]
    scaled = [one.scaled(at) for one in found]
    return {
        "in_set": float(np.mean(in_set)),
        "in_hull": float(covered(*hulls(found, 1 - alpha), true).mean()),
        "in_scaled_hull": float(covered(*hulls(scaled, 1 - alpha), true).mean()),
    }


def _base(rows: pl.DataFrame) -> dict[str, Any]:
    held = covered(rows["lower"], rows["upper"], rows["true"])
    return {"n_base": len(rows), "base": float(held.mean()) if len(rows) else None}
