"""Benchmarks that a judge could label nothing of: who, why, and which kind of judge could."""

from pathlib import Path
from typing import Any

import pytest
from frames import GROUPS, estimate_rows, sweep_rows, validation

from entropy_sentinel.judges.answer_structure import choose_judge_kind
from entropy_sentinel.schemas.label_schema import LABELS, NO_REFERENCE
from entropy_sentinel.study.analyses.accuracy.accuracy_report import Study
from entropy_sentinel.study.analyses.accuracy.closing_summary import UnjudgedBenchmark, find_unjudged, write_summary

OPTIONS = "Which gas is lightest?\nA. Helium\nB. Hydrogen, H_2\nC. Neon"
TEXT = "reference is text, not an expression"


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """A file of labels of one benchmark, `gases`, by its rows."""

    def write(labels: list[tuple[bool | None, str | None]], **judge: Any) -> Any:
        ids = [f"gases-{number:05d}" for number in range(len(labels))]
        verdicts, reasons = zip(*labels, strict=True)
        message = {"item_id": ids, "sample": [0] * len(ids), "label": verdicts, "reason": reasons, "answer": None}
        whose = {"model": "a", "benchmark": "gases", "judge": "mine", "kind": "math-verify"} | judge
        LABELS.write(LABELS.frame(message), tmp_path / "labels.parquet", whose)
        return find_unjudged([str(tmp_path / "labels.parquet")])

    return write


def test_sixty_nulls_of_sixty_name_judge_reason_and_the_kind_that_could(written: Any) -> None:
    nulls = [(None, "no final answer")] * 7 + [(None, TEXT)] * 53 + [(None, NO_REFERENCE)]
    assert written(nulls, fitting_kind="choice") == [
        UnjudgedBenchmark("a", "gases", "mine", 60, TEXT, 53, "choice", False)
    ]
    (one,) = written(nulls, fitting_kind="choice")
    assert one.text == (
        "a, gases: mine gave no label to any of 60 responses (53 times reference is text, not an expression). To have "
        "labels, name a judge of kind choice in benchmarks.gases.judge."
    )
    members = {"x": {"kind": "exact"}, "y": {"kind": "choice"}}
    (one,) = written(nulls, kind="first_of", members=members, fitting_kind="choice")
    assert one.is_fitting
    assert one.text.endswith("To have labels, look at them with `entropy-sentinel show a gases`.")


def test_labels_of_earlier_versions_do_not_state_the_kind(written: Any) -> None:
    (one,) = written([(None, TEXT)])
    assert one.text.endswith("To have labels, name a judge that suits its references in benchmarks.gases.judge.")


def test_one_label_or_no_reference_at_all_is_another_matter(written: Any) -> None:
    assert written([(None, TEXT), (False, None), (None, TEXT)]) == []
    assert written([(None, NO_REFERENCE)] * 3) == []


@pytest.mark.parametrize(
    ("question", "reference", "kind"),
    [
        (OPTIONS, "Hydrogen, H_2", "choice"),
        (OPTIONS, "B", "choice"),
        (OPTIONS, "(B)", "choice"),
        ("Which one?", "(D)", "choice"),
        ("How many?", "42 m", "math-verify"),
        ("Solve.", r"\frac{1}{2}", "math-verify"),
        ("Is it?", "yes", "math-verify"),
        ("Why is the sky blue?", "Rayleigh scattering of sunlight by air molecules", "llm"),
    ],
)
def test_the_kind_of_judge_for_a_reference(question: str, reference: str, kind: str) -> None:
    assert choose_judge_kind([(question, reference)]) == kind


def test_the_kind_of_most_rows_counts() -> None:
    texts = [("Why?", "Rayleigh scattering by air molecules")]
    assert choose_judge_kind(texts + [("How many?", "7")] * 2) == "math-verify"
    assert choose_judge_kind(texts * 3 + [("How many?", "7")] * 2) == "llm"


def test_the_summary_and_the_failures_tell(written: Any) -> None:
    result = written([(None, TEXT)], fitting_kind="llm")
    estimates = estimate_rows("a", "arithmetic+words", [("logic", "held_out", 0.3, 0.2)])
    sweep = sweep_rows([0.1], [None], ["a"])
    text = write_summary([validation()], estimates, sweep, GROUPS, "extremes", result)
    told = "a, gases: mine gave no label to any of 1 responses (reference is text, not an expression)."
    assert f"No label from the judge\n  {told} To have labels, name a judge of kind llm in" in text
    study = Study(estimates, sweep, sweep.clear(), [validation()], GROUPS, "extremes", result)
    assert study.failures[0].startswith(told)
    assert "No label from the judge" not in write_summary([validation()], estimates, sweep, GROUPS, "extremes")
