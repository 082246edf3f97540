"""Tables, figures, page and summary from made-up items and passes; some under the paper's names."""

import html
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from papers.entropy_area.area_exhibits import FIGURES, TABLES, has_published_values
from papers.entropy_area.area_figures import write_figures
from papers.entropy_area.area_frames import CORRELATIONS, ITEMS, RESPONSES, SPREAD
from papers.entropy_area.area_measures import compute_spreads, correlate_measures
from papers.entropy_area.area_report import write_report
from papers.entropy_area.area_tables import write_tables
from papers.entropy_area.item_variety import summarise_items, write_truncation
from papers.entropy_area.trajectories import Trajectory, has_options, load_trajectory, select_median_item

from entropy_sentinel.study.signal_families.forced_answer.forced_answer_frames import FORCED_ANSWERS

MODELS = ["deepseek-r1-distill-qwen-14b", "other"]
SETS = {"gpqa-diamond": ["gpqa-diamond"], "aime": ["aime-2024", "aime-2025"]}
N_ITEMS, N_SAMPLES, T = 24, 8, 60
SETTINGS: Any = {"label": "Made up", "sets": SETS, "answers": ["reference", "own"], "answer": "reference", "alpha": 0.5}
BENCHMARKS = [one for several in SETS.values() for one in several]


def responses(model: str) -> pl.DataFrame:
    """Items whose answers vary more and more, and whose score grows with it."""
    random, rows = np.random.default_rng(len(model)), []
    for benchmark in BENCHMARKS:
        for number in range(N_ITEMS):
            answers = random.integers(0, 1 + number * 5 // N_ITEMS, N_SAMPLES)
            for sample, answer in enumerate(answers):
                score = float(number + random.normal(0, 3)) + 10
                row = dict.fromkeys(RESPONSES.schema) | {"model": model, "benchmark": benchmark, "sample": sample}
                row |= {"item_id": f"{benchmark}-{number:02}", "label": bool(answer == 1), "answer_class": int(answer)}
                row |= {f"eas_{kind}": score for kind in ("own", "reference")}
                row |= {f"mean_eas_{kind}": score / T for kind in ("own", "reference")}
                rows.append(row | {"ppl": float(random.uniform(1, 2)), "n_tokens": int(random.integers(40, 90))})
    return RESPONSES.frame(rows)


def asked(folder: Path, model: str, benchmark: str, scores: pl.DataFrame) -> str:
    """A pass in which the entropy falls, and one of four options wins; AIME has no options."""
    rows, t = [], np.arange(1, T)
    has_options = benchmark == "gpqa-diamond"
    for one in scores.filter(benchmark=benchmark).iter_rows(named=True):
        noise = np.random.default_rng(one["sample"] + 7).uniform(0, 0.3, T - 1)
        entropies = np.exp(-t / one["eas_own"]) * 2 + noise
        options = [list(0.7 * t / T), list(0.2 + noise), [None] * (T - 1), list(0.1 * (1 - t / T))]
        for kind in ("reference", "own"):
            row = {key: one[key] for key in ("model", "benchmark", "item_id", "sample")}
            rows.append(
                dict.fromkeys(FORCED_ANSWERS.schema)
                | row
                | {"answer": kind, "answer_text": "C", "answer_tokens": 1, "tokens_to_answer": T, "positions": list(t)}
                | {"entropies": list(entropies), "missing_masses": list(noise / 100), "bounds": list(noise / 10)}
                | {"eas": one["eas_own"], "mean_eas": one["mean_eas_own"], "eas_bound": 0.1}
                | ({"options": list("ABCD"), "option_probabilities": options} if has_options else {})
            )
    path = folder / f"{model}-{benchmark}.parquet"
    FORCED_ANSWERS.write(FORCED_ANSWERS.frame(rows), path, {"model": model, "benchmark": benchmark})
    return str(path)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Files of all stages before the exhibits."""
    folder = tmp_path_factory.mktemp("made")
    result: dict[str, Any] = {"folder": folder, "by_item": [], "passes": [], "truncation": []}
    frames = [responses(model) for model in MODELS]
    for model, frame in zip(MODELS, frames, strict=True):
        result["by_item"].append(str(folder / f"items-{model}.parquet"))
        ITEMS.write(summarise_items(frame), result["by_item"][-1], {"model": model})
        own = [asked(folder, model, benchmark, frame.filter(sample=0)) for benchmark in BENCHMARKS]
        result["passes"] += own
        result["truncation"].append(str(folder / f"truncation-{model}.parquet"))
        write_truncation(own, SETS, result["truncation"][-1])
    items = pl.concat(map(ITEMS.read, result["by_item"]))
    settings: Any = {"sets": SETS, "answers": SETTINGS["answers"], "resamples": 50, "seed": 1}
    for name, contract, rows in (
        ("correlations", CORRELATIONS, correlate_measures(items, settings)),
        ("spread", SPREAD, compute_spreads(items, pl.concat(frames), settings)),
    ):
        result[name] = str(folder / f"{name}.parquet")
        contract.write(contract.frame(list(rows)), result[name], {})
    return result


@pytest.fixture(scope="module")
def tables(made: dict[str, Any]) -> Path:
    folder = made["folder"] / "tables"
    files: Any = {key: made[key] for key in ("by_item", "truncation", "correlations", "spread")}
    write_tables(**files, settings=SETTINGS, tables=list(TABLES), models=MODELS, folder=str(folder))
    return folder


@pytest.fixture(scope="module")
def figures(made: dict[str, Any]) -> Path:
    folder = made["folder"] / "figures"
    files: Any = {key: made[key] for key in ("by_item", "correlations", "passes")}
    exhibits: dict[str, Any] = {
        "1_trajectory": {"figure": "1_trajectory", "title": FIGURES["1_trajectory"].title, "model": MODELS[0]},
        "2_correlations_a": {"figure": "2_correlations", "title": "a", "model": MODELS[0], "benchmark": "aime"},
        "3_ranges_other": {"figure": "3_ranges", "title": "b", "model": "other"},
    }
    shown: Any = {**SETTINGS, "figure_benchmark": None}
    write_figures(**files, settings=shown, exhibits=exhibits, models=MODELS, folder=str(folder))
    aime = {"3_ranges_aime": exhibits["3_ranges_other"]}
    shown["figure_benchmark"] = "aime-2024"
    write_figures(**files, settings=shown, exhibits=aime, models=MODELS, folder=str(folder))
    return folder


def test_every_table_is_written_in_every_form(tables: Path) -> None:
    assert len(list(tables.iterdir())) == 4 * len(TABLES) + 2
    published = {path.name for path in tables.glob("*_published.csv")}
    assert published == {"table_1_truncation_published.csv", "table_2_correlation_published.csv"}


def test_table_of_correlations_has_each_measure_against_each_entropy(tables: Path, made: dict[str, Any]) -> None:
    shown = pl.read_csv(tables / "table_2_correlation.csv")
    assert len(shown) == 2 * 2 * 3 * 6
    items = ITEMS.read(made["by_item"][1]).filter(pl.col("benchmark") != "gpqa-diamond")
    row = shown.filter(Model="other", Benchmark="aime", Against="answer entropy", Measure="EAS (own answer)")
    assert row["r"][0] == pytest.approx(np.corrcoef(items["eas_own"], items["answer_entropy"])[0, 1])
    assert row["Items"][0] == 2 * N_ITEMS


def test_published_values_are_next_to_those_of_the_same_model_and_benchmark(tables: Path) -> None:
    """The paper's two models: 0.8237 and 0.5968 are those of the 14B, which alone is here."""
    beside = pl.read_csv(tables / "table_2_correlation_published.csv")
    assert beside.select("Model", "Benchmark", "r: paper").rows() == [
        (MODELS[0], "aime", 0.8237),
        (MODELS[0], "gpqa-diamond", 0.5968),
    ]
    assert beside["r: difference"].to_list() == pytest.approx((beside["r"] - beside["r: paper"]).to_list())
    first = pl.read_csv(tables / "table_1_truncation_published.csv")
    assert first["Bound, bits: paper"].to_list() == [0.031, 0.04, 0.12, 0.56]
    own = pl.read_csv(tables / "table_1_truncation.csv").filter(
        Model=MODELS[0], Benchmark="gpqa-diamond", Answer="reference"
    )
    assert first["Bound, bits"].to_list() == own["Bound, bits"].to_list()
    assert not has_published_values("2_correlation", ["other"], SETS, ["reference"])
    assert not has_published_values("2_correlation", MODELS, SETS, ["own"])
    assert not has_published_values("1_truncation", MODELS, ["aime"], ["reference"])


def test_items_are_counted_by_the_range_of_their_entropy(tables: Path, made: dict[str, Any]) -> None:
    shown = pl.read_csv(tables / "table_ranges.csv").filter(Model=MODELS[0], Benchmark="gpqa-diamond")
    own = ITEMS.read(made["by_item"][0]).filter(benchmark="gpqa-diamond")
    entropy = pl.col("answer_entropy")
    parts = [own.filter(inside) for inside in (entropy < 0.5, entropy.is_between(0.5, 1.5), entropy > 1.5)]
    assert shown["Answer entropy"].to_list() == ["[0, 0.5)", "[0.5, 1.5]", "(1.5, inf)"]
    assert shown["Items"].to_list() == [len(part) for part in parts]
    assert shown["EAS"].to_list() == pytest.approx([part["eas_reference"].mean() for part in parts])
    assert shown["Never correct"][0] == len(parts[0].filter(pl.col("accuracy") == 0)) > 0


def test_what_is_drawn_is_the_response_of_median_score(made: dict[str, Any]) -> None:
    items = ITEMS.read(made["by_item"][0]).filter(benchmark="gpqa-diamond")
    chosen = select_median_item(items, "eas_reference")
    assert chosen is not None
    assert chosen["item_id"] == items.sort("eas_reference")["item_id"][(len(items) - 1) // 2]
    assert select_median_item(items.clear(), "eas_own") is None
    path = made["passes"][0]
    result = load_trajectory(path, chosen, "reference")
    assert result.options == ("A", "B", "C", "D")
    assert result.eas == chosen["eas_reference"]
    # An option that is not among the most likely tokens counts as 0; the others are summed with decay.
    sums = result.decayed_options(0.5)
    assert sums.shape == (4, T - 1)
    assert not sums[2].any()
    assert sums[0][1] == pytest.approx(0.7 / T / np.sqrt(2) + 0.7 * 2 / T, rel=1e-5)
    assert [has_options(of) for of in made["passes"][:2]] == [True, False]


def test_sums_of_positions_that_were_not_asked_are_of_what_lies_between() -> None:
    ends = np.array([1, 3])
    shown = Trajectory("i", 0.0, "A", ends, np.zeros(2), 0.0, 0.0, ("A",), np.array([[0.2, 0.4]]))
    assert shown.decayed_options(0)[0] == pytest.approx([0.2, 0.5, 0.9])


@pytest.mark.slow  # figures are drawn
def test_figures_say_what_they_show(figures: Path) -> None:
    names = ("1_trajectory", "2_correlations_a", "3_ranges_other", "3_ranges_aime")
    assert len(list(figures.iterdir())) == 3 * len(names)
    message = {name: html.unescape((figures / f"figure_{name}.html").read_text()) for name in names}
    assert "\\boxed{ and all but the last token of C (reference)" in message["1_trajectory"]
    assert f"{2 * N_ITEMS} items" in message["2_correlations_a"]
    assert "with the weight (t - k + 1)^-0.5" in message["3_ranges_other"]
    # Without options the entropies stand alone, and why is said.
    assert "The probabilities of the options are left out" in message["3_ranges_aime"]


@pytest.mark.slow  # figures are drawn
def test_page_and_summary_say_which_measure_goes_furthest(made: dict[str, Any], tables: Path, figures: Path) -> None:
    files: Any = {
        "correlations": made["correlations"],
        "tables": sorted(map(str, tables.glob("*.html"))),
        "figures": sorted(map(str, figures.glob("*.html"))),
    }
    page, summary = made["folder"] / "report.html", made["folder"] / "summary.txt"
    write_report(**files, settings=SETTINGS, page=str(page), summary=str(summary))
    text = summary.read_text()
    rows = CORRELATIONS.read(made["correlations"]).filter(model="other", benchmark="aime", target="answer_entropy")
    best = rows.sort(pl.col("r").abs(), descending=True).row(0, named=True)
    assert best["measure"] in ("eas_reference", "mean_eas_reference")
    assert f"the answer entropy: r {best['r']:+.2f}" in text
    assert text.count("strongest correlation") == 4
    assert "<b>other, aime.</b>" in page.read_text()


def test_a_study_without_samples_has_no_correlation_and_says_so(made: dict[str, Any], tmp_path: Path) -> None:
    items = ITEMS.read(made["by_item"][0]).with_columns(answer_entropy=pl.lit(0.0))
    settings: Any = {"sets": SETS, "answers": ["own"], "resamples": 10, "seed": 1}
    path = str(tmp_path / "correlations.parquet")
    CORRELATIONS.write(CORRELATIONS.frame(list(correlate_measures(items, settings))), path, {})
    summary = tmp_path / "summary.txt"
    files: Any = {"correlations": path, "tables": [], "figures": []}
    write_report(**files, settings=SETTINGS, page=str(tmp_path / "report.html"), summary=str(summary))
    assert "answer entropy is the same for all items" in summary.read_text()
    drawn: Any = {"2": {"figure": "2_correlations", "title": "t", "model": MODELS[0], "benchmark": "aime"}}
    ITEMS.write(items, tmp_path / "items.parquet", {})
    files = {"by_item": [str(tmp_path / "items.parquet")], "correlations": path, "passes": made["passes"]}
    shown: Any = {**SETTINGS, "answers": ["own"], "answer": "own", "figure_benchmark": None}
    write_figures(**files, settings=shown, exhibits=drawn, models=MODELS[:1], folder=str(tmp_path))
    assert (tmp_path / "figure_2.png").stat().st_size > 0
