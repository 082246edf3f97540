import json
import re

import polars as pl
import pytest
from frames import BENCHMARKS, DEFAULT, GROUPS, LABEL, MODELS, SyntheticStudy, estimate_rows, sweep_rows

from entropy_sentinel.analyses.accuracy.figures import FIGURES, draw_figure, write_figure
from entropy_sentinel.analyses.accuracy.frames import DOMAINS
from entropy_sentinel.analyses.accuracy.report import render_report
from entropy_sentinel.analyses.accuracy.tables import TABLES, make_table
from entropy_sentinel.report.origins import miscounts, origins

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
            [("a", "logic", 200, 90, 80, 30, 0, 50, 85.5, 0.45, json.dumps({"no answer": 20, "cut off": 10}))]
        ),
        "groups": GROUPS,
        "headline_group": "extremes",
        "generations": [],
        "benchmarks": [],
        "expected_items": {},
        "tables": {},
        "figures": {},
        "files": ["sweep.parquet"],
    }
    return render_report(**(arguments | changes))


def text_of(html: str) -> str:
    """What a reader sees, in one line."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", re.sub(r"<style>.*?</style>", "", html, flags=re.S)))


@pytest.fixture(scope="module")
def full_report(tmp_path_factory) -> str:
    study = SyntheticStudy()
    folder = tmp_path_factory.mktemp("figures")
    for number in FIGURES:
        write_figure(draw_figure(number, study.inputs(), LABEL), folder / f"figure_{number}")
    return small_report(
        estimates=study.estimates,
        sweep=study.sweep,
        domains=study.domains,
        generations=GENERATIONS,
        tables={number: make_table(number, study.inputs(), LABEL) for number in TABLES},
        figures={number: folder / f"figure_{number}.png" for number in FIGURES},
    )


def test_report_loads_nothing_from_outside(full_report):
    resources = re.findall(r'(?:src|href)="([^"]{0,30})', full_report)
    assert len(resources) > 4
    assert all(resource.startswith(("data:image/png;base64,", "#")) for resource in resources)
    assert not re.findall(r"https?://|@import|url\(", full_report)


def test_report_has_all_tables_and_figures_with_captions(full_report):
    for number in TABLES:
        assert f'id="table-{number}"' in full_report
    for number, drawing in FIGURES.items():
        assert f"Figure {number}.</b> {drawing.caption}" in full_report
    assert full_report.count("data:image/png;base64,") == 4


def test_report_shows_estimates_errors_and_counts():
    text = text_of(small_report())
    assert LABEL in text
    assert "logic 0.300 0.450 -0.150 100" in text
    assert "AEE 0.150, rho - (estimated accuracies are all equal)" in text
    assert "a logic 200 90 80 30 0 25.0% 85.5 0.450 no answer: 20; cut off: 10" in text
    assert "sweep.parquet" in text


def test_report_says_plainly_when_a_single_feature_is_better():
    text = text_of(small_report())
    assert "For 1 of 1 models the best baseline on a single feature is closer" in text
    assert "A single feature does better here: NLL sum (AEE 0.111, rho 0.500)." in text


def test_report_says_when_no_single_feature_is_better():
    sweep = pl.concat([sweep_rows([0.1], [0.9], ["a"]), sweep_rows([0.2], [0.9], ["a"], estimator="baseline-ppl")])
    assert "No single-feature baseline does better; the best is PPL (AEE 0.200, rho 0.900)." in small_report(
        sweep=sweep
    )


@pytest.mark.parametrize(
    ("sweep", "sentence"),
    [
        (sweep_rows([0.1], [0.9], ["a"]), "No single-feature baseline was run."),
        (
            pl.concat([sweep_rows([None], [None], ["a"]), sweep_rows([0.2], [0.9], ["a"], estimator="baseline-ppl")]),
            "The estimator has no AEE to compare",
        ),
    ],
)
def test_report_without_a_comparison(sweep, sentence):
    html = small_report(sweep=sweep)
    assert sentence in html
    assert "was not compared with single-feature baselines" in html


def test_report_of_a_domain_without_an_estimate_and_a_study_without_the_group():
    estimates = estimate_rows("a", GROUP, [("logic", "held_out", None, None)])
    assert "logic (no row) - - - 100" in text_of(small_report(estimates=estimates))
    elsewhere = sweep_rows([0.1], [0.9], ["a"], group="logic", estimator=DEFAULT)
    assert "There are no results for this training group." in small_report(sweep=elsewhere)


def test_report_escapes_what_it_shows():
    html = small_report(label="<script>alert(1)</script>")
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_report_is_the_same_twice():
    assert small_report(generations=GENERATIONS) == small_report(generations=GENERATIONS)


def test_origins_tell_shared_settings_from_those_that_differ():
    found = origins(GENERATIONS, "model")
    assert ("sampling temperature", "0.5") in found.shared
    assert ("logprobs mode", "raw_logprobs") in found.shared
    assert "revision" not in dict(found.shared), "an empty setting is not shown"
    assert found.headings == ("model", "weights")
    assert found.rows == (("tiny-a", "models/tiny-a"), ("tiny-b", "models/tiny-b"))
    assert found.conflicts == ()


def test_origins_report_a_conflict_within_a_model():
    changed = [*GENERATIONS[:-1], GENERATIONS[-1] | {"engine_version": "0.12.0"}]
    found = origins(changed, "model")
    assert found.conflicts == ("tiny-b: engine version differs between files: 0.11.0, 0.12.0.",)
    assert found.rows[1] == ("tiny-b", "models/tiny-b", "0.11.0 / 0.12.0")


def test_conflict_is_reported_where_all_models_have_it():
    changed = [entry | {"engine": "vllm" if entry["benchmark"] == "logic" else "other"} for entry in GENERATIONS]
    found = origins(changed, "model")
    assert len(found.conflicts) == 2


def test_another_number_of_items_than_published_is_a_warning():
    benchmarks = [{"benchmark": "a", "items_in_source": 24}, {"benchmark": "b", "items_in_source": 7}]
    assert miscounts(benchmarks, {"a": 25, "b": 7, "c": 1}) == ("a: 24 items, the published count is 25.",)
    assert miscounts(benchmarks, {"a": None}) == ()
