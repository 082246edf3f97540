"""Tables by model (1, 2, 6, 7, 8), and how all tables are written."""

from dataclasses import replace
from itertools import permutations

import polars as pl
import pytest
from frames import (
    BENCHMARKS,
    DEFAULT,
    GROUPS,
    LABEL,
    UNLABELLED,
    SyntheticStudy,
    auroc_frame,
    cell,
    domains,
    estimate_rows,
    sweep_rows,
    table_inputs,
    validation,
)

from entropy_sentinel.rendering.html_pages import Exhibit
from entropy_sentinel.rendering.table_exhibit import write_table
from entropy_sentinel.study.analyses.accuracy.accuracy_exhibits import TABLES
from entropy_sentinel.study.analyses.accuracy.accuracy_tables import (
    make_table,
    table_cut_off,
    table_estimates,
    table_methods,
    table_recommended,
    table_repeats,
    table_validation,
)
from entropy_sentinel.study.analyses.accuracy.tables_by_model import (
    table_1_auroc,
    table_2_by_model,
    table_6_auroc_further_models,
    table_7_by_model_further_groups,
    table_8_simple_estimators_by_model,
)


@pytest.fixture(scope="module")
def study() -> SyntheticStudy:
    return SyntheticStudy()


def test_table_1_has_a_row_per_statistic_and_a_column_per_benchmark():
    table = table_1_auroc(table_inputs(auroc=auroc_frame(["a", "b"]), auroc_models=["a"], auroc_benchmarks=["x"]))
    assert table.frame.columns == ["Model", "Statistic", "x", "x: from", "x: to"]
    assert table.frame["Model"].to_list() == ["a"] * 17
    assert cell(table, {"Statistic": "Mean"}, "x") == 0.5
    assert cell(table, {"Statistic": "PPL"}, "x") == pytest.approx(0.66)


def test_table_6_has_the_models_that_table_1_has_not():
    table = table_6_auroc_further_models(
        table_inputs(auroc=auroc_frame(["a", "b", "c"]), auroc_models=["b"], auroc_benchmarks=["x"])
    )
    assert table.frame["Model"].unique(maintain_order=True).to_list() == ["a", "c"]
    assert table_6_auroc_further_models(
        table_inputs(auroc=auroc_frame(["a"]), auroc_models=["a"], auroc_benchmarks=["x"])
    ).frame.is_empty()


def test_undefined_auroc_is_a_dash_with_its_reason():
    table = table_1_auroc(table_inputs(auroc=auroc_frame(["a"]), auroc_models=["a"], auroc_benchmarks=["x", "y"]))
    assert table.cells()[0] == ["a", "Mean", "0.500", "0.400", "0.800", "all correct", "-", "-"]
    assert "a, y: no AUROC, no incorrect response (10 correct, 0 incorrect)." in table.notes


def test_table_2_shows_each_groups_own_estimator_in_both_scopes():
    extremes, further, own = "arithmetic+words", "logic+units+words", "mlp-10d-balanced-isotonic"
    sweep = pl.concat(
        [
            sweep_rows([0.1], [0.9], ["a"], extremes),
            sweep_rows([0.2], [0.8], ["a"], extremes, scope="all"),
            sweep_rows([0.9], [0.1], ["a"], extremes, own),
            sweep_rows([0.3], [0.7], ["a"], further, own),
            sweep_rows([0.4], [0.6], ["a"], further, own, scope="all"),
            sweep_rows([0.9], [0.1], ["a"], further),
        ]
    )
    table = table_2_by_model(
        table_inputs(sweep=sweep, groups={name: GROUPS[name] for name in ("extremes", "sci-math")})
    )
    what = ("AEE, unseen", "rho, unseen", "AEE, all", "rho, all")
    assert table.frame.columns == ["Model", *(f"{group}: {one}" for group in ("Extremes", "Sci-Math") for one in what)]
    assert table.cells() == [["a", "0.100", "0.900", "0.200", "0.800", "0.300", "0.700", "0.400", "0.600"]]


def test_table_2_null_rho_and_missing_group_are_dashes_with_reasons():
    sweep = pl.concat(
        [
            sweep_rows([0.1, 0.2], [None, 0.5], ["a", "b"], "arithmetic+words"),
            sweep_rows([0.3], [0.7], ["a"], "fractions+geometry"),
        ]
    )
    table = table_2_by_model(table_inputs(sweep=sweep, groups=GROUPS, main_groups=["extremes", "intermediate"]))
    assert table.cells() == [
        ["a", "0.100", "-", "-", "-", "0.300", "0.700", "-", "-"],
        ["b", "0.200", "0.500", "-", "-", "-", "-", "-", "-"],
    ]
    assert "b has no results for Intermediate." in table.notes
    left_out = [note for note in table.notes if note.startswith("rho is shown")]
    assert left_out == [
        "rho is shown as - and left out of medians in 1 of 3 results (a 1): estimated accuracies are all equal."
    ]


def test_table_7_has_the_groups_that_table_2_has_not():
    inputs = table_inputs(sweep=sweep_rows([0.1], [0.9], ["a"]), groups=GROUPS, main_groups=["extremes"])
    assert "groups: Intermediate, Cross-Domain, Sci-Math." in table_7_by_model_further_groups(inputs).caption
    table = table_7_by_model_further_groups(replace(inputs, main_groups=list(GROUPS)))
    assert table.cells() == []
    assert table.notes == ("The study has no such training groups.",)
    assert "Training groups: none." in table.caption


def test_tables_2_and_7_have_their_groups_whatever_the_order_of_the_groups(study):
    what = table_inputs(**study.inputs() | {"main_groups": ["sci-math", "extremes"]})
    second, seventh = table_2_by_model(what), table_7_by_model_further_groups(what)
    assert "Training groups: Sci-Math, Extremes." in second.caption
    assert "Training groups: Intermediate, Cross-Domain." in seventh.caption
    for order in permutations(GROUPS):
        inputs = replace(what, groups={name: GROUPS[name] for name in order})
        assert table_2_by_model(inputs).cells() == second.cells()
        assert set(table_7_by_model_further_groups(inputs).frame.columns) == set(seventh.frame.columns)


def test_table_2_names_a_group_without_a_name_by_its_benchmarks():
    unnamed = {"logic+units": {"benchmarks": ["units", "logic"], "estimator": DEFAULT}}
    table = table_2_by_model(table_inputs(sweep=sweep_rows([0.1], [0.9], ["a"], "logic+units"), groups=unnamed))
    assert cell(table, {"Model": "a"}, "logic, units: AEE, unseen") == 0.1


def test_table_8_has_every_estimator_that_is_no_configuration_the_smallest_error_first():
    """Equal ones in the order of the catalogue, which begins with the paper's; the default before all of these."""
    errors = {"doc-lntp": 0.1, "atc-max": 0.05, "baseline-std": 0.1, "group-accuracy": None, "baseline-ppl": 0.1}
    errors |= {"mlp-1d-balanced-isotonic": 0.1, DEFAULT: 0.1}
    sweep = pl.concat(sweep_rows([aee], [None], ["a"], estimator=name) for name, aee in errors.items())
    table = table_8_simple_estimators_by_model(table_inputs(sweep=sweep, groups=GROUPS, headline_group="extremes"))
    titles = ["ATC, SE max", "Default", "PPL", "Std dev", "DoC, LNTP", "Training accuracy"]
    assert table.frame.columns == ["Model", "Measure", *titles]
    assert table.cells()[0] == ["a", "AEE, unseen", "0.050", *["0.100"] * 4, "-"]
    assert table.cells()[1] == ["a", "rho, unseen", *["-"] * 6]


def test_estimates_show_domains_without_labels_first():
    rows = [("logic", "held_out", 0.4, 0.2), ("puzzles", "held_out", 0.6, None), ("words", "training", 0.9, 0.8)]
    estimates = pl.concat(
        [
            estimate_rows("a", "arithmetic+words", rows),
            estimate_rows("a", "arithmetic+words", rows, estimator="baseline-max"),
            estimate_rows("b", "arithmetic+words", [("logic", "held_out", None, None)]),
        ]
    )
    counts = domains([("a", "logic", 45, 55, 0.45), ("a", "words", 80, 20, 0.8)])
    table = table_estimates(table_inputs(estimates=estimates, groups={"extremes": GROUPS["extremes"]}, domains=counts))
    forest = "forest-10d-balanced-isotonic"
    assert table.cells() == [
        ["a", "puzzles", "0.600", "100", "0", "-", "-", "-", "Extremes", "unseen", forest],
        ["a", "logic", "0.400", "100", "100", "0.400", "0.200", "0.200", "Extremes", "unseen", forest],
        ["a", "words", "0.900", "100", "100", "0.900", "0.800", "0.100", "Extremes", "training", forest],
        ["b", "logic", "-", "100", "100", "-", "-", "-", "Extremes", "unseen", forest],
    ]
    assert "No estimate (no row): b, logic, Extremes." in table.notes
    told = pl.when(pl.col("model") == "a").then(pl.lit("only 3 of 100 rows are correct"))
    table = table_estimates(
        table_inputs(
            estimates=estimates.with_columns(caution=told), groups={"extremes": GROUPS["extremes"]}, domains=counts
        )
    )
    message = [note for note in table.notes if "caution" in note]
    assert message == ["a, Extremes: caution, only 3 of 100 rows are correct."]


def test_estimates_say_how_many_questions_look_ambiguous_where_it_is_known():
    """Of 40 questions 8 are surely more than a tenth, and 7 are not."""
    rows = [("logic", "held_out", 0.4, 0.2), ("puzzles", "held_out", 0.6, 0.7), ("words", "training", 0.9, 0.8)]
    counts = domains([("a", name, 50, 50, 0.5) for name, *_ in rows]).with_columns(
        n_ambiguous=pl.Series([8, 7, None], dtype=pl.UInt32), n_questions=pl.Series([40, 40, None], dtype=pl.UInt32)
    )
    estimates = estimate_rows("a", "arithmetic+words", rows)
    table = table_estimates(table_inputs(estimates=estimates, groups={"extremes": GROUPS["extremes"]}, domains=counts))
    place = table.frame.columns.index("Look ambiguous")
    assert [(row[1], row[place]) for row in table.cells()] == [("logic", "0.200"), ("puzzles", "0.175"), ("words", "-")]
    assert [note for note in table.notes if "ambiguous" in note] == [
        "a, logic: ambiguous, 20% of the 40 questions with 10 samples or more have several answers that occur "
        "repeatedly: if they are right answers, high entropy does not mean wrong."
    ]


def test_every_domain_without_its_labels_has_a_row_those_that_nobody_has_labelled_first():
    known = validation(left_out=[("logic", 0.3, 0.45), ("units", None, 0.5)], unlabelled=[("puzzles", 0.6)])
    logic, units = known.left_out
    known = replace(known, left_out=(replace(logic, conformal_lower=0.25, conformal_upper=0.35), units))
    table = table_validation(table_inputs(validations=[known, validation("b", [], [("puzzles", 0.4)])]))
    assert table.cells() == [
        ["a", "puzzles", "100", "0.600", "0.500", "0.700", "-", "-", "-", "-", "predictive"],
        ["b", "puzzles", "100", "0.400", "0.300", "0.500", "-", "-", "-", "-", "predictive"],
        ["a", "logic", "100", "0.300", "0.200", "0.400", "0.450", "-0.150", "0.250", "0.350", "predictive"],
        ["a", "units", "100", "-", "-", "-", "0.500", "-", "-", "-", "all training rows are correct"],
    ]


def test_every_method_has_a_row_for_each_model_the_smallest_error_first_with_intervals():
    own, default, atc = validation().methods
    own = replace(own, aee=0.2, errors={"logic": 0.1, "units": -0.3})
    atc = replace(atc, errors={"logic": 0.05, "units": 0.05})
    fewer = validation("b", methods=(own, replace(default, aee=None, n_domains=1, errors={})))
    table = table_methods(table_inputs(validations=[validation(methods=(own, default, atc)), fewer]))
    # By hand: errors of .1 and .3 have a standard error of .1, and t at 90 % with one degree of freedom is 6.314. The
    # differences are .05 - .1 and .05 - .3: -.15 +- .631.
    forest = "Random forest, 10D, balanced, isotonic"
    assert [row[:3] for row in table.cells()] == [
        ["a", "ATC, SE max", "2"],
        ["a", "Recommended", "2"],
        ["a", forest, "2"],
        ["b", "Recommended", "2"],
        ["b", forest, "1"],
    ]
    assert table.cells()[0][3:] == ["0.050", "0.050", "0.050", "-0.150", "-0.781", "0.481"]
    assert table.cells()[1][3:] == ["0.200", "0.000", "0.831", "-", "-", "-"]
    assert table.cells()[4][3:] == ["-", "-", "-", "-", "-", "-"]
    assert table.notes[-1] == "b: Random forest, 10D, balanced, isotonic could estimate 1 of 2 domains."


def test_methods_that_could_estimate_as_many_domains_share_a_note():
    few = validation(methods=tuple(replace(method, n_domains=1) for method in validation().methods))
    assert (
        table_methods(table_inputs(validations=[few, replace(few, model="b")])).notes[-1]
        == "a, b: every method could estimate 1 of 2 domains."
    )
    own, *others = few.methods
    many = [replace(own, estimator=f"atc-{name}") for name in ("max", "mean", "std", "mtp", "lntp", "ppl")]
    some = validation(
        "c", methods=(*many, *(replace(method, n_domains=0) for method in others), validation().methods[0])
    )
    first, second = table_methods(table_inputs(validations=[some])).notes[-2:]
    assert first.startswith(
        "c: ATC, SE max; ATC, SE mean; ATC, Std dev; ATC, MTP and 2 more could estimate 1 of 2 domains."
    )
    assert second.startswith("c: Random forest, 10D, balanced, isotonic; ATC, SE max could estimate 0 of 2 domains.")


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_made_and_written_alike_twice(study, name, tmp_path):
    exhibit = Exhibit("table", name, TABLES[name].title)
    for folder in ("first", "second"):
        write_table(exhibit, make_table(name, table_inputs(**study.inputs())), tmp_path / folder)
    for suffix in ("csv", "md", "tex", "html"):
        first = (tmp_path / "first" / f"table_{name}.{suffix}").read_text()
        assert first == (tmp_path / "second" / f"table_{name}.{suffix}").read_text()
    assert make_table(name, table_inputs(**study.inputs())).notes[-1] == f"Study: {LABEL}."


def test_rho_over_fewer_than_five_domains_is_in_no_table(study):
    sweep = pl.concat(
        [
            sweep_rows([0.1, 0.2, 0.3], [1.0, 0.4, -1.0]).with_columns(n_domains=pl.Series([2, 6, 2], dtype=pl.UInt8)),
            sweep_rows([0.1, 0.2, 0.3], [0.5, 0.6, 0.7], scope="all"),
        ]
    )
    inputs = study.inputs() | {"sweep": sweep}
    table = make_table("3_simple_estimators", table_inputs(**inputs))
    # Without the two of two domains each, whose IQR would be 2.
    assert cell(table, {"Estimator": "Default"}, "Median rho, unseen") == 0.4
    assert cell(table, {"Estimator": "Default"}, "IQR of rho, unseen") is None
    assert (
        "rho is shown as - and left out of medians in 2 of 6 results (a 1, c 1): "
        "only 2 domains, but a headline needs 5 (see sweep.parquet)." in table.notes
    )
    by_model = make_table("2_by_model", table_inputs(**inputs))
    assert cell(by_model, {"Model": "a"}, "Extremes: rho, unseen") is None
    assert cell(by_model, {"Model": "b"}, "Extremes: rho, unseen") == 0.4


def test_the_recommended_estimator_is_next_to_the_default_and_the_best_after_the_fact():
    def results(group: str, **aee: float) -> pl.DataFrame:
        names = {"forest": DEFAULT, "atc": "atc-max", "ppl": "baseline-ppl", "own": "recommended"}
        parts = [sweep_rows([result], [0.9], ["a"], group, names[name]) for name, result in aee.items()]
        method = pl.when(pl.col("estimator") == "recommended").then(pl.lit("atc-max" if group == "x" else "log-3d"))
        return pl.concat(parts).with_columns(method=method)

    sweep = pl.concat(
        [
            results("x", forest=0.3, atc=0.04, ppl=0.2, own=0.04),
            results("y", forest=0.1, atc=0.10, ppl=0.01, own=0.06),
            results("z", forest=0.2, atc=0.05, own=0.02),
        ]
    )
    groups = {"mine": {"benchmarks": ["y"], "estimator": DEFAULT}, "other": {"benchmarks": ["q"], "estimator": DEFAULT}}
    table = table_recommended(table_inputs(sweep=sweep, groups=groups, default=DEFAULT))
    assert table.cells() == [
        ["a", "Mine", "1", "0.060", "0.100", "0.010", "PPL", "Log 3D"],
        # ppl did not run for z: it cannot be the best over all three.
        ["a", "all of size 1", "3", "0.040", "0.200", "0.050", "ATC, SE max", "Log 3D (2), ATC, SE max (1)"],
    ]
    assert table_recommended(table_inputs(sweep=sweep.clear(), groups=groups, default=DEFAULT)).cells() == []


def test_the_spread_over_seeds_is_median_least_and_largest():
    parts = [
        sweep_rows([aee], [rho], ["a"]).with_columns(seed=pl.lit(seed, pl.UInt32), n_domains=pl.lit(n, pl.UInt8))
        for seed, (aee, rho, n) in enumerate([(0.068, 0.9, 8), (0.111, 0.8, 8), (0.09, 1.0, 2)])
    ]
    table = table_repeats(table_inputs(repeats=pl.concat(parts), groups=GROUPS))
    assert table.cells() == [
        ["a", "Extremes", DEFAULT, "3", "0.090", "0.068", "0.111", "0.850", "0.800", "0.900"],
    ]
    nothing = table_repeats(table_inputs(repeats=pl.concat(parts).clear(), groups=GROUPS))
    assert any("analyses.accuracy.repeats" in note for note in nothing.notes)


def test_accuracy_with_and_without_truncated_responses(study):
    table = table_cut_off(table_inputs(domains=study.domains))
    assert UNLABELLED not in table.frame["Domain"].to_list()
    assert len(table.frame) == 2 * len(BENCHMARKS)
    row = {"Model": "tiny-a", "Domain": BENCHMARKS[0]}
    correct = round(180 * study.accuracy["tiny-a", BENCHMARKS[0]])
    # 12 of 200 are truncated; 10 of these are labelled, 1 correct.
    assert cell(table, row, "Share truncated") == pytest.approx(0.06)
    assert (cell(table, row, "of these labelled"), cell(table, row, "of these correct")) == (10, 1)
    assert cell(table, row, "Difference") == pytest.approx((correct - 1) / 170 - correct / 180)
