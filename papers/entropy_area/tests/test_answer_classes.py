"""Which samples give the same answer: by the judges themselves, and by a made-up one whose answers are known."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from papers.entropy_area.area_frames import ANSWER_CLASSES
from papers.entropy_area.classes.answer_classes import classify_answers, select_comparing_judge, write_answer_classes

from entropy_sentinel.judges.judge_interface import Case, Verdict
from entropy_sentinel.judges.math_verify import MathVerifyJudge
from entropy_sentinel.judges.text_judges import ChoiceJudge, ExactJudge
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.label_schema import LABELS

WHOSE = {"model": "m", "benchmark": "b"}
OPTIONS = "Which one?\nA. red\nB. green\nC. blue\nD. grey"


def labels(answers: Sequence[tuple[bool | None, str | None]], item: str = "b-0") -> pl.DataFrame:
    rows = [
        (item, sample, label, "?" if label is None else None, answer) for sample, (label, answer) in enumerate(answers)
    ]
    return LABELS.frame([(*row, None, None) for row in rows])


def items(question: str = "?") -> pl.DataFrame:
    return pl.DataFrame({"item_id": ["b-0"], "question": [question]})


def numbers(judge: Any, answers: Sequence[tuple[bool | None, str | None]], question: str = "?") -> list[int | None]:
    frame = classify_answers(items(question), labels(answers), judge, WHOSE)
    ANSWER_CLASSES.check(frame)
    return frame["answer_class"].to_list()


class Rounding:
    """Two numbers are the same to the nearest ten. It counts what it is asked."""

    version = "1"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        result = []
        for case in cases:
            answer = case.response.removeprefix("\\boxed{").removesuffix("}")
            self.asked.append((answer, case.reference))
            result.append(Verdict(round(int(answer), -1) == round(int(case.reference), -1)))
        return result


def test_an_answer_joins_the_first_one_that_it_is_the_same_as() -> None:
    judge = Rounding()
    answers = [(False, "21"), (False, "33"), (True, "70"), (False, "19"), (False, "21"), (None, None), (False, "28")]
    assert numbers(judge, answers) == [0, 1, 2, 0, 0, None, 1]
    # 21 leads: 33, 19 and 28 are compared with it; then 33 leads: 28. What is correct and what is the same text is not.
    assert judge.asked == [("33", "21"), ("19", "21"), ("28", "21"), ("28", "33")]


def test_correct_answers_are_one_and_never_the_same_as_wrong_ones() -> None:
    judge = Rounding()
    assert numbers(judge, [(True, "68"), (False, "71"), (True, "72"), (True, None)]) == [0, 1, 0, 0]
    assert judge.asked == []


def test_what_has_no_label_or_no_text_is_not_readable() -> None:
    frame = classify_answers(items(), labels([(None, "7"), (False, None), (False, "7")]), Rounding(), WHOSE)
    assert frame["answer_class"].to_list() == [None, None, 0]
    assert frame["reason"].to_list() == ["?", "the judge names no answer", None]


def test_letters_are_the_same_however_they_are_written() -> None:
    answers = [(False, "B"), (False, "green"), (True, "C"), (False, "(B) green"), (False, "d"), (False, "D. grey")]
    assert numbers(ChoiceJudge(), answers, OPTIONS) == [0, 0, 1, 0, 2, 2]


def test_texts_are_the_same_up_to_case_and_space() -> None:
    answers = [(False, "Paris"), (False, " paris."), (False, "Rome"), (False, "$\\text{rome}$")]
    assert numbers(ExactJudge(), answers) == [0, 0, 1, 1]


@pytest.mark.slow  # sympy
def test_numbers_are_the_same_by_algebra() -> None:
    answers = [(False, "\\frac{1}{2}"), (False, "0.5"), (False, "2"), (False, "\\sqrt{4}"), (False, "\\frac{2}{4}")]
    assert numbers(MathVerifyJudge(), answers) == [0, 0, 1, 1, 0]


def test_who_compares() -> None:
    exact: Any = {"kind": "exact", "judge": "exact"}
    maths: Any = {"kind": "math-verify", "judge": "maths", "tolerance": {"relative": 0.05}}
    llm: Any = {"kind": "llm", "judge": "someone"}
    both: Any = {"kind": "first_of", "judge": "both", "judges": ["someone", "maths"]}
    assert select_comparing_judge(maths) is maths
    assert select_comparing_judge(llm)["kind"] == "exact"
    assert select_comparing_judge(both | {"members": {"someone": llm, "maths": maths}}) is maths
    # A judge made of two that cannot: by text.
    assert select_comparing_judge(both | {"members": {"someone": llm, "maths": llm}})["kind"] == "exact"
    assert select_comparing_judge(both | {"members": {"someone": llm, "maths": exact}}) is exact


def test_the_file_says_who_compared(tmp_path: Path) -> None:
    question = {"item_id": ["b-0"], "question": [OPTIONS], "reference": ["(C)"], "duplicate_of": ["b-0"]}
    BENCHMARKS.write(BENCHMARKS.frame(question), tmp_path / "items.parquet", {})
    result = labels([(False, "A"), (False, "red"), (True, "C")])
    LABELS.write(result, tmp_path / "labels.parquet", {**WHOSE, "judge": "letters"})
    settings: Any = {"version": 2, "kind": "choice", "judge": "letters"}
    out = tmp_path / "classes.parquet"
    write_answer_classes(str(tmp_path / "items.parquet"), str(tmp_path / "labels.parquet"), settings, str(out))
    assert ANSWER_CLASSES.read(out)["answer_class"].to_list() == [0, 0, 1]
    assert read_provenance(out)["compared_by"] == "letters"
    assert read_provenance(out)["model"] == "m"
