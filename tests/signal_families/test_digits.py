"""The uncertainty about tokens with digits, worked out by hand."""

import math

import numpy as np
import polars as pl
import pytest

import entropy_sentinel as es
from entropy_sentinel.signal_families.digits.digits_family import FAMILY, compute

NAMES = [signal.name for signal in FAMILY.signals]
EVEN, SURE = [math.log(0.5)] * 2, [0.0, -math.inf]


def traces(
    rows: list[tuple[list[str] | None, list[list[float]] | None]], start: list[int] | None = None
) -> pl.LazyFrame:
    """Responses of tokens, each with the log-probabilities of two alternatives."""
    return pl.DataFrame(
        {
            "tokens": [tokens for tokens, _ in rows],
            "trace_start": start or [0] * len(rows),
            "token_logprobs": [None if steps is None else [step[0] for step in steps] for _, steps in rows],
            "top_logprobs": [steps for _, steps in rows],
        },
        schema={
            "tokens": pl.List(pl.String),
            "trace_start": pl.UInt32,
            "token_logprobs": pl.List(pl.Float32),
            "top_logprobs": pl.List(pl.Array(pl.Float32, 2)),
        },
    ).lazy()


def of(rows: list, **options: list[int]) -> list[tuple[float | None, float | None]]:
    return compute(traces(rows, **options)).select(NAMES).rows()


def test_only_tokens_with_a_digit_count() -> None:
    """An even choice between two has the entropy ln 2; the last token has a digit of another script."""
    (row,) = of([(["a", " 12", "3", "٣"], [EVEN, EVEN, SURE, EVEN])])
    assert row == pytest.approx((2 * math.log(2), math.log(2)), abs=1e-6)


def test_a_response_without_digits_has_none_and_one_without_texts_is_unknown() -> None:
    rows = [(["a", "b"], [EVEN, EVEN]), (None, [EVEN, EVEN]), (["1"], None), (["1", "2"], [EVEN])]
    assert of(rows) == [(0.0, 0.0), (None, None), (None, None), (None, None)]


def test_thinking_does_not_count() -> None:
    (row,) = of([(["1", "2", "3"], [EVEN, SURE, EVEN])], start=[1])
    assert row == pytest.approx((math.log(2), math.log(2)), abs=1e-6)


def test_rows_stay_in_order_over_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [([str(n % 10)] * n or ["a"], [EVEN] * max(n, 1)) for n in range(7)]
    whole = of(rows)
    monkeypatch.setattr("entropy_sentinel.signal_families.digits.digits_family._BATCH", 2)
    assert of(rows) == whole
    assert [row[0] for row in whole] == pytest.approx([n * math.log(2) for n in range(7)], abs=1e-6)


def test_a_log_is_scored_with_them() -> None:
    """The signals are computed from the log, in `fit` and in `score`."""
    logs = es.read_logs(es.example().traces)
    features = es.features(logs, signals=NAMES)
    assert features.select(pl.all_horizontal(pl.col(NAMES).is_not_null()).all()).item()
    estimator = es.fit(features, es.read_labels(es.example().labels), "log-digits")
    scores = es.score(estimator, logs)["p_correct"].to_numpy()
    again = es.score(estimator, features)["p_correct"].to_numpy()
    assert np.allclose(scores, again)
    assert not np.isnan(scores).any()
