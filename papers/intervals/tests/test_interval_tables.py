"""Tables, figures, page and summary from small made-up answers; the numbers are worked out here, by other code."""

import json
import math
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from fermi_answers import LEVELS, make_all, variant, write_study
from papers.intervals.interval_exhibits import ADJUSTMENTS, FIGURES, METHODS, TABLES
from papers.intervals.interval_figures import write_figures
from papers.intervals.interval_report import write_report
from papers.intervals.interval_score import compute_winkler_scores
from papers.intervals.interval_tables import IntervalsTableInputs, write_tables
from papers.intervals.score_tables import table_2_winkler
from papers.intervals.smallest_mass import find_smallest_set
from scipy.stats import binomtest

from entropy_sentinel.study.config.config_loading import load_config, read_config

SHOWN: Any = {"label": "Made up", "open_models": ["toy"]}
PAPER = Path(__file__).parents[3] / "config.yaml"
# The interval of a text, by a pattern that the made-up answers keep.
ENDS = re.compile(r'\{"L": (-?\d+), "U": (-?\d+)\}$')


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Files of all stages, tables and the page; 110 questions of each half reach 99 % with a finite interval."""
    folder = tmp_path_factory.mktemp("intervals")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        (folder / "toy.yaml").write_text(yaml.safe_dump(write_study(folder, 110)))
        config = load_config(read_config([str(PAPER), "toy.yaml"]))
        assert config.left_out == []
        result = make_all(folder, config)
        names = ("benchmarks", "stated", "integers", "adjusted", "scores", "differences", "sets", "tunnel_index")
        files = {name: result[name] for name in names}
        write_tables(**files, settings=SHOWN, tables=list(TABLES), folder="tables")
        tables = [f"tables/table_{name}.html" for name in TABLES]
        write_report(result["scores"], result["differences"], tables, [], SHOWN, "report.html", "summary.txt")
        return {name: folder / path for name, path in result.items() if isinstance(path, str)} | {"folder": folder}


def table(made: dict[str, Any], name: str) -> pl.DataFrame:
    return pl.read_csv(made["folder"] / "tables" / f"table_{name}.csv")


def answers(made: dict[str, Any], benchmark: str) -> list[int]:
    lines = (made["folder"] / f"{benchmark}.jsonl").read_text().splitlines()
    return [json.loads(line)["answer"] for line in lines]


def said(made: dict[str, Any], name: str, benchmark: str) -> list[list[str]]:
    """Texts by question, in the order of the samples."""
    rows = pl.read_parquet(made["folder"] / "traces" / name / f"{benchmark}.parquet").sort("item_id", "sample")
    return [own["text"].to_list() for _, own in rows.group_by("item_id", maintain_order=True)]


def first_ends(made: dict[str, Any], level: float, benchmark: str) -> list[tuple[int, int] | None]:
    """The interval of the first query of each question, by a regular expression, if it can be read and ends by 100."""
    result = [ENDS.search(texts[0]) for texts in said(made, variant(level), benchmark)]
    ends = [None if one is None else (int(one[1]), int(one[2])) for one in result]
    return [None if end is None or end[0] > end[1] or end[1] > 100 else end for end in ends]


@pytest.mark.parametrize("level", LEVELS)
def test_base_and_conformal_are_what_the_answers_say(made: dict[str, Any], level: float) -> None:
    alpha = {90.0: 0.1, 99.0: 0.01}[level]
    known, new = (
        [(*ends, true) for ends, true in zip(first_ends(made, level, half), answers(made, half), strict=True) if ends]
        for half in ("known", "new")
    )
    assert len(known) == len(new) == 106
    misses = sorted(max(low - true, true - high) for low, high, true in known)
    by = misses[math.ceil((1 - alpha) * (len(known) + 1) - 1e-9) - 1]
    shown = table(made, "2_winkler").filter(Model="toy", Level=f"{level:g} %")
    for method, margin in {"base": 0, "conformal": by}.items():
        moved = [(low - margin, high + margin, true) for low, high, true in new]
        row = shown.filter(Method=METHODS[method].title).row(0, named=True)
        hits, costs = (
            sum(low <= true <= high for low, high, true in moved),
            compute_winkler_scores(*zip(*moved, strict=True), alpha),
        )
        assert row["Questions"] == row["Compared"] == 106
        assert (row["Score"], row["Median score"]) == pytest.approx((np.mean(costs), np.median(costs)))
        expected = binomtest(hits, 106).proportion_ci(0.95, "wilson")
        assert (row["Coverage"], row["from"], row["to"]) == pytest.approx((hits / 106, expected.low, expected.high))
        assert row["Width"] == pytest.approx(np.mean([high - low for low, high, _ in moved]))


def test_the_temperature_that_is_found_and_questions_without_a_readable_interval_are_told(made: dict[str, Any]) -> None:
    shown = table(made, "2_winkler").filter(Level="90 %")
    searched = shown.filter(Method=METHODS["temperature_search"].title).row(0, named=True)
    # Scores are over the 106 questions whose stated interval is used, as that of every method.
    assert (searched["Compared"], searched["Questions"]) == (106, 110)
    # The study samples at 0.5 and at 1, so whichever is chosen is the first or the last.
    text = (made["folder"] / "tables" / "table_2_winkler.md").read_text()
    assert "toy, Sampling, T*, 90 %, 99 %: T* 0.5 is the smallest candidate; a better one may lie beyond it." in text


def test_table_2_names_methods_without_ends_in_a_note() -> None:
    row = {"model": "m", "level": 99.8, "half": "test", "n": 9, "n_common": 9, "coverage": 1.0, "width": 2.0}
    row |= {"coverage_lower": 0.7, "coverage_upper": 1.0, "score": 3.0, "median_score": 3.0}
    row |= {"temperature": None, "temperature_end": None}
    methods = {"base": 0, "conformal": 9, "mondrian": 4}
    rows = [row | {"method": method, "n_infinite": n} for method, n in methods.items()]
    scores, empty = pl.DataFrame(rows, schema_overrides={"temperature": pl.Float64}), pl.DataFrame()
    others = {field.name: empty for field in fields(IntervalsTableInputs)}
    shown = table_2_winkler(IntervalsTableInputs(**{**others, "label": "", "scores": scores}))
    assert shown.frame["Method"].to_list() == ["As stated"]
    whose = "m, 99.8 %, Split conformal; m, 99.8 %, Conformal, by group"
    assert f"No row (intervals without ends: the calibration half has too few questions): {whose}." in shown.notes


def test_coverage_by_log_probabilities_is_that_of_the_smallest_sets(made: dict[str, Any]) -> None:
    """The made-up traces give an integer the square of a probability that falls with the length of its text."""
    inside = {90.0: 0, 99.0: 0}
    for texts, answer in zip(said(made, "toy-integer-t1", "new"), answers(made, "new"), strict=True):
        weights = {int(t): (0.5 + 0.4 / (1 + len(t))) ** 2 for t in texts if re.fullmatch(r"-?\d+", t)}
        for level in LEVELS:
            probabilities = np.array([*weights.values()]) / sum(weights.values())
            inside[level] += answer in find_smallest_set([*weights], probabilities, level / 100)
    shown = table(made, "3_coverage").filter(Distribution="sampled")
    assert dict(zip(shown["Level"], shown["In set"], strict=True)) == pytest.approx(
        {f"{level:g} %": n / 110 for level, n in inside.items()}
    )
    assert (shown["In hull"] >= shown["In set"]).all()
    assert shown["Base: questions"].to_list() == [106, 106]


def test_shares_of_what_can_be_read_are_counts_over_all_samples(made: dict[str, Any]) -> None:
    """Of 330 intervals three cannot be read, each for another reason, and one is too far; one of 1,320 integers."""
    shown = table(made, "parsing")
    row = shown.filter(Variant="toy-90", Benchmark="new").row(0, named=True)
    assert row["Answers"] == 330
    assert [
        row[name] for name in ("Used", "no JSON", "not integers", "reversed", "too far from 0", "cut off")
    ] == pytest.approx([326 / 330, 1 / 330, 1 / 330, 1 / 330, 1 / 330, 0])
    integers = shown.filter(Variant="toy-integer-t1", Benchmark="known").row(0, named=True)
    assert (integers["Asked for"], integers["Answers"]) == ("integer, temperature 1", 1320)
    assert integers["not an integer alone"] == pytest.approx(1 / 1320)


def test_methods_are_compared_on_the_same_questions(made: dict[str, Any]) -> None:
    rows = pl.read_parquet(made["adjusted"]).filter(half="test", level=90.0)
    shown = table(made, "differences").filter(Level="90 %")
    assert set(shown["Questions"]) == {106}
    there = rows.group_by("item_id").agg(pl.col("lower").is_null().any()).filter(~pl.col("lower"))["item_id"]
    scores = {
        method: compute_winkler_scores(own["lower"], own["upper"], own["true"], 0.1).mean()
        for (method,), own in rows.filter(pl.col("item_id").is_in(there.implode())).group_by("method")
    }
    for row in shown.iter_rows(named=True):
        method = next(name for name, one in METHODS.items() if one.title == row["Method"])
        assert row["Score"] == pytest.approx(scores[method])
        assert row["Difference"] == pytest.approx(scores[method] - scores["base"])
        assert row["from"] <= row["Difference"] <= row["to"]
    # The choice is that of the calibration half alone, of the methods whose Wilson interval there reaches 90 %.
    folds = pl.read_parquet(made["adjusted"]).filter(half="calibration", level=90.0)
    held = {}
    for (method,), own in folds.drop_nulls("lower").group_by("method"):
        k = own.filter(pl.col("true").is_between("lower", "upper")).height
        held[METHODS[str(method)].title] = bool(binomtest(k, len(own)).proportion_ci(0.95, "wilson").high >= 0.9)
    assert 0 < sum(held.values()) < len(held), "both kinds are there"
    best = shown.filter(pl.col("Method").replace_strict(held)).sort("Calibration score")["Method"][0]
    assert shown.filter(Chosen="chosen")["Method"].to_list() == [best]


def test_the_papers_own_numbers_are_worked_out_anew(made: dict[str, Any]) -> None:
    """From its Table 2 by hand: (30.96 + 27.92 + 28.93) / 3 = 29.27 and (21.57 + 20.78 + 23.32) / 3 = 21.89."""
    shown = table(made, "reductions").filter(Whose="the paper's Table 2")
    first = shown.row(0, named=True)
    assert (first["Base"], first["Conformal"]) == (pytest.approx(29.27), pytest.approx(21.89))
    assert shown["Drop, %"].to_list() == pytest.approx([25.21, 27.83, 59.39, 51.85], abs=0.005)
    # The abstract's 54 % does not follow.
    assert shown.filter(Level="all")["Drop, %: text"].to_list() == [54.0]


def test_perception_size_is_the_sum_of_coverages_over_that_of_levels(made: dict[str, Any]) -> None:
    held = dict(table(made, "2_winkler").filter(Method=METHODS["base"].title).select("Level", "Coverage").iter_rows())
    row = table(made, "perception").row(0, named=True)
    assert (row["90 %"], row["99 %"]) == (held["90 %"], held["99 %"])
    assert row["beta"] == pytest.approx((held["90 %"] + held["99 %"]) / 1.89)


def test_with_one_answer_the_tunnel_index_is_the_whole_entropy(made: dict[str, Any]) -> None:
    shown = table(made, "tunnel_index").filter(Temperature=1.0).sort("Answers")
    assert shown["Answers"].to_list() == [1, 2, 5, 10]
    assert shown["Tunnel index"][0] == pytest.approx(shown["H of the distribution"][0])
    assert shown["Tunnel index"].is_sorted(descending=True)


def test_page_and_summary_begin_with_what_holds_and_what_to_use(made: dict[str, Any]) -> None:
    row = table(made, "2_winkler").filter(Level="99 %", Method=METHODS["base"].title).row(0, named=True)
    span = f"{row['Coverage']:.0%} ({row['from']:.0%} to {row['to']:.0%})"
    sentence = f"Of 106 99 % intervals by toy, {span} contain the truth; "
    sentence += "3 more answers could not be read and 1 more interval is too far from 0 to be used."
    chosen = table(made, "differences").filter(Level="99 %", Chosen="chosen")["Method"][0]
    for name in ("report.html", "summary.txt"):
        text = (made["folder"] / name).read_text()
        assert sentence in text
        assert text.index(sentence) < text.index(f"Use {chosen}: it has the lowest score of those that hold")


def test_adjustments_are_those_of_the_statistics() -> None:
    assert [name for name, method in METHODS.items() if method.source == "stated"] == list(ADJUSTMENTS)


@pytest.mark.slow  # figures are drawn, and the tunnel is simulated
def test_figures_are_drawn_and_say_what_they_leave_out(made: dict[str, Any]) -> None:
    folder = made["folder"] / "figures"
    benchmarks = [made["calibration"], made["test"]]
    write_figures(benchmarks, made["scores"], {**SHOWN, "open_models": []}, list(FIGURES), str(folder))
    assert len(list(folder.iterdir())) == 3 * len(FIGURES)
    outside = sum(not -20 <= answer <= 40 for half in ("known", "new") for answer in answers(made, half))
    expected = f"220 questions of both halves; {outside} answers are outside"
    assert expected in (folder / "figure_6_answers.html").read_text()
    assert "no such model" in (folder / "figure_5_open_models.html").read_text()
