"""What a notebook and a prompt show of results: few lines, tables, everything escaped."""

from html.parser import HTMLParser

import polars as pl
import pytest
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.formatting.text_format import format_html

HOSTILE = "<script>alert('x')</script>"


class Tables(HTMLParser):
    """The cells of the tables of a page, row by row, and the tags in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows, self.tags = list[list[str]](), set[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def test_lines_and_tables_are_escaped() -> None:
    text = format_html(HOSTILE, [HOSTILE], ([HOSTILE, "n"], [[HOSTILE, "1"]]))
    assert "<script" not in text
    assert Tables(text).rows == [[HOSTILE, "n"], [HOSTILE, "1"]]


@pytest.fixture(scope="module")
def features() -> pl.DataFrame:
    hostile = pl.when(pl.col("benchmark") == "averages").then(pl.lit(HOSTILE)).otherwise("benchmark")
    return es.read_features(TINY.traces).with_columns(route=hostile)


@pytest.fixture(scope="module")
def estimator(features: pl.DataFrame) -> object:
    return es.fit(features, es.read_labels(TINY.labels), domain="route")


def test_an_estimator_is_a_few_lines(estimator: object) -> None:
    lines = repr(estimator).splitlines()
    assert lines[0].startswith("recommended (")
    assert lines[0].endswith(" of model tiny-1m")
    assert lines[1].startswith(f"  fitted on 160 responses to 4 domains: {HOSTILE}, multiply-then-add, ")
    assert lines[2] == "  log-probabilities: logprobs_mode raw_logprobs, top_k_returned 20"
    assert lines[3].startswith(
        f"  verdict: {estimator.validation.verdict}; mean error {estimator.validation.aee:.3f} over 4 held-out domains"
    )
    assert len(lines) == 4
    assert max(map(len, lines)) < 200


def test_a_card_has_verdict_and_reasons(estimator: object) -> None:
    validation = estimator.validation
    assert repr(validation).splitlines() == [
        f"verdict on recommended: {validation.verdict}",
        *(f"  {one}" for one in validation.reasons),
    ]


def test_an_estimator_shows_its_card(estimator: object) -> None:
    for text in (estimator._repr_html_(), estimator.validation._repr_html_()):
        assert "script" not in Tables(text).tags
        head, *rows = Tables(text).rows
        assert head == ["domain", "labels", "estimated", "true", "error"]
        assert [[row[0], row[1], row[3]] for row in rows] == [
            [one.domain, "40", f"{one.true:.3f}"] for one in estimator.validation.domains
        ]
        assert f"Verdict: {estimator.validation.verdict}" in text


def test_the_result_of_a_monitor_is_shown(estimator: object, features: pl.DataFrame) -> None:
    result = es.monitor(estimator, features, by=["route"], fail_below=0.5)
    lines = repr(result).splitlines()
    assert lines[1] == "  160 responses in 1 file; 4 slices"
    assert len(lines) == 2 + len(result.alerts)
    page = Tables(result._repr_html_())
    assert "script" not in page.tags
    assert [row[0] for row in page.rows[1:]] == result.slices["route"].to_list()
    assert [row[2] for row in page.rows[1:]] == [f"{one:.3f}" for one in result.slices["estimated_accuracy"]]
    assert "no alerts" in repr(es.monitor(estimator, features, by=["route"]))
