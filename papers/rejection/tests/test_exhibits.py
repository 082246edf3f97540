"""Tables, figures, page and summary from made-up measures."""

import html
import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from assessed import (
    ASSESSORS,
    BASELINE,
    EXTREMES,
    FOREST,
    GROUPS,
    MODELS,
    SETTINGS,
    SHOWN,
    SINGLE,
    measured,
    observed,
    scores,
)
from papers.rejection.assessor_names import note_absent_assessors
from papers.rejection.evaluated_rows import slice_responses
from papers.rejection.rejection_curves import compute_accuracy_curve
from papers.rejection.rejection_exhibits import FIGURES, QUESTION_ONLY, TABLES
from papers.rejection.rejection_figures import RejectionFigureInputs, figure_curves_by_domain, write_figures
from papers.rejection.rejection_frames import ASSESSMENTS, MEASURES
from papers.rejection.rejection_measures import measure_model
from papers.rejection.rejection_report import write_report
from papers.rejection.rejection_tables import (
    RejectionTableInputs,
    rank_pairs,
    table_areas,
    table_auarc,
    table_best_pairs,
    table_coverage,
    write_tables,
)

from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.study.analyses.display_names import find_training_group

NO_LABELS = "puzzles is excluded for tiny-a, tiny-b: no response with a label and features."


def table_inputs(measures: pl.DataFrame, accuracies: Sequence[float] = ()) -> RejectionTableInputs:
    return RejectionTableInputs(**{**SHOWN, "accuracies": accuracies}, best=2, measures=measures)


@pytest.fixture(scope="module")
def measures() -> pl.DataFrame:
    return measured()


def pairs(coverages: dict[tuple[str, str], tuple[float, float]]) -> pl.DataFrame:
    """Rows of MEASURES for pairs (model, assessor) with their coverage at 0.8 and AUARC."""
    return MEASURES.frame(
        [
            (model, EXTREMES, "held_out", "*", 100, 0.5, assessor, measure, value, 0.0, 1.0, None)
            for (model, assessor), values in coverages.items()
            for measure, value in zip(("coverage_0.8", "auarc"), values, strict=True)
        ]
    )


def test_best_pairs_are_of_largest_coverage_and_equal_ones_by_their_area() -> None:
    result = pairs(
        {
            ("a", FOREST): (0.3, 0.9),
            ("a", BASELINE): (0.5, 0.6),
            ("b", FOREST): (0.5, 0.7),
            ("b", BASELINE): (0.0, 0.99),
            ("b", "atc-max"): (1.0, 1.0),  # not asked for
        }
    )
    best = rank_pairs(result, [FOREST, BASELINE], 0.8, 3)
    assert [(row["model"], row["assessor"], row["value"], row["auarc"]) for row in best] == [
        ("b", FOREST, 0.5, 0.7),
        ("a", BASELINE, 0.5, 0.6),
        ("a", FOREST, 0.3, 0.9),
    ]
    assert len(rank_pairs(result, [FOREST, BASELINE], 0.8, 10)) == 4


def test_table_of_best_pairs_has_each_group_distribution_and_accuracy(measures) -> None:
    table = table_best_pairs(table_inputs(measures, [0.8, 0.95]))
    keys = ("Training group", "Questions", "Accuracy at least", "Rank")
    assert table.frame.select(pl.n_unique(*keys)).row(0) == (2, 2, 2, 2)
    assert len(table.frame) == 2**4
    best = measures.filter(group=EXTREMES, role="held_out", benchmark="*", measure="coverage_0.8")["value"].max()
    assert table.frame["Coverage"][0] == best > 0
    assert NO_LABELS in table.notes
    assert any(note.endswith(": ATC, SE max (tiny-a by Extremes, tiny-b by Extremes).") for note in table.notes)
    alone = [find_training_group(GROUPS, "extremes")]
    assert note_absent_assessors(measures, alone, ASSESSORS)[0].endswith(": ATC, SE max (all models, Extremes).")


def test_table_of_areas_has_what_the_trace_adds(measures) -> None:
    table = table_auarc(table_inputs(measures))
    # Extremes: all and logic unseen, all and two of its own; Single: all and two unseen, all and its own.
    assert len(table.frame) == 2 * (2 + 3 + 3 + 2)
    row = table.frame.filter(
        **{"Training group": "Extremes", "Model": "tiny-b", "Questions": "out of distribution", "Domain": "logic"}
    ).row(0, named=True)
    assert row["Trace adds"] == pytest.approx(row["Own"] - row["Question only"], abs=1e-12)
    assert row["from"] < row["Trace adds"] < row["to"]
    # Single's own estimator is not among its assessors here: nothing is its own, and nothing is added.
    single = table.frame.filter(**{"Training group": "Single"})
    assert single["Own"].null_count() == single["Trace adds"].null_count() == len(single)


def test_table_of_coverages_is_of_the_headline_group(measures) -> None:
    table = table_coverage(table_inputs(measures, [0.8, 0.95]))
    assert len(table.frame) == 2 * 5 * 3 * 2
    assert "Own: Random forest, 10D, balanced, isotonic." in table.notes
    wanted = measures.filter(
        model="tiny-a", group=EXTREMES, role="training", benchmark="words", assessor=FOREST, measure="coverage_0.95"
    )
    own = table.frame.filter(**{"Model": "tiny-a", "Assessor": "Own", "Accuracy at least": "0.95"})
    columns = ["Coverage", "coverage from", "coverage to"]
    assert own.filter(Domain="words").select(columns).row(0) == wanted.select("value", "lower", "upper").row(0)
    # The threshold stands where it is chosen, what it keeps where it is used.
    of = measures.filter(model="tiny-a", group=EXTREMES, assessor=FOREST)
    chosen = of.filter(measure="threshold_0.95")["value"].to_list()
    assert own["Threshold"].drop_nulls().to_list() == chosen
    assert len(chosen) == 1
    assert own.filter(Domain="words").select("Kept", "Accuracy of kept").row(0) == (None, None)
    kept, right = (of.filter(benchmark="logic", measure=f"{name}_0.95") for name in ("kept", "kept_accuracy"))
    unseen = own.filter(Domain="logic").select("Kept", "Accuracy of kept", "from", "to").row(0)
    assert unseen == (kept["value"][0], *right.select("value", "lower", "upper").row(0))


def files_of(measures: pl.DataFrame, folder: Path) -> list[str]:
    paths = [str(folder / f"{model}.parquet") for model in MODELS]
    for model, path in zip(MODELS, paths, strict=True):
        MEASURES.write(measures.filter(model=model), path, {})
    return paths


def report(measures: pl.DataFrame, folder: Path) -> tuple[str, str]:
    """The page and the summary of these measures."""
    paths = files_of(measures, folder)
    page, summary = folder / "report.html", folder / "summary.txt"
    write_report(paths, [], [], SHOWN, MODELS, str(page), str(summary))
    return page.read_text(), summary.read_text()


def test_table_of_areas_of_the_headline_group(measures) -> None:
    table = table_areas(table_inputs(measures))
    assert len(table.frame) == 2 * 5 * 3
    wanted = measures.filter(model="tiny-a", group=EXTREMES, benchmark="words", assessor=FOREST)
    auarc, prr = (wanted.filter(measure=name) for name in ("auarc", "prr"))
    shown = table.frame.filter(Model="tiny-a", Domain="words", Assessor="Own").select("AUARC", "from", "to", "PRR")
    assert shown.row(0) == (*auarc.select("value", "lower", "upper").row(0), prr["value"][0])


def test_a_group_that_nothing_could_be_fitted_on_is_named_and_has_no_rows(tmp_path: Path) -> None:
    frame = observed("tiny-a")
    result = measure_model(frame, scores(frame, {SINGLE: ASSESSORS[SINGLE]}), SETTINGS)
    group = find_training_group(GROUPS, "extremes")
    (absent,) = note_absent_assessors(result, [group], ASSESSORS)
    assert absent.endswith("balanced, isotonic; ATC, SE max; MTP; Question only (all models, Extremes).")
    assert table_coverage(table_inputs(result, [0.8])).frame.is_empty()
    page, summary = report(result, tmp_path)
    assert "There are no results for this training group." in page
    assert "No results for this training group." in summary


def test_tables_are_written_and_nothing_at_all_is_not_an_error(measures, tmp_path: Path) -> None:
    settings = SHOWN | {"best": 3}
    write_tables(files_of(measures, tmp_path), settings, list(TABLES), MODELS, str(tmp_path / "tables"))
    assert len(list((tmp_path / "tables").iterdir())) == 4 * len(TABLES)
    assert "Study: made up." in (tmp_path / "tables" / "table_auarc.md").read_text()
    write_tables(files_of(measures.clear(), tmp_path), settings, list(TABLES), MODELS, str(tmp_path / "empty"))
    assert "No results" in report(measures.clear(), tmp_path)[1]


def text_of(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page.partition("</style>")[2])).split())


def test_page_says_what_the_trace_adds_and_which_domain_takes_no_part(measures, tmp_path: Path) -> None:
    page, summary = report(measures, tmp_path)
    text = text_of(page)
    gain = measures.filter(
        model="tiny-a", group=EXTREMES, role="held_out", benchmark="*", assessor=FOREST, measure="gain"
    ).row(0, named=True)
    message = f"AUARC {gain['value']:+.3f}, 95 % interval {gain['lower']:+.3f} to {gain['upper']:+.3f}"
    assert gain["lower"] > 0
    for words in (text, " ".join(summary.split())):
        assert f"The trace improves on the question-only assessor ({message})." in words
        assert NO_LABELS in words
    assert text.count("Kept for 0.95") == 4
    of = measures.filter(model="tiny-a", group=EXTREMES, role="held_out", benchmark="*", assessor=FOREST)
    kept, right, most = (
        of.filter(measure=f"{name}_0.95").row(0, named=True) for name in ("kept", "kept_accuracy", "coverage")
    )
    interval = f"{right['lower']:.2f} to {right['upper']:.2f}"
    assert f"{kept['value']:.3f} accuracy {right['value']:.3f} {interval} at best {most['value']:.3f}" in text
    assert f"{kept['value']:.2f} at {right['value']:.2f} ({most['value']:.2f})" in summary
    assert "tiny-a, out of distribution: 60" in summary
    assert "tiny-b, in distribution: 24" in summary


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        (0.01, 0.2, "The trace improves on the question-only assessor"),
        (-0.2, -0.01, "The question-only assessor ranks these responses better"),
        (-0.1, 0.1, "There is no clear gain of the trace"),
    ],
)
def test_verdict_follows_the_interval(measures, lower, upper, message, tmp_path: Path) -> None:
    gain = pl.col("measure") == "gain"
    moved = measures.with_columns(
        lower=pl.when(gain).then(lower).otherwise("lower"), upper=pl.when(gain).then(upper).otherwise("upper")
    )
    assert message in report(moved, tmp_path)[1]
    without = measures.filter(pl.col("assessor") != QUESTION_ONLY, ~gain)
    assert "could not be fitted" in report(without, tmp_path)[1]


@pytest.mark.slow
def test_every_figure_is_written_and_says_which_assessor_one_model_lacks(tmp_path: Path) -> None:
    files = {"observations": [], "scores": [], "questions": []}
    for model in MODELS:
        frame = observed(model)
        assessed = scores(frame).filter((pl.lit(model) != MODELS[1]) | (pl.col("estimator") != FOREST))
        for kind, contract, rows in (("observations", OBSERVATIONS, frame), ("questions", ASSESSMENTS, assessed)):
            files[kind].append(str(tmp_path / f"{kind}-{model}.parquet"))
            contract.write(rows, files[kind][-1], {})
    exhibits = {name: {"figure": name, "title": one.title, "model": MODELS[1]} for name, one in FIGURES.items()}
    write_figures(**files, settings=SHOWN, exhibits=exhibits, models=MODELS, folder=str(tmp_path / "figures"))
    assert len(list((tmp_path / "figures").iterdir())) == 3 * len(FIGURES)
    for page in (tmp_path / "figures").glob("*.html"):
        text = html.unescape(page.read_text())
        assert text.count("has no line for tiny-b, where it could not be fitted") == 1, page
        assert "Random forest, 10D, balanced, isotonic has no line for tiny-b" in text


def test_a_panel_for_every_labelled_domain_with_the_curve_of_every_assessor() -> None:
    frame, names = observed("tiny-a"), [FOREST, BASELINE, QUESTION_ONLY]
    result = list(slice_responses(frame, scores(frame), EXTREMES, names))
    group = find_training_group(GROUPS, "extremes")
    drawing = figure_curves_by_domain(
        RejectionFigureInputs(
            by_model={"tiny-a": result}, group=group, names=names, accuracies=[0.8], model="tiny-a", label="made up"
        )
    )
    panels = {axes.get_title().partition("\n")[0]: axes for axes in drawing.figure.axes}
    unseen, *rest = panels
    assert (unseen, rest[0], rest[1]) == ("unseen domains", "training domains, test split", "logic (unseen)")
    assert sorted(rest[2:]) == ["fractions (training)", "words (training)"]
    drawn = {line.get_label(): line for line in panels["logic (unseen)"].lines}
    rows = next(one.rows for one in result if one.benchmark == "logic")
    line = drawn["MTP"]
    expected = compute_accuracy_curve(rows[BASELINE].to_numpy(), rows["label"].to_numpy())
    assert line.get_ydata() == pytest.approx(expected, abs=1e-12)
    assert line.get_xdata()[[0, -1]] == pytest.approx([59 / 60, 0], abs=1e-12)
    assert drawn["no order (random)"].get_ydata() == pytest.approx([rows["label"].mean()] * 2)


def test_a_model_without_labelled_responses_has_a_figure_that_says_so() -> None:
    group = find_training_group(GROUPS, "extremes")
    frame = observed("tiny-a", ["puzzles"])
    result = list(slice_responses(frame, scores(frame), EXTREMES, [FOREST]))
    drawing = figure_curves_by_domain(
        RejectionFigureInputs(
            by_model={"tiny-a": result}, group=group, names=[FOREST], accuracies=[0.8], model="tiny-a", label="made up"
        )
    )
    assert drawing.caption == "No labelled responses."
