"""Tables by model (1, 2, 6, 7, 8), and how all tables are written."""

from pathlib import Path

import polars as pl
import pytest
from frames import BENCHMARKS, GROUPS, LABEL, SyntheticStudy, auroc_frame, cell, sweep_rows

from entropy_sentinel.analyses.accuracy.tables import TABLES, make_table
from entropy_sentinel.analyses.accuracy.tables_by_model import (
    table_1_auroc,
    table_2_by_model,
    table_6_auroc_further_models,
    table_7_by_model_further_groups,
    table_8_simple_estimators_by_model,
)
from entropy_sentinel.estimators.catalogue import BASELINES, baseline_name
from entropy_sentinel.report.tables import Table, write_table

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture(scope="module")
def study() -> SyntheticStudy:
    return SyntheticStudy()


def test_table_1_has_a_row_per_statistic_and_a_column_per_benchmark():
    table = table_1_auroc(auroc_frame(["a", "b"]), ["a"], ["x"])
    assert table.frame.columns == ["Model", "Statistic", "x"]
    assert table.frame["Model"].to_list() == ["a"] * 17
    assert cell(table, {"Statistic": "Mean"}, "x") == 0.5
    assert cell(table, {"Statistic": "PPL"}, "x") == pytest.approx(0.66)


def test_table_6_has_the_models_that_table_1_has_not():
    table = table_6_auroc_further_models(auroc_frame(["a", "b", "c"]), ["b"], ["x"])
    assert table.frame["Model"].unique(maintain_order=True).to_list() == ["a", "c"]


def test_table_6_of_a_study_without_further_models_says_so():
    table = table_6_auroc_further_models(auroc_frame(["a"]), ["a"], ["x"])
    assert table.frame.is_empty()
    assert "There are no further models." in table.notes


def test_undefined_auroc_is_a_dash_with_its_reason():
    table = table_1_auroc(auroc_frame(["a"]), ["a"], ["x", "y"])
    assert table.cells()[0] == ["a", "Mean", "0.500", "-"]
    assert "a, y: no AUROC, no incorrect response." in table.notes


def test_table_2_shows_both_groups_and_both_scopes():
    extremes, intermediate = "arithmetic+words", "fractions+geometry"
    sweep = pl.concat(
        [
            sweep_rows([0.1], [0.9], ["a"], extremes),
            sweep_rows([0.2], [0.8], ["a"], extremes, scope="all"),
            sweep_rows([0.3], [0.7], ["a"], intermediate),
            sweep_rows([0.4], [0.6], ["a"], intermediate, scope="all"),
            sweep_rows([0.9], [0.1], ["a"], intermediate, estimator="mlp-10d-balanced-isotonic"),
        ]
    )
    assert table_2_by_model(sweep, GROUPS).frame.rows(named=True) == [
        {
            "Model": "a",
            "Extremes: AEE, unseen": 0.1,
            "Extremes: rho, unseen": 0.9,
            "Extremes: AEE, all": 0.2,
            "Extremes: rho, all": 0.8,
            "Intermediate: AEE, unseen": 0.3,
            "Intermediate: rho, unseen": 0.7,
            "Intermediate: AEE, all": 0.4,
            "Intermediate: rho, all": 0.6,
        }
    ]


def test_table_2_null_rho_and_missing_group_are_dashes_with_reasons():
    sweep = pl.concat(
        [
            sweep_rows([0.1, 0.2], [None, 0.5], ["a", "b"], "arithmetic+words"),
            sweep_rows([0.3], [0.7], ["a"], "fractions+geometry"),
        ]
    )
    table = table_2_by_model(sweep, GROUPS)
    assert table.cells() == [
        ["a", "0.100", "-", "-", "-", "0.300", "0.700", "-", "-"],
        ["b", "0.200", "0.500", "-", "-", "-", "-", "-", "-"],
    ]
    assert "b has no results for Intermediate." in table.notes
    undefined = [note for note in table.notes if note.startswith("rho is undefined")]
    assert undefined == [
        "rho is undefined, shown as - and left out of medians, in 1 of 3 results (a 1): "
        "estimated accuracies are all equal."
    ]


def test_table_7_takes_each_groups_own_estimator():
    sweep = pl.concat(
        [
            sweep_rows([0.1], [0.9], ["a"], "logic+units", "logistic-10d-balanced-isotonic"),
            sweep_rows([0.5], [0.5], ["a"], "logic+units"),
            sweep_rows([0.2], [0.8], ["a"], "logic+units+words", "mlp-10d-balanced-isotonic"),
        ]
    )
    table = table_7_by_model_further_groups(sweep, GROUPS)
    assert cell(table, {"Model": "a"}, "Cross-Domain: AEE, unseen") == 0.1
    assert cell(table, {"Model": "a"}, "Sci-Math: AEE, unseen") == 0.2


def test_table_7_of_a_study_without_its_groups():
    table = table_7_by_model_further_groups(sweep_rows([0.1], [0.9], ["a"]), {"extremes": GROUPS["extremes"]})
    assert table.cells() == [["a"]]
    assert "none of this study" in table.caption


def test_table_8_has_the_estimators_as_columns_in_the_papers_order():
    frames = [sweep_rows([0.05], [0.9], ["a"])]
    for number, feature in enumerate(BASELINES):
        frames.append(sweep_rows([0.1 + number / 100], [None], ["a"], estimator=baseline_name(feature)))
    table = table_8_simple_estimators_by_model(pl.concat(frames), GROUPS, "extremes")
    titles = ["SE sum", "SE max", "SE mean", "NLL avg", "NLL max", "NLL sum", "LNTP", "MTP", "PPL"]
    assert table.frame.columns == ["Model", "Measure", "Default", *titles]
    assert table.cells()[0] == ["a", "AEE, unseen", "0.050", *(f"{0.1 + n / 100:.3f}" for n in range(9))]
    assert table.cells()[1] == ["a", "rho, unseen", "0.900", *["-"] * 9]


@pytest.mark.parametrize("number", TABLES)
def test_every_table_is_made_and_written_alike_twice(study, number, tmp_path):
    for name in ("first", "second"):
        write_table(make_table(number, study.inputs(), LABEL), tmp_path / name)
    for suffix in (".csv", ".md", ".tex"):
        first = (tmp_path / "first").with_suffix(suffix).read_text()
        assert first == (tmp_path / "second").with_suffix(suffix).read_text()
    assert make_table(number, study.inputs(), LABEL).notes[-1] == f"Study: {LABEL}."


def test_csv_keeps_full_precision_and_the_others_are_rounded(tmp_path):
    frame = pl.DataFrame({"Model": ["a_b", "c"], "AEE": [0.123456789012345, None]})
    write_table(Table(2, "Errors in 100 %.", frame, ("A note_1.",)), tmp_path / "table_2")
    assert (tmp_path / "table_2.csv").read_text() == "Model,AEE\na_b,0.123456789012345\nc,\n"
    markdown = (tmp_path / "table_2.md").read_text()
    assert "| a_b     | 0.123 |" in markdown
    assert markdown.startswith("**Table 2.** Errors in 100 %.")
    assert markdown.endswith("- A note_1.\n")
    latex = (tmp_path / "table_2.tex").read_text()
    assert "a\\_b & 0.123 \\\\" in latex
    assert "\\caption{Errors in 100 \\%.}" in latex
    assert latex.index("A note\\_1.") < latex.index("\\end{table}")


def test_a_long_latex_table_is_broken_over_pages(tmp_path):
    write_table(Table(6, "Long.", pl.DataFrame({"AEE": [0.1] * 41}), ("Note.",)), tmp_path / "table_6")
    latex = (tmp_path / "table_6.tex").read_text()
    assert "\\begin{longtable}" in latex
    assert "Note." in latex


def test_synthetic_study_has_every_benchmark(study):
    assert set(study.domains["benchmark"]) == set(BENCHMARKS)
