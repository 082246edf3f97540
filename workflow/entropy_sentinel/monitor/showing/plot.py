"""Show the pictures of the monitor's page in a notebook, and those of a validation there and in the page of `fit`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.files import write_whole
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.validation import Validation
from entropy_sentinel.formatting.text import counted
from entropy_sentinel.monitor.result import Monitored
from entropy_sentinel.monitor.showing.pictures import Line, Mark, Ranges, labelled, over_time, ranked
from entropy_sentinel.report.pages import render
from entropy_sentinel.statistics.binomial import binomial_interval

LEVEL = 0.9
_TEMPLATE, _PAGE = (Path(__file__).with_name(f"{name}.html.j2") for name in ("plot", "validation"))


@dataclass(frozen=True)
class Picture:
    """Pictures that a notebook shows.

    Attributes:
        html: A self-contained HTML fragment; write it to a file to keep the picture.
    """

    html: str = field(repr=False)

    def _repr_html_(self) -> str:
        return self.html


def plot(shown: Monitored | FittedEstimator) -> Picture:
    """Draw the result of a monitor, or the validation of an estimator.

    Args:
        shown: What to draw. For a result of `monitor`: accuracy and expected errors of the slices; with windows those
            of the newest one, and estimates over time; with labels also the accuracy from labels. For an estimator from
            `fit` or `load`: the estimate of each held-out domain with its 90 % interval, and the true accuracy; and, as
            a reliability diagram, the share of correct responses by P(correct).

    Returns:
        The pictures; a notebook shows them if they are the value of a cell.

    Raises:
        InputError: For any other value, and if there is nothing to draw.

    Examples:
        >>> import entropy_sentinel as es
        >>> features = es.features(es.read_logs(es.example().traces))
        >>> estimator = es.fit(features, es.read_labels(es.example().labels), "atc-nll_sum")
        >>> es.plot(estimator)
        Picture()
    """
    if isinstance(shown, FittedEstimator):
        ranges = [_left_out(shown.validation), _reliability(shown.validation)]
        return _picture(ranges, None, "no labelled domain was estimated without its labels")
    if isinstance(shown, Monitored):
        first = ranked(shown, newest=bool(shown.newest))
        return _picture([first, labelled(shown)], over_time(shown), "no slice has an estimate")
    raise InputError(f"plot: must be an estimator or a result of `monitor`, was {type(shown).__name__}")


def write_validation(saved: FittedEstimator, path: str | Path) -> None:
    """Write the page of `fit` in one step: the verdicts with their reasons, and the pictures of `plot`."""
    metadata, validation = saved.metadata, saved.validation
    content = render(
        _PAGE,
        title="Validation",
        label=f"{saved.estimator.name} of {metadata.model}, fitted on {metadata.n_training_rows:,} responses",
        answers=validation.answers if validation else (),
        domains=_left_out(validation),
        reliability=_reliability(validation),
    )
    write_whole(path, content)


def _picture(ranges: list[Ranges | None], panels: Any, nothing: str) -> Picture:
    pictures = [picture for picture in ranges if picture is not None]
    if not pictures:
        raise InputError(f"plot: there is nothing to draw: {nothing}")
    return Picture(render(_TEMPLATE, ranges=pictures, over_time=panels))


def _left_out(validation: Validation | None) -> Ranges | None:
    """The estimate of each held-out domain, the most accurate first; null without any."""
    if validation is None:
        return None
    domains = [domain for domain in validation.domains if domain.estimated is not None]
    if not domains:
        return None
    intervals = validation.intervals(LEVEL)
    lines = []
    for domain in sorted(domains, key=lambda domain: -domain.true):
        lower, upper = intervals[domain.domain]
        true = min(max(domain.true, 0.0), 1.0)  # with a judge it may lie outside of [0, 1]
        row = {"estimated": domain.estimated, "lower": lower, "upper": upper, "true": true, "none": None}
        marks = (
            Mark.of(row, "estimate", ("estimated", "lower", "upper"), 1, ".3f"),
            Mark.of(row, "labels", ("true", "none", "none"), 1, ".3f"),
        )
        lines.append(Line(domain.domain, (marks,)))
    return Ranges(
        (("accuracy", "0", "1"),),
        tuple(lines),
        f"Verdict: {validation.verdict}. Blue circles: the estimate of each labelled domain without its labels, with "
        f"the {LEVEL:.0%} interval. Green squares: the true accuracy, the share of labels that are correct.",
    )


def _reliability(validation: Validation | None) -> Ranges | None:
    """The share of correct responses on held-out domains by P(correct); null without P(correct)."""
    calibration = validation.calibration if validation else None
    if calibration is None:
        return None
    lines = []
    for part in calibration.bins:
        lower, upper = binomial_interval(part.correct, part.n, LEVEL)
        row = {"p": part.predicted, "none": None, "correct": part.correct, "lower": lower, "upper": upper}
        marks = (
            Mark.of(row, "estimate", ("p", "none", "none"), 1, ".2f"),
            Mark.of(row, "labels", ("correct", "lower", "upper"), 1, ".2f"),
        )
        lines.append(Line(f"{part.lower:.1f} to {part.upper:.1f} ({counted(part.n, 'response')})", (marks,)))
    return Ranges(
        (("P(correct), and share correct", "0", "1"),),
        tuple(reversed(lines)),
        "Are single responses as often correct as P(correct) says? Each labelled domain is held out. Blue circles: the "
        f"mean P(correct) of the responses in each range. Green squares: the share of them that is correct, with its "
        f"{LEVEL:.0%} interval. Brier score {calibration.brier:.3f}, mean calibration error {calibration.ece:.3f}.",
    )
