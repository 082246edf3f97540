"""Stage `tunnel_index`: how much surer sampled answers look than the distribution that they are from (Appendix G)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import polars as pl
from scipy.stats import entropy

from entropy_sentinel.analyses.inputs import read_all
from entropy_sentinel.analyses.intervals.frames import BELIEFS, INTEGER_ANSWERS, TUNNEL_INDEX
from entropy_sentinel.analyses.intervals.interval_score import score_difference
from entropy_sentinel.analyses.intervals.questions import distributions, first_basis
from entropy_sentinel.analyses.intervals.scores import ScoreSettings
from entropy_sentinel.analyses.intervals.smallest_mass import Distribution
from entropy_sentinel.analyses.intervals.tunnel import point_masses, self_consistency_index
from entropy_sentinel.frames.benchmark import BENCHMARKS

Rows = Iterator[dict[str, Any]]
# Numbers of answers, as far as there are so many.
_ANSWERS = (1, 2, 5, 10, 20, 50, 100)


class IndexFiles(TypedDict):
    """Files: distributions of all models, integers of every variant, items of the test half."""

    beliefs: str
    integers: Sequence[str]
    test: str


def write_tunnel_index(files: IndexFiles, models: Mapping[str, str], settings: ScoreSettings, output: str) -> None:
    """Write the empirical tunnel index; `models` are the names that are shown, by variant."""
    items = BENCHMARKS.read(files["test"], ["item_id"])
    beliefs = BELIEFS.read(files["beliefs"]).join(items, on="item_id", how="semi", maintain_order="left")
    answers = read_all(INTEGER_ANSWERS, files["integers"])
    shown = answers.with_columns(pl.col("model").replace_strict(models, return_dtype=pl.String))
    TUNNEL_INDEX.write(
        TUNNEL_INDEX.frame(list(indices(beliefs, shown, settings))), output, {"settings": dict(settings)}
    )


def indices(beliefs: pl.DataFrame, answers: pl.DataFrame, settings: ScoreSettings) -> Rows:
    """Rows of TUNNEL_INDEX: of the first m readable answers to each question that has so many, and a distribution."""
    read = answers.drop_nulls("value").sort("sample", maintain_order=True)
    for (model, temperature), own in read.group_by("model", "temperature", maintain_order=True):
        mine = beliefs.filter(model=model)
        direct = {item: one for item, one, _ in distributions(mine, first_basis(mine))}
        values = {
            item: rows["value"].to_numpy().astype(float)
            for (item,), rows in own.group_by("item_id", maintain_order=True)
            if item in direct
        }
        for m in _ANSWERS:
            enough = {item: found[:m] for item, found in values.items() if len(found) >= m}
            if not enough:
                continue
            index = [_index(direct[item], first) for item, first in enough.items()]
            found = score_difference(index, np.zeros(len(index)), settings["resamples"], settings["seed"])
            whole = float(np.mean([entropy(direct[item].probabilities) for item in enough]))
            yield {
                **{"model": model, "temperature": temperature, "m": m, "n": len(index), "entropy": whole},
                **{"index": found.mean, "lower": found.lower, "upper": found.upper},
            }


def _index(direct: Distribution, answers: np.ndarray) -> float:
    """Of one question; an answer that the distribution has not has no probability in it."""
    values = np.union1d(direct.values, answers)
    probabilities = np.zeros(len(values))
    probabilities[np.searchsorted(values, direct.values)] = direct.probabilities
    return self_consistency_index(probabilities, point_masses(answers, values))
