"""Choose the responses to label next: draw some from each slice by P(correct), and give each a weight.

A slice is divided into strata of P(correct). The number of labels in a stratum is proportional to the stratum's size
times the standard deviation of a label (Neyman 1934), which is largest if P(correct) is near 1/2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import numpy as np
import polars as pl

from entropy_sentinel.api.estimation import ensure_estimator
from entropy_sentinel.api.input_checks import WEIGHT
from entropy_sentinel.api.verb_options import SampleKeywords
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.option_classes import document_options
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.estimators.familiarity import residuals_if_unfamiliar
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.training_predictions import predict_responses
from entropy_sentinel.monitor.labelling.accuracy_choice import is_reliable
from entropy_sentinel.monitor.labelling.cold_start_allocation import (
    LABELS_A_SLICE,
    ORDER,
    VERDICTS_A_LABEL,
    allocate_verdicts,
)
from entropy_sentinel.monitor.labelling.cold_start_sampling import draw_first_sample
from entropy_sentinel.monitor.labelling.judge_budget import plan_judge_budget
from entropy_sentinel.monitor.labelling.sample_plan import Sample
from entropy_sentinel.monitor.labelling.sample_table import (
    draw_order,
    find_id_columns,
    make_label_table,
    name_slice_columns,
)
from entropy_sentinel.monitor.labelling.slice_list import keep_listed_slices
from entropy_sentinel.monitor.labelling.usable_probability import JudgeQuality
from entropy_sentinel.monitor.monitor_options import SampleOptions
from entropy_sentinel.monitor.reading.feature_stream import (
    LogSources,
    compute_table_features,
    read_all_responses,
    resolve_sources,
)
from entropy_sentinel.monitor.summing.slice_sums import compute_values
from entropy_sentinel.statistics.binomial import binomial_interval
from entropy_sentinel.statistics.monitoring.allocation import apportion_labels
from entropy_sentinel.statistics.monitoring.expected_precision import expected_size_with_judge
from entropy_sentinel.statistics.monitoring.label_combination import combine_labels
from entropy_sentinel.statistics.monitoring.prediction_powered import effective_label_count
from entropy_sentinel.statistics.slice_intervals import sampling_variance
from entropy_sentinel.statistics.witness_powers import FEWEST_FOR_POWERS

# Columns for a row's slice number and place; the parentheses avoid collisions with a log's columns.
SLICE, _LATER = "(slice)", "(later)"
# Largest number of strata per slice, labels per stratum that set the number of strata, and fewest labels per stratum.
MOST_STRATA, LABELS_A_STRATUM, FEWEST_IN_STRATUM = 4, 4, 2
# P(correct) is clipped to [1 - SUREST, SUREST], because a confident estimator may be wrong.
SUREST = 0.95
# Minimum number of labels of a slice that is unlike all labelled domains, if the budget allows: from ten labels on, the
# estimate of such a slice adds nothing to them.
LABELS_IF_UNFAMILIAR = 10


def select_candidates(rows: pl.DataFrame, options: SampleOptions) -> pl.DataFrame:
    """The responses with an estimate, sorted by SLICE and ORDER; raises InputError without any."""
    rows = rows.filter(pl.col("excluded").is_null())
    if rows.is_empty():
        raise InputError("logs: no response has features, so none can be chosen")
    rows = keep_listed_slices(rows, options.slices, name_slice_columns(options.by))
    slices = pl.struct([*name_slice_columns(options.by)]).rank("dense") if options.by else pl.lit(1)
    return rows.with_columns(slices.alias(SLICE), draw_order(rows, options.seed).alias(ORDER)).sort(SLICE, ORDER)


@dataclass(frozen=True)
class SliceSample:
    """The responses of one slice to label.

    `rows` are their positions in the slice, (n,). `strata` is the stratum of each response of the slice,
    (n_responses,); in 0 the model is least likely to be correct. `sizes` and `counts` are the numbers of responses and
    labels of each stratum, (n_strata,).
    """

    rows: np.ndarray
    strata: np.ndarray
    sizes: np.ndarray
    counts: np.ndarray

    @property
    def inclusion(self) -> np.ndarray:
        """The inclusion probability of each chosen response, (n,)."""
        probabilities: np.ndarray = (self.counts / self.sizes)[self.strata[self.rows]]
        return probabilities

    def expected_width(self, p: np.ndarray, level: float) -> float | None:
        """The width of the slice's interval with these labels and calibrated P(correct), (n_responses,)."""
        size = self.expected_worth(p, level)
        if size is None:
            return None
        lower, upper = binomial_interval(float(p.mean()), size, level)
        return upper - lower

    def expected_worth(self, p: np.ndarray, level: float) -> float | None:
        """How many labels without predictions are as precise as these with calibrated P(correct), `p` (n,)."""
        n, total, mean = int(self.counts.sum()), len(p), float(p.mean())
        if not n:
            return None
        # The weight of a label of each stratum; the labels' mean weight is 1.
        u = self.sizes / self.counts * n / total
        # Of each stratum, (n_strata,): E(y - p)^2 and E(y), as a label y is correct with probability p.
        residual_variances, accuracies = np.zeros(len(u)), np.zeros(len(u))
        for stratum in range(len(u)):
            stratum_p = p[self.strata == stratum]
            residual_variances[stratum] = np.mean(stratum_p * (1 - stratum_p))
            accuracies[stratum] = np.mean(stratum_p)
        # E(y - mean)^2.
        label_variances = accuracies * (1 - mean) ** 2 + (1 - accuracies) * mean**2
        return effective_label_count(
            n,
            total,
            binomial_squares=n * mean * (1 - mean),
            label_squares=float(np.sum(self.counts * u**2 * label_variances)),
            residual_squares=float(np.sum(self.counts * u**2 * residual_variances)),
            weight_square=float(np.sum(self.counts * u**3) / n),
            level=level,
        )


def allocate_counts(
    p: np.ndarray,
    slices: Sequence[np.ndarray],
    budget: int,
    per_slice: np.ndarray | int,
    max_per_slice: int | None = None,
) -> np.ndarray:
    """The number of labels of each slice, in proportion to sqrt(size) times the standard deviation of a label.

    This power allocation (Bankier 1988) also gives small slices precise estimates, not only the total. `p` is
    (n_responses,), and `slices` has the positions of each slice's responses. Raises InputError if the budget is too
    small for `per_slice` labels in each slice, (n_slices,) or one number.
    """
    sizes = np.array([len(place) for place in slices])
    if max_per_slice is not None:
        sizes = np.minimum(sizes, max_per_slice)
    least = np.minimum(per_slice, sizes)
    if least.sum() > budget:
        raise InputError(
            f"budget: {budget} is fewer than {int(np.min(per_slice))} labels for each of {len(sizes)} slices "
            f"({least.sum()}); raise the budget, request fewer labels per slice ({format_option('per_slice')}), or use "
            "fewer slices"
        )
    shares = [np.sqrt(len(place)) * _compute_deviation(p[place].mean()) for place in slices]
    return apportion_labels(shares, least, sizes, budget)


def draw_slice(p: np.ndarray, order: np.ndarray, n: int) -> SliceSample:
    """Draw `n` responses of one slice from strata of P(correct), in each the first ones by `order`.

    `p`, the P(correct) of the slice's responses, and `order`, random numbers, are (n_responses,).
    """
    strata = _divide_strata(p, n)
    sizes = np.bincount(strata)
    shares = [size * _compute_deviation(p[strata == stratum]) for stratum, size in enumerate(sizes)]
    counts = apportion_labels(shares, np.minimum(min(FEWEST_IN_STRATUM, n), sizes), sizes, int(n))
    return SliceSample(_first_rows(strata, counts, order), strata, sizes, counts)


def extend_draw(labelled: SliceSample, order: np.ndarray, n: int) -> SliceSample:
    """Draw `n` responses to judge from the same strata, in proportion to their sizes; those to label are among them."""
    counts = apportion_labels(labelled.sizes, labelled.counts, labelled.sizes, int(n))
    return SliceSample(_first_rows(labelled.strata, counts, order), labelled.strata, labelled.sizes, counts)


def _first_rows(strata: np.ndarray, counts: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The positions of the first responses by `order` in each stratum, (counts.sum(),)."""
    rows = []
    for stratum, count in enumerate(counts):
        members = np.flatnonzero(strata == stratum)
        rows.append(members[np.argsort(order[members], kind="stable")[:count]])
    return np.concatenate(rows)


def _divide_strata(p: np.ndarray, n: int) -> np.ndarray:
    """Each response's stratum number, (n_responses,), from 0; strata have equal sizes unless P(correct) ties."""
    count = max(1, min(MOST_STRATA, n // LABELS_A_STRATUM))
    edges = np.unique(np.quantile(p, np.arange(1, count) / count))
    return np.unique(np.searchsorted(edges, p, side="left"), return_inverse=True)[1]


def _compute_deviation(p: np.ndarray | float) -> float:
    """The standard deviation of a label given P(correct), as the root mean square over `p`."""
    sure = np.clip(p, 1 - SUREST, SUREST)
    return float(np.sqrt(np.mean(sure * (1 - sure))))


def expect_width_alone(p: np.ndarray, n: int, level: float) -> float | None:
    """The width of the interval from n labels without strata or predictions; None without labels."""
    if not n:
        return None
    lower, upper = binomial_interval(float(p.mean()), float(n), level)
    return upper - lower


@document_options(SampleOptions)
def sample(
    estimator: FittedEstimator | str | Path | None,
    logs: LogSources,
    by: Sequence[str] = (),
    budget: int = 100,
    **options: Unpack[SampleKeywords],
) -> Sample:
    """Plan what a budget of labels and dollars for a judge tells: choose responses to label and to judge.

    Without an estimator, each slice gets equally many labels, spread over time and entropies. If the verdict `usable`
    of a first `fit` is likely enough, the labels are for that, and slices that would make it less probable are left
    out. With an estimator, each slice gets at least `per_slice` labels, or all its responses if it has fewer; the other
    labels go to large and uncertain slices. With `judge_usd`, more responses of the same slices are for a judge, those
    to label among them. The choice depends only on the ids of the responses and `seed`, not on the order of the logs.

    Args:
        estimator: An estimator from `fit` or `load`, or its file; null before the first `fit`.
        logs: Files of logs, traces or features, or a frame of features.
        by: The columns whose values define slices, combined: those that will be watched. Without any, all responses are
            one slice. For a first `fit` they are the domains.
        budget: The number of responses to choose.
        **options: The fields of `SampleOptions`, which `help(es.sample)` lists.

    Returns:
        The responses to label and to judge, with their weights, and what to expect of the slices.

    Raises:
        InputError: For a missing column or a budget that is too small.
        ProvenanceError: In the same cases as `estimate`.

    Examples:
        >>> import entropy_sentinel as es
        >>> features, labels = es.features(es.read_logs(es.example().traces)), es.read_labels(es.example().labels)
        >>> chosen = es.sample(es.fit(features, labels, "log-3d"), features, ["benchmark"], budget=40)
        >>> len(chosen.responses), chosen.slices["n_to_label"].sum(), round(chosen.responses["weight"].sum(), 6)
        (40, 40, 150.0)
    """
    return draw_sample(estimator, logs, SampleOptions.from_keywords("sample", {"by": by, "budget": budget, **options}))


def draw_sample(estimator: FittedEstimator | str | Path | None, logs: LogSources, settings: SampleOptions) -> Sample:
    """The result of `sample`."""
    if estimator is None:
        return draw_first_sample(logs, settings)
    saved = ensure_estimator(estimator)
    read = read_all_responses(
        saved, compute_table_features(resolve_sources(logs), settings, saved.signals), settings, texts=True
    )
    rows = select_candidates(read.rows, settings)
    names = name_slice_columns(settings.by)
    slices = rows.group_by(SLICE, *names, maintain_order=True).agg(n_responses=pl.len()).rename(names)
    # The rows are sorted by slice.
    places = np.split(np.arange(len(rows)), slices["n_responses"].cum_sum().to_numpy()[:-1])
    p, order = predict_responses(saved.estimator, rows), rows[ORDER].to_numpy()
    unfamiliar = _find_unfamiliar(saved, rows, len(slices))
    least = np.full(len(slices), LABELS_A_SLICE if settings.per_slice is None else settings.per_slice)
    if settings.per_slice is None and settings.budget >= least.sum() + LABELS_IF_UNFAMILIAR * unfamiliar.sum():
        least[unfamiliar] = LABELS_IF_UNFAMILIAR
    counts = allocate_counts(p, places, settings.budget, least, settings.max_per_slice)
    drawn = [draw_slice(p[place], order[place], int(n)) for place, n in zip(places, counts, strict=True)]
    is_relied_on = np.full(len(slices), is_reliable(saved) and not read.override_counts) & ~unfamiliar
    budget = plan_judge_budget(rows, settings)
    sizes = np.array([len(place) for place in places])
    if budget is None:  # the widths show what a judge would add
        n_judged = np.minimum(sizes, VERDICTS_A_LABEL * counts)
    else:
        n_judged = allocate_verdicts(sizes, counts, budget)
    worths = _expect_worths(p, places, counts, n_judged, settings)
    expected = _expect_slices(
        saved, rows, p, places, drawn, is_relied_on=is_relied_on, worths=worths, level=settings.level
    )
    if unfamiliar.any() and saved.validation:
        expected["width_before"] = _widen_unfamiliar(expected, slices["n_responses"], unfamiliar, settings.level)
    if read.override_counts:  # the validation does not apply to these responses
        expected["width_before"] = pl.Series([None] * len(slices), dtype=pl.Float64)
    numbers = {"n_to_label": pl.Series(counts)} | ({} if budget is None else {"n_to_judge": pl.Series(n_judged)})
    slices = slices.drop(SLICE).with_columns(**numbers, **expected, unfamiliar=pl.Series(unfamiliar))
    judged = None
    if budget is not None:
        parts = zip(places, drawn, n_judged, strict=True)
        judged = [extend_draw(labelled, order[place], int(n)) for place, labelled, n in parts]
    return Sample(
        _select_responses(rows, names, places, drawn, unfamiliar),
        slices.sort("unfamiliar", descending=True, maintain_order=True),
        settings.level,
        to_judge=None if judged is None else _select_responses(rows, names, places, judged, unfamiliar),
        judge_budget=budget,
        quality=JudgeQuality(settings.judge_sensitivity, settings.judge_specificity),
        taken=read.override_counts,
        problems=read.problems,
    )


def _find_unfamiliar(saved: FittedEstimator, rows: pl.DataFrame, n_slices: int) -> np.ndarray:
    """Whether each slice is unlike all labelled domains, (n_slices,) of bool, in the order of SLICE."""
    if (familiarity := saved.metadata.familiarity) is None:
        return np.zeros(n_slices, dtype=bool)
    flags = familiarity.flags_of(rows, rows[SLICE].to_numpy().astype(np.int64) - 1, n_slices)
    return np.array([why is not None for why in flags], dtype=bool)


def _select_responses(
    rows: pl.DataFrame,
    by: Mapping[str, str],
    places: list[np.ndarray],
    drawn: list[SliceSample],
    unfamiliar: np.ndarray,
) -> pl.DataFrame:
    """The rows to label by slice, unfamiliar slices first, in an order that does not reveal P(correct).

    `places` has each slice's positions in `rows`, `drawn` which of these were drawn, and `unfamiliar`, (n_slices,),
    tells whether the slice is.
    """
    parts: list[pl.DataFrame] = []
    for place, draw, is_unfamiliar in zip(places, drawn, unfamiliar.tolist(), strict=True):
        part = rows[place[draw.rows]].with_columns(
            pl.lit(not is_unfamiliar).alias(_LATER),
            stratum=pl.Series(draw.strata[draw.rows], dtype=pl.Int64),
            inclusion_probability=pl.Series(draw.inclusion, dtype=pl.Float64),
        )
        parts.append(part)
    chosen = pl.concat(parts).with_columns((1 / pl.col("inclusion_probability")).alias(WEIGHT))
    chosen = chosen.sort(_LATER, SLICE, ORDER)
    return make_label_table(chosen, by, find_id_columns(rows), ("stratum", "inclusion_probability"))


def _expect_slices(
    saved: FittedEstimator,
    rows: pl.DataFrame,
    p: np.ndarray,
    places: list[np.ndarray],
    drawn: list[SliceSample],
    is_relied_on: np.ndarray,
    worths: Sequence[float | None],
    level: float,
) -> dict[str, pl.Series]:
    """Each slice's estimate, and the present and expected widths of its interval.

    `p`, (n_rows,), are P(correct) of `rows`, and `places` each slice's positions there. `is_relied_on`, (n_slices,),
    tells whether the monitor will combine the slice's labels with its estimate, and `worths` how many independent
    labels tell as much as those with a judge's verdicts.
    """
    values = compute_values(saved.estimator, rows)
    estimates = [saved.estimator.accuracy_of(values[place].mean(axis=0)) for place in places]
    before: list[float | None] = [None] * len(estimates)
    if saved.validation:
        sizes = [len(place) for place in places]
        intervals = saved.validation.residuals.intervals(estimates, sizes, level)
        before = (intervals.upper - intervals.lower).tolist()
    labels_alone: list[float | None] = []
    expected: list[float | None] = []
    with_judge: list[float | None] = []
    for number, (place, draw) in enumerate(zip(places, drawn, strict=True)):
        estimate, is_relied, slice_p = estimates[number], bool(is_relied_on[number]), p[place]
        labels_alone.append(expect_width_alone(slice_p, len(draw.rows), level))
        worth = draw.expected_worth(slice_p, level)
        expected.append(_expect_width(saved, estimate, worth, p=slice_p, level=level, is_relied_on=is_relied))
        with_judge.append(
            _expect_width(saved, estimate, worths[number], p=slice_p, level=level, is_relied_on=is_relied)
        )
    return {
        "estimated_accuracy": pl.Series(estimates, dtype=pl.Float64),
        "width_before": pl.Series(before, dtype=pl.Float64),
        "width_labels_alone": pl.Series(labels_alone, dtype=pl.Float64),
        "width_expected": pl.Series(expected, dtype=pl.Float64),
        "width_with_judge": pl.Series(with_judge, dtype=pl.Float64),
    }


def _expect_width(
    saved: FittedEstimator, estimate: float, worth: float | None, p: np.ndarray, level: float, is_relied_on: bool
) -> float | None:
    """The width of a slice's interval with labels that tell as much as `worth` independent ones.

    As many are correct as expected: `p`, (n,), are P(correct) of the slice's responses. If `is_relied_on`, the estimate
    counts, too. Null without labels.
    """
    if worth is None:
        return None
    if not is_relied_on or saved.validation is None:
        lower, upper = binomial_interval(float(p.mean()), worth, level)
        return upper - lower
    [variance] = sampling_variance([estimate], [len(p)])
    both = combine_labels(
        saved.validation.residuals.spread, estimate, variance=float(variance), share=estimate, n=worth, level=level
    )
    return both.upper - both.lower


def _expect_worths(
    p: np.ndarray, places: list[np.ndarray], counts: np.ndarray, n_judged: np.ndarray, options: SampleOptions
) -> list[float | None]:
    """How many independent labels tell as much as each slice's with a judge's verdicts; null if these cannot be used.

    `counts` and `n_judged`, (n_slices,), are its labels and verdicts, `places` its positions in `p`.
    """
    # Labels beyond one a slice, as in `statistics.witness_powers`.
    if counts.sum() - np.count_nonzero(counts) < FEWEST_FOR_POWERS:
        return [None] * len(places)
    rates = options.judge_sensitivity, options.judge_specificity
    return [
        expected_size_with_judge(p[place], int(n), int(n_verdicts), *rates, options.level) if n else None
        for place, n, n_verdicts in zip(places, counts, n_judged, strict=True)
    ]


def _widen_unfamiliar(
    expected: dict[str, pl.Series], sizes: pl.Series, unfamiliar: np.ndarray, level: float
) -> pl.Series:
    """The widths of the estimator's intervals, (n_slices,); those of unfamiliar slices rest on an assumption alone.

    `expected` has the slices' estimates and the widths by the validation, and `sizes` are their numbers of responses.
    """
    assumed = residuals_if_unfamiliar(2).intervals(expected["estimated_accuracy"].to_list(), sizes.to_list(), level)
    widths = expected["width_before"].to_numpy(writable=True)
    widths[unfamiliar] = (assumed.upper - assumed.lower)[unfamiliar]
    return pl.Series(widths)
