"""Which responses to label next: some of each slice, drawn as `drawing` says, with the weight of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.estimators.saved import SavedEstimator
from entropy_sentinel.estimators.validation import Validation
from entropy_sentinel.frames.options import taking
from entropy_sentinel.monitor.labelling.candidates import ORDER, SLICE, candidates, identity
from entropy_sentinel.monitor.labelling.drawing import Drawn, counts_of, draw, width_alone
from entropy_sentinel.monitor.labelling.predictions import predictions, values_of
from entropy_sentinel.monitor.reading.opening import Logs, sources
from entropy_sentinel.monitor.reading.problems import Problems
from entropy_sentinel.monitor.reading.whole import read_whole
from entropy_sentinel.monitor.settings import SampleOptions
from entropy_sentinel.sources.logs.question import QUESTION
from entropy_sentinel.verbs.estimation import saved_estimator
from entropy_sentinel.verbs.frames import WEIGHT


@dataclass(frozen=True)
class Sample:
    """The responses to label, and what to expect of the slices.

    Attributes:
        responses: A row per response to label: the slice, what identifies it, `stratum` (0 is where the model is least
            likely to be correct), `inclusion_probability`, `weight`, `question` and `response` where the log has them,
            and an empty `label`. P(correct) is not there, for who labels should not know it.
        slices: A row per slice: `n_responses`, `n_to_label`, `estimated_accuracy`, the width of its interval before
            (null where the estimator has no validation), the width with so many labels alone, and with predictions too,
            if P(correct) is calibrated.
        level: The level of these intervals.
        taken: What does not match the estimator and is taken all the same, counted by kind.
        problems: What in the logs could not be used, counted.
    """

    responses: pl.DataFrame
    slices: pl.DataFrame
    level: float
    taken: Mapping[str, int] = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)


@taking(SampleOptions)
def sample(
    estimator: SavedEstimator | str | Path,
    logs: Logs,
    by: Sequence[str] = (),
    budget: int = 100,
    **options: Any,
) -> Sample:
    """Choose the responses whose labels say most of the accuracy of the slices.

    Each slice gets at least `per_slice` labels, where it has as many responses; the others go to large and uncertain
    slices. The choice depends on the ids of the responses and `seed` alone, and not on the order of the logs. Responses
    without features are not chosen.

    Args:
        estimator: One that `fit` or `load` has given, or its file.
        logs: Files of logs, traces or features, or a frame of features.
        by: The columns whose values make slices, combined. Without any, all responses are one slice.
        budget: How many responses to choose.
        **options: The other fields of `SampleOptions`, by name: `per_slice`, `seed`, `level`, how logs are read.

    Returns:
        The responses to label, with their weights, and what to expect of the slices.

    Raises:
        InputError: For a column that is not there or a budget that is too small.
        ProvenanceError: As `estimate` does.

    Examples:
        >>> import entropy_sentinel as es
        >>> features, labels = es.features(es.read_logs(es.example().traces)), es.read_labels(es.example().labels)
        >>> chosen = es.sample(es.fit(features, labels, "log-3d"), features, ["benchmark"], budget=40)
        >>> len(chosen.responses), chosen.slices["n_to_label"].sum(), round(chosen.responses["weight"].sum(), 6)
        (40, 40, 150.0)
    """
    saved = saved_estimator(estimator)
    asked = SampleOptions.of({"by": by, "budget": budget, **options})
    read = read_whole(saved, sources(logs), asked, texts=True)
    rows = candidates(read.rows, asked)
    by = list(asked.by)
    slices = rows.group_by(SLICE, *by, maintain_order=True).agg(n_responses=pl.len())
    ends = slices["n_responses"].cum_sum().to_list()
    places = [np.arange(end - n, end) for end, n in zip(ends, slices["n_responses"], strict=True)]
    p, order = predictions(saved.estimator, rows), rows[ORDER].to_numpy()
    counts = counts_of(p, places, asked.budget, asked.per_slice)
    drawn = [draw(p[place], order[place], int(n)) for place, n in zip(places, counts, strict=True)]
    expected = _expected(saved, rows, p, places, drawn, asked.level)
    if read.taken:  # the validation is of other responses
        expected["width_before"] = pl.Series([None] * len(slices), dtype=pl.Float64)
    return Sample(
        _responses(rows, by, places, drawn),
        slices.drop(SLICE).with_columns(n_to_label=pl.Series(counts), **expected),
        asked.level,
        read.taken,
        read.problems,
    )


def _responses(rows: pl.DataFrame, by: list[str], places: list[np.ndarray], drawn: list[Drawn]) -> pl.DataFrame:
    """The rows for a person to label, those of a slice together, in an order that says nothing of P(correct)."""
    chosen: list[pl.DataFrame] = [
        rows[place[one.rows]].with_columns(
            stratum=pl.Series(one.strata[one.rows], dtype=pl.Int64),
            inclusion_probability=pl.Series(one.inclusion, dtype=pl.Float64),
        )
        for place, one in zip(places, drawn, strict=True)
    ]
    named = [name for name in identity(rows) if name not in by]
    facts = ["stratum", "inclusion_probability", WEIGHT]
    found = pl.concat(chosen).with_columns((1 / pl.col("inclusion_probability")).alias(WEIGHT)).sort(SLICE, ORDER)
    return found.select(*by, *named, *facts, QUESTION, "response", label=pl.lit(None, pl.Boolean))


def _expected(
    saved: SavedEstimator, rows: pl.DataFrame, p: np.ndarray, places: list[np.ndarray], drawn: list[Drawn], level: float
) -> dict[str, pl.Series]:
    """What is estimated of each slice, and how wide its interval is, and will be."""
    values = values_of(saved.estimator, rows)
    estimates = [saved.estimator.accuracy_of(values[place].mean(axis=0)) for place in places]
    both = list(zip(places, drawn, strict=True))
    found: dict[str, Sequence[float | None]] = {
        "estimated_accuracy": estimates,
        "width_before": _widths_before(saved, estimates, [len(place) for place in places], level),
        "width_labels_alone": [width_alone(p[place], len(one.rows), level) for place, one in both],
        "width_expected": [one.expected_width(p[place], level) for place, one in both],
    }
    return {name: pl.Series(numbers, dtype=pl.Float64) for name, numbers in found.items()}


def _widths_before(saved: SavedEstimator, estimates: list[float], sizes: list[int], level: float) -> list[float | None]:
    """The widths of the estimator's own intervals; null where it has not been validated."""
    if not (validation := saved.about.get("validation")):
        return [None] * len(estimates)
    found = Validation.from_dict(validation).residuals.intervals(estimates, sizes, level)
    return [float(one) for one in found.upper - found.lower]
