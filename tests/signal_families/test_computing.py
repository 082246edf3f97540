"""Signals of a log: its own column, row by row, and computed where that is null."""

import math

import polars as pl
import pytest

from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.schemas.signal_schema import Family, Signal, add_reasons
from entropy_sentinel.signal_families import signal_computation


def test_a_value_in_one_record_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal_computation, "SIGNALS", {"digits": None})
    monkeypatch.setattr(signal_computation, "FAMILY_OF", {"digits": "wording"})
    monkeypatch.setattr(signal_computation, "can_compute_from_trace", lambda family: True)
    made = pl.DataFrame({"digits": [0.1, 0.2, 0.3]}), {}
    monkeypatch.setattr(signal_computation, "compute_signals", lambda family, traces: made)
    own = pl.DataFrame({"digits": [None, "0.4", "many"]})
    assert signal_computation.add_signals(own, own, ["digits"])["digits"].to_list() == [0.1, 0.4, 0.3]
    without = pl.DataFrame({"other": [1, 2, 3]})
    assert signal_computation.add_signals(without, without, ["digits"])["digits"].to_list() == [0.1, 0.2, 0.3]


def test_what_cannot_be_computed_stays_null(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal_computation, "SIGNALS", {"forced": None})
    monkeypatch.setattr(signal_computation, "FAMILY_OF", {"forced": "forced"})
    monkeypatch.setattr(signal_computation, "can_compute_from_trace", lambda family: False)
    own = pl.DataFrame({"forced": [0.5, None]})
    assert signal_computation.add_signals(own, own, ["forced"])["forced"].to_list() == [0.5, None]
    without = pl.DataFrame({"other": [1, 2]})
    assert signal_computation.add_signals(without, without, ["forced"])["forced"].to_list() == [None, None]


def test_what_is_no_finite_number_is_missing_with_a_reason() -> None:
    frame = pl.DataFrame({"short": [0.1, None, math.nan, math.inf, None], "reason": [*[None] * 4, "empty response"]})
    why = "no signal 'short'"
    assert add_reasons(frame, ["short"])["reason"].to_list() == [None, why, why, why, "empty response"]


def test_a_family_must_return_a_row_for_each_response(monkeypatch: pytest.MonkeyPatch) -> None:
    made_up = Family("made up", (Signal("short", "Short", "s", "1"),), compute=lambda traces: traces.head(1).collect())
    monkeypatch.setattr(signal_computation, "FAMILIES", {"short": made_up})
    with pytest.raises(InputError, match="signals/short: .* a row for each of 2 responses, returned 1"):
        signal_computation.compute_signals("short", pl.LazyFrame({"short": [0.1, 0.2]}))


def test_signals_that_ask_the_model_are_not_computed_from_a_log() -> None:
    frame = pl.DataFrame({"eas": [0.5, None]})
    assert signal_computation.add_signals(frame, frame, ["eas"])["eas"].to_list() == [0.5, None]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("digits", "'digits' is a family; .*: digit_entropy_sum, digit_entropy_max$"),
        ("sort", "unknown signal 'sort'; known: mean, std, "),
    ],
)
def test_what_is_no_signal_is_refused_with_what_is_one(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        signal_computation.add_signals(pl.DataFrame(), pl.DataFrame(), [name])
