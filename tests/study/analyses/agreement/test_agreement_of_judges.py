"""Judges compared: counts by hand, errors under each judge, and what a reader sees."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from frames import GROUPS, LABEL, cell, estimate_rows
from sklearn.metrics import cohen_kappa_score
from studies import refusal, study

from entropy_sentinel.schemas.estimate_schema import ESTIMATES
from entropy_sentinel.schemas.label_schema import LABELS
from entropy_sentinel.study.analyses.agreement.agreement_report import describe_pairs, write_report, write_summary
from entropy_sentinel.study.analyses.agreement.agreement_settings import Agreement
from entropy_sentinel.study.analyses.agreement.agreement_tables import (
    AgreementTableInputs,
    table_accuracies,
    table_agreement,
    table_errors,
    write_tables,
)
from entropy_sentinel.study.analyses.agreement.measuring.agreement_frames import ERRORS, JUDGED, PAIRS
from entropy_sentinel.study.analyses.agreement.measuring.judge_pairs import (
    compare_judges,
    compute_errors,
    select_judged,
    write_judged,
    write_pairs,
)

LETTERS = {"c": True, "i": False, "-": None}
# Of models m and n on benchmarks a and b: what two judges say, a letter a response.
SAID = {
    ("m", "a"): ("ccciiicc--", "cciiiic-c-"),
    ("m", "b"): ("cccc", "----"),
    ("n", "a"): ("ci", "ci"),
    ("n", "b"): ("cc", "cc"),
}
OWN = {"arithmetic+words": GROUPS["extremes"]["estimator"]}
FOREST = GROUPS["extremes"]["estimator"]


def labels() -> pl.DataFrame:
    rows = [
        (judge, model, benchmark, f"{benchmark}-{number:05d}", 0, LETTERS[letter])
        for (model, benchmark), message in SAID.items()
        for judge, letters in zip(("exact", "llm"), message, strict=True)
        for number, letter in enumerate(letters)
    ]
    return pl.DataFrame(rows, schema=["judge", "model", "benchmark", "item_id", "sample", "label"], orient="row")


def row(frame: pl.DataFrame, model: str | None, benchmark: str | None) -> dict[str, Any]:
    (result,) = frame.filter(pl.col("model").eq_missing(model), pl.col("benchmark").eq_missing(benchmark)).rows(
        named=True
    )
    return result


def test_pairs_by_hand() -> None:
    frame = PAIRS.check(compare_judges(labels(), ["exact", "llm"]))
    assert len(frame) == 4 + 2 + 1
    one = row(frame, "m", "a")
    # c/c 3, c/i 1, i/i 3; the eighth is labelled by the first alone, the ninth by the second, the last by neither.
    counts = ("n_both_correct", "n_first_correct", "n_second_correct", "n_both_incorrect")
    assert [one[name] for name in counts] == [3, 1, 0, 3]
    assert [one[name] for name in ("n_first_null", "n_second_null", "n_both_null")] == [1, 1, 1]
    assert (one["n_responses"], one["n_pairs"], one["agreement"]) == (10, 7, pytest.approx(6 / 7))
    first, second = [1, 1, 1, 0, 0, 0, 1], [1, 1, 0, 0, 0, 0, 1]
    assert one["kappa"] == pytest.approx(cohen_kappa_score(first, second))
    assert (one["agreement_lower"], one["agreement_upper"]) == pytest.approx((0.48687, 0.97432), abs=1e-5)
    in_all = row(frame, None, None)
    assert (in_all["n_responses"], in_all["n_pairs"], in_all["n_both_correct"]) == (18, 11, 6)


def test_ten_equal_samples_of_an_item_are_no_more_certain_than_one() -> None:
    once = row(compare_judges(labels(), ["exact", "llm"]), "m", "a")
    samples = [labels().with_columns(sample=pl.lit(number, pl.Int64)) for number in range(10)]
    ten = row(compare_judges(pl.concat(samples), ["exact", "llm"]), "m", "a")
    assert ten["n_pairs"] == 10 * once["n_pairs"]
    for name in ("agreement", "agreement_lower", "agreement_upper", "kappa", "kappa_lower", "kappa_upper"):
        assert ten[name] == pytest.approx(once[name])


def test_a_judge_that_labels_some_benchmarks_only() -> None:
    frame = compare_judges(labels(), ["exact", "llm"])
    one = row(frame, "m", "b")
    assert (one["n_pairs"], one["n_second_null"], one["agreement"], one["kappa"]) == (0, 4, None, None)
    assert one["reason"] == "no pair"
    assert row(frame, "n", "b")["reason"] == "both judges always give the same verdict"
    assert row(frame, "n", "b")["agreement"] == 1
    assert row(frame, "m", None)["n_pairs"] == 7


def estimates() -> pl.DataFrame:
    """Two judges, model m: the exact one labels two unseen domains, the other one of them, and trains as well."""
    rows = {
        "exact": [("logic", "held_out", 0.5, 0.4), ("units", "held_out", 0.9, 0.6), ("words", "training", 0.8, 0.8)],
        "llm": [("logic", "held_out", 0.6, 0.3), ("units", "held_out", 0.9, None), ("words", "training", 0.8, 0.7)],
    }
    atc = [("logic", "held_out", 0.4, 0.4), ("units", "held_out", 0.7, 0.6), ("words", "training", 0.8, 0.8)]
    frames = [
        estimate_rows("m", "arithmetic+words", message).with_columns(judge=pl.lit(judge))
        for judge, message in rows.items()
    ]
    better = estimate_rows("m", "arithmetic+words", atc, "atc-max").with_columns(judge=pl.lit("exact"))
    other = estimate_rows("m", "logic+units", atc).with_columns(judge=pl.lit("exact"))
    return pl.concat([*frames, better, other])


EXTREMES = {"extremes": GROUPS["extremes"]}


def table_inputs(**frames: pl.DataFrame) -> AgreementTableInputs:
    empty = dict.fromkeys(("pairs", "judged", "errors"), pl.DataFrame())
    return AgreementTableInputs(label=LABEL, groups=EXTREMES, headline_group="extremes", **{**empty, **frames})


def test_errors_under_each_judge() -> None:
    frame = ERRORS.check(compute_errors(estimates(), OWN))
    assert frame.select("judge", "n_domains", "aee", "best", "best_aee").rows() == [
        ("exact", 2, pytest.approx((0.1 + 0.3) / 2), "atc-max", pytest.approx(0.05)),
        ("llm", 1, pytest.approx(0.3), FOREST, pytest.approx(0.3)),
    ]
    assert frame["reason"].to_list() == [None, "fewer than 2 domains"]


def test_a_judge_without_labels_has_no_error() -> None:
    nothing = estimates().filter(judge="llm").with_columns(true_accuracy=pl.lit(None, pl.Float64))
    (one,) = compute_errors(nothing, OWN).rows(named=True)
    assert (one["aee"], one["best"], one["n_domains"]) == (None, None, 0)
    assert one["reason"] == "no domain with labels and an estimate"
    assert (
        "m, Extremes, llm: no domain with labels"
        in table_errors(table_inputs(errors=compute_errors(nothing, OWN))).notes[-1]
    )


def test_accuracies_stand_side_by_side() -> None:
    frame = JUDGED.check(select_judged(estimates(), OWN))
    table = table_accuracies(table_inputs(judged=frame))
    assert table.frame["Domain"].to_list() == ["logic", "units", "words"]
    assert cell(table, {"Domain": "logic"}, "True, largest difference") == pytest.approx(0.1)
    assert cell(table, {"Domain": "logic"}, "Estimated, largest difference") == pytest.approx(0.1)
    assert (cell(table, {"Domain": "units"}, "True, llm"), cell(table, {"Domain": "units"}, "Labels, llm")) == (None, 0)
    assert cell(table, {"Domain": "units"}, "True, largest difference") is None
    assert cell(table, {"Domain": "words"}, "Role") == "training"


def test_the_table_of_pairs_begins_with_all() -> None:
    table = table_agreement(table_inputs(pairs=compare_judges(labels(), ["exact", "llm"])))
    assert table.frame.select("Model", "Domain").rows()[:3] == [("all", "all"), ("m", "all"), ("n", "all")]
    more = pl.concat([labels(), labels().filter(judge="llm").with_columns(judge=pl.lit("a"))])
    frame = compare_judges(more, ["exact", "llm", "a"])
    assert frame.filter(first="llm")["agreement"].drop_nulls().unique().to_list() == [1]
    three = table_agreement(table_inputs(pairs=frame)).frame.select("Judge", "and judge")
    assert three.unique(maintain_order=True).rows() == [("exact", "llm"), ("exact", "a"), ("llm", "a")]
    assert "null in 1 rows: no pair." in " ".join(table.notes)


def test_what_a_reader_sees(tmp_path: Path) -> None:
    frame = compare_judges(labels(), ["exact", "llm"])
    assert describe_pairs(frame) == [
        # Kappa and its lower limit as statsmodels has them for [[6, 1], [0, 4]]; its upper limit is 1.156.
        "exact and llm: agree on 10 of 11, 0.909 (0.623 to 0.984); kappa 0.814 (0.471 to 1.000); of 18 responses 5 "
        "were labelled only by exact, 1 only by llm, 1 by neither."
    ]
    text = write_summary(frame, compute_errors(estimates(), OWN), EXTREMES, "extremes")
    assert "unseen domains, trained on arithmetic, words (Extremes)" in text
    lines = [line.split()[:4] for line in text.splitlines()[-2:]]
    assert lines == [["m", "exact", "2", "0.200"], ["m", "llm", "1", "0.300"]]
    nothing = compare_judges(labels().with_columns(label=pl.lit(None, pl.Boolean)), ["exact", "llm"])
    assert "exact and llm: no response has a label from both; of 18 responses" in describe_pairs(nothing)[0]


def test_files_of_the_analysis(tmp_path: Path) -> None:
    """From files of labels and of estimates to tables, page and summary."""
    files = []
    for (judge, model, benchmark), part in labels().group_by("judge", "model", "benchmark", maintain_order=True):
        path = str(tmp_path / f"{judge}-{model}-{benchmark}.parquet")
        columns = part.select("item_id", "sample", "label").to_dict(as_series=False)
        LABELS.write(LABELS.frame(columns | {"reason": None, "answer": None}), path, {})
        files.append({"judge": judge, "model": model, "benchmark": benchmark, "path": path})
    made = {name: str(tmp_path / f"{name}.parquet") for name in ("pairs", "judged", "errors")}
    write_pairs(files, ["exact", "llm"], made["pairs"])
    assert PAIRS.read(made["pairs"]).equals(compare_judges(labels(), ["exact", "llm"]))
    sources = []
    for (judge,), part in estimates().group_by("judge", maintain_order=True):
        ESTIMATES.write(part.drop("judge"), tmp_path / f"{judge}.parquet", {})
        sources.append({"judge": judge, "path": str(tmp_path / f"{judge}.parquet")})
    write_judged(sources, EXTREMES, made["judged"], made["errors"])
    settings = {"label": LABEL, "groups": EXTREMES, "headline_group": "extremes"}
    write_tables(**made, settings=settings, tables=list(Agreement.TABLES), folder=str(tmp_path))
    tables = [str(tmp_path / f"table_{name}.html") for name in Agreement.TABLES]
    page, summary = tmp_path / "report.html", tmp_path / "summary.txt"
    own = {"own_judges": {"gases": "letters"}}
    write_report(made["pairs"], made["errors"], tables, settings | own, str(page), str(summary))
    assert "agree on 10 of 11" in page.read_text()
    assert all(title in page.read_text() for title in Agreement.TABLES.values())
    assert "agree on 10 of 11" in summary.read_text()
    apart = "gases is not compared, because only its own judge, letters, labels it."
    assert apart in page.read_text()
    assert summary.read_text().endswith(f"\n{apart}\n")
    assert f"Study: {LABEL}." in (tmp_path / "table_errors.md").read_text()


TWO_JUDGES = {"judges.other": {"kind": "math-verify"}, "run.judges": ["math-verify", "other"]}


def test_it_takes_two_judges() -> None:
    analyses = {"run.analyses": ["accuracy", "agreement"]}
    config = study(TWO_JUDGES | analyses)
    assert config.run.analyses == ["accuracy", "agreement"]
    assert config.analyses.agreement.headline_group == "extremes"
    assert config.analyses.agreement.tables == list(Agreement.TABLES)
    one = study(analyses)
    assert one.run.analyses == ["accuracy"]
    why = "run.analyses: agreement left out because it compares judges, but run.judges has only one, math-verify"
    assert why in one.left_out
    assert why in refusal({"run.analyses": ["agreement"]})


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ({"tables": ["kappa"]}, "unknown table 'kappa'; known: agreement, errors, accuracies"),
        ({"figures": ["1"]}, "unknown figure '1'; known: none"),
        ({"headline_group": "best"}, "unknown group in analyses.agreement.headline_group: 'best'; known: extremes"),
    ],
)
def test_unknown_names_are_refused(section: dict[str, Any], expected: str) -> None:
    assert expected in refusal(TWO_JUDGES | {"run.analyses": ["agreement"], "analyses.agreement": section})
