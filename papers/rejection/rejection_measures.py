"""Stage `measures`: measures of one model's accuracy-rejection curves, by group, domain and assessor."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import polars as pl

from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.statistics.bootstrap import draw_resamples, percentile_interval
from papers.rejection.evaluated_rows import EVERY, Slice, read_scores, slice_responses
from papers.rejection.rejection_curves import apply_threshold, find_threshold, measure_curves
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
    rows = measure_model(OBSERVATIONS.read(observations, _COLUMNS), read_scores(scores, [questions]), settings)
    MEASURES.write(rows, output, {"settings": dict(settings)})


def measure_model(observations: pl.DataFrame, scores: pl.DataFrame, settings: RejectionMeasureSettings) -> pl.DataFrame:
    """A frame of contract MEASURES from the observations of one model and a frame ASSESSMENTS.

    An assessor that gives no scores, or could not be fitted, has no rows.
    """
    rows = []
    for group, assessors in settings["assessors"].items():
        # The first slice is of all training domains.
        training_slice, *remaining_slices = slice_responses(observations, scores, group, assessors)
        names = training_slice.assessors
        thresholds = _choose_thresholds(training_slice, names, settings["accuracies"])
        for slice_ in (training_slice, *remaining_slices):
            slice_columns = {
                "model": observations["model"][0],
                "group": group,
                "role": slice_.role,
                "benchmark": slice_.benchmark,
                "n_responses": len(slice_.rows),
                "accuracy": slice_.rows["label"].mean(),
            }
            rows += [slice_columns | measure for measure in _measure_assessors(slice_, names, settings)]
            rows += [slice_columns | measure for measure in _measure_thresholds(slice_, thresholds, settings)]
    return MEASURES.frame(rows)


def _choose_thresholds(slice_: Slice, names: Sequence[str], accuracies: Sequence[float]) -> Thresholds:
    """The threshold of each assessor for each accuracy, chosen on these responses."""
    label = slice_.rows["label"].to_numpy()
    thresholds = {}
    for name in names:
        scores = slice_.rows[name].to_numpy()
        for accuracy in accuracies:
            thresholds[name, accuracy] = find_threshold(accuracy, scores, label)
    return thresholds


def _measure_thresholds(
    slice_: Slice, thresholds: Thresholds, settings: RejectionMeasureSettings
) -> Iterator[dict[str, Any]]:
    """The thresholds on the slice that chose them; on an unseen domain, the share kept and its accuracy."""
    if slice_.role == "training":
        if slice_.benchmark == EVERY:
            for (name, accuracy), threshold in thresholds.items():
                reason = _explain_no_threshold(accuracy) if threshold is None else None
                measure = {"assessor": name, "measure": threshold_measure(accuracy), "value": threshold}
                yield measure | {"lower": None, "upper": None, "reason": reason}
        return
    sample_counts = _draw_samples(slice_, settings)
    for (name, accuracy), threshold in thresholds.items():
        share = kept_accuracy = None
        reason = NO_RESPONSE
        if len(slice_.rows):
            # Above all scores if there is no threshold, so that no response is kept.
            share, kept_accuracy = _apply_to_samples(
                slice_, name, np.inf if threshold is None else threshold, sample_counts
            )
            reason = _explain_no_threshold(accuracy) if threshold is None else "no response reaches the threshold"
        yield {"assessor": name, "measure": kept_measure(accuracy), **_summarise_samples(share, NO_RESPONSE)}
        yield {
            "assessor": name,
            "measure": kept_accuracy_measure(accuracy),
            **_summarise_samples(kept_accuracy, reason),
        }


def _apply_to_samples(
    slice_: Slice, assessor: str, threshold: float, sample_counts: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The share of responses that an assessor's threshold keeps, and its accuracy, (n_samples,) each.

    `sample_counts` has parts of the samples: (n_samples, n_responses), how often a response is in each sample.
    """
    scores = slice_.rows[assessor].to_numpy()
    label = slice_.rows["label"].to_numpy()
    shares, accuracies = [], []
    for counts in sample_counts:
        share, accuracy = apply_threshold(threshold, scores, label, counts)
        shares.append(share)
        accuracies.append(accuracy)
    return np.concatenate(shares), np.concatenate(accuracies)


def _explain_no_threshold(accuracy: float) -> str:
    return f"no threshold reaches {accuracy:g} on the training group"


def _measure_assessors(
    slice_: Slice, names: Sequence[str], settings: RejectionMeasureSettings
) -> Iterator[dict[str, Any]]:
    """All measures of all assessors on one slice. All use the same bootstrap samples, so gains are paired."""
    label, accuracies = slice_.rows["label"].to_numpy(), settings["accuracies"]
    reason = NO_RESPONSE
    by_assessor: dict[str, dict[str, np.ndarray]] = {}
    if len(label):
        reason = f"all responses are {'correct' if label[0] else 'incorrect'}"
        sample_counts = _draw_samples(slice_, settings)
        for name in names:
            samples = [
                measure_curves(slice_.rows[name].to_numpy(), label, accuracies, counts) for counts in sample_counts
            ]
            coverage = np.concatenate([sample.coverage for sample in samples])
            by_assessor[name] = {
                "auarc": np.concatenate([sample.auarc for sample in samples]),
                "prr": np.concatenate([sample.prr for sample in samples]),
            }
            for column, accuracy in enumerate(accuracies):
                by_assessor[name][coverage_measure(accuracy)] = coverage[:, column]
    for name in names:
        measure_names = ["auarc", "prr", *map(coverage_measure, accuracies)]
        if name != QUESTION_ONLY and QUESTION_ONLY in names:
            measure_names.append("gain")
            if by_assessor:
                by_assessor[name]["gain"] = by_assessor[name]["auarc"] - by_assessor[QUESTION_ONLY]["auarc"]
        for measure_name in measure_names:
            yield {
                "assessor": name,
                "measure": measure_name,
                **_summarise_samples(by_assessor.get(name, {}).get(measure_name), reason),
            }


def _draw_samples(slice_: Slice, settings: RejectionMeasureSettings) -> list[np.ndarray]:
    """The weights of each response in the sample, then in bootstrap samples; the same for every call."""
    n = len(slice_.rows)
    resamples = draw_resamples(slice_.rows["item_id"].to_list(), settings["resamples"], settings["seed"]) if n else []
    return [np.ones((1, n), dtype=np.int64), *resamples]


def _summarise_samples(samples: np.ndarray | None, reason: str) -> dict[str, Any]:
    """A value, the first of `(1 + n_samples,)`, with its interval from the others; null with the reason."""
    if samples is None or np.isnan(samples[0]):
        return {"value": None, "lower": None, "upper": None, "reason": reason}
    lower, upper = percentile_interval(samples[1:])
    return {"value": float(samples[0]), "lower": lower, "upper": upper, "reason": None}
