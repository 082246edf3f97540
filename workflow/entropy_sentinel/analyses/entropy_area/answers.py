r"""Stage `answers`: which samples of an item give the same answer, as the judge sees it.

Two answers are the same where the judge, shown one of them in `\boxed{}` and the other as the reference, says that it
is correct. So letters are compared by the judge of choices, and numbers by math-verify.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from entropy_sentinel.analyses.entropy_area.frames import ANSWER_CLASSES
from entropy_sentinel.frames.benchmark import BENCHMARKS
from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.label import LABELS
from entropy_sentinel.judges.exact import normalised
from entropy_sentinel.judges.judge import Case, Judge
from entropy_sentinel.judges.settings import JudgeSettings
from entropy_sentinel.stages.label import make_judge

log = logging.getLogger(__name__)

# Kinds of judges that compare by rules: no network, no money.
_BY_RULES = ("math-verify", "choice", "exact")
_EXACT: JudgeSettings = {"version": 1, "judge": "exact", "kind": "exact"}


def write_answers(benchmark: str, labels: str, settings: JudgeSettings, output: str) -> None:
    """Classes of one model's answers to the items in `benchmark`, from their `labels` by the judge of the settings."""
    rows, origin = LABELS.read(labels), read_provenance(labels)
    whose = {name: origin[name] for name in ("model", "benchmark")}
    used = comparing(settings)
    items = BENCHMARKS.read(benchmark, ["item_id", "question"])
    frame = classes(items, rows, make_judge(used), whose)
    ANSWER_CLASSES.write(frame, output, {**whose, "judge": settings["judge"], "compared_by": used["judge"]})


def comparing(settings: JudgeSettings) -> JudgeSettings:
    """Who compares two answers: the judge itself where it goes by rules, else the first such one that it is made of.

    Where there is none, as for an LLM, text: equal up to case, space and punctuation.
    """
    if settings["kind"] in _BY_RULES:
        return settings
    parts = settings.get("members", {})
    found = (comparing(parts[name]) for name in settings.get("judges", []))
    return next((one for one in found if one is not _EXACT), _EXACT)


def classes(items: pl.DataFrame, labels: pl.DataFrame, judge: Judge, whose: Mapping[str, str]) -> pl.DataFrame:
    """A frame of contract ANSWER_CLASSES; `items` has item_id and question, `labels` keeps the contract LABELS.

    An answer is readable where it has a label, and a text or the label true.
    """
    rows = labels.join(items, on="item_id", how="left", maintain_order="left", validate="m:1")
    found: dict[str, _Item] = {}
    keys = [_key(*row) for row in rows.select("label", "answer").iter_rows()]
    for (item_id, question, answer), key in zip(rows.select("item_id", "question", "answer").rows(), keys, strict=True):
        if key is not None:
            found.setdefault(item_id, _Item(question)).add(key, answer)
    _compare(list(found.values()), judge)
    numbers = [
        None if key is None else found[item_id].number[key] for item_id, key in zip(rows["item_id"], keys, strict=True)
    ]
    unread = pl.when(pl.col("label").is_null()).then("reason").otherwise(pl.lit("the judge names no answer"))
    return rows.select(
        *(pl.lit(whose[name]).alias(name) for name in ("model", "benchmark")),
        *("item_id", "sample", "label", "answer"),
        pl.Series("answer_class", numbers, dtype=pl.UInt16),
    ).with_columns(reason=pl.when(pl.col("answer_class").is_null()).then(rows.select(unread).to_series()))


# What makes two answers the same without asking: both correct, or the same text.
_Key = tuple[bool, str]


def _key(label: bool | None, answer: str | None) -> _Key | None:
    if label is None or (answer is None and not label):
        return None
    return (True, "") if label else (False, normalised(answer or ""))


@dataclass
class _Item:
    """The different answers to one item; `left` have no class yet."""

    question: str
    left: dict[_Key, str] = field(default_factory=dict)
    number: dict[_Key, int] = field(default_factory=dict)
    n_classes: int = 0

    def add(self, key: _Key, answer: str | None) -> None:
        self.left.setdefault(key, answer or "")

    def lead(self) -> Iterator[tuple[_Key, Case]]:
        """Give the first answer without a class a class of its own; yield each other one, to be compared with it."""
        first = next(iter(self.left))
        text = self.left.pop(first)
        self.number[first], self.n_classes = self.n_classes, self.n_classes + 1
        if not first[0]:
            for key, answer in self.left.items():
                if not key[0]:
                    yield key, Case(self.question, f"\\boxed{{{answer}}}", text, truncated=False)

    def join(self, keys: Sequence[_Key]) -> None:
        """Put answers into the class that was led last."""
        for key in keys:
            self.number[key] = self.n_classes - 1
            del self.left[key]


def _compare(items: Sequence[_Item], judge: Judge) -> None:
    """Give every answer a class: that of the first one before it that it is the same as, or one of its own.

    The classes are numbered in the order of their first answers.
    """
    n_asked = 0
    while open_ := [item for item in items if item.left]:
        asked = [(item, *one) for item in open_ for one in item.lead()]
        verdicts = judge.judge([case for _, _, case in asked])
        n_asked += len(asked)
        same: dict[int, list[_Key]] = {}
        for (item, key, _), verdict in zip(asked, verdicts, strict=True):
            if verdict.label:
                same.setdefault(id(item), []).append(key)
        for item in open_:
            item.join(same.get(id(item), []))
    log.info("%d pairs of answers to %d items compared", n_asked, len(items))
