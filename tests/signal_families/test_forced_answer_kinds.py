"""What the pass puts in, and about which responses, by an engine that has a token for each character."""

from collections.abc import Generator, Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

from entropy_sentinel.study.engines.engine_interface import NextToken
from entropy_sentinel.study.signal_families.forced_answer.forced_answer_frames import FORCED_ANSWERS
from entropy_sentinel.study.signal_families.forced_answer.requery.forced_contexts import ask
from entropy_sentinel.study.signal_families.forced_answer.requery.trajectory import choose_positions, compute_area

OPTIONS = "Which colour?\nA. red\nB. green\nC. blue\nD. grey"
BOX = "\\boxed{"


class Characters:
    """20 letters from A on are equally likely after every context; it remembers the contexts."""

    vocabulary = 128

    def __init__(self) -> None:
        self.contexts: list[str] = []

    def token_ids(self, texts: Sequence[str]) -> list[list[int] | None]:
        return [[ord(one) for one in text] for text in texts]

    def token_texts(self, responses: Sequence[Sequence[int]]) -> list[list[str]]:
        return [[chr(id_) for id_ in ids] for ids in responses]

    def next_tokens(self, contexts: Iterable[Sequence[int]]) -> Generator[tuple[int, NextToken], None, None]:
        for number, context in enumerate(contexts):
            self.contexts.append("".join(map(chr, context)))
            ids = np.arange(ord("A"), ord("A") + 20, dtype=np.uint32)
            yield number, NextToken(ids, np.full(20, np.log(1 / 20), dtype=np.float32))


def responses(question: str, reference: str, *texts: str) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "model": "m",
            "benchmark": "b",
            "item_id": "b-0",
            "sample": pl.Series(range(len(texts)), dtype=pl.UInt16),
            "question": question,
            "reference": reference,
            "text": texts,
            "token_ids": pl.Series([[ord(one) for one in text] for text in texts], dtype=pl.List(pl.UInt32)),
            "prompt_ids": pl.Series([[ord("?")]] * len(texts), dtype=pl.List(pl.UInt32)),
            "finish_reason": "stop",
        }
    )


def asked(part: pl.DataFrame, **further: Any) -> tuple[pl.DataFrame, Characters]:
    engine, settings = Characters(), {"answers": ["reference", "own"], "positions": "all", "options": True, **further}
    return FORCED_ANSWERS.check(ask(part, engine, settings, {"model": "m"})), engine


def test_of_a_question_with_options_the_letter_alone_is_put_in() -> None:
    """References of such questions are written `(C)`; what follows the brace would else be a bracket."""
    result, engine = asked(responses(OPTIONS, "(C)", "so \\boxed{\\text{B}}"))
    assert result["answer_text"].to_list() == ["C", "B"]
    assert result["answer_tokens"].to_list() == [1, 1]
    # The answer ends with the 18th token, behind B: 17 positions, and both kinds put in the same, the brace alone.
    assert engine.contexts == ["?" + "so \\boxed{\\text{B}}"[:t] + BOX for t in range(1, result["tokens_to_answer"][0])]
    assert result["options"].to_list() == [["A", "B", "C", "D"]] * 2
    for probabilities in result["option_probabilities"][0]:
        assert list(probabilities) == pytest.approx([1 / 20] * 17)
    assert result["mean_eas"].to_list() == pytest.approx([np.log2(20)] * 2, rel=1e-6)


def test_letters_are_options_only_directly_after_the_brace() -> None:
    result, engine = asked(responses(OPTIONS, "(C)", "so \\boxed{12}"))
    assert result["answer_text"].to_list() == ["C", "12"]
    assert engine.contexts[-1].endswith(BOX + "1")
    assert result["options"].to_list() == [["A", "B", "C", "D"], None]


def test_without_options_brackets_are_a_part_of_the_answer() -> None:
    result, engine = asked(responses("Which interval?", "(C)", "it is \\boxed{(C)}"))
    assert result["answer_text"].to_list() == ["(C)", "(C)"]
    assert result["answer_tokens"].to_list() == [3, 3]
    assert engine.contexts[0] == "?i" + BOX + "(C"
    assert result["options"].to_list() == [None, None]


def test_of_each_item_only_the_first_samples_are_asked_about() -> None:
    part = responses("1+1?", "2", "\\boxed{2}", "\\boxed{3}", "\\boxed{2}")
    result, engine = asked(part, samples=2)
    assert result["eas"].is_null().to_list() == [False, False, False, False, True, True]
    assert len(engine.contexts) == 2 * (len("\\boxed{2") - 1)
    why = "not among the first 2 of its item; only those are asked about (signals.forced_answer.samples)"
    assert result["reason"].to_list() == [None] * 4 + [why] * 2
    everything, _ = asked(part, samples=None)
    assert everything["eas"].null_count() == 0


@pytest.mark.parametrize(
    ("which", "last", "expected"),
    [
        ("all", 3, [1, 2, 3]),
        (2, 6, [1, 3, 5, 6]),
        ("sentence-ends", 4, [1, 2, 4]),
        ("sentence-ends", 5, [1, 2, 4, 5]),
    ],
)
def test_positions_include_both_ends(which: str | int, last: int, expected: list[int]) -> None:
    assert choose_positions(which, ["One", " two.", " And", " three!", " so"], last) == expected


def test_the_area_has_what_lies_between_positions() -> None:
    """0 + 1 + 2 + 1: at the second position the mean of its neighbours."""
    assert compute_area([1, 3, 4], [0.0, 2.0, 1.0], 4) == 4
    assert compute_area([1, 2, 3], [0.5, 1.0, 0.25], 3) == 1.75
