"""Stage `measures`: measures of one model's accuracy-rejection curves, by group, domain and assessor."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import polars as pl

from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.statistics.bootstrap import draw_resamples, percentile_interval
from papers.rejection.evaluated_rows import EVERY, Slice, read_scores, slices
from papers.rejection.rejection_curves import kept, measures, threshold
from papers.rejection.rejection_exhibits import (
    QUESTION_ONLY,
    coverage_measure,
    kept_accuracy_measure,
    kept_measure,
    threshold_measure,
)
from papers.rejection.rejection_frames import MEASURES

# Thresholds by assessor and wanted accuracy; None if no threshold reaches it.
Thresholds = Mapping[tuple[str, float], float | None]

# The reason for a missing measure, for example of an unlabelled domain.
NO_RESPONSE = "no response with a label and features"
_COLUMNS = [*RESPONSE, "split", "label", "feature_reason"]


class RejectionMeasureSettings(TypedDict):
    """Settings of the measures: assessors by training group (`a+b`), number of bootstrap samples."""

    assessors: Mapping[str, Sequence[str]]
    accuracies: Sequence[float]
    resamples: int
    seed: int


def write_measures(
    observations: str, scores: Sequence[str], questions: str, settings: RejectionMeasureSettings, output: str
) -> None:
    """Write the measures of one model, from its observations and the scores of its named groups."""
    rows = measure(OBSERVATIONS.read(observations, _COLUMNS), read_scores(scores, [questions]), settings)
    MEASURES.write(rows, output, {"settings": dict(settings)})


def measure(observations: pl.DataFrame, scores: pl.DataFrame, settings: RejectionMeasureSettings) -> pl.DataFrame:
    """A frame of contract MEASURES from the observations of one model and a frame ASSESSMENTS.

    An assessor that gives no scores, or could not be fitted, has no rows.
    """
    rows = []
    for group, wanted in settings["assessors"].items():
        # The first slice is of all training domains.
        first, *others = slices(observations, scores, group, wanted)
        names = first.assessors
        chosen = _thresholds(first, names, settings["accuracies"])
        for slice_ in (first, *others):
            about = {
                "model": observations["model"][0],
                "group": group,
                "role": slice_.role,
                "benchmark": slice_.benchmark,
                "n_responses": len(slice_.rows),
                "accuracy": slice_.rows["label"].mean(),
            }
            rows += [about | measure for measure in _of_slice(slice_, names, settings)]
            rows += [about | measure for measure in _at_thresholds(slice_, chosen, settings)]
    return MEASURES.frame(rows)


def _thresholds(slice_: Slice, names: Sequence[str], accuracies: Sequence[float]) -> Thresholds:
    """The threshold of each assessor for each accuracy, chosen on these responses."""
    label = slice_.rows["label"].to_numpy()
    thresholds = {}
    for name in names:
        scores = slice_.rows[name].to_numpy()
        for accuracy in accuracies:
            thresholds[name, accuracy] = threshold(accuracy, scores, label)
    return thresholds


def _at_thresholds(slice_: Slice, chosen: Thresholds, settings: RejectionMeasureSettings) -> Iterator[dict[str, Any]]:
    """The thresholds on the slice that chose them; on an unseen domain, the share kept and its accuracy."""
    if slice_.role == "training":
        if slice_.benchmark == EVERY:
            for (name, accuracy), limit in chosen.items():
                reason = _no_threshold(accuracy) if limit is None else None
                measure = {"assessor": name, "measure": threshold_measure(accuracy), "value": limit}
                yield measure | {"lower": None, "upper": None, "reason": reason}
        return
    parts = _samples(slice_, settings)
    for (name, accuracy), limit in chosen.items():
        share = right = None
        reason = NO_RESPONSE
        if len(slice_.rows):
            # Above all scores if there is no threshold, so that no response is kept.
            share, right = _kept_of_samples(slice_, name, np.inf if limit is None else limit, parts)
            reason = _no_threshold(accuracy) if limit is None else "no response reaches the threshold"
        yield {"assessor": name, "measure": kept_measure(accuracy), **_row(share, NO_RESPONSE)}
        yield {"assessor": name, "measure": kept_accuracy_measure(accuracy), **_row(right, reason)}


def _kept_of_samples(
    slice_: Slice, name: str, limit: float, parts: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The share kept by an assessor's threshold and its accuracy, for each sample of all parts."""
    scores, label = slice_.rows[name].to_numpy(), slice_.rows["label"].to_numpy()
    shares, accuracies = [], []
    for counts in parts:
        share, right = kept(limit, scores, label, counts)
        shares.append(share)
        accuracies.append(right)
    return np.concatenate(shares), np.concatenate(accuracies)


def _no_threshold(accuracy: float) -> str:
    return f"no threshold reaches {accuracy:g} on the training group"


def _of_slice(slice_: Slice, names: Sequence[str], settings: RejectionMeasureSettings) -> Iterator[dict[str, Any]]:
    """All measures of all assessors on one slice. All use the same bootstrap samples, so gains are paired."""
    label, accuracies = slice_.rows["label"].to_numpy(), settings["accuracies"]
    reason = NO_RESPONSE
    by_name: dict[str, dict[str, np.ndarray]] = {}
    if len(label):
        reason = f"all responses are {'correct' if label[0] else 'incorrect'}"
        parts = _samples(slice_, settings)
        for name in names:
            samples = [measures(slice_.rows[name].to_numpy(), label, accuracies, counts) for counts in parts]
            coverage = np.concatenate([sample.coverage for sample in samples])
            by_name[name] = {
                "auarc": np.concatenate([sample.auarc for sample in samples]),
                "prr": np.concatenate([sample.prr for sample in samples]),
            }
            for place, accuracy in enumerate(accuracies):
                by_name[name][coverage_measure(accuracy)] = coverage[:, place]
    for name in names:
        kinds = ["auarc", "prr", *map(coverage_measure, accuracies)]
        if name != QUESTION_ONLY and QUESTION_ONLY in names:
            kinds.append("gain")
            if by_name:
                by_name[name]["gain"] = by_name[name]["auarc"] - by_name[QUESTION_ONLY]["auarc"]
        for kind in kinds:
            yield {"assessor": name, "measure": kind, **_row(by_name.get(name, {}).get(kind), reason)}


def _samples(slice_: Slice, settings: RejectionMeasureSettings) -> list[np.ndarray]:
    """The weights of each response in the sample, then in bootstrap samples; the same for every call."""
    n = len(slice_.rows)
    drawn = draw_resamples(slice_.rows["item_id"].to_list(), settings["resamples"], settings["seed"]) if n else []
    return [np.ones((1, n), dtype=np.int64), *drawn]


def _row(samples: np.ndarray | None, reason: str) -> dict[str, Any]:
    """A value, the first of `(1 + n_samples,)`, with its interval from the others; null with the reason."""
    if samples is None or np.isnan(samples[0]):
        return {"value": None, "lower": None, "upper": None, "reason": reason}
    lower, upper = percentile_interval(samples[1:])
    return {"value": float(samples[0]), "lower": lower, "upper": upper, "reason": None}
