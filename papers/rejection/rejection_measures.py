"""Stage `measures`: measures of one model's accuracy-rejection curves, by group, domain and assessor."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import polars as pl

from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.statistics.bootstrap import draw_resamples, percentile_interval
from papers.rejection.evaluated_rows import Slice, read_scores, slice_responses
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
    """Write the measures of one model: a file MEASURES, from its file OBSERVATIONS.

    `scores` are files SCORES of the named training groups; `questions` is a file ASSESSMENTS, the scores of the
    baseline that sees only the question.
    """
    rows = measure_model(OBSERVATIONS.read(observations, _COLUMNS), read_scores(scores, [questions]), settings)
    MEASURES.write(rows, output, {"settings": dict(settings)})


def measure_model(observations: pl.DataFrame, scores: pl.DataFrame, settings: RejectionMeasureSettings) -> pl.DataFrame:
    """A frame of contract MEASURES from the observations of one model and a frame ASSESSMENTS.

    An assessor (an estimator or the question-only baseline) that gives no scores, or could not be fitted, has no rows.
    """
    rows = []
    for group, assessors in settings["assessors"].items():
        # The first slice is all training domains together: thresholds are chosen there and applied to unseen domains.
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
            measures = list(_measure_assessors(slice_, names, settings))
            if slice_ is training_slice:
                measures += _list_thresholds(thresholds)
            elif slice_.role == "held_out":
                measures += _measure_kept(slice_, thresholds, settings)
            rows += [slice_columns | measure for measure in measures]
    return MEASURES.frame(rows)


def _choose_thresholds(slice_: Slice, names: Sequence[str], accuracies: Sequence[float]) -> Thresholds:
    """By assessor and wanted accuracy, the lowest score from which on these responses reach it; None if none does."""
    label = slice_.rows["label"].to_numpy()
    thresholds = {}
    for name in names:
        scores = slice_.rows[name].to_numpy()
        for accuracy in accuracies:
            thresholds[name, accuracy] = find_threshold(accuracy, scores, label)
    return thresholds


def _list_thresholds(thresholds: Thresholds) -> Iterator[dict[str, Any]]:
    """Yield each threshold as a row of MEASURES, without the columns of its slice."""
    for (name, accuracy), threshold in thresholds.items():
        reason = _explain_no_threshold(accuracy) if threshold is None else None
        measure = {"assessor": name, "measure": threshold_measure(accuracy), "value": threshold}
        yield measure | {"lower": None, "upper": None, "reason": reason}


def _measure_kept(
    slice_: Slice, thresholds: Thresholds, settings: RejectionMeasureSettings
) -> Iterator[dict[str, Any]]:
    """Yield the share of a slice that each threshold keeps, and its accuracy: rows of MEASURES without its columns."""
    sample_counts = _draw_samples(slice_, settings)
    for (name, accuracy), threshold in thresholds.items():
        share = kept_accuracy = None
        reason = NO_RESPONSE
        if len(slice_.rows):
            # Above all scores if there is no threshold, so that no response is kept.
            applied_threshold = np.inf if threshold is None else threshold
            share, kept_accuracy = _apply_to_samples(slice_, name, applied_threshold, sample_counts)
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
    """The share of responses that an assessor's threshold keeps, and their accuracy, (n_samples,) each.

    `sample_counts` are batches of samples as from `_draw_samples`: (batch_size, n_responses), how often a sample has
    each response.
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
    """The reason for a null threshold, and for what would be measured with it."""
    return f"no threshold reaches {accuracy:g} on the training group"


def _measure_assessors(
    slice_: Slice, names: Sequence[str], settings: RejectionMeasureSettings
) -> Iterator[dict[str, Any]]:
    """Yield the measures of each assessor's curve on a slice: rows of MEASURES without the columns of the slice.

    An assessor is anything that scores responses: an estimator, or the question-only baseline. All use the same
    bootstrap samples, so gains over the baseline are paired.
    """
    label = slice_.rows["label"].to_numpy()
    by_assessor: dict[str, dict[str, np.ndarray]] = {}
    reason = NO_RESPONSE
    if len(label):
        by_assessor = _sample_measures(slice_, names, settings)
        # Of a slice with responses, only `prr` can be null.
        reason = f"all responses are {'correct' if label[0] else 'incorrect'}"
    measure_names = ["auarc", "prr", *map(coverage_measure, settings["accuracies"])]
    for name in names:
        has_gain = name != QUESTION_ONLY and QUESTION_ONLY in names
        for measure_name in [*measure_names, "gain"] if has_gain else measure_names:
            samples = by_assessor.get(name, {}).get(measure_name)
            yield {"assessor": name, "measure": measure_name, **_summarise_samples(samples, reason)}


def _sample_measures(
    slice_: Slice, names: Sequence[str], settings: RejectionMeasureSettings
) -> dict[str, dict[str, np.ndarray]]:
    """By assessor and measure, (1 + n_resamples,): the value for the slice itself, then for its bootstrap samples."""
    label, accuracies = slice_.rows["label"].to_numpy(), settings["accuracies"]
    sample_counts = _draw_samples(slice_, settings)
    by_assessor: dict[str, dict[str, np.ndarray]] = {}
    for name in names:
        scores = slice_.rows[name].to_numpy()
        batches = [measure_curves(scores, label, accuracies, counts) for counts in sample_counts]
        by_assessor[name] = {
            "auarc": np.concatenate([batch.auarc for batch in batches]),
            "prr": np.concatenate([batch.prr for batch in batches]),
        }
        coverage = np.concatenate([batch.coverage for batch in batches])
        for column, accuracy in enumerate(accuracies):
            by_assessor[name][coverage_measure(accuracy)] = coverage[:, column]
    if QUESTION_ONLY in names:
        for name in set(names) - {QUESTION_ONLY}:
            by_assessor[name]["gain"] = by_assessor[name]["auarc"] - by_assessor[QUESTION_ONLY]["auarc"]
    return by_assessor


def _draw_samples(slice_: Slice, settings: RejectionMeasureSettings) -> list[np.ndarray]:
    """Batches of samples, (batch_size, n_responses): how often a sample has each response; the same for every call.

    The first batch is the slice itself, each response once; the others are bootstrap samples of its items.
    """
    n = len(slice_.rows)
    resamples = draw_resamples(slice_.rows["item_id"].to_list(), settings["resamples"], settings["seed"]) if n else []
    return [np.ones((1, n), dtype=np.int64), *resamples]


def _summarise_samples(samples: np.ndarray | None, reason: str) -> dict[str, Any]:
    """The columns value, lower, upper and reason of MEASURES from values of one measure, (1 + n_resamples,).

    The value is the first, the interval is from the others; the value is null, with `reason`, without any or if NaN.
    """
    if samples is None or np.isnan(samples[0]):
        return {"value": None, "lower": None, "upper": None, "reason": reason}
    lower, upper = percentile_interval(samples[1:])
    return {"value": float(samples[0]), "lower": lower, "upper": upper, "reason": None}
