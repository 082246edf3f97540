"""Published values beside a study's own."""

import subprocess

import polars as pl
import pytest
from frames import SyntheticStudy, cell, table_inputs
from paper_study import PAPER, RESTS_ON, paper_inputs, published

from entropy_sentinel import __version__
from entropy_sentinel.rendering.html_pages import Exhibit
from entropy_sentinel.rendering.table_exhibit import write_table
from entropy_sentinel.study.analyses.accuracy.accuracy_exhibits import TABLES, list_compared_tables
from entropy_sentinel.study.analyses.accuracy.accuracy_tables import make_table
from entropy_sentinel.study.analyses.accuracy.provenance import describe_code_version
from entropy_sentinel.study.analyses.accuracy.published_comparison import compare_table, describe_basis


def test_every_table_of_the_paper_has_its_published_values():
    published = {name: table.published for name, table in TABLES.items() if table.published}
    assert list(published) == [name for name in TABLES if name[0].isdigit()]
    assert {table.file for table in published.values()} == {path.stem for path in PAPER.glob("*.csv")}


@pytest.mark.parametrize(("name", "rows"), [("1_auroc", 3 * 17), ("6_auroc_further_models", 6 * 17)])
def test_aurocs_of_the_papers_models_differ_from_the_published_ones_as_they_were_made_to(name, rows):
    table = compare_table(name, table_inputs(**paper_inputs()))
    assert len(table.frame) == rows
    for benchmark in ("math", "gsm8k", "olympiadbench"):
        assert table.frame[f"{benchmark}: difference"].to_list() == pytest.approx([0.01] * rows)
    if name == "1_auroc":
        q10 = {"Model": "phi-3.5-mini", "Statistic": "Q10"}
        assert (cell(table, q10, "math"), cell(table, q10, "math: paper")) == (pytest.approx(0.8348), 0.8248)


def test_table_3_follows_from_the_rows_of_table_8():
    # Both published with two decimals: medians agree, ranges to half a unit of the last one.
    table = compare_table("3_simple_estimators", table_inputs(**paper_inputs()))
    assert len(table.frame) == 10
    for row in table.frame.iter_rows(named=True):
        for what in ("Median AEE", "IQR of AEE", "Median rho", "IQR of rho"):
            most = 0.0050001 if what.startswith("IQR") else 1e-9
            assert abs(row[f"{what}: difference"]) < most, (row["Estimator"], what)


def test_table_8_and_the_extremes_of_table_2_are_the_same_published_values():
    for name, rows in (("8_simple_estimators_by_model", 90), ("2_by_model", 18)):
        frame = compare_table(name, table_inputs(**paper_inputs())).frame
        assert len(frame) == rows
        if name == "2_by_model":
            frame = frame.filter(pl.col("Group") == "Extremes")
        assert frame["AEE: difference"].to_list() == [0] * len(frame)
        assert frame["rho: difference"].to_list() == [0] * len(frame)


@pytest.mark.parametrize(
    ("name", "rows"),
    [("4_by_size", 36), ("5_design_choices", 11), ("7_by_model_further_groups", 18), ("10_leave_one_out", 9)],
)
def test_whole_tables_stand_next_to_the_paper(name, rows):
    assert len(compare_table(name, table_inputs(**paper_inputs())).frame) == rows


def test_table_4_takes_the_median_over_all_groups_and_configurations():
    rows = paper_inputs()["sweep"].filter(
        pl.col("model") == "qwen3-4b",
        pl.col("k") == 2,
        pl.col("scope") == "all",
        ~pl.col("estimator").str.contains("baseline"),
    )
    assert len(rows) == 45 * 48
    table = compare_table("4_by_size", table_inputs(**paper_inputs()))
    where = {"Model": "qwen3-4b", "k": 2}
    assert cell(table, where, "Median AEE") == pytest.approx(rows["aee"].median())
    assert cell(table, where, "Median AEE: paper") == 0.12


def test_table_9_compares_a_group_with_itself():
    table = compare_table("9_best_and_worst_groups", table_inputs(**paper_inputs()))
    assert table.frame["The paper's group"].to_list() == [
        group.replace("+", ", ") for group in published("table_9_best_worst_groups")["group"]
    ]
    pair = {"Rank": "best", "k": 2}
    extremes = published("table_8_baselines_by_model").filter(pl.col("method") == "default")["aee"]
    assert cell(table, pair, "Median AEE") == extremes.median()
    assert cell(table, pair, "Median AEE: paper") == 0.087
    assert "Table 3" in cell(table, pair, "Why they differ")


def test_cells_that_cannot_be_matched_say_why():
    frame = compare_table("8_simple_estimators_by_model", table_inputs(**paper_inputs())).frame
    told = frame.filter(pl.col("Why they differ") != "")
    assert set(told["Estimator"]) == {"LNTP", "MTP"}
    assert len(told) == 18
    assert "sum(nll log nll)" in told.filter(pl.col("Estimator") == "LNTP")["Why they differ"][0]
    assert "Why they differ" not in compare_table("2_by_model", table_inputs(**paper_inputs())).frame.columns


def test_a_comparison_says_how_many_responses_it_is_over():
    # 100 of each of the 9 x 10 domains; the paper's benchmarks have 1319 + 300 + 5000 + 500 + 747 + 692 + 1025 + 1438 +
    # 100 + 448 items.
    message = "This study has 9,000 responses of 9 models to 10 benchmarks, the paper 104,121 of 9 models to 10."
    assert message in compare_table("1_auroc", table_inputs(**paper_inputs())).notes


def test_rows_of_a_model_stand_together_in_the_order_of_the_study():
    frame = compare_table("6_auroc_further_models", table_inputs(**paper_inputs())).frame
    assert frame["Model"].rle().struct.field("len").to_list() == [17] * 6
    assert frame["Statistic"].to_list()[:3] == ["Mean", "Std dev", "Max"]


def test_settings_of_table_5_are_called_as_in_the_table_itself():
    names = compare_table("5_design_choices", table_inputs(**paper_inputs())).frame.select("Factor", "Setting").rows()
    assert names[:5] == [
        ("Classifier", "Random forest"),
        ("Classifier", "Logistic regression"),
        ("Classifier", "MLP"),
        ("Calibration", "yes"),
        ("Calibration", "no"),
    ]


def test_the_code_is_named_by_its_commit():
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=PAPER, capture_output=True, text=True)
    if commit.returncode:
        pytest.skip("this is no tree of git")
    assert f"{__version__}, commit {commit.stdout[:12]}" in describe_code_version()


def test_errors_over_other_domains_than_the_papers_ten_are_not_compared():
    inputs = paper_inputs()
    fewer = inputs["sweep"].with_columns(n_domains=pl.col("n_domains") - 1)
    for name in TABLES:
        comparison = compare_table(name, table_inputs(**inputs | {"sweep": fewer}))
        assert (comparison is None) == (TABLES[name].published is None)
        assert comparison is None or comparison.frame.is_empty() == ("auroc" not in name), name


def test_medians_over_other_models_than_the_papers_are_not_compared():
    inputs = paper_inputs()
    fewer = inputs["sweep"].filter(pl.col("model") != "gpt-oss-20b")
    for name in ("3_simple_estimators", "5_design_choices", "9_best_and_worst_groups"):
        assert compare_table(name, table_inputs(**inputs | {"sweep": fewer})).frame.is_empty()
    assert len(compare_table("2_by_model", table_inputs(**inputs | {"sweep": fewer})).frame) == 16


def test_a_study_of_other_models_shows_nothing_of_the_paper():
    inputs = SyntheticStudy().inputs()
    assert [name for name in TABLES if make_table(name, table_inputs(**inputs)).published] == []
    assert list_compared_tables(TABLES, inputs["domains"]["model"]) == []


def test_published_values_stand_in_every_file_and_have_a_csv_of_their_own(tmp_path):
    name = "2_by_model"
    write_table(Exhibit("table", name, TABLES[name].title), make_table(name, table_inputs(**paper_inputs())), tmp_path)
    files = {suffix: (tmp_path / f"table_{name}.{suffix}").read_text() for suffix in ("md", "tex", "html", "csv")}
    for suffix in ("md", "tex", "html"):
        assert files[suffix].count("printed values, and the differences") == 1
        assert RESTS_ON in files[suffix]
    assert '<h4 id="table_2_by_model_published">' in files["html"]
    assert "paper" not in files["csv"]
    beside = pl.read_csv(tmp_path / f"table_{name}_published.csv")
    assert beside.columns[:5] == ["Model", "Group", "AEE", "AEE: paper", "AEE: difference"]
    assert beside.equals(compare_table(name, table_inputs(**paper_inputs())).frame)


def test_the_csv_of_a_comparison_of_nothing_has_headings_only(tmp_path):
    inputs = paper_inputs()
    inputs["sweep"] = inputs["sweep"].with_columns(n_domains=pl.col("n_domains") - 1)
    write_table(Exhibit("table", "2_by_model", "Errors"), make_table("2_by_model", table_inputs(**inputs)), tmp_path)
    assert (tmp_path / "table_2_by_model_published.csv").read_text().startswith("Model,Group,AEE,AEE: paper")
    assert pl.read_csv(tmp_path / "table_2_by_model_published.csv").is_empty()
    assert "beside the paper" not in (tmp_path / "table_2_by_model.html").read_text()


def test_what_a_comparison_rests_on_is_one_line():
    generations = [
        {"model": "a", "weights": "org/a", "commit": "0123456789abcdef", "engine": "vllm", "engine_version": "0.11.0"},
        {
            "model": "b",
            "weights": "demo/b",
            "commit": None,
            "revision": "ff8e9bee5cd6",
            "engine": "vllm",
            "engine_version": "0.11.0",
        },
        {"model": "c", "source": "files/c", "engine": "source"},
    ]
    labels = [{"judge": "grok", "kind": "llm"}, {"judge": "grok", "kind": "llm"}]
    assert describe_basis(generations, labels) == (
        "This study's values are based on the models a (org/a at 0123456789ab), b (demo/b at ff8e9bee5cd6), "
        f"c (files/c), run by source, vllm 0.11.0; labels by grok (llm); code {describe_code_version()}."
    )
