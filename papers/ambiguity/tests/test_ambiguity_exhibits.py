"""Tables, figures, page and summary from made-up measures; some under the paper's names."""

import html
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from ambiguous_rows import write_items
from papers.ambiguity.ambiguity_exhibits import ESTIMATOR_TITLES, FIGURES, TABLES, is_table_comparable
from papers.ambiguity.ambiguity_figures import write_figures
from papers.ambiguity.ambiguity_frames import ALIGNED_CLASSES, ESTIMATES, UNCERTAINTIES
from papers.ambiguity.ambiguity_measures import write_measures
from papers.ambiguity.ambiguity_report import AmbiguitySummary, answer_question, write_report
from papers.ambiguity.ambiguity_tables import write_tables
from papers.ambiguity.published_values import read_published

MODELS, BENCHMARKS, N_ITEMS = ["gemma-3-12b", "other"], ["triviaqa", "maqa"], 60
SETTINGS: Any = {"label": "Made up", "models": MODELS, "benchmarks": BENCHMARKS, "source": "wikipedia-english"}
SETTINGS |= {"epsilon": 0.01, "grouping": "exact"}
FORMS = ("kl", "kl-renormalised", "kl-frequencies", "dirichlet-1", "dirichlet-100")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Entropy goes with what the models do not know on triviaqa, and not on maqa; `other` has neither SAR nor IP."""
    folder, rng = tmp_path_factory.mktemp("made"), np.random.default_rng(2)
    result: dict[str, Any] = {"folder": folder, "benchmarks": [], "aligned": [], "uncertainties": [], "estimates": []}
    names = {name: [f"{name}-{place:05}" for place in range(N_ITEMS)] for name in BENCHMARKS}
    n_answers = {"triviaqa": 1, "maqa": 3}
    counts = {item: rng.integers(1, 99, n_answers[name]) for name in BENCHMARKS for item in names[name]}
    for name in BENCHMARKS:
        items: Any = [
            (f"{item}?", [["a"], ["b"], ["c"]][: n_answers[name]], counts[item].tolist()) for item in names[name]
        ]
        result["benchmarks"].append(write_items(folder / f"{name}.parquet", name, items))
    for model in MODELS:
        uncertainties, estimates = [], []
        for name in BENCHMARKS:
            aligned = []
            for item in names[name]:
                shares = counts[item] / counts[item].sum()
                for place, (count, share) in enumerate(zip(counts[item], shares, strict=True)):
                    row = {"model": model, "benchmark": name, "source": "wikipedia-english", "item_id": item}
                    row |= {"class": place, "name": "abc"[place], "right": True, "count": float(count), "n_samples": 30}
                    aligned.append(row | {"p_star": share, "p": None if place else 1.0, "frequency": None})
                entropy = float(rng.uniform(0, 2))
                epistemic = entropy + float(rng.normal(0, 0.3)) if name == "triviaqa" else float(rng.exponential())
                aleatoric = float(-(shares * np.log(shares)).sum())
                whose = {"model": model, "benchmark": name, "item_id": item}
                uncertainties += [
                    whose
                    | {"source": "wikipedia-english", "form": form, "n_answers": len(shares), "n_imputed": 0}
                    | {"total": aleatoric + epistemic, "aleatoric": aleatoric, "epistemic": epistemic}
                    for form in FORMS
                ]
                known = {one: entropy + float(rng.normal(0, 0.2)) for one in ESTIMATOR_TITLES} | {"se": entropy}
                reasons = dict.fromkeys(f"{one}_reason" for one in ESTIMATOR_TITLES)
                if model == "other":
                    known |= {"sar": None, "ip": None}
                    reasons |= {f"{one}_reason": "no log-probabilities" for one in ("sar", "ip")}
                estimates.append(whose | {"n_samples": 30, "n_classes": 4} | known | reasons)
            path = str(folder / f"aligned-{model}-{name}.parquet")
            ALIGNED_CLASSES.write(ALIGNED_CLASSES.frame(aligned), path, {"model": model})
            result["aligned"].append(path)
        for key, contract, rows in (
            ("uncertainties", UNCERTAINTIES, uncertainties),
            ("estimates", ESTIMATES, estimates),
        ):
            result[key].append(str(folder / f"{key}-{model}.parquet"))
            contract.write(contract.frame(rows), result[key][-1], {"model": model})
    outputs = [str(folder / f"{name}.parquet") for name in ("concordances", "aurocs", "p_stars")]
    settings: Any = {"source": "wikipedia-english", "thresholds": [1.5, 2, 3]}
    files: Any = {key: result[key] for key in ("uncertainties", "estimates", "aligned")}
    write_measures(*files.values(), MODELS, settings, *outputs)
    return result | dict(zip(("concordances", "aurocs", "p_stars"), outputs, strict=True))


@pytest.fixture(scope="module")
def tables(made: dict[str, Any]) -> Path:
    folder = made["folder"] / "tables"
    keys = ("benchmarks", "uncertainties", "estimates", "concordances", "aurocs", "p_stars")
    files: Any = {key: made[key] for key in keys} | {"aligned": made["aligned"][:2]}
    write_tables(**files, settings=SETTINGS, tables=list(TABLES), folder=str(folder))
    return folder


def test_tables_of_the_papers_models_are_written_beside_theirs(tables: Path) -> None:
    beside = [name for name in TABLES if is_table_comparable(name, MODELS, BENCHMARKS)]
    assert beside == ["2_concordance", "3_dirichlet", "4_sources", "7_auroc", "8_p_star"]
    assert {path.name for path in tables.glob("*_published.csv")} == {f"table_{name}_published.csv" for name in beside}


def test_published_values_are_those_of_the_paper(tables: Path) -> None:
    """Values typed from the paper's tables."""
    result = pl.read_csv(tables / "table_2_concordance_published.csv")
    # Tables 2 and 6 both have Gemma 3-12B, with the same values: on TriviaQA and MAQA*, four estimators.
    assert len(result) == 2 * 4
    assert set(result["Model"]) == {"gemma-3-12b"}
    row = result.filter(Benchmark="maqa", Estimator="IP").row(0, named=True)
    assert row["AUC_c: paper"] == 0.60
    assert row["difference"] == pytest.approx(row["AUC_c"] - 0.60)
    gammas = pl.read_csv(tables / "table_3_dirichlet_published.csv").filter(Estimator="SAR")
    assert gammas.select("Gamma", "AUC_c: paper").rows() == [("1", 0.53), ("100", 0.57), ("kl", 0.58)]
    deltas = pl.read_csv(tables / "table_7_auroc_published.csv").filter(Benchmark="triviaqa", Estimator="SE")
    assert deltas.select("Delta", "AUROC: paper").rows() == [("log1.5", 0.95), ("log2", 0.93), ("log3", 0.9)]
    p_star = pl.read_csv(tables / "table_8_p_star_published.csv")
    assert p_star.filter(Statistic="Count")["Paper"].to_list() == [115.49]
    source = pl.read_csv(tables / "table_4_sources_published.csv")
    assert source["AUC_c: paper"].to_list() == [0.55, 0.53, 0.58, 0.60]
    assert read_published("2_concordance").filter(model="gpt-4.1-mini", name="sar").is_empty()
    with_values = {name: one for name, one in TABLES.items() if one.benchmarks}
    assert list(with_values) == ["2_concordance", "3_dirichlet", "4_sources", "7_auroc", "8_p_star"]
    for name, one in with_values.items():
        assert set(read_published(name)["benchmark"]) == set(one.benchmarks)
        assert set(read_published(name)["model"]) == set(one.models or ["gemma-3-12b"])
    assert not is_table_comparable("2_concordance", ["other"], BENCHMARKS)
    assert not is_table_comparable("2_concordance", MODELS, ["facts"])
    assert not is_table_comparable("forms", MODELS, BENCHMARKS)


def test_concordances_stand_side_by_side(tables: Path, made: dict[str, Any]) -> None:
    shown = pl.read_csv(tables / "table_2_concordance.csv")
    first, second = shown.select("Benchmark", "Answers", "Items").rows()[:2]
    assert (first, second) == (("triviaqa", "one (AU = 0)", N_ITEMS), ("maqa", "several (AU > 0)", N_ITEMS))
    assert shown.filter(Benchmark="triviaqa")["SE"].min() > 0.8
    assert shown.filter(Benchmark="maqa")["SE"].max() < 0.65
    assert shown.filter(Model="other")["IP"].null_count() == 2
    text = (tables / "table_2_concordance.md").read_text()
    assert "No IP (no log-probabilities): other, triviaqa, one; other, maqa, several." in text
    dirichlet = pl.read_csv(tables / "table_3_dirichlet.csv").filter(Model="other")
    assert dirichlet["p*"].to_list() == ["as in the paper", "gamma = 1", "gamma = 100"]
    auroc = pl.read_csv(tables / "table_7_auroc.csv").filter(Model="other", Benchmark="maqa")
    assert auroc["EU at least"].to_list() == ["log 1.5", "log 2", "log 3"]
    epistemic = UNCERTAINTIES.read(made["uncertainties"][1]).filter(form="kl", benchmark="maqa")["epistemic"]
    assert auroc["Uncertain"].to_list() == [(epistemic >= math.log(ratio)).sum() for ratio in (1.5, 2, 3)]


def test_examples_are_of_median_entropy(tables: Path, made: dict[str, Any]) -> None:
    shown = pl.read_csv(tables / "table_1_examples.csv").row(1, named=True)
    entropies = UNCERTAINTIES.read(made["uncertainties"][0]).filter(form="kl", benchmark="maqa")["aleatoric"].sort()
    assert shown["H(p*), nats"] == pytest.approx(entropies[(N_ITEMS - 1) // 2])
    counts = [int(part) for part in shown["Counts"].split(", ")]
    assert shown["p*"] == ", ".join(f"{one / sum(counts):.2f}" for one in counts)
    assert (shown["Answers"], shown["Model's p"]) == ("a, b, c", "1.00, -, -")


def test_page_and_summary_begin_with_the_answer(made: dict[str, Any], tables: Path, tmp_path: Path) -> None:
    files: Any = {"concordances": made["concordances"], "p_stars": made["p_stars"], "figures": []}
    files["tables"] = [str(tables / "table_2_concordance.html")]
    page, summary = tmp_path / "report.html", tmp_path / "summary.txt"
    write_report(**files, settings=SETTINGS, page=str(page), summary=str(summary))
    text, message = html.unescape(page.read_text()), summary.read_text()
    first = message.splitlines()[0]
    assert first.startswith("Does entropy find what the model does not know? Where questions have one answer, yes: ")
    assert "where they have several, no: " in first
    assert first in text
    rows = pl.read_parquet(made["concordances"]).filter(form="kl-frequencies", estimator="se_frequencies")
    one, several = (float(np.median(rows.filter(answers=kind)["auc_c"])) for kind in ("one", "several"))
    second = f"{one:.2f} where questions have one and {several:.2f} where questions have several."
    assert message.splitlines()[1].endswith(second)
    assert second in text
    assert "no log-probabilities" in text
    assert "triviaqa" in message


def test_the_answer_says_what_cannot_be_said() -> None:
    def of(kind: str, value: float | None, lower: float | None, alike: float = 0.0) -> AmbiguitySummary:
        row = {"auc_c": value, "lower": lower, "upper": 0.95, "reason": "few", "tied": 0.0, "alike": alike}
        return AmbiguitySummary("m", "b", kind, 9, {"se": row})

    one = answer_question([of("one", 0.9, 0.8)])
    assert "one answer, yes: the median AUC_c of semantic entropy is 0.90, and in 1 of 1 cases" in one
    assert "where they have several, this study cannot" in one
    assert "several, hardly: " in answer_question([of("several", 0.58, 0.51)])
    assert "several, no: " in answer_question([of("several", 0.58, 0.49)])
    assert "one answer, this study can hardly tell, because " in answer_question([of("one", 0.5, 0.47, alike=0.86)])
    assert of("several", None, None).verdict.endswith(": few.")
    assert "no better than chance" in of("several", 0.58, 0.49).verdict


def test_pairs_that_show_nothing_are_reported_where_they_are_many() -> None:
    def caveats(tied: float, alike: float) -> str:
        row = {"auc_c": 0.5, "lower": 0.47, "upper": 0.53, "tied": tied, "alike": alike}
        return " ".join(AmbiguitySummary("m", "b", "one", 9, {"se": row}).caveats)

    assert caveats(0.19, 0.19) == ""
    assert caveats(0.2, 0.1).startswith("It is equal for 20% of the pairs")
    assert caveats(0.1, 0.86).startswith("Of the pairs of items, 86% count half")
    assert "Of the others, 86% count half" in caveats(0.3, 0.86)


@pytest.mark.slow  # figures are drawn
def test_figures_say_what_they_show(made: dict[str, Any]) -> None:
    exhibits: Any = {
        name: {"figure": name, "title": one.title, "model": "other" if name == "3_relationship" else None}
        for name, one in FIGURES.items()
    }
    folder = made["folder"] / "figures"
    files: Any = {key: made[key] for key in ("uncertainties", "estimates", "p_stars")}
    write_figures(**files, settings=SETTINGS, exhibits=exhibits, folder=str(folder))
    assert len(list(folder.iterdir())) == 3 * len(FIGURES)
    assert "log 2 or more" in (folder / "figure_3_relationship.html").read_text()
    assert "one source of p*" in (folder / "figure_5_divergence.html").read_text()
