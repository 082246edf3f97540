"""The verb `plot`: what it draws is what the page draws, and what the validation says; and the page of `fit`."""

import re
from pathlib import Path

import polars as pl
import pytest
from calling import run
from production import change_metadata, fitted, traffic
from sklearn.metrics import brier_score_loss
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.monitor.showing.page import page

HOSTILE = "<script>alert(1)</script>"


def test_the_pictures_of_a_result_are_those_of_its_page() -> None:
    features = traffic(300).with_columns(route=pl.col("route").replace("shop", HOSTILE))
    labels = features.select("item_id", label=pl.int_range(pl.len()) % 4 > 0).head(60)
    options = {"by": ["route"], "window": "day", "labels": labels, "labels_at_random": True}
    result = es.monitor(fitted("log-3d"), features, **options)
    drawn, whole = es.plot(result)._repr_html_(), page(result)
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
        _, _, rest = drawn.partition(f">{domain.domain}<")
        marks = [float(place) for place in re.findall(r'<b style="left:([\d.]+)%', rest)[:2]]
        assert marks == pytest.approx([100 * domain.estimated, 100 * domain.true], abs=0.01)
        (left, width), _ = re.findall(r'<i style="left:([\d.]+)%;width:([\d.]+)%', rest)[:2]
        lower, upper = intervals[domain.domain]
        assert (float(left), float(width)) == pytest.approx((100 * lower, 100 * (upper - lower)), abs=0.02)
    assert validation.verdict in drawn


def test_a_result_without_pictures_is_refused() -> None:
    estimator = fitted("atc-nll_sum", domains=2)
    with pytest.raises(InputError, match="nothing to draw"):
        es.plot(estimator)
    with pytest.raises(InputError, match="nothing to draw"):
        es.plot(change_metadata(estimator, validation=None))
    with pytest.raises(InputError, match="was DataFrame"):
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
    html = es.plot(estimator).html
    assert f"Brier score {found.brier:.3f}, mean calibration error {found.ece:.3f}." in html
    assert f"({found.bins[0].n} responses)" in html
    # A threshold has no P(correct).
    assert es.fit(rows, labels, "atc-nll_sum").validation.calibration is None


def test_the_page_of_fit_has_the_verdicts_and_the_pictures(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    page, estimator = tmp_path / "page.html", tmp_path / "mine.estimator"
    call = ("fit", TINY.traces, "--labels", TINY.labels, "-e", "log-3d", "-o", estimator)
    status, _, _ = run(capsys, *call, "--page", page)
    validation, text = es.load(estimator).validation, page.read_text()
    assert status == 0
    for picture in re.findall(r'<div class="ranges.*?<p class="small">.*?</p>', es.plot(es.load(estimator)).html, re.S):
        assert picture in text
    assert "Single responses: a reliability diagram" in text
    assert f"Brier score {validation.calibration.brier:.3f}" in text
    for answer in validation.answers:
        assert f'<p class="first">{answer.verdict}{answer.scope}</p>' in text
    # Without a validation it says so.
    run(capsys, "fit", TINY.traces, "--labels", TINY.labels, "-e", "atc-nll_sum", "-o", estimator, "--page", page)
    assert "reliability" not in page.read_text()
    status, _, errors = run(capsys, *call, "--page", estimator)
    assert (status, "is also the file of --output" in errors) == (1, True)
