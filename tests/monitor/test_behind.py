"""The responses behind alerts: which are chosen, where their texts come from, what is said where there are none."""

import shutil
from pathlib import Path

import polars as pl
import pytest
from browser import found_on, needs_browser
from page_checks import inspect_page
from production import line, log_file, saved, traffic, written
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.monitor.monitor_result import Monitored
from entropy_sentinel.monitor.showing.alert_responses import MOST_SLICES, MOST_TOKENS
from entropy_sentinel.monitor.showing.monitor_page import render_page

HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def estimator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("estimator"), "log-3d")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Sixty responses on two routes, with questions and tokens."""
    records = [
        line(number, text=f"{HOSTILE} {number}", question=f"What is {number}? {HOSTILE}", tokens=["a", HOSTILE, "c"])
        for number in range(60)
    ]
    return log_file(tmp_path / "log.jsonl", records)


def alerted(estimator: Path, logs: object, **options: object) -> Monitored:
    return es.monitor(estimator, logs, ["route"], fail_below=1.0, min_responses=5, **{"responses": 3, **options})


def least_certain(estimator: Path, log: Path, route: str, n: int) -> list[str]:
    """The ids of a route's responses by P(correct), from the features alone."""
    rows = es.read_features(log, columns=["route"]).filter(pl.col("route") == route)
    p = es.load(estimator).estimator.p_correct(rows)
    return rows.with_columns(p=pl.Series(p)).sort("p", "item_id")["item_id"].head(n).to_list()


def test_the_least_certain_of_each_slice_with_their_texts(estimator: Path, log: Path) -> None:
    results = alerted(estimator, log)
    assert {one.slice["route"] for one in results.behind} == {"shop", "school"}
    for one in results.behind:
        assert [shown.item_id for shown in one.responses] == least_certain(estimator, log, one.slice["route"], 3)
        assert [shown.p for shown in one.responses] == sorted(shown.p for shown in one.responses)
        assert one.note == ""
        for shown in one.responses:
            number = int(shown.item_id.removeprefix("req-"))
            assert shown.question == f"What is {number}? {HOSTILE}"
            assert shown.place == f"{log}: line {number + 1}"
            assert [token.text for token in shown.tokens] == ["a", HOSTILE, "c"]


def test_thin_windows_are_pooled_with_those_before(estimator: Path, log: Path) -> None:
    """The newest day has four of school's responses, those from 48 to 59: the day before is pooled with it."""
    results = alerted(estimator, log, window="day")
    (school,) = (
        one for one in results.behind if (one.slice["route"], f"{one.window:%Y-%m-%d}") == ("school", "2026-11-04")
    )
    (alert,) = (alert for alert in results.alerts if school.is_of(alert))
    assert (alert["window_from"][:10], alert["n_estimated"]) == ("2026-11-03", 12)
    pooled = log_file(log.with_name("pooled.jsonl"), [line(number) for number in range(24, 60, 3)])
    assert [shown.item_id for shown in school.responses] == least_certain(estimator, pooled, "school", 3)


def test_a_stale_slice_has_none(estimator: Path, tmp_path: Path) -> None:
    records = [line(n, route="old") for n in range(10)] + [line(n, route="new") for n in range(500, 510)]
    results = alerted(estimator, log_file(tmp_path / "a.jsonl", records), window="day", alert_on=["stale"])
    assert ("old", "stale") in {(alert["slice"]["route"], alert["kind"]) for alert in results.alerts}
    assert {one.slice["route"] for one in results.behind} == {"new"}
    assert "cannot be shown" not in render_page(results)


def test_with_a_state_they_are_read_from_logs_of_earlier_runs(estimator: Path, log: Path, tmp_path: Path) -> None:
    first = alerted(estimator, log, state=tmp_path / "state")
    again = alerted(estimator, log, state=tmp_path / "state")
    assert again.provenance["files"]["read_now"] == 0
    assert again.behind == first.behind
    shutil.move(log, tmp_path / "elsewhere")
    other = log_file(tmp_path / "new.jsonl", [line(100)])
    gone = alerted(estimator, other, state=tmp_path / "state")
    assert not any(shown.item_id != "req-0100" for one in gone.behind for shown in one.responses)
    assert f"cannot be shown: '{log}' cannot be read a second time" in render_page(gone).replace("&#39;", "'")


def test_features_have_no_texts(estimator: Path, tmp_path: Path) -> None:
    features = traffic(100)
    for logs, message in (
        (features, "'features' cannot be read a second time"),
        (written(features, tmp_path / "features.parquet"), "contains features, which have no texts"),
    ):
        results = alerted(estimator, logs)
        assert results.alerts
        assert all(message in one.note and not one.responses for one in results.behind)


def test_traces_of_a_study_have_texts(tmp_path: Path) -> None:
    path = tmp_path / "mine.estimator"
    es.save(es.fit(es.read_features(TINY.traces), es.read_labels(TINY.labels), "log-3d"), path)
    results = es.monitor(path, TINY.traces, ["benchmark"], fail_below=0.9, responses=2)
    texts = dict(es.read_logs(TINY.traces).select("item_id", "text").iter_rows())
    shown = [response for behind in results.behind for response in behind.responses]
    assert len(shown) == 2 * len(results.behind) > 0
    assert all(one.text == texts[one.item_id] for one in shown)


def test_the_page_escapes_them_and_is_bounded(estimator: Path, tmp_path: Path) -> None:
    long = [
        line(n, route=f"r{n % 12}", text=HOSTILE * 500, question=HOSTILE * 500, tokens=[HOSTILE] * 300)
        | {name: line(n)[name][:1] * 300 for name in ("token_logprobs", "top_logprobs")}
        for n in range(72)
    ]
    results = alerted(estimator, log_file(tmp_path / "long.jsonl", long), responses=2)
    assert len(results.alerts) == 12
    assert len(results.behind) == MOST_SLICES
    text = render_page(results)
    assert "<img" not in text
    assert "&lt;img src=x onerror=" in text
    assert text.count("<i style=") == MOST_SLICES * 2 * MOST_TOKENS + text.count('<i style="left')
    assert "100 tokens are left out" in text


def test_formulas_of_a_question_are_shown(estimator: Path, tmp_path: Path) -> None:
    records = [line(number, question=r"Is \(\frac{1}{2}<1\)? <b>", tokens=["a", "b", "c"]) for number in range(20)]
    shown = render_page(alerted(estimator, log_file(tmp_path / "log.jsonl", records)))
    half = "<mfrac><mrow><mn>1</mn></mrow><mrow><mn>2</mn></mrow></mfrac><mo>&lt;</mo><mn>1</mn>"
    assert half in shown
    assert "? &lt;b&gt;</p>" in shown


# A person follows the link of each alert.
LINK = """
  const links = [...document.querySelectorAll('a[href^="#responses-"]')];
  const found = {links: links.length, open: []};
  for (const link of links) {
    const target = document.getElementById(link.hash.slice(1));
    found.open.push(target.checkVisibility());
    link.click();
    await new Promise((resolve) => setTimeout(resolve, 50));
    found.open.push(target.checkVisibility() && target.querySelectorAll("article").length > 0);
  }
"""


@needs_browser
def test_an_alert_links_to_its_responses_and_the_page_is_legible(estimator: Path, log: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(render_page(alerted(estimator, log)))
    assert found_on(path, LINK) == {"links": 2, "open": [False, True] * 2}
    assert inspect_page(path) == []


# Arrow keys on the first response's tokens, then a tap on the second response's second token.
KEYS = """const texts = [...document.querySelectorAll(".tokens")];
document.querySelectorAll("details").forEach((one) => { one.open = true; });
const said = () => document.getElementById("chosen").textContent.split(":")[0];
const press = (key) => { texts[0].dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true})); return said(); };
const found = {focusable: texts[0].tabIndex === 0};
found.keys = ["ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft"].map(press);
texts[1].querySelectorAll("i")[1].click();
found.tap = said();
found.chosen = document.querySelectorAll(".tokens .chosen").length;
found.away = press("Escape");"""


@needs_browser
def test_keys_and_taps_choose_a_token(estimator: Path, log: Path, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(render_page(alerted(estimator, log)))
    hostile = f"token 2 {HOSTILE!r}"
    assert found_on(tmp_path / "page.html", KEYS) == {
        "keys": ["token 1 'a'", hostile, "token 1 'a'", "token 1 'a'"],
        "focusable": True,
        "tap": hostile,
        "chosen": 1,
        "away": "",
    }
