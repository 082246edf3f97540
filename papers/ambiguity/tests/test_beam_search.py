"""The family `beam_search` by an engine that needs no model: a character is a token."""

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from asked_items import pass_settings, write_items
from fake_engine import FakeEngine, every
from papers.ambiguity.signal_families.beam_search.beam_search_frames import BEAMS

from entropy_sentinel.schemas.signal_schema import signal_contract
from entropy_sentinel.signal_families.signal_registry import FAMILIES
from entropy_sentinel.study.stages import engine_pass
from entropy_sentinel.study.stages.signal_stage import write_signals


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    one = FakeEngine(prompt=None, longest=12)
    monkeypatch.setattr(engine_pass, "make_engine", lambda settings, threads: one)
    return one


def ask(folder: Path, responses: dict[str, list[str]], **columns: list) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of the pass, and of the signals made of it."""
    files = write_items(folder, responses, **columns)
    asked, output = str(folder / "study/passes/beam_search/tiny/a.parquet"), str(folder / "signals.parquet")
    Path(asked).parent.mkdir(parents=True)
    engine_pass.write_engine_pass(*files, pass_settings("beam_search", {"width": 2}), 1, asked)
    write_signals("beam_search", files[1], output, asked=asked)
    return BEAMS.read(asked), signal_contract(FAMILIES["beam_search"]).check(pl.read_parquet(output))


def test_msp_is_of_the_likeliest_sequence_and_the_same_for_all_of_an_item(tmp_path: Path, engine: FakeEngine) -> None:
    rows, signals = ask(tmp_path, {"one?": ["x", "y", "x"], "two?": ["z", "z", "z"]})
    assert signals["item_id"].to_list() == ["a-000"] * 3 + ["a-001"] * 3
    for item, question in (("a-000", "one?"), ("a-001", "two?")):
        (texts,) = rows.filter(item_id=item)["texts"].unique().to_list()
        own = rows.filter(item_id=item).row(0, named=True)
        # Each beam by teacher forcing over the whole vocabulary; where it stopped, token 0 follows its text.
        for text, logprob, reason, length in zip(
            texts, own["logprobs"], own["finish_reasons"], own["lengths"], strict=True
        ):
            tokens = [*map(ord, text), *([0] if reason == "stop" else [])]
            context = [*map(ord, question)]
            steps = [every([*context, *tokens[:place]])[token] for place, token in enumerate(tokens)]
            assert logprob == pytest.approx(sum(steps), rel=1e-5)
            assert length == len(tokens) <= 3
        assert own["logprobs"] == sorted(own["logprobs"], reverse=True)
        # No sequence of one or two tokens that ends is likelier: searched over all of these.
        context = [*map(ord, question)]
        first = every(context)
        ends = [first[0], *(first[token] + every([*context, token])[0] for token in range(1, 500))]
        assert max(ends) <= own["logprobs"][0] + 1e-5
        expected = 1 - math.exp(own["logprobs"][0])
        np.testing.assert_allclose(signals.filter(item_id=item)["msp"], expected, rtol=1e-9)
    assert signals["msp_reason"].null_count() == 6
    assert len([one for one in engine.contexts if len(one) == 4]) == 2, "an item is searched once"


def test_without_beams_there_is_a_reason(tmp_path: Path, engine: FakeEngine) -> None:
    responses = {"a question that is too long?": ["x"], "one?": ["y"], "two?": ["z"]}
    ids, reasons = [[ord("x"), 0], [ord("y"), 0], None], ["stop", "refused: too hot", "stop"]
    rows, signals = ask(tmp_path, responses, token_ids=ids, finish_reason=reasons)
    expected = ["refused: too long", "refused: too hot", "the trace has no token ids"]
    assert rows["reason"].to_list() == signals["msp_reason"].to_list() == expected
    assert signals["msp"].null_count() == rows["texts"].null_count() == 3
