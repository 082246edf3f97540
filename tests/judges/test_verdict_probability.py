"""The probability of a verdict from recorded tokens; expected values are sums and quotients worked out by hand."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fake_api import FakeApi, completion, fake_api, ok, quiet_litellm, refusal

import entropy_sentinel as es
from entropy_sentinel.judges.judgement_reading import read_verdict_probability, strip_logprobs

pytestmark = quiet_litellm
Alternatives = dict[str, float]


def steps(*tokens: str | tuple[str, Alternatives]) -> list[Any]:
    """Tokens as they are kept; a token without alternatives is certain, the first alternative is the sampled one."""
    kept = []
    for token in tokens:
        text, given = token if isinstance(token, tuple) else (token, {token: 1.0})
        logprobs = [[name, math.log(p)] for name, p in given.items()]
        kept.append([text, math.log(given.get(text, 0.5)), logprobs])
    return kept


_OPEN = ('{"', "success", '":')
_READ = {
    "a word and its space": (True, (*_OPEN, (" true", {" true": 0.9, " false": 0.1}), "}"), 0.9),
    "incorrect": (False, (*_OPEN, (" false", {" false": 0.7, " true": 0.2, "\n": 0.1}), "}"), 0.2 / 0.9),
    "parts of a word": (True, (*_OPEN, " ", ("tr", {"tr": 0.6, "fal": 0.3, "T": 0.06}), "ue", "}"), 0.66 / 0.96),
    "with the signs before it": (True, ('{"success', ('":true', {'":true': 0.8, '":false': 0.2}), "}"), 0.8),
    "several spellings": (
        True,
        (*_OPEN, (" true", {" true": 0.5, "true": 0.2, " True": 0.1, " false": 0.15, " F": 0.05}), "}"),
        0.8,
    ),
    "Python's spelling": (True, ("{'success':", (" True", {" True": 0.75, " False": 0.25}), "}"), 0.75),
    "marks of a tokeniser": (True, ("{", "Ġ'success", "':", ("Ġtrue", {"Ġtrue": 0.6, "Ġfalse": 0.4}), "}"), 0.6),
    "the last verdict": (
        False,
        ('{"success": true}? No. ', *_OPEN, (" false", {" false": 0.6, " true": 0.4}), "}"),
        0.4,
    ),
    "a sampled token that is not listed": (True, (*_OPEN, (" true", {" false": 0.5, " x": 0.001}), "}"), 0.5),
    "an impossible opposite": (True, (*_OPEN, (" true", {" true": 0.995, " x": 0.004}), "}"), 1.0),
}
_UNREAD = {
    "no verdict": (True, ("It", " is", " right")),
    "another verdict than the label": (False, (*_OPEN, " true", "}")),
    "an opposite beyond the list": (True, (*_OPEN, (" true", {" true": 0.6, " x": 0.2, " y": 0.1}), "}")),
    "no alternatives": (True, (*_OPEN, (" true", {" true": 0.95}), "}")),
}


@pytest.mark.parametrize(("label", "tokens", "expected"), _READ.values(), ids=_READ)
def test_reads_the_probability(label: bool, tokens: Any, expected: float) -> None:
    assert read_verdict_probability(steps(*tokens), label) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("label", "tokens"), _UNREAD.values(), ids=_UNREAD)
def test_null_where_it_cannot_be_read(label: bool, tokens: Any) -> None:
    assert read_verdict_probability(steps(*tokens), label) is None


@pytest.mark.parametrize("kept", [None, [], 5, [["a"]], [["true", "x", []]], [['"success": true', 0.7, []]]])
def test_damaged_tokens_are_no_error(kept: Any) -> None:
    assert read_verdict_probability(kept, True) is None


def test_the_stored_reply_has_no_log_probabilities() -> None:
    assert strip_logprobs('{"choices": [{"logprobs": {"content": []}, "index": 0}]}') == '{"choices": [{"index": 0}]}'
    assert [strip_logprobs(raw) for raw in (None, "plain", "[]")] == [None, "plain", "[]"]


def verdict_reply(body: dict[str, Any], _: int) -> tuple:
    """A server that gives log-probabilities to those who ask."""
    tokens = ["The answer is 5.\n", '{"', "success", '":', " true", "}"]
    entries = [{"token": token, "bytes": None, "logprob": 0.0, "top_logprobs": []} for token in tokens]
    alternatives = [
        {"token": token, "bytes": None, "logprob": math.log(p)} for token, p in ((" true", 0.6), (" false", 0.2))
    ]
    entries[4] |= {"logprob": math.log(0.6), "top_logprobs": alternatives}
    return ok(completion("".join(tokens), entries if body.get("logprobs") else [], 6))


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", "secret-of-the-judge")
    with fake_api(verdict_reply) as server:
        yield server


def test_verdicts_have_their_probability(api: FakeApi) -> None:
    rows = pl.DataFrame({"item_id": ["a", "b"], "question": ["2 + 3?", "1 + 4?"], "response": ["5", "five"]})

    def judge(logprobs: str) -> tuple[list[float | None], list[bool]]:
        before = len(api.requests)
        verdicts = es.judge(rows, "hosted_vllm/j", base_url=api.base_url, logprobs=logprobs, concurrency=1)
        assert verdicts["label"].to_list() == [True] * len(rows)
        return verdicts["probability"].to_list(), ["logprobs" in request for request in api.requests[before:]]

    # Replies that were paid for without log-probabilities are used, unless these are asked for.
    assert judge("off") == ([None] * 2, [False] * 2)
    assert judge("auto") == ([None] * 2, [])
    assert judge("on") == ([pytest.approx(0.75)] * 2, [True] * 2)
    assert judge("on") == ([pytest.approx(0.75)] * 2, [])
    rows = rows.with_columns(response=pl.lit("5.0"))
    assert judge("auto") == ([pytest.approx(0.75)] * 2, [True] * 2)
    # A server that takes no log-probabilities is asked without them.
    api.reply = lambda body, n: refusal("logprobs are not supported") if "logprobs" in body else verdict_reply(body, n)
    rows = rows.with_columns(response=pl.lit("5.00"))
    assert judge("auto") == ([None] * 2, [True, False, False])
