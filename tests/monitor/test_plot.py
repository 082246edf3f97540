"""The verb `plot`: what it draws is what the page draws, and what the validation says; and the page of `fit`."""

import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from calling import run
from production import change_metadata, fitted, traffic
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.estimators.validation_record import Domain, Validation
from entropy_sentinel.monitor.showing.monitor_page import render_page
from entropy_sentinel.monitor.showing.validation_page import explain_verdict

HOSTILE = "<script>alert(1)</script>"


def test_the_pictures_of_a_result_are_those_of_its_page() -> None:
    features = traffic(300).with_columns(route=pl.col("route").replace("shop", HOSTILE))
    labels = features.select("item_id", label=pl.int_range(pl.len()) % 4 > 0).head(60)
    options = {"by": ["route"], "window": "day", "labels": labels, "labels_at_random": True}
    result = es.monitor(fitted("log-3d"), features, **options)
    drawn, whole = es.plot(result)._repr_html_(), render_page(result)
    pictures = re.findall(r'<div class="(?:ranges|panels).*?<p class="small">.*?</p>', drawn, re.DOTALL)
    assert len(pictures) == 3  # slices, labels, time
    assert [picture in whole for picture in pictures] == [True, True, True]
    assert HOSTILE not in drawn


def test_a_domain_of_an_estimator_has_its_estimate_its_interval_and_the_truth() -> None:
    estimator = es.fit(es.read_features(TINY.traces), es.read_labels(TINY.labels), "atc-nll_sum")
    validation, drawn = estimator.validation, es.plot(estimator).html
    intervals = validation.intervals(0.9)
    (share,) = [share for share in validation.coverage if share.level == 0.9]
    inside = [intervals[of.domain][0] <= of.true <= intervals[of.domain][1] for of in validation.domains]
    assert sum(inside) == share.covered
    for domain in validation.domains:
        _, _, rest = drawn.partition(f'"who">{domain.domain}<')
        marks = [float(place) for place in re.findall(r'<b style="left:([\d.]+)%', rest)[:2]]
        assert marks == pytest.approx([100 * domain.estimated, 100 * domain.true], abs=0.01)
        (left, width), _ = re.findall(r'<i style="left:([\d.]+)%;width:([\d.]+)%', rest)[:2]
        lower, upper = intervals[domain.domain]
        assert (float(left), float(width)) == pytest.approx((100 * lower, 100 * (upper - lower)), abs=0.02)
    # The diagram: the truth to the right, the estimate upwards, in a square whose sides are 290 long.
    expected = [(290 * of.true, 290 * of.estimated) for of in validation.domains]
    assert [point[:2] for point in points(drawn)] == [pytest.approx(place, abs=0.1) for place in expected]
    assert f">{validation.worst.domain}</text>" in drawn
    assert validation.verdict in drawn


def points(text: str) -> list[tuple[float, float, float, float]]:
    """The points of the last diagram, and the ends of their intervals, from the lower left corner of the square."""
    square = text.rpartition('<div class="diagrams">')[2].rpartition("<svg")[2].partition("</svg>")[0]
    left, bottom = map(float, re.search(r'<path d="M([\d.]+) ([\d.]+)L', square).groups())
    pattern = r'<path d="M[\d.]+ ([\d.]+)V([\d.]+)"[^>]*>\s*<circle cx="([\d.]+)" cy="([\d.]+)"'
    numbers = [map(float, path) for path in re.findall(pattern, square)]
    return [(x - left, bottom - y, bottom - low, bottom - high) for low, high, x, y in numbers]


def test_a_result_without_pictures_is_refused() -> None:
    estimator = fitted("atc-nll_sum", domains=2)
    with pytest.raises(InputError, match="nothing to draw"):
        es.plot(estimator)
    with pytest.raises(InputError, match="nothing to draw"):
        es.plot(change_metadata(estimator, validation=None))
    with pytest.raises(InputError, match="got DataFrame"):
        es.plot(traffic(10))


def test_a_reliability_diagram_of_held_out_domains() -> None:
    """The numbers are those of estimators fitted without each domain, worked out again."""
    rows, labels = es.features(es.read_logs(es.example().traces)), es.read_labels(es.example().labels)
    estimator = es.fit(rows, labels, "log-3d")
    p, right = [], []
    for benchmark in rows["benchmark"].unique():
        others = es.fit(rows.filter(pl.col("benchmark") != benchmark), labels, "log-3d")
        part = rows.filter(pl.col("benchmark") == benchmark).join(labels, on="item_id").drop_nulls("label")
        p += others.estimator.p_correct(part).tolist()
        right += part["label"].to_list()
    found = estimator.validation.calibration
    assert found.n == len(p)
    assert found.brier == pytest.approx(brier_score_loss(right, p))
    text = es.plot(estimator).html
    assert f"Brier score {found.brier:.3f}, mean calibration error {found.ece:.3f} ({len(p)} responses)" in text
    shares, means = calibration_curve(right, p, n_bins=10)
    drawn = points(text)
    assert [x for x, *_ in drawn] == pytest.approx(290 * means, abs=0.1)
    assert [y for _, y, *_ in drawn] == pytest.approx(290 * shares, abs=0.1)
    assert all(low <= y <= high for _, y, low, high in drawn)
    counts = np.histogram(p, np.linspace(0, 1, 11))[0]
    bars = re.findall(r'opacity=".35"/><text [^>]*>(\d+)</text>', text)
    assert [int(bar) for bar in bars] == counts[counts > 0].tolist()
    # A threshold has no P(correct).
    assert es.fit(rows, labels, "atc-nll_sum").validation.calibration is None


def test_the_page_of_fit_has_the_verdicts_and_the_pictures(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    page, estimator = tmp_path / "page.html", tmp_path / "mine.estimator"
    call = ("fit", TINY.traces, "--labels", TINY.labels, "-e", "log-3d", "-o", estimator)
    status, _, _ = run(capsys, *call, "--page", page)
    validation, text = es.load(estimator).validation, page.read_text()
    assert status == 0
    drawn = es.plot(es.load(estimator)).html
    pictures = re.findall(r'<div class="ranges.*?<p class="small">.*?</p>|<svg.*?</svg>', drawn, re.DOTALL)
    assert [picture in text for picture in pictures] == [True] * 3
    assert "<h3>Reliability diagram</h3>" in text
    for answer in validation.answers:
        kind = answer.verdict.replace(" ", "-")
        assert f'<b class="verdict {kind}">{answer.verdict}</b>{answer.scope}</p>' in text
        assert all(f"<li>{line}</li>" in text for line in answer.lines())
    # Two numbers in a row have headings.
    assert re.findall(r'<span class="key \w+">(\w+)</span>', text) == ["estimated", "true"]
    # Without P(correct) there is no such diagram.
    run(capsys, "fit", TINY.traces, "--labels", TINY.labels, "-e", "atc-nll_sum", "-o", estimator, "--page", page)
    assert "Reliability" not in page.read_text()
    status, _, errors = run(capsys, *call, "--page", estimator)
    assert (status, "is also the file of --output" in errors) == (1, True)


# Estimates that are nearly right, and one estimate for all: the errors are 0.02, 0.03, 0.04, and 0.4, 0.6, 0.2.
NEAR = [("a", 0.50, 0.52), ("b", 0.33, 0.30), ("c", 0.70, 0.66)]
EQUAL = [("a", 0.9, 0.5), ("b", 0.9, 0.3), ("c", 0.9, 0.7)]
FEW = "There are too few labelled domains for a verdict. "


@pytest.mark.parametrize(
    ("domains", "times", "verdict", "use", "errors"),
    [
        (
            NEAR,
            30,
            "usable",
            "You can use the estimates for new slices",
            "0.030 on average, and by 0.040",
        ),
        (EQUAL, 30, "do not use", "Do not use the estimates: they are too far off", "0.400 on average, and by 0.600"),
        (NEAR, 1, "too few domains to say", f"{FEW}For usable, label", "0.030 on average, and by 0.040"),
        (NEAR[:2], 1, "too few domains to say", f"{FEW}Label 1 more domain", "0.025 on average, and by 0.030"),
    ],
)
def test_three_sentences_explain_a_verdict(domains: list, times: int, verdict: str, use: str, errors: str) -> None:
    rows = [Domain(f"{name}{place}", 400, *rest) for place in range(times) for name, *rest in domains]
    answer = Validation("e", len(rows), tuple(rows))
    first, second, *third = explain_verdict(answer)
    assert answer.verdict == verdict
    assert first.startswith(use)
    assert f"off by {errors} at most" in second
    # With two domains nothing is known about new ones.
    limits = [answer.error_at_most, answer.error_at_least]
    assert [any(f"{limit:.3f}" in sentence for limit in limits) for sentence in third] == [True] * (len(rows) > 2)


def test_a_picture_is_saved_and_is_a_figure_with_the_same_numbers(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")
    picture = es.plot(estimator := fitted("log-3d"))
    begins = {".html": b"<!doctype html>", ".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    for suffix, begin in begins.items():
        picture.save(tmp_path / f"plot{suffix}")
        assert (tmp_path / f"plot{suffix}").read_bytes().startswith(begin)
    assert picture.html in (tmp_path / "plot.html").read_text()
    with pytest.raises(InputError, match=r"must end with \.html, \.png, \.svg, \.pdf, got '.*plot\.bmp'"):
        picture.save(tmp_path / "plot.bmp")
    (bars,) = [axes for axes in picture.figure.axes if "accuracy:" in axes.get_xlabel()]
    marks = {line.get_marker(): [] for line in bars.lines}
    for line in bars.lines:
        marks[line.get_marker()].extend(line.get_xdata())
    domains = sorted(estimator.validation.domains, key=lambda domain: -domain.true)
    assert marks["o"] == pytest.approx([100 * domain.estimated for domain in domains], abs=0.01)
    assert marks["s"] == pytest.approx([100 * domain.true for domain in domains], abs=0.01)
    assert [text.get_text() for text in bars.get_yticklabels()] == [domain.domain for domain in domains]


def test_a_result_over_time_is_a_figure(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")
    options = {"by": "route", "window": "day", "reference": "2026-11-02", "events": "2026-11-04=prompt v2"}
    result = es.monitor(fitted("log-3d"), traffic(300), **options)
    figure = es.plot(result).figure
    panels = [axes for axes in figure.axes if axes.get_title()]
    assert {axes.get_title() for axes in panels} == {"shop", "school", "support"}
    for axes in panels:
        rows = result.windows.filter(pl.col("route") == axes.get_title()).sort("window")
        (line,) = [line for line in axes.lines if line.get_marker() == "None" and len(line.get_xdata()) == len(rows)]
        bottom, top = axes.get_ylim()
        shares = [(y - bottom) / (top - bottom) for y in line.get_ydata()]
        assert shares == pytest.approx(rows["estimated_accuracy"].to_list(), abs=0.001)


def test_without_matplotlib_a_picture_is_saved_as_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("entropy_sentinel.rendering.figure", "matplotlib"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "entropy_sentinel.monitor.showing.plot_figure", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    picture = es.plot(fitted("log-3d"))
    picture.save(tmp_path / "plot.html")
    with pytest.raises(InputError, match=r"needs matplotlib.*as \.html"):
        picture.save(tmp_path / "plot.png")
