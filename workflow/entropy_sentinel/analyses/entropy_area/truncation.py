"""Stage `truncation`: how much of the distributions the 20 most likely tokens leave out, over all positions."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from entropy_sentinel.analyses.entropy_area.catalogue import ANSWERS, EVERY
from entropy_sentinel.analyses.entropy_area.frames import TRUNCATION
from entropy_sentinel.frames.arrow import flat
from entropy_sentinel.frames.contract import read_provenance, readable
from entropy_sentinel.signals.forced_answer import FORCED_ANSWERS

_QUANTILES = {"q90": 0.9, "q95": 0.95, "q99": 0.99}
_COLUMNS = ("missing_masses", "bounds", "entropies")


def write_truncation(passes: Sequence[str], sets: Mapping[str, Sequence[str]], output: str) -> None:
    """Mean and quantiles over the positions of one model's responses, for each of `sets` of benchmarks.

    Where there are several, for all benchmarks together, too.
    """
    by_benchmark = {read_provenance(path)["benchmark"]: path for path in passes}
    model = read_provenance(passes[0])["model"]
    rows = []
    for name, benchmarks in ({**sets} | ({EVERY: list(by_benchmark)} if len(sets) > 1 else {})).items():
        of_set = [by_benchmark[one] for one in benchmarks]
        rows += [{"model": model, "benchmark": name} | row for row in statistics(of_set)]
    TRUNCATION.write(TRUNCATION.frame(rows), output, {"model": model})


def statistics(passes: Sequence[str]) -> Iterator[dict[str, object]]:
    """Rows of TRUNCATION, without model and benchmark, over all positions of these files of the pass.

    A quantile of the missing mass is one of its own, not that of the positions at which the bound has its quantile.
    """
    lazy = pl.concat(FORCED_ANSWERS.scan(path).select("answer", *_COLUMNS) for path in passes)
    with readable(passes[0], FORCED_ANSWERS.stage):
        kinds = set(lazy.select(pl.col("answer").unique()).collect().to_series())
    for answer in [one for one in ANSWERS if one in kinds]:
        with readable(passes[0], FORCED_ANSWERS.stage):
            found = lazy.filter(answer=answer).drop_nulls("bounds").select(_COLUMNS).collect()
        if not len(found):
            continue
        missing, bounds, entropies = (flat(found[name]).to_numpy().astype(float) for name in _COLUMNS)
        about = {"answer": answer, "n_responses": len(found), "n_positions": len(bounds)}
        rows = {"mean": [float(np.mean(one)) for one in (missing, bounds, entropies)]}
        for name, share in _QUANTILES.items():
            rows[name] = [float(np.quantile(one, share)) for one in (missing, bounds, entropies)]
        for name, (mass, bound, entropy) in rows.items():
            yield about | {"statistic": name, "top_20_mass": 1 - mass, "bound_bits": bound, "entropy": entropy}
