import base64
import json
import re
from dataclasses import replace

import polars as pl
import pytest
from browser import found_on, needs_browser
from frames import (
    BENCHMARKS,
    DEFAULT,
    GROUPS,
    LABEL,
    MASS,
    MODELS,
    UNKNOWN,
    SyntheticStudy,
    domains,
    draw_figure,
    estimate_rows,
    generation_facts,
    sweep_rows,
    table_inputs,
    validation,
)
from page_checks import inspect_page

from entropy_sentinel.rendering.figure_style import write_figure
from entropy_sentinel.rendering.html_pages import Exhibit
from entropy_sentinel.rendering.table_exhibit import write_table
from entropy_sentinel.study.analyses.accuracy.accuracy_exhibits import FIGURES, TABLES
from entropy_sentinel.study.analyses.accuracy.accuracy_report import Study, render_report
from entropy_sentinel.study.analyses.accuracy.accuracy_tables import make_table
from entropy_sentinel.study.analyses.accuracy.closing_summary import write_summary
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_frames import DOMAINS

pytestmark = pytest.mark.slow

GROUP = "arithmetic+words"
GENERATIONS = generation_facts(MODELS, BENCHMARKS)


def small_study(**changes: object) -> Study:
    """Of model `a` with one unseen domain."""
    counts = (200, 90, 80, 30, 0, 50, 2, 38, 85.5, 0.45, 0.66)
    shown = {
        "estimates": estimate_rows("a", GROUP, [("logic", "held_out", 0.30, 0.45), ("words", "training", 0.8, 0.8)]),
        "sweep": pl.concat(
            [
                sweep_rows([0.15], [None], ["a"]),
                sweep_rows([0.111], [0.5], ["a"], estimator="baseline-nll_sum"),
            ]
        ),
        "domains": DOMAINS.frame(
            [("a", "logic", *counts, *MASS, json.dumps({"no answer": 20, "cut off": 10}), *UNKNOWN)],
        ),
        "validations": [validation()],
        "groups": GROUPS,
        "headline_group": "extremes",
    }
    return Study(**(shown | changes))


def small_report(**changes: object) -> str:
    """The report of `small_study`, without tables and figures; changes of the study and of the page alike."""
    page = {
        "label": LABEL,
        "default": DEFAULT,
        "generations": [],
        "benchmarks": [],
        "labels": [],
        "expected_items": {},
        "pages": {},
        "tables": [],
        "figures": [],
    }
    of_page = {key: changes.pop(key) for key in page if key in changes}
    return render_report(small_study(**changes), **(page | of_page))


def text_of(html: str) -> str:
    """What a reader sees, in one line."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", re.sub(r"<style>.*?</style>", "", html, flags=re.S)))


@pytest.fixture(scope="module")
def small_text() -> str:
    return text_of(small_report())


@pytest.fixture(scope="module")
def full_report(tmp_path_factory) -> str:
    study = SyntheticStudy()
    folder = tmp_path_factory.mktemp("exhibits")
    for name, table in TABLES.items():
        write_table(Exhibit("table", name, table.title), make_table(name, table_inputs(**study.inputs())), folder)
    for name, figure in FIGURES.items():
        write_figure(Exhibit("figure", name, figure.title), draw_figure(name, study.inputs()), folder)
    return small_report(
        estimates=study.estimates,
        sweep=study.sweep,
        domains=study.domains,
        validations=study.validations,
        generations=GENERATIONS,
        tables=[folder / f"table_{name}.html" for name in TABLES],
        figures=[folder / f"figure_{name}.html" for name in FIGURES],
    )


@pytest.mark.long
def test_report_loads_nothing_from_outside(full_report):
    assert all(one.startswith("data:image/svg+xml;base64,") for one in re.findall(r'src="([^"]{0,30})', full_report))
    assert not re.findall(r"https?://|@import|url\(|<link|<script", full_report)


def test_each_heading_of_a_table_names_its_column(full_report):
    headings = re.findall(r"<th\b([^>]*)>(.*?)</th>", full_report)
    assert len(headings) > 100
    assert all('scope="col"' in attributes and text for attributes, text in headings)


def test_links_lead_to_files_beside_the_page_and_to_what_is_in_it(full_report):
    links = re.findall(r'href="([^"]*)"', full_report)
    files = {link for link in links if not link.startswith("#")}
    shown = [name for name in TABLES if "</b> is left out" not in full_report.split(f'id="table_{name}"')[1][:200]]
    assert files == {
        *(f"tables/table_{name}.{kind}" for name in shown for kind in ("csv", "md", "tex")),
        *(f"figures/figure_{name}.{kind}" for name in FIGURES for kind in ("pdf", "png")),
        "summary.json",
        "summary.txt",
    }
    places = set(re.findall(r'id="([^"]*)"', full_report))
    assert {link[1:] for link in links if link.startswith("#")} <= places


def test_report_has_all_tables_and_figures_with_captions(full_report):
    for name in TABLES:
        assert f'id="table_{name}"' in full_report
    assert "Table 2: Errors by model" in full_report
    for name in FIGURES:
        assert f'id="figure_{name}"' in full_report
    assert "<b>Figure 1: Estimated against true accuracy, one model.</b> Benchmarks used for training" in full_report
    assert full_report.index("table_estimates") < full_report.index("table_1_auroc")
    pictures = re.findall(r" (src|srcset)=\"data:image/svg\+xml;base64,([^\"]*)", full_report)
    # Some have a form for narrow windows, too.
    assert [kind for kind, _ in pictures].count("src") == len(FIGURES)
    assert all(b"<svg" in base64.b64decode(picture) for _, picture in pictures)


@pytest.mark.parametrize(
    "fact",
    [
        LABEL,
        "logic 0.300 100 0.300 0.450 -0.150",
        "AEE 0.150, rho - (estimated accuracies are all equal)",
        "a logic 200 90 80 30 0 25.0% 85.5 0.450 0.660 no answer: 20; cut off: 10",
        "For 1 of 1 models the best simple estimator is closer",
        "A simple estimator does better here: NLL sum (AEE 0.111, rho 0.500).",
        # Consensus, the default and the best after the fact.
        "a 0.125 Consensus of 3 ATC 0.200 0.050 ATC, SE max",
        "a logic 15.0% 0.0% 25.0% no answer: 20; cut off: 10",
        "Model Benchmark Tokens Captured Open steps Error at most Clamped Displaced",
        "a logic 17100 0.9957 12.1% - 3 0",
        "more than 1% of the probability missing",
    ],
)
def test_the_page_of_one_model_says_it(small_text: str, fact: str):
    assert fact in small_text


@pytest.mark.parametrize(
    ("aee", "simple", "sentence"),
    [
        (0.1, 0.2, "No simple estimator does better; the best is PPL (AEE 0.200, rho 0.900)."),
        (0.1, None, "No simple estimator was run."),
        (None, 0.2, "The estimator has no AEE to compare"),
    ],
)
def test_report_where_no_simple_estimator_is_better(aee, simple, sentence):
    sweep = sweep_rows([aee], [None if aee is None else 0.9], ["a"])
    if simple is not None:
        sweep = pl.concat([sweep, sweep_rows([simple], [0.9], ["a"], estimator="baseline-ppl")])
    html = small_report(sweep=sweep)
    assert sentence in html
    assert ("was not compared with simple ones" in html) == (None in (aee, simple))


def test_report_of_a_domain_without_an_estimate_and_a_study_without_the_group():
    estimates = estimate_rows("a", GROUP, [("logic", "held_out", None, None)])
    assert "logic (no row) - 100 - - -" in text_of(small_report(estimates=estimates))
    elsewhere = sweep_rows([0.1], [0.9], ["a"], group="logic", estimator=DEFAULT)
    assert "There are no results for this training group." in small_report(sweep=elsewhere)


def test_report_escapes_what_it_shows():
    html = small_report(label="<script>alert(1)</script>")
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_the_page_begins_with_a_verdict_and_its_numbers(small_text):
    text = small_text
    # (|0.30 - 0.45| + |0.8 - 0.9|) / 2 = 0.125, both too low; rho over two domains is no headline.
    assert "a usable 0.125 logic -0.150 -0.125 - 2 Consensus of 3 ATC Why a : off by 0.125 in the mean. Method:" in text
    assert (
        text.index("Can I trust this on my model?") < text.index("off by 0.125") < text.index("What one training group")
    )
    words = "a : usable Estimates were 12.5 percentage points off on average; the worst, of logic, was 15.0 percentage "
    words += "points too low. The mean estimate was 12.5 percentage points too low."
    assert text.index("Can I trust this on my model?") < text.index(words) < text.index("AEE")
    six = validation(left_out=[(name, 0.5, 0.5 + place / 100) for place, name in enumerate("abcdef")])
    assert "f -0.050 -0.025 0.900 6 Consensus of 3 ATC" in text_of(small_report(validations=[six]))


@pytest.mark.parametrize("verdict", ["usable", "ranking only", "do not use", "too few domains to say"])
def test_every_verdict_has_its_look(verdict):
    html = small_report(validations=[validation(verdict=verdict)])
    assert f'<b class="verdict {verdict.replace(" ", "-")}">{verdict}</b>' in html
    assert verdict == "too few domains to say" or f".verdict.{verdict.replace(' ', '-')} {{ background" in html


def test_where_nothing_could_be_left_out_the_page_says_so():
    text = text_of(small_report(validations=[validation(left_out=[], caution="only 3 rows are correct")]))
    assert "a too few domains to say - - - - 0 Consensus of 3 ATC Why a : there are 0 labelled domains." in text
    assert "a : caution, only 3 rows are correct." in text
    assert "No domain could be held out, so nothing shows how far estimates are off." in text


PHONE = """
  const tables = [...document.querySelectorAll(".scroll")];
  const cue = (table) => getComputedStyle(table, "::before").content !== "none";
  const found = {open: document.querySelectorAll("details[open]").length,
                 tables: tables.length, cues: tables.filter((one) => one.scrollWidth > one.clientWidth).map(cue)};
"""


@needs_browser
def test_on_a_phone_wide_tables_scroll_with_a_cue_and_reasons_are_folded(tmp_path):
    page = tmp_path / "report.html"
    page.write_text(small_report())
    found = found_on(page, PHONE, 390)
    assert found["open"] == 0
    assert found["tables"] > len(found["cues"]) > 0
    assert all(found["cues"])
    assert inspect_page(page) == []


def test_domains_without_labels_stand_at_the_top_with_an_interval():
    html = small_report(validations=[validation(unlabelled=[("puzzles", 0.6149), ("riddles", None)])])
    assert html.index('id="unlabelled"') < html.index('id="methods"') < html.index('id="summary"')
    assert "a puzzles 0.61 0.51 to 0.71 100 usable" in text_of(html)
    assert "a riddles (all training rows are correct) - - 100 usable" in text_of(html)
    assert "The interval is predictive" in html
    assert "The interval is an assumption" not in html
    assert "with 90% confidence the AEE on new domains is at most 0.10" in text_of(html)
    assert 'id="unlabelled"' not in small_report()


def test_a_method_that_estimates_fewer_domains_is_not_the_best_however_good():
    own, *others = validation().methods
    fewer = replace(validation(), methods=(own, *(replace(one, n_domains=1) for one in others[1:]), others[0]))
    assert "a 0.125 Consensus of 3 ATC 0.200 0.200 Random forest" in text_of(small_report(validations=[fewer]))


def test_a_page_says_that_nothing_failed():
    text = text_of(small_report(domains=domains([("a", "logic", 90, 80, 0.45)])))
    assert "Nothing: every domain and estimator has its results, and in no domain do 5% or more" in text


def test_other_reports_are_linked():
    html = small_report(pages={"how far the judges agree": {"": "../agreement/report.html"}})
    assert '<a href="../agreement/report.html">how far the judges agree</a>.' in html
    both = small_report(pages={"x": {"": "x.html"}, "responses": {"a": "a.html", "b": "b.html"}})
    assert '<a href="x.html">x</a>; responses (<a href="a.html">a</a>, <a href="b.html">b</a>).' in both
    assert "More about these models" not in small_report()


def test_the_picture_of_trust_and_links_to_its_tables_stand_at_the_top(full_report, small_text):
    assert '<a href="#table_validation">domains</a> <a href="#table_methods">methods</a>' in full_report
    assert "All numbers" not in small_text
    assert full_report.count('id="figure_validation"') == 1
    assert full_report.index('id="figure_validation"') < full_report.index('id="summary"')


def test_ambiguous_domains_are_reported_beside_the_verdict():
    study = small_study()
    counts = pl.Series([90], dtype=pl.UInt32), pl.Series([100], dtype=pl.UInt32)
    flagged = study.domains.with_columns(n_ambiguous=counts[0], n_questions=counts[1])
    html = small_report(domains=flagged)
    message = "a, logic: ambiguous, 90% of the 100 questions with 10 samples or more have several answers"
    assert f'<p class="warning">{message}' in html.split('id="methods"')[0]
    assert "ambiguous" not in small_report()
    (told,) = small_study(domains=flagged).machine_summary(LABEL, DEFAULT)["ambiguous"]
    assert told.startswith(message)
    text = write_summary(study.validations, study.estimates, study.sweep, GROUPS, "extremes", (), [told])
    assert (
        text.index("Can the estimates be trusted?") < text.index(told) < text.index("Accuracy estimated from entropy")
    )


@pytest.mark.parametrize(("reason", "words"), [("no reference", "no references"), ("no final answer", "no labels")])
def test_counts_of_a_domain_without_labels_are_words(reason, words):
    domains = DOMAINS.frame(
        [("a", "puzzles", 9, 0, 0, 9, 0, 0, 0, 0, 80.0, None, None, *MASS, json.dumps({reason: 9}), *UNKNOWN)]
    )
    assert f"a puzzles 9 {words} 9 0 0.0% 80.0 - - {reason}: 9" in text_of(small_report(domains=domains))


def test_responses_without_an_answer_are_counted_with_accuracies_both_ways():
    """60 correct and 20 incorrect labels, and 20 responses without an answer: 60 of 100, or 60 of 80."""
    row = ("a", "logic", 100, 60, 20, 20, 0, 0, 0, 0, 80.0, 0.75, 0.75, *MASS, "{}", None, None, 20, 0)
    study = {"domains": DOMAINS.frame([row])}
    text = text_of(small_report(**study))
    assert "a logic 100 20 (20.0%) unlabelled 0.600 0.750" in text
    assert "as incorrect, accuracies would be lower by up to 0.150 (a, logic)." in text
    (entry,) = small_study(**study).machine_summary(LABEL, DEFAULT)["unanswered"]
    assert (entry["setting"], entry["n_unanswered"], entry["if_incorrect"]) == ("unlabelled", 20, 0.6)
    assert "Without answer" not in text_of(small_report())


def test_a_judge_made_of_others_says_how_much_each_labelled():
    counts = {
        "exact": {"asked": 200, "labelled": 180, "decided": 180},
        "llm": {"asked": 20, "labelled": 15, "decided": 15},
    }
    labels = [{"model": "a", "benchmark": "logic", "counts": counts}, {"model": "a", "benchmark": "words"}]
    text = text_of(small_report(labels=labels))
    assert "a logic exact 200 180 180 a logic llm 20 15 15" in text
    assert "llm was asked about 20 of 200 responses (90.0% saved)" in text
    assert "exact was asked about 200 of 200" not in text
    assert "saved" not in text_of(small_report())
