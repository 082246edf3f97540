import json
import re

import polars as pl
import pytest
from frames import BENCHMARKS, DEFAULT, GROUPS, LABEL, MASS, MODELS, SyntheticStudy, estimate_rows, sweep_rows

from entropy_sentinel.analyses.accuracy.catalogue import FIGURES, TABLES
from entropy_sentinel.analyses.accuracy.figures import draw_figure
from entropy_sentinel.analyses.accuracy.frames import DOMAINS
from entropy_sentinel.analyses.accuracy.report import render_report
from entropy_sentinel.analyses.accuracy.tables import make_table
from entropy_sentinel.report.exhibits import Exhibit
from entropy_sentinel.report.figures import write_figure
from entropy_sentinel.report.tables import write_table

GROUP = "arithmetic+words"
GENERATIONS = [
    {
        "model": model,
        "benchmark": benchmark,
        "weights": f"models/{model}",
        "revision": None,
        "sampling": {"temperature": 0.5, "max_tokens": 128},
        "engine": "vllm",
        "engine_version": "0.11.0",
        "logprobs_mode": "raw_logprobs",
        "prompts_hash": f"hash of {benchmark}",
    }
    for model in MODELS
    for benchmark in BENCHMARKS
]


def small_report(**changes: object) -> str:
    """A report of model `a` with one unseen domain, without tables and figures."""
    arguments = {
        "label": LABEL,
        "estimates": estimate_rows("a", GROUP, [("logic", "held_out", 0.30, 0.45), ("words", "training", 0.8, 0.8)]),
        "sweep": pl.concat(
            [
                sweep_rows([0.15], [None], ["a"]),
                sweep_rows([0.111], [0.5], ["a"], estimator="baseline-nll_sum"),
            ]
        ),
        "domains": DOMAINS.frame(
            [
                (
                    "a",
                    "logic",
                    200,
                    90,
                    80,
                    30,
                    0,
                    50,
                    2,
                    38,
                    85.5,
                    0.45,
                    0.66,
                    *MASS,
                    json.dumps({"no answer": 20, "cut off": 10}),
                )
            ]
        ),
        "groups": GROUPS,
        "headline_group": "extremes",
        "generations": [],
        "benchmarks": [],
        "labels": [],
        "expected_items": {},
        "response_pages": {},
        "tables": [],
        "figures": [],
    }
    return render_report(**(arguments | changes))


def text_of(html: str) -> str:
    """What a reader sees, in one line."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", re.sub(r"<style>.*?</style>", "", html, flags=re.S)))


@pytest.fixture(scope="module")
def full_report(tmp_path_factory) -> str:
    study = SyntheticStudy()
    folder = tmp_path_factory.mktemp("exhibits")
    for name, title in TABLES.items():
        write_table(Exhibit("table", name, title), make_table(name, study.inputs(), LABEL), folder)
    for name, title in FIGURES.items():
        write_figure(Exhibit("figure", name, title), draw_figure(name, study.inputs()), folder)
    return small_report(
        estimates=study.estimates,
        sweep=study.sweep,
        domains=study.domains,
        generations=GENERATIONS,
        tables=[folder / f"table_{name}.html" for name in TABLES],
        figures=[folder / f"figure_{name}.html" for name in FIGURES],
    )


def test_report_loads_nothing_from_outside(full_report):
    resources = re.findall(r'(?:src|href)="([^"]{0,30})', full_report)
    assert len(resources) > 4
    assert all(resource.startswith(("data:image/png;base64,", "#")) for resource in resources)
    assert not re.findall(r"https?://|@import|url\(", full_report)


def test_report_has_all_tables_and_figures_with_captions(full_report):
    for name in TABLES:
        assert f'id="table_{name}"' in full_report
    assert "Table 2: Errors by model" in full_report
    for name in FIGURES:
        assert f'id="figure_{name}"' in full_report
    assert "<b>Figure 1: Estimated against true accuracy, one model.</b> Benchmarks used for training" in full_report
    assert full_report.index("table_estimates") < full_report.index("table_1_auroc")
    assert full_report.count("data:image/png;base64,") == len(FIGURES)


def test_report_shows_estimates_errors_and_counts():
    text = text_of(small_report())
    assert LABEL in text
    assert "logic 0.300 100 0.300 0.450 -0.150" in text
    assert "AEE 0.150, rho - (estimated accuracies are all equal)" in text
    assert "a logic 200 90 80 30 0 25.0% 85.5 0.450 0.660 no answer: 20; cut off: 10" in text


def test_report_says_plainly_when_a_simple_estimator_is_better():
    text = text_of(small_report())
    assert "For 1 of 1 models the best simple estimator is closer" in text
    assert "A simple estimator does better here: NLL sum (AEE 0.111, rho 0.500)." in text


def test_report_says_when_no_simple_estimator_is_better():
    sweep = pl.concat([sweep_rows([0.1], [0.9], ["a"]), sweep_rows([0.2], [0.9], ["a"], estimator="baseline-ppl")])
    assert "No simple estimator does better; the best is PPL (AEE 0.200, rho 0.900)." in small_report(sweep=sweep)


@pytest.mark.parametrize(
    ("sweep", "sentence"),
    [
        (sweep_rows([0.1], [0.9], ["a"]), "No simple estimator was run."),
        (
            pl.concat([sweep_rows([None], [None], ["a"]), sweep_rows([0.2], [0.9], ["a"], estimator="baseline-ppl")]),
            "The estimator has no AEE to compare",
        ),
    ],
)
def test_report_without_a_comparison(sweep, sentence):
    html = small_report(sweep=sweep)
    assert sentence in html
    assert "was not compared with simple ones" in html


def test_report_of_a_domain_without_an_estimate_and_a_study_without_the_group():
    estimates = estimate_rows("a", GROUP, [("logic", "held_out", None, None)])
    assert "logic (no row) - 100 - - -" in text_of(small_report(estimates=estimates))
    elsewhere = sweep_rows([0.1], [0.9], ["a"], group="logic", estimator=DEFAULT)
    assert "There are no results for this training group." in small_report(sweep=elsewhere)


def test_report_escapes_what_it_shows():
    html = small_report(label="<script>alert(1)</script>")
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_report_is_the_same_twice():
    assert small_report(generations=GENERATIONS) == small_report(generations=GENERATIONS)


def test_domains_without_labels_stand_at_the_top_with_the_error_to_expect():
    rows = [("logic", "held_out", 0.30, 0.45), ("puzzles", "held_out", 0.6149, None)]
    html = small_report(estimates=estimate_rows("a", GROUP, rows))
    assert html.index('id="unlabelled"') < html.index('id="summary"')
    assert "a puzzles 0.61 0.15 100" in text_of(html)
    assert 'id="unlabelled"' not in small_report()


def test_without_a_labelled_unseen_domain_the_page_states_no_error():
    text = text_of(
        small_report(
            estimates=estimate_rows("a", GROUP, [("puzzles", "held_out", 0.6, None)]),
            sweep=sweep_rows([None], [None], ["a"]),
        )
    )
    assert "a puzzles 0.60 - 100" in text
    assert "a: no error can be stated, because no unseen domain has labels" in text


def test_labels_for_a_part_of_a_domain_are_counted():
    partly = estimate_rows("a", GROUP, [("logic", "held_out", 0.30, 0.20)]).with_columns(
        n_labelled=pl.lit(40, pl.UInt32), estimated_on_labelled=pl.lit(0.25)
    )
    assert "logic 0.300 40 of 100 0.250 0.200 +0.050" in text_of(small_report(estimates=partly))


@pytest.mark.parametrize(("reason", "words"), [("no reference", "no references"), ("no final answer", "no labels")])
def test_counts_of_a_domain_without_labels_are_words(reason, words):
    domains = DOMAINS.frame(
        [("a", "puzzles", 9, 0, 0, 9, 0, 0, 0, 0, 80.0, None, None, *MASS, json.dumps({reason: 9}))]
    )
    assert f"a puzzles 9 {words} 9 0 0.0% 80.0 - - {reason}: 9" in text_of(small_report(domains=domains))


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


def test_missing_probability_is_shown_by_domain() -> None:
    text = text_of(small_report())
    assert "Model Benchmark Tokens Captured Open steps Error at most Clamped Displaced" in text
    assert "a logic 17100 0.9957 12.1% - 3 0" in text
    assert "those that leave more than 1%" in text
