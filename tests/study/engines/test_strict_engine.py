"""Wrong engines of extensions: each reply that cannot be right is one error that says which field, whose, and why."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from extended import extension, printed
from fake_engine import FakeEngine
from item_files import write_items

from entropy_sentinel.schemas.generation_schema import TOP_K
from entropy_sentinel.study.engines.engine_interface import (
    Beam,
    Beams,
    Continuation,
    NextToken,
    RenderedPrompt,
    Response,
    refused,
)
from entropy_sentinel.study.engines.strict_engine import EngineReplyError, StrictEngine

SETTINGS: Any = {"engine": "vllm", "model": "coin", "benchmark": "odd"}
FACTS = {"engine": "coin", "engine_version": "1", "logprobs_mode": "raw_logprobs"}
N_TOKENS = 3
# A distribution over 22 tokens: 1/2, 1/4, ... and their logarithms.
HALVES = -np.log(2) * np.arange(1, 23, dtype=np.float32)


def right(**changes: Any) -> Response:
    """Three tokens, the second of which was the fifth likeliest."""
    sampled = HALVES[[0, 4, 0]]
    return replace(Response("0" * 16, 7, "one", "stop", sampled, np.tile(HALVES[:TOP_K], (N_TOKENS, 1))), **changes)


class CoinEngine:
    """Yields the replies that it is given, whatever they are."""

    def __init__(self, replies: Any, provenance: Any = FACTS, counts: Any = ()) -> None:
        self.replies, self.provenance, self.counts = replies, provenance, counts

    def under_way(self) -> Any:
        return self.counts

    def answer(self, chats: Sequence[str], seeds: Sequence[int]) -> Any:
        return self.replies


def answer(replies: Any, n_asked: int = 4, **engine: Any) -> Iterator[tuple[int, Response]]:
    return StrictEngine(CoinEngine(replies, **engine), SETTINGS).answer(["?"] * n_asked, range(n_asked))


def array(values: Any, step: int, value: Any) -> np.ndarray:
    """The array with another value at a step."""
    changed = np.array(values)
    changed[step] = value
    return changed


TOP = right().top_logprobs
CHOSEN = right().token_logprobs
LETTERS = np.array(["o", "n", "e"], dtype=object)
IDS = np.array([1, 2, 3], dtype=np.uint32)
TOP_IDS = np.tile(np.arange(1, 21, dtype=np.uint32), (3, 1))

WRONG: dict[str, tuple[Mapping[str, Any], str]] = {
    "19 alternatives": ({"top_logprobs": TOP[:, :19]}, r"`top_logprobs` must .*\(3, 20\).*got the shape \(3, 19\)"),
    "21 alternatives": ({"top_logprobs": np.tile(HALVES[:21], (3, 1))}, r"`top_logprobs`.*\(3, 21\)"),
    "uneven alternatives": ({"top_logprobs": [[-1.0] * 20, [-1.0] * 19, [-1.0] * 20]}, "`top_logprobs`.*lengths"),
    "flat alternatives": ({"top_logprobs": TOP.ravel()}, r"`top_logprobs`.*\(60,\)"),
    "no alternatives": ({"top_logprobs": None}, "`top_logprobs` must"),
    "only alternatives": ({"token_logprobs": None}, "`token_logprobs` must"),
    "fewer steps of alternatives": ({"top_logprobs": TOP[:2]}, r"`top_logprobs`.*\(2, 20\)"),
    "fewer chosen": ({"token_logprobs": CHOSEN[:2]}, r"`top_logprobs`.*\(2, 20\).*\(3, 20\)"),
    "fewer tokens": ({"tokens": LETTERS[:2]}, r"`tokens`.*\(2,\)"),
    "more ids": ({"token_ids": np.arange(4)}, r"`token_ids`.*\(4,\)"),
    "fewer ids of alternatives": ({"top_token_ids": TOP_IDS[:, :5]}, r"`top_token_ids`.*\(3, 5\)"),
    "texts of alternatives": ({"top_tokens": TOP_IDS}, "`top_tokens`.*texts.*int"),
    "numbers as tokens": ({"tokens": IDS}, "`tokens`.*texts.*int"),
    "null among tokens": ({"tokens": array(LETTERS, 1, None)}, "`tokens`.*None"),
    "half a surrogate pair": ({"tokens": array(LETTERS, 1, "\ud83d")}, "`tokens`.*Unicode"),
    "negative ids": ({"token_ids": np.array([1, -1, 2])}, "`token_ids`.*-1"),
    "large ids": ({"token_ids": np.array([1, 2, 2**32])}, "`token_ids`.*4294967296"),
    "float ids": ({"token_ids": np.array([1.0, 2.0, 3.0])}, "`token_ids`.*float64"),
    "object log-probabilities": ({"token_logprobs": CHOSEN.astype(object)}, "`token_logprobs`.*object"),
    "texts as log-probabilities": ({"token_logprobs": ["-1", "-2", "-1"]}, "`token_logprobs`.*dtype <U"),
    "whole numbers": ({"top_logprobs": np.zeros((3, 20), int)}, "`top_logprobs`.*dtype int64"),
    "no text": ({"text": None}, "`text` must be a text; got None"),
    "bytes": ({"text": b"one"}, "`text` must be a text; got bytes"),
    "no finish reason": ({"finish_reason": None}, "`finish_reason`"),
    "number as prompt hash": ({"prompt_hash": 12}, "`prompt_hash`.*12"),
    "negative prompt": ({"prompt_tokens": -1}, "`prompt_tokens`.*-1"),
    "half a prompt token": ({"prompt_tokens": 0.5}, "`prompt_tokens`.*0.5"),
    # Values.
    "positive": ({"token_logprobs": -CHOSEN, "top_logprobs": -TOP}, "`token_logprobs`.*at most 0; got 0.69.* step 0"),
    "positive alternatives": ({"top_logprobs": array(TOP, (1, 0), 0.5)}, "`top_logprobs`.*at most 0.*step 1"),
    "probabilities": ({"token_logprobs": np.exp(CHOSEN), "top_logprobs": np.exp(TOP)}, "at most 0.*natural log"),
    "NaN chosen": ({"token_logprobs": array(CHOSEN, 2, np.nan)}, "`token_logprobs`.*nan at step 2"),
    "NaN alternatives": ({"top_logprobs": array(TOP, (1, 19), np.nan)}, "`top_logprobs`.*at step 1"),
    "rising": ({"top_logprobs": TOP[:, ::-1]}, "`top_logprobs`.*largest first.*at step 0"),
    "two exchanged": ({"top_logprobs": array(TOP, (2, slice(3, 5)), TOP[2, [4, 3]])}, "`top_logprobs`.*at step 2"),
    "sum above 1": ({"top_logprobs": TOP / 2, "token_logprobs": CHOSEN / 2}, "`top_logprobs`.*sum"),
    "none possible": ({"top_logprobs": np.full((3, 20), -np.inf)}, "`top_logprobs`.*probability above 0"),
    "chosen above all": ({"token_logprobs": array(CHOSEN, 1, -0.1)}, "`token_logprobs`.*at most the largest"),
    "chosen after temperature": ({"token_logprobs": array(CHOSEN, 1, -1.75)}, "`token_logprobs`.*-1.75 at step 1"),
    "chosen of another id": ({"token_ids": IDS, "top_token_ids": TOP_IDS}, "`token_logprobs`.*at step 1"),
    "text without tokens": ({"token_logprobs": CHOSEN[:0], "top_logprobs": TOP[:0]}, "`token_logprobs`.*each token"),
    "no log-probabilities at all": ({"token_logprobs": None, "top_logprobs": None}, "logprobs_mode 'none'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_first_response_is_an_error_that_names_its_field(name: str) -> None:
    changes, message = WRONG[name]
    with pytest.raises(EngineReplyError, match=message) as failure:
        list(answer(iter([(2, right(**changes))])))
    text = str(failure.value)
    for part in ("models.coin, benchmark odd", "engine 'vllm'", f"{Path(__file__)}: CoinEngine", "answer, prompt 2"):
        assert part in text
    assert "answers so far are kept" in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("replies", "message"),
    [
        (None, "must yield pairs"),
        (iter([right()]), "must yield pairs"),
        (iter([(0, "one")]), "`response` must be a Response .*got str 'one'"),
        (iter([(4, right())]), "0 to 3.*got 4"),
        (iter([(-1, right())]), "0 to 3.*got -1"),
        (iter([("0", right())]), "0 to 3.*got '0'"),
        (iter([(1, right()), (1, right())]), "second reply to number 1"),
    ],
)
def test_what_is_no_numbered_response_is_an_error(replies: Any, message: str) -> None:
    with pytest.raises(EngineReplyError, match=message):
        list(answer(replies))


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ({"provenance": None}, "`provenance` is missing"),
        ({"provenance": "coin"}, "`provenance` must be a dict"),
        ({"provenance": {"engine": "coin", "engine_version": "1"}}, "'logprobs_mode'"),
        ({"provenance": FACTS | {"engine_version": 1}}, "'engine_version'.* must be a text; got int 1"),
        ({"counts": None}, "`under_way` must return a list"),
        ({"counts": [0.5]}, "`under_way` must return a list"),
    ],
)
def test_an_engine_must_describe_itself(engine: Mapping[str, Any], message: str) -> None:
    with pytest.raises(EngineReplyError, match=message):
        list(answer(iter([(0, right())]), **engine))


@pytest.mark.parametrize(
    "response",
    [
        right(),
        right(tokens=LETTERS, token_ids=np.array([1, 5, 1]), top_token_ids=TOP_IDS),
        right(token_logprobs=CHOSEN.astype(np.float64), top_logprobs=TOP.tolist()),
        right(token_logprobs=array(CHOSEN, 1, -20.0)),  # not among the most likely ones
        right(top_logprobs=array(TOP, (1, slice(5, None)), -np.inf)),
        right(text="", token_logprobs=CHOSEN[:0], top_logprobs=TOP[:0]),
        refused("prompt of 5,000 tokens, at most 512", "f" * 16),
    ],
)
def test_what_can_be_right_passes_unchanged(response: Response) -> None:
    assert list(answer(iter([(0, response)]))) == [(0, response)]


def test_an_engine_without_log_probabilities_says_so() -> None:
    text_only = right(token_logprobs=None, top_logprobs=None, n_counted=3)
    facts = FACTS | {"logprobs_mode": "none"}
    assert list(answer(iter([(0, text_only)]), provenance=facts)) == [(0, text_only)]


def test_later_impossible_values_are_counted_and_later_wrong_types_an_error(caplog: pytest.LogCaptureFixture) -> None:
    """The first reply with tokens decides, whatever came before it."""
    caplog.set_level(logging.WARNING)
    empty, positive = refused("too long", "f" * 16), right(top_logprobs=-TOP, token_logprobs=-CHOSEN)
    assert len(list(answer(iter([(0, empty), (1, right()), (2, positive), (3, positive)])))) == 4
    assert "2 of 4 responses have impossible values, so their features are null" in caplog.text
    answers = answer(iter([(0, right()), (1, right(top_logprobs=TOP[:, :19]))]))
    assert next(answers)[0] == 0
    with pytest.raises(EngineReplyError, match=r"prompt 1: `top_logprobs`.*\(3, 19\)"):
        next(answers)
    with pytest.raises(EngineReplyError, match="prompt 1: `token_logprobs`"):
        list(answer(iter([(0, empty), (1, positive)])))


class WrongTokenIdEngine(FakeEngine):
    """Returns other values from one of its methods: `change` of what it would return."""

    def __init__(self, method: str, change: Callable[[Any], Any]) -> None:
        super().__init__()
        function = getattr(self, method)

        def changed(*arguments: Any) -> Any:
            value = function(*arguments)
            if isinstance(value, list):
                return change(value)
            return ((number, change(reply)) for number, reply in value)

        setattr(self, method, changed)


QUESTIONS: dict[str, Callable[[StrictEngine], Any]] = {
    "next_tokens": lambda engine: list(engine.next_tokens([[1, 2], [1, 2, 3]])),
    "continuations": lambda engine: list(engine.continuations(iter([([1], [2, 3]), ([1], [2])]))),
    "beams": lambda engine: list(engine.beams([[1, 2]], 2, 3)),
    "prompts": lambda engine: engine.prompts(["one", "two"]),
    "token_ids": lambda engine: engine.token_ids(["one", "two"]),
    "token_texts": lambda engine: engine.token_texts([[1, 2], [3]]),
}


@pytest.mark.parametrize("method", QUESTIONS)
def test_replies_of_a_token_id_engine_pass_unchanged(method: str) -> None:
    ask = QUESTIONS[method]
    assert repr(ask(StrictEngine(FakeEngine(), SETTINGS))) == repr(ask(FakeEngine()))


@pytest.mark.parametrize(
    ("method", "change", "message"),
    [
        ("next_tokens", lambda reply: reply.logprobs, "must be a NextToken"),
        ("next_tokens", lambda reply: replace(reply, logprobs=reply.logprobs[:19]), r"`logprobs`.*\(19,\)"),
        ("next_tokens", lambda reply: replace(reply, token_ids=reply.token_ids[:19]), r"`token_ids`.*\(19,\)"),
        ("next_tokens", lambda reply: replace(reply, token_ids=None), r"`token_ids`.*None"),
        ("next_tokens", lambda reply: replace(reply, token_ids=-reply.token_ids.astype(int)), "`token_ids`.*-"),
        ("next_tokens", lambda reply: replace(reply, token_ids=reply.token_ids * 0), "`token_ids` must be different"),
        ("next_tokens", lambda reply: replace(reply, logprobs=-reply.logprobs), "`logprobs`.*at most 0"),
        ("next_tokens", lambda reply: replace(reply, logprobs=reply.logprobs[::-1]), "largest first"),
        ("next_tokens", lambda reply: replace(reply, logprobs=reply.logprobs * np.nan), "`logprobs` must be numbers"),
        ("next_tokens", lambda reply: replace(reply, logprobs=reply.logprobs / 9), "`logprobs`.*sum"),
        ("next_tokens", lambda reply: NextToken(reply.token_ids[:0], reply.logprobs[:0]), r"`token_ids`.*\(20,\)"),
        ("continuations", lambda reply: replace(reply, logprobs=reply.logprobs[:-1]), r"`logprobs`.*\(2,\)"),
        ("continuations", lambda reply: replace(reply, logprobs=-reply.logprobs), "`logprobs`.*at most 0"),
        ("continuations", lambda reply: Continuation(reply.logprobs * np.nan), "`logprobs` must be numbers"),
        ("continuations", lambda reply: Continuation(None), "`logprobs`.*None"),
        ("beams", lambda reply: list(reply.beams), "must be Beams"),
        ("beams", lambda reply: Beams(reply.beams[::-1]), "likeliest sequence first"),
        ("beams", lambda reply: Beams(reply.beams * 2), "1 to 2 sequences.*4"),
        ("beams", lambda reply: Beams(()), "`refused`"),
        ("beams", lambda reply: Beams((replace(reply.beams[0], logprob=0.5),)), "`logprob`.*0.5"),
        ("beams", lambda reply: Beams((replace(reply.beams[0], logprob=float("nan")),)), "`logprob`.*nan"),
        ("beams", lambda reply: Beams((replace(reply.beams[0], finish_reason="eos"),)), "`finish_reason`.*'eos'"),
        ("beams", lambda reply: Beams((replace(reply.beams[0], text=None),)), "`text`.*None"),
        ("beams", lambda reply: Beams((Beam(("a",), "a", -1.0, "stop"),)), "`token_ids`"),
        ("prompts", lambda prompts: prompts[:1], "list of 2"),
        ("prompts", lambda prompts: ["one", "two"], "RenderedPrompt"),
        ("prompts", lambda prompts: [RenderedPrompt([1], None)] * 2, "`hash`.*None"),
        ("token_ids", lambda ids: ids[:1], "list of 2"),
        ("token_ids", lambda ids: ["o", "t"], "`token_ids`"),
        ("token_texts", lambda texts: texts[:1], "list of 2"),
        ("token_texts", lambda texts: [texts[0][:1], texts[1]], "each of the 2 tokens"),
        ("token_texts", lambda texts: [[1, 2], [3]], "`token_texts`.*texts"),
    ],
)
def test_wrong_replies_to_a_pass_are_errors_that_name_their_field(
    method: str, change: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(EngineReplyError, match=message) as failure:
        QUESTIONS[method](StrictEngine(WrongTokenIdEngine(method, change), SETTINGS))
    assert f"{method}: `" in str(failure.value)
    assert f"{Path(__file__)}: WrongTokenIdEngine" in str(failure.value)


def test_a_missing_method_is_named() -> None:
    with pytest.raises(EngineReplyError, match="CoinEngine.*`next_tokens` is missing"):
        list(StrictEngine(CoinEngine([]), SETTINGS).next_tokens([[1]]))


WRONG_INIT = """
def models():
    from mine.coin import Coin

    return {"heads": Coin}
"""
WRONG_COIN = """
from typing import Any, ClassVar, Literal

import numpy as np

from entropy_sentinel.study.engines.engine_interface import Response
from entropy_sentinel.study.engines.model_base import Model


class Coin(Model):
    kind: ClassVar[Literal["heads"]] = "heads"
    ENGINE: ClassVar[str] = "coin"
    heads: float

    @classmethod
    def load(cls):
        return lambda settings, threads: Engine(settings["width"])


class Engine:
    provenance = {"engine": "coin", "engine_version": "1", "logprobs_mode": "raw_logprobs"}

    def __init__(self, width):
        if width < 0:
            raise KeyError("width")
        self.width = width

    def under_way(self):
        return []

    def answer(self, chats, seeds):
        for position, _ in enumerate(seeds):
            width = 20 if position < 3 else self.width
            if not width:
                raise ValueError("the coin is lost")
            top = np.full((1, width), -np.inf, np.float32)
            top[0, 0] = -0.5
            yield position, Response("", 0, "heads", "stop", np.array([-0.5], np.float32), top)
"""
RUN = """
import json, sys
from pathlib import Path

from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.study.stages.generation_stage import write_generations

settings = {"engine": "coin", "model": "mine", "benchmark": "odd", "samples": 1, "seed": 1, "sampling": {}}
settings["text"] = "{question}"
found = {}
for width in (19, 0, -1, 20):
    try:
        write_generations("items.parquet", settings | {"width": width}, 1, "results/s/generations/mine/odd.parquet")
        error = ""
    except EntropySentinelError as failure:
        error = f"{type(failure).__name__}: {failure}"
    parts = Path("results/s/generations/mine").glob("odd.parquet.parts/*.parquet")
    found[width] = [error, sum(GENERATIONS.read(path).height for path in parts)]
print(json.dumps(found))
"""


def test_an_extension_with_a_wrong_engine_is_named_with_its_file_and_its_answers_are_kept(tmp_path: Path) -> None:
    folder = extension(tmp_path / "mine", WRONG_INIT, coin=WRONG_COIN)
    write_items(tmp_path, [f"odd-{number:05d}" for number in range(6)])
    found = printed(tmp_path, RUN, folder)
    error, kept = found["19"]
    assert error.startswith("EngineReplyError: models.mine, benchmark odd: the engine 'coin' ")
    assert f"{folder}/coin.py: Engine" in error
    assert "answer, prompt 3: `top_logprobs`" in error
    assert kept == 3
    error, kept = found["0"]
    line = WRONG_COIN.splitlines().index('                raise ValueError("the coin is lost")') + 1
    assert error.startswith("ExtensionError: models.mine, benchmark odd: engine 'coin': `answer` failed: ")
    assert f"{folder}/coin.py:{line}: ValueError: the coin is lost" in error
    assert kept == 3, "other settings replace the parts"
    assert found["-1"][0].startswith(f"ExtensionError: models.mine: engine 'coin' cannot be made: {folder}/coin.py:")
    assert found["20"] == ["", 6]


def test_the_checks_take_a_small_part_of_the_time_of_a_response() -> None:
    """A hundredth of what a model takes for 600 tokens at 10,000 a second."""
    long = right(token_logprobs=CHOSEN.repeat(200), top_logprobs=TOP.repeat(200, axis=0), tokens=LETTERS.repeat(200))
    n_responses = 100
    start = time.process_time()
    for _ in answer(((number, long) for number in range(n_responses)), n_responses):
        pass
    assert (time.process_time() - start) / n_responses < 0.01 * 600 / 10_000 * 5, "with room for a slow machine"
