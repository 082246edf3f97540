"""Compute the diagrams of a validation as numbers for templates: held-out domains, and P(correct) of responses."""

from dataclasses import dataclass

from entropy_sentinel.estimators.validation_record import Domain, Validation
from entropy_sentinel.formatting.text_format import format_count, format_number
from entropy_sentinel.monitor.showing.page_pictures import Line, Mark, Ranges
from entropy_sentinel.statistics.binomial import binomial_interval

LEVEL = 0.9
# The unit square of a diagram in a box that is WIDTH wide. The bars of counts are below it, the axis below them.
WIDTH, LEFT, RIGHT, TOP, BOTTOM = 360, 52, 342, 12, 302
BAR_TOP, BAR_BOTTOM, AXIS_HEIGHT = 322, 366, 44
# The name of a point that is farther right than this would leave the square, so it is left of the point.
LAST_NAME = LEFT + 0.55 * (RIGHT - LEFT)


@dataclass(frozen=True)
class Point:
    """A point of a diagram, with its interval from `low` to `high`; `name` is written next to it."""

    x: float
    y: float
    low: float
    high: float
    text: str
    name: str = ""

    @property
    def anchor(self) -> str:
        """The end of the name that is at the point."""
        return "end" if self.x > LAST_NAME else "start"


@dataclass(frozen=True)
class CountBar:
    """The bar of the number of responses in a range."""

    x: float
    y: float
    width: float
    n: int


@dataclass(frozen=True)
class Diagram:
    """Points in a unit square with its diagonal, and bars of counts below it; positions are in units of the box."""

    title: str
    summary: str
    x_title: str
    y_title: str
    points: tuple[Point, ...]
    caption: str
    bars: tuple[CountBar, ...] = ()

    width, left, right, top, bottom, bar_bottom = WIDTH, LEFT, RIGHT, TOP, BOTTOM, BAR_BOTTOM

    @property
    def axis(self) -> int:
        """The position of the x axis."""
        return BAR_BOTTOM if self.bars else BOTTOM

    @property
    def height(self) -> int:
        """The height of the box."""
        return self.axis + AXIS_HEIGHT

    @property
    def ticks(self) -> tuple[tuple[str, float, float], ...]:
        """The text of each tick, and its positions on the x axis and the y axis."""
        return tuple((f"{share:g}", _scale_x(share), _scale_y(share)) for share in (0, 0.25, 0.5, 0.75, 1))


def _scale_x(share: float) -> float:
    """The position of a share on the x axis of the box; one outside of [0, 1] is at the border."""
    return round(LEFT + min(max(share, 0.0), 1.0) * (RIGHT - LEFT), 1)


def _scale_y(share: float) -> float:
    """The position of a share on the y axis of the box; one outside of [0, 1] is at the border."""
    return round(BOTTOM - min(max(share, 0.0), 1.0) * (BOTTOM - TOP), 1)


def draw_domains(validation: Validation | None) -> Diagram | None:
    """The estimated accuracy of each held-out domain against its true accuracy; null without any."""
    if validation is None or not (domains := _estimated_domains(validation)):
        return None
    intervals, points = validation.intervals(LEVEL), []
    for domain in domains:
        lower, upper = intervals[domain.domain]
        text = f"{domain.domain}: estimated {domain.estimated:.3f} ({lower:.3f} to {upper:.3f}), true {domain.true:.3f}"
        name = domain.domain if domain == validation.worst else ""
        assert domain.estimated is not None  # of `_estimated_domains`
        points.append(
            Point(_scale_x(domain.true), _scale_y(domain.estimated), _scale_y(lower), _scale_y(upper), text, name)
        )
    return Diagram(
        title="Held-out domains",
        summary=f"Mean error {format_number(validation.aee)} over {format_count(len(points), 'domain')}",
        x_title="true accuracy",
        y_title="estimated accuracy",
        points=tuple(points),
        caption=f"Each point is a labelled domain, estimated without its labels, with the {LEVEL:.0%} interval. On the "
        "dashed line, estimate and truth are equal. The named domain has the largest error.",
    )


def compare_domains(validation: Validation | None) -> Ranges | None:
    """The estimate and the true accuracy of each held-out domain, the most accurate first; null without any."""
    if validation is None or not (domains := _estimated_domains(validation)):
        return None
    intervals, lines = validation.intervals(LEVEL), []
    for domain in sorted(domains, key=lambda domain: -domain.true):
        lower, upper = intervals[domain.domain]
        true = min(max(domain.true, 0.0), 1.0)  # with a judge it may lie outside of [0, 1]
        row = {"estimated": domain.estimated, "lower": lower, "upper": upper, "true": true, "none": None}
        marks = (
            Mark.from_row(row, "estimate", ("estimated", "lower", "upper"), 1, ".3f"),
            Mark.from_row(row, "labels", ("true", "none", "none"), 1, ".3f"),
        )
        lines.append(Line(domain.domain, (marks,)))
    return Ranges(
        (("accuracy", "0", "1"),),
        tuple(lines),
        f"Verdict: {validation.verdict}. Blue circles: the estimate of each labelled domain without its labels, with "
        f"the {LEVEL:.0%} interval. Green squares: the true accuracy, the share of labels that are correct.",
        headings=("estimated", "true"),
    )


def draw_reliability(validation: Validation | None) -> Diagram | None:
    """The share of correct responses on held-out domains by P(correct); null without P(correct)."""
    calibration = validation.calibration if validation else None
    if calibration is None:
        return None
    most, points, bars = max(part.n for part in calibration.bins), [], []
    for part in calibration.bins:
        lower, upper = binomial_interval(part.correct, part.n, LEVEL)
        text = (
            f"P(correct) {part.lower:.1f} to {part.upper:.1f}: {format_count(part.n, 'response')}, mean P(correct) "
            f"{part.predicted:.2f}, correct {part.correct:.2f} ({lower:.2f} to {upper:.2f})"
        )
        points.append(Point(_scale_x(part.predicted), _scale_y(part.correct), _scale_y(lower), _scale_y(upper), text))
        top = round(BAR_BOTTOM - (BAR_BOTTOM - BAR_TOP) * part.n / most, 1)
        bars.append(
            CountBar(_scale_x(part.lower) + 1, top, round(_scale_x(part.upper) - _scale_x(part.lower) - 2, 1), part.n)
        )
    return Diagram(
        title="Reliability diagram",
        summary=f"Brier score {calibration.brier:.3f}, mean calibration error {calibration.ece:.3f} "
        f"({format_count(calibration.n, 'response')})",
        x_title="P(correct)",
        y_title="share correct",
        points=tuple(points),
        caption="Are single responses correct as often as P(correct) says? Each labelled domain is held out. "
        "A point is the responses in a range of P(correct): their mean P(correct), and the share of them that is "
        f"correct with its {LEVEL:.0%} interval. On the dashed line the two are equal. "
        "The bars are the numbers of responses.",
        bars=tuple(bars),
    )


def _estimated_domains(validation: Validation) -> list[Domain]:
    """The labelled domains that were estimated without their labels."""
    return [domain for domain in validation.domains if domain.estimated is not None]
