"""The distribution over integers, of a model whose every next token is written down here, worked out by hand."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from papers.intervals.signal_families.integers.integers_family import compute_integer_signals
from papers.intervals.signal_families.integers.integers_frames import INTEGERS
from papers.intervals.signal_families.integers.requery.integer_contexts import ask, unasked

from entropy_sentinel.study.engines.engine_interface import NextToken, refused_context

END = "<end>"
PROMPT = [900, 901]
# After the tokens said so far, the probability of the next. 12 is written with two tokens, or with one of its own.
TREE: dict[str, dict[str, float]] = {
    "": {"1": 0.4, "-": 0.2, "7": 0.1, "12": 0.1, "about": 0.15, END: 0.05},
    "1": {END: 0.5, "2": 0.25, ".": 0.15, "\n": 0.1},
    "1|2": {END: 1.0},
    "1|\n": {END: 0.5, "so": 0.5},
    "-": {"3": 0.9, "-": 0.1},
    "-|3": {END: 0.5, "0": 0.5},
    "-|3|0": {END: 0.8, " million": 0.2},
    "7": {END: 1.0},
    "12": {END: 0.6, "|5": 0.4},
}


class Written:
    """What follows each context is what a tree says; every text has a token. Contexts beyond `longest` are refused."""

    def __init__(self, tree: Mapping[str, Mapping[str, float]], longest: int = 99) -> None:
        self.tree, self.longest = tree, longest
        self.texts = list(dict.fromkeys(token for tokens in tree.values() for token in tokens))
        self.contexts: list[list[int]] = []

    def next_tokens(self, contexts: Iterable[Sequence[int]]) -> Generator[tuple[int, NextToken], None, None]:
        for number, context in enumerate(contexts):
            self.contexts.append(list(context))
            message = "|".join(self.texts[one] for one in context[len(PROMPT) :])
            if len(context) > self.longest:
                yield number, refused_context("too long")
                continue
            tokens = self.tree[message]
            ids = np.array([self.texts.index(token) for token in tokens], dtype=np.uint32)
            yield number, NextToken(ids, np.log(list(tokens.values())).astype(np.float32))

    def token_texts(self, responses: Sequence[Sequence[int]]) -> list[list[str]]:
        return [["" if self.texts[id_] == END else self.texts[id_] for id_ in ids] for ids in responses]


def part(engine: Written, n: int = 1, **columns: list[Any]) -> pl.DataFrame:
    """Responses that end with the end token, the first ones to `n` items."""
    end = engine.texts.index(END)
    rows = {
        "model": ["m"] * n,
        "benchmark": ["b"] * n,
        "item_id": [f"b-{number}" for number in range(n)],
        "sample": [0] * n,
        "finish_reason": ["stop"] * n,
        "token_ids": [[0, end]] * n,
        "prompt_ids": [PROMPT] * n,
    }
    types = {"sample": pl.UInt16, "token_ids": pl.List(pl.UInt32), "prompt_ids": pl.List(pl.UInt32)}
    return pl.DataFrame(rows | columns, schema_overrides=types)


def asked(tree: Mapping[str, Mapping[str, float]], least: float = 1e-3, **engine: Any) -> dict[str, Any]:
    """The row of one response."""
    written = Written(tree, **engine)
    return INTEGERS.check(ask(part(written), written, {"prune_below": least}, {"model": "m"})).row(0, named=True)


def probabilities(row: Mapping[str, Any], which: str = "") -> dict[int, float]:
    return dict(zip(row[f"{which}values"], map(exp, row[f"{which}logprobs"]), strict=True))


def test_integers_of_several_tokens_and_negative_ones_by_hand() -> None:
    row = asked(TREE)
    # 1: at once, .4 * .5, or with a line's end, .4 * .1 * .5. 12: by `1` `2`, .4 * .25, or by `12`, .1 * .6.
    one, twelve = 0.4 * 0.5 + 0.4 * 0.1 * 0.5, 0.4 * 0.25 + 0.1 * 0.6
    expected = {-30: 0.2 * 0.9 * 0.5 * 0.8, -3: 0.2 * 0.9 * 0.5, 1: one, 7: 0.1, 12: twelve}
    assert probabilities(row) == pytest.approx(expected, rel=1e-6)
    assert row["values"] == sorted(expected)
    assert probabilities(row, "first_") == pytest.approx({1: 0.4, 7: 0.1, 12: 0.1}, rel=1e-6)
    # about, the empty answer, `1.`, `1 so`, `--`, `-30 million` and `12|5`.
    left_out = 0.15 + 0.05 + 0.4 * 0.15 + 0.4 * 0.1 * 0.5 + 0.2 * 0.1 + 0.2 * 0.9 * 0.5 * 0.2 + 0.1 * 0.4
    assert row["missing"] == pytest.approx(left_out, rel=1e-6)
    assert row["missing"] == pytest.approx(1 - sum(expected.values()), rel=1e-6)


def test_an_unlikely_beginning_is_missing_and_not_asked_about() -> None:
    engine = Written(TREE)
    row = ask(part(engine), engine, {"prune_below": 0.15}, {"model": "m"}).row(0, named=True)
    # Left are `1`, `-` and `-3`, of .4, .2 and .18: `12`, `7`, `1` `2` and `-30` are .1 or less.
    assert sorted(engine.contexts) == sorted(
        PROMPT + [engine.texts.index(one) for one in message] for message in ([], ["1"], ["-"], ["-", "3"])
    )
    assert probabilities(row) == pytest.approx({-3: 0.09, 1: 0.2}, rel=1e-6)
    assert row["missing"] == pytest.approx(0.71, rel=1e-6)
    assert row["first_values"] == [1, 7, 12]


def test_an_integer_may_be_written_with_a_space_before_it() -> None:
    tree = {"": {" 5": 0.5, " ": 0.3, "5": 0.2}, " 5": {END: 1.0}, " ": {"5": 1.0}, " |5": {END: 1.0}, "5": {END: 0.5}}
    row = asked(tree)
    assert probabilities(row) == pytest.approx({5: 0.9}, rel=1e-6)
    assert probabilities(row, "first_") == pytest.approx({5: 0.7}, rel=1e-6)


def test_a_token_without_text_ends_an_integer_only_where_it_ends_answers() -> None:
    # As a special token of another meaning, or the first byte of a character.
    tree = {"": {"5": 1.0}, "5": {"": 0.25, END: 0.75}}
    assert probabilities(asked(tree)) == pytest.approx({5: 0.75}, rel=1e-6)
    engine = Written(tree)
    row = ask(part(engine, finish_reason=["length"]), engine, {"prune_below": 0.1}, {"model": "m"}).row(0, named=True)
    assert row["reason"] == "no response asked about beside it has come to its end, which would say by what token"
    assert not engine.contexts


def test_a_token_that_ended_a_response_ends_an_integer_whatever_its_text() -> None:
    tree = {"": {"5": 1.0}, "5": {"</s>": 0.75, ".": 0.25}, "|": {END: 1.0}}
    engine = Written(tree)
    responses = part(engine, 1, token_ids=[[engine.texts.index("5"), engine.texts.index("</s>")]])
    row = ask(responses, engine, {"prune_below": 0.1}, {"model": "m"}).row(0, named=True)
    assert probabilities(row) == pytest.approx({5: 0.75}, rel=1e-6)


def test_a_zero_is_an_integer_and_more_digits_after_it_are_not() -> None:
    tree = {"": {"0": 0.6, "-": 0.4}, "0": {END: 0.5, "5": 0.5}, "-": {"0": 1.0}, "-|0": {END: 1.0}}
    assert probabilities(asked(tree)) == pytest.approx({0: 0.6 * 0.5 + 0.4}, rel=1e-6)


def test_a_digit_ends_nothing_where_a_server_keeps_no_end_tokens() -> None:
    engine = Written({"": {"5": 1.0}, "5": {"2": 0.25, END: 0.75}, "5|2": {END: 1.0}})
    responses = part(engine, 1, token_ids=[[engine.texts.index("5"), engine.texts.index("2")]])
    row = ask(responses, engine, {"prune_below": 0.1}, {"model": "m"}).row(0, named=True)
    assert row["reason"] == "none of the model's likely answers is an integer alone"


def test_digits_without_end_are_missing() -> None:
    tree = {"|".join("9" * n): {"9": 0.5, END: 0.5} for n in range(10)}
    row = asked(tree)
    # Ten digits and more are none that the file can hold.
    assert probabilities(row) == pytest.approx({10**n - 1: 0.5 ** (n + 1) for n in range(1, 10)}, rel=1e-6)
    assert row["missing"] == pytest.approx(0.5 + 0.5**10, rel=1e-6)


def test_responses_without_a_distribution_say_why() -> None:
    assert asked({"": {"about": 0.9, END: 0.1}})["reason"] == "none of the model's likely answers is an integer alone"
    assert asked(TREE, longest=1)["reason"] == "refused: too long"
    engine = Written(TREE)
    responses = part(engine, 3, item_id=["b-0", "b-0", "b-1"], sample=[0, 1, 0])
    rows = ask(responses, engine, {"prune_below": 0.5}, {"model": "m"}).sort("item_id", "sample")
    # Of these nothing is likely enough.
    none = "none of the model's likely answers is an integer alone"
    later = "not the first response to its item, which alone is asked about: the prompt is the same"
    assert rows["reason"].to_list() == [none, later, none]
    assert len(engine.contexts) == 2
    left = unasked(responses.with_columns(unusable=pl.lit("the trace has no token ids")), {"prune_below": 0.5})
    assert left["reason"].to_list() == ["the trace has no token ids"] * 3
    for frame in (rows, left):
        assert (
            INTEGERS.check(frame).select("values", "logprobs", "missing", "first_values").null_count().row(0)
            == (3,) * 4
        )


def test_signals_are_of_the_integers_only(tmp_path: Path) -> None:
    path = tmp_path / "pass.parquet"
    engine = Written({"": {"1": 0.3, "2": 0.1, "no": 0.6}, "1": {END: 1.0}, "2": {END: 1.0}})
    responses = part(engine, 2, item_id=["b-0", "b-0"], sample=[0, 1])
    INTEGERS.write(ask(responses, engine, {"prune_below": 0.01}, {"model": "m"}), path, {})
    result = compute_integer_signals(responses.lazy(), str(path))
    # 3/4 and 1/4.
    assert result["integer_entropy"][0] == pytest.approx(-0.75 * log(0.75) - 0.25 * log(0.25), rel=1e-6)
    assert result["integer_max"][0] == pytest.approx(0.75, rel=1e-6)
    assert result.row(1)[:2] == (None, None)
    assert result["integers_reason"][1].startswith("not the first response")
