"""Stage `measures`: what is read off the accuracy-rejection curves of one model, by group, domain and assessor."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.analyses.rejection.catalogue import QUESTION_ONLY, coverage_measure
from entropy_sentinel.analyses.rejection.frames import MEASURES
from entropy_sentinel.analyses.rejection.rows import Slice, read_scores, scored, slices
from entropy_sentinel.frames.observation import OBSERVATIONS
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.statistics.rejection import interval, measures, resamples

# Why there is no measure of a domain that nobody has labelled, among others.
NO_RESPONSE = "no response with a label and features"
_COLUMNS = [*RESPONSE, "split", "label", "feature_reason"]


def write_measures(
    observations: str, scores: Sequence[str], questions: str, settings: Mapping[str, Any], output: str
) -> None:
    """The measures of one model, from its observations and the scores of its named groups.

    `settings` has `assessors`, by training group (`a+b`) the names of those to judge; `accuracies`; `resamples`, the
    number of bootstrap samples; and `seed`.
    """
    found = measure(OBSERVATIONS.read(observations, _COLUMNS), read_scores(scores, [questions]), settings)
    MEASURES.write(found, output, {"settings": dict(settings)})


def measure(observations: pl.DataFrame, scores: pl.DataFrame, settings: Mapping[str, Any]) -> pl.DataFrame:
    """A frame of contract MEASURES from the observations of one model and a frame ASSESSMENTS.

    An assessor without scores, since it gives none or could not be fitted, has no rows.
    """
    rows = []
    for group, wanted in settings["assessors"].items():
        names = scored(scores, group, wanted)
        for slice_ in slices(observations, scores, group, names):
            about = {
                "model": observations["model"][0],
                "group": group,
                "role": slice_.role,
                "benchmark": slice_.benchmark,
                "n_responses": len(slice_.rows),
                "accuracy": slice_.rows["label"].mean(),
            }
            rows += [about | found for found in _of_slice(slice_, names, settings)]
    return MEASURES.frame(rows)


def _of_slice(slice_: Slice, names: Sequence[str], settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All measures of all assessors on one slice. The bootstrap samples are the same for all: gains are paired."""
    label, n = slice_.rows["label"].to_numpy(), len(slice_.rows)
    accuracies = settings["accuracies"]
    # The responses as they are, and then the bootstrap samples.
    parts = [np.ones((1, n), dtype=np.int64)]
    parts += resamples(slice_.rows["item_id"].to_list(), settings["resamples"], settings["seed"]) if n else []
    found = {}
    for name in names if n else []:
        scores = slice_.rows[name].to_numpy()
        samples = [measures(scores, label, accuracies, counts) for counts in parts]
        auarc, prr, coverage = (np.concatenate(values) for values in zip(*samples, strict=True))
        at = {coverage_measure(accuracy): coverage[:, place] for place, accuracy in enumerate(accuracies)}
        found[name] = {"auarc": auarc, "prr": prr, **at}
    for name in names:
        of_one = found.get(name, dict.fromkeys(["auarc", "prr", *map(coverage_measure, accuracies)]))
        if name != QUESTION_ONLY and QUESTION_ONLY in names:
            of_one["gain"] = of_one["auarc"] - found[QUESTION_ONLY]["auarc"] if n else None
        for what, samples in of_one.items():
            yield {"assessor": name, "measure": what, **_row(samples, label)}


def _row(samples: np.ndarray | None, label: np.ndarray) -> dict[str, Any]:
    """Value and interval from the value and its bootstrap samples, (1 + n_samples,); null with the reason."""
    if samples is None or np.isnan(samples[0]):
        reason = f"all responses are {'correct' if label[0] else 'incorrect'}" if len(label) else NO_RESPONSE
        return {"value": None, "lower": None, "upper": None, "reason": reason}
    lower, upper = interval(samples[1:])
    return {"value": float(samples[0]), "lower": lower, "upper": upper, "reason": None}
