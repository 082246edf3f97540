"""Adjust the intervals that a model states so that they cover as often as stated, with questions of known answers.

Each method except `base` moves both limits by a margin learned on calibration questions. If these and the new questions
are exchangeable, the new intervals cover with a probability of at least 1 - alpha (Vovk et al. 2005; Romano, Patterson
and Candes 2019), whatever the stated level. The methods differ in the unit of the margin, and in the questions used to
learn it:

- `base`: the stated interval, unchanged.
- `conformal`: the same margin for all (FermiEval, section "Conformal Confidence Interval Adjustment").
- `normalised`: a margin proportional to the stated width + 1, so wide intervals stay wide; the 1 is for intervals of
one number.
- `mondrian`: a margin for each group, so that each group reaches the level. The smallest groups are merged until they
reach it, too; a group that is not in the calibration questions gets the margin of all.
- `cqr`: linear quantile regression on the stated limits and covariates first predicts both limits, fitted on every
other calibration question; the margin is learned from the rest.

A margin may be negative, so that intervals shrink. If there are too few calibration questions for the level, the margin
and the intervals are infinite.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from entropy_sentinel.statistics.array_types import Names, Numbers
from entropy_sentinel.statistics.conformal import can_reach_level, conformal_quantile, nonconformity_scores

Bounds = tuple[np.ndarray, np.ndarray]

# A whole number equal to a limit must not fall outside because of a rounding error in a product.
_DECIMALS = 9
# Fewest questions to fit an adjustment on: `cqr` needs some for its regression and some for its margin.
_MIN_QUESTIONS = {"base": 0, "cqr": 2}


class TooFewQuestions(ValueError):
    """Raised if there are too few questions to fit a method; the message says how many it needs and how many it got."""

    def __init__(self, needed: int, available: int, subject: str = "usable intervals") -> None:
        super().__init__(f"some fold has too few {subject} to fit on: {available}, at least {needed} are needed")


@dataclass(frozen=True)
class StatedIntervals:
    """Intervals that a model stated for n questions: `lower` and `upper`, (n,) each, with lower <= upper.

    `covariates`, (n, n_covariates), are further numbers of a question, such as signals of the response; `group`, (n,),
    is the kind of question.
    """

    lower: Numbers
    upper: Numbers
    covariates: np.ndarray | None = None
    group: Names | None = None

    @property
    def bounds(self) -> Bounds:
        """Both limits, (n,) each."""
        return np.asarray(self.lower, dtype=float), np.asarray(self.upper, dtype=float)

    @property
    def width(self) -> np.ndarray:
        """Upper - lower, (n,)."""
        lower, upper = self.bounds
        return upper - lower

    def __len__(self) -> int:
        return len(self.lower)

    def rows(self, selection: slice | np.ndarray) -> "StatedIntervals":
        """The questions that `selection` selects, as in NumPy's row indexing."""
        lower, upper = self.bounds
        covariates = None if self.covariates is None else self.covariates[selection]
        group = None if self.group is None else np.asarray(self.group)[selection]
        return StatedIntervals(lower[selection], upper[selection], covariates, group)


def _unit_scale(stated: StatedIntervals) -> np.ndarray:
    """The scale of a margin that is the same for all questions, (n,)."""
    return np.ones(len(stated))


@dataclass(frozen=True)
class Adjustment:
    """Moves both limits of an interval outwards by its margin: that of its group in `margins`, or else `margin`.

    The margin is in multiples of the question's `scale`, (n,); `ends` returns the limits to move, lower and upper,
    (n,) each: those stated, or predicted ones.
    """

    margin: float
    margins: Mapping[str, float] = field(default_factory=dict)
    scale: Callable[[StatedIntervals], np.ndarray] = _unit_scale
    ends: Callable[[StatedIntervals], Bounds] = lambda stated: stated.bounds

    def apply(self, stated: StatedIntervals) -> Bounds:
        """The adjusted intervals, lower and upper, (n,) each.

        An interval that would shrink below width 0 becomes its midpoint; the empty set would also be valid.
        """
        lower, upper = self.ends(stated)
        margins = np.full(len(stated), self.margin)
        if self.margins:
            margins = np.array([self.margins.get(group, self.margin) for group in _require_group(stated)])
        shift = margins * self.scale(stated)
        lower, upper = lower - shift, upper + shift
        crossed = lower > upper
        midpoint = (lower[crossed] + upper[crossed]) / 2
        lower[crossed], upper[crossed] = midpoint, midpoint
        return np.round(lower, _DECIMALS), np.round(upper, _DECIMALS)


def fit_adjustment(name: str, calibration: StatedIntervals, true: Numbers, alpha: float) -> Adjustment:
    """The adjustment of this name (`interval_exhibits.ADJUSTMENTS`), fitted to a level of 1 - alpha.

    `true` are the true answers of the calibration questions, (n,), in the unit of the bounds. Raises ValueError for an
    invalid level, or if the questions lack data that the adjustment needs; TooFewQuestions for too few questions.
    """
    true = np.asarray(true, dtype=float)
    if name not in _FIT_FUNCTIONS:
        raise ValueError(f"there is no adjustment {name}; choose from {', '.join(_FIT_FUNCTIONS)}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is 1 - level and must be above 0 and below 1, got {alpha}")
    if len(true) != len(calibration):
        raise ValueError(f"each interval must have one true answer, there are {len(calibration)} and {len(true)}")
    if len(true) < (fewest := _MIN_QUESTIONS.get(name, 1)):
        raise TooFewQuestions(fewest, len(true))
    return _FIT_FUNCTIONS[name](calibration, true, 1 - alpha)


def _fit_base(calibration: StatedIntervals, true: np.ndarray, level: float) -> Adjustment:
    """The stated intervals, unchanged."""
    return Adjustment(0.0)


def _fit_conformal(calibration: StatedIntervals, true: np.ndarray, level: float) -> Adjustment:
    """The same margin for all questions."""
    return Adjustment(_compute_margin(nonconformity_scores(*calibration.bounds, true), level))


def _fit_normalised(calibration: StatedIntervals, true: np.ndarray, level: float) -> Adjustment:
    """A margin proportional to the width + 1, so that wide intervals stay wide."""

    def scale(stated: StatedIntervals) -> np.ndarray:
        return stated.width + 1  # an interval of one number has the width 0

    scores = nonconformity_scores(*calibration.bounds, true) / scale(calibration)
    return Adjustment(_compute_margin(scores, level), scale=scale)


def _fit_mondrian(calibration: StatedIntervals, true: np.ndarray, level: float) -> Adjustment:
    """A margin for each group; the smallest groups are merged until they reach the level together.

    If all groups together are too few for the level, their margin is infinite. A question of a group without
    calibration questions gets the margin of all questions.
    """
    scores = nonconformity_scores(*calibration.bounds, true)
    group = _require_group(calibration)
    names, sizes = np.unique(group, return_counts=True)
    margins: dict[str, float] = {}
    merged_groups: list[str] = []
    n_merged = 0
    for index in np.argsort(sizes, kind="stable"):
        name, size = str(names[index]), int(sizes[index])
        # Groups come by rising size, so those that are merged are the smallest, until they are enough together.
        merged_are_enough = not merged_groups or can_reach_level(n_merged, level)
        if can_reach_level(size, level) and merged_are_enough:
            margins[name] = _compute_margin(scores[group == name], level)
        else:
            merged_groups.append(name)
            n_merged += size
    if merged_groups:
        merged_margin = _compute_margin(scores[np.isin(group, merged_groups)], level)
        margins |= dict.fromkeys(merged_groups, merged_margin)
    return Adjustment(_compute_margin(scores, level), margins)


def _fit_cqr(calibration: StatedIntervals, true: np.ndarray, level: float) -> Adjustment:
    """Conformalised quantile regression: limits predicted from every other question, a margin learned on the rest."""
    regression_rows, margin_rows = slice(0, None, 2), slice(1, None, 2)
    ends = _fit_limit_regression(calibration.rows(regression_rows), true[regression_rows], level)
    scores = nonconformity_scores(*ends(calibration.rows(margin_rows)), true[margin_rows])
    return Adjustment(_compute_margin(scores, level), ends=ends)


def _fit_limit_regression(
    training: StatedIntervals, true: np.ndarray, level: float
) -> Callable[[StatedIntervals], Bounds]:
    """A function that predicts both limits by linear quantile regression (Koenker and Bassett 1978).

    Its inputs are the stated limits and the covariates. Stated limits are clipped at ten times the range of the true
    answers: 10^18, where the truth is between -5 and 40, would dominate the regression.
    """
    reach = 10 * np.ptp(true)
    lowest, highest = true.min() - reach, true.max() + reach

    def inputs(stated: StatedIntervals) -> np.ndarray:
        columns = [np.clip(end, lowest, highest) for end in stated.bounds]
        if stated.covariates is not None:
            columns.append(stated.covariates)
        return np.column_stack(columns)

    from sklearn.linear_model import QuantileRegressor  # imports scikit-learn, which no other adjustment needs

    tail = (1 - level) / 2
    lower = QuantileRegressor(quantile=tail, alpha=0).fit(inputs(training), true)
    upper = QuantileRegressor(quantile=1 - tail, alpha=0).fit(inputs(training), true)
    return lambda stated: (lower.predict(inputs(stated)), upper.predict(inputs(stated)))


def _require_group(stated: StatedIntervals) -> np.ndarray:
    """The kind of each question, (n,) of text; raises ValueError without kinds."""
    if stated.group is None:
        raise ValueError("mondrian needs the group of each question, there is none: give `group`")
    return np.asarray(stated.group, dtype=str)


def _compute_margin(scores: np.ndarray, level: float) -> float:
    """The conformal quantile at `level` of how far each truth is outside its interval (negative inside), (n,)."""
    return float(conformal_quantile(scores, level))


_FIT_FUNCTIONS: dict[str, Callable[[StatedIntervals, np.ndarray, float], Adjustment]] = {
    "base": _fit_base,
    "conformal": _fit_conformal,
    "normalised": _fit_normalised,
    "mondrian": _fit_mondrian,
    "cqr": _fit_cqr,
}
