"""Stage `adjusted`: the intervals of every method, on both halves.

Methods are fitted on the whole calibration half for the test half. For the calibration half itself they are fitted five
times, each time without the fifth that they are then applied to: so methods can be compared without the test half.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypedDict

import numpy as np
import polars as pl

from entropy_sentinel.analyses.inputs import read_all
from entropy_sentinel.analyses.intervals.adjusting import TooFew
from entropy_sentinel.analyses.intervals.catalogue import CALIBRATION, TEST
from entropy_sentinel.analyses.intervals.frames import ADJUSTED, BELIEFS, INTEGER_ANSWERS, STATED
from entropy_sentinel.analyses.intervals.methods import Adjusted, Fitted, available
from entropy_sentinel.analyses.intervals.questions import Questions, alike, gather
from entropy_sentinel.features.catalogue import FEATURE_FRAME
from entropy_sentinel.frames.benchmark import BENCHMARKS

FOLDS = 5
Rows = Iterator[dict[str, Any]]
# What methods are fitted on, the questions that they are applied to, and the half of these.
Part = tuple[Fitted, Questions, str]


class AdjustedFiles(TypedDict):
    """Files of all models: what variants say and how sure, distributions; items of both halves."""

    stated: Sequence[str]
    integers: Sequence[str]
    features: Sequence[str]
    beliefs: str
    calibration: str
    test: str


class AdjustedSettings(TypedDict):
    """What is fitted: by variant the model that is shown, and its level; covariates; lambda; the seed of the folds."""

    models: dict[str, str]
    levels: dict[str, float]
    covariates: list[str]
    undercoverage: float
    seed: int


def write_adjusted(files: AdjustedFiles, settings: AdjustedSettings, output: str) -> None:
    """Write the intervals of all methods, models and levels."""
    shown, levels = settings["models"], settings["levels"]
    columns = ["model", "item_id", "sample", *settings["covariates"]]
    features = pl.concat(FEATURE_FRAME.read(path, columns) for path in files["features"]).filter(sample=0)
    features = features.with_columns(level=pl.col("model").replace_strict(levels, return_dtype=pl.Float64))
    frames = [
        read_all(STATED, files["stated"]),
        read_all(INTEGER_ANSWERS, files["integers"]),
        features.drop("sample"),
    ]
    said = [one.with_columns(pl.col("model").replace_strict(shown, return_dtype=pl.String)) for one in frames]
    beliefs, halves = BELIEFS.read(files["beliefs"]), [BENCHMARKS.read(files[half]) for half in ("calibration", "test")]
    rows = []
    for model in dict.fromkeys(shown[variant] for variant in levels):
        stated, integers, signals = (one.filter(model=model).drop("model") for one in said)
        known, new = (gather(items, stated, integers, beliefs.filter(model=model), signals) for items in halves)
        own = of_model(known, new, settings["undercoverage"], settings["seed"])
        rows += [{"model": model} | row for row in own]
    ADJUSTED.write(ADJUSTED.frame(rows), output, {"settings": dict(settings)})


def of_model(known: Questions, new: Questions, undercoverage: float, seed: int) -> Rows:
    """Rows of ADJUSTED of one model; a method that cannot be fitted on every fold has no interval, and the reason."""
    known, new = alike(known, new)
    folds = np.random.default_rng(seed).permutation(len(known)) % FOLDS
    parts: list[Part] = [(Fitted(known, undercoverage), new, TEST)]
    for fold in range(min(FOLDS, len(known))):
        parts.append((Fitted(known.take(folds != fold), undercoverage), known.take(folds == fold), CALIBRATION))
    methods = [(level, method) for level in known.stated for method in available(known, level)]
    found = {about: _on_all(parts, *about) for about in methods}
    for place, (_, to, half) in enumerate(parts):
        for (level, method), (intervals, reason) in found.items():
            said = {"method": method, "level": level, "half": half, "reason": reason}
            yield from _rows(said, intervals[place], to)


def _on_all(parts: Sequence[Part], level: float, method: str) -> tuple[list[Adjusted], str | None]:
    """The intervals of a method on each part, and no reason; or none and the reason why it cannot be fitted."""
    try:
        return [fitted.apply(method, level, to) for fitted, to, _ in parts], None
    except TooFew as error:
        return [Adjusted((np.full(len(to), np.nan), np.full(len(to), np.nan))) for _, to, _ in parts], str(error)


def _rows(about: dict[str, Any], found: Adjusted, to: Questions) -> Rows:
    for item, true, lower, upper in zip(to.item_id, to.true, *found.ends, strict=True):
        there = not np.isnan(lower)
        yield about | {
            **{"item_id": item, "true": true, "temperature": found.temperature},
            "temperature_end": found.end,
            **{"lower": lower if there else None, "upper": upper if there else None},
        }
