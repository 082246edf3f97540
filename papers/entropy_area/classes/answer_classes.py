r"""Stage `answers`: group the samples of an item by their answers, as compared by the judge.

Two answers are equal if the judge labels one of them, in `\boxed{}`, correct with the other as the reference. So
letters are compared by the judge of choices, and numbers by math-verify.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from entropy_sentinel.judges.choice_options import normalise_text
from entropy_sentinel.judges.judge_base import JudgeSettings
from entropy_sentinel.judges.judge_interface import Case, Judge
from entropy_sentinel.judges.judge_registry import make_judge
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.label_schema import LABELS
from entropy_sentinel.study.semantic_clustering.backend_interface import Pair, Question
from entropy_sentinel.study.semantic_clustering.greedy_clustering import cluster_answers
from papers.entropy_area.area_frames import ANSWER_CLASSES

# Kinds of judges that compare by rules: no network, no money.
_RULE_KINDS = ("math-verify", "choice", "exact")
_EXACT: JudgeSettings = {"version": 1, "judge": "exact", "kind": "exact"}


def write_answer_classes(benchmark: str, labels: str, settings: JudgeSettings, output: str) -> None:
    """Write which of a model's answers to each item in `benchmark` are equal, a file ANSWER_CLASSES.

    `labels` is a file LABELS of the judge in `settings`; the same judge compares answers if it works by rules.
    """
    label_rows, origin = LABELS.read(labels), read_provenance(labels)
    owner = {name: origin[name] for name in ("model", "benchmark")}
    comparing_judge = select_comparing_judge(settings)
    items = BENCHMARKS.read(benchmark, ["item_id", "question"])
    frame = classify_answers(items, label_rows, make_judge(comparing_judge), owner)
    ANSWER_CLASSES.write(frame, output, {**owner, "judge": settings["judge"], "compared_by": comparing_judge["judge"]})


def select_comparing_judge(settings: JudgeSettings) -> JudgeSettings:
    """The judge that compares two answers: the judge itself if it works by rules, else its first component that does.

    Without such a component, as for an LLM, texts are compared without case, space and punctuation.
    """
    if settings["kind"] in _RULE_KINDS:
        return settings
    for name in settings.get("judges", []):
        comparing_judge = select_comparing_judge(settings["members"][name])
        if comparing_judge is not _EXACT:
            return comparing_judge
    return _EXACT


def classify_answers(items: pl.DataFrame, labels: pl.DataFrame, judge: Judge, owner: Mapping[str, str]) -> pl.DataFrame:
    """A frame of contract ANSWER_CLASSES; `items` has item_id and question, `labels` is of contract LABELS.

    `owner` has the model and the benchmark, `judge` compares two wrong answers. An answer is readable if it has a
    label, and a text or the label true. All correct answers are one class; classes are numbered in the order of their
    first answers.
    """
    rows = labels.join(items, on="item_id", how="left", maintain_order="left", validate="m:1")
    wrong = _classify_wrong_answers(rows.filter(~pl.col("label")).drop_nulls("answer"), judge)
    # By item, the number of each class: of the correct answers (None), and of a class of wrong ones.
    classes_by_item: dict[str, dict[int | None, int]] = {}
    class_numbers: list[int | None] = []
    for item_id, label, answer in rows.select("item_id", "label", "answer").iter_rows():
        if label is None or (answer is None and not label):
            class_numbers.append(None)
            continue
        item_classes = classes_by_item.setdefault(item_id, {})
        wrong_class = None if label else wrong[item_id, normalise_text(answer)]
        class_numbers.append(item_classes.setdefault(wrong_class, len(item_classes)))
    unread_reason = pl.when(pl.col("label").is_null()).then("reason").otherwise(pl.lit("the judge names no answer"))
    return rows.select(
        *(pl.lit(owner[name]).alias(name) for name in ("model", "benchmark")),
        "item_id",
        "sample",
        "label",
        "answer",
        pl.Series("answer_class", class_numbers, dtype=pl.UInt16),
    ).with_columns(reason=pl.when(pl.col("answer_class").is_null()).then(rows.select(unread_reason).to_series()))


def _classify_wrong_answers(rows: pl.DataFrame, judge: Judge) -> dict[tuple[str, str], int]:
    """A class index, from 0 per item, for each wrong answer, by (item_id, normalised text).

    The judge holds answers of one class to be equal. `rows` have item_id, question and answer; of answers with equal
    normalised texts, the judge compares the first.
    """
    # By item and normalised text, the first answer with it.
    texts_by_item: dict[str, dict[str, str]] = {}
    for item_id, answer in rows.select("item_id", "answer").iter_rows():
        texts_by_item.setdefault(item_id, {}).setdefault(normalise_text(answer), answer)
    questions = dict(rows.select("item_id", "question").iter_rows())
    answers = [(Question(questions[item]), list(item_texts.values())) for item, item_texts in texts_by_item.items()]
    class_by_text: dict[tuple[str, str], int] = {}
    numbers_by_item = cluster_answers(answers, _JudgeBackend(judge))
    for (item, item_texts), numbers in zip(texts_by_item.items(), numbers_by_item, strict=True):
        for text, number in zip(item_texts, numbers, strict=True):
            class_by_text[item, text] = number
    return class_by_text


class _JudgeBackend:
    """A backend that shows a judge one answer in a box, and the other as the reference."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    def same(self, pairs: Sequence[Pair]) -> list[bool]:
        """For each pair whether the judge labels the second answer correct."""
        cases = [Case(pair.question.text, f"\\boxed{{{pair.second}}}", pair.first, truncated=False) for pair in pairs]
        return [bool(verdict.label) for verdict in self._judge.judge(cases)]

    @property
    def provenance(self) -> dict[str, Any]:
        """Nothing, because `write_answer_classes` records the judge."""
        return {}
