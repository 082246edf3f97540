"""Replies are written quickly, and what orjson would change is written as before."""

import gc
import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest
from fake_api import completion, step

from entropy_sentinel.capture.openai import Exchange
from entropy_sentinel.capture.quick_json import is_finite, parse_json
from entropy_sentinel.capture.record_forms import select_records
from entropy_sentinel.capture.record_writer import LogWriter

HEADERS = [(b"content-type", b"application/json")]
REQUEST = {"model": "m", "messages": [{"role": "user", "content": "6*7"}], "logprobs": True}


def lines(exchange: Exchange) -> list[Any]:
    """What is in the log of a reply."""
    return [
        json.loads(record) if isinstance(record, bytes) else json.loads(json.dumps(record))
        for record in exchange.build_records("texts")
    ]


def test_a_usual_reply_is_written_as_it_would_be_from_its_parts() -> None:
    reply = completion("42 é", [step() for _ in range(3)])
    body = json.dumps(reply).encode()
    exchange = Exchange(REQUEST, body, HEADERS, {"route": "shop"})
    (record,) = exchange.build_records("texts")
    assert isinstance(record, bytes)
    expected = select_records({"metadata": {"route": "shop"}, "request": REQUEST, "response": reply}, "texts")
    assert lines(exchange) == expected
    assert b'"bytes"' not in record


@pytest.mark.parametrize("number", ["NaN", "-Infinity"])
def test_numbers_that_json_does_not_have_stay(number: str) -> None:
    """orjson would write them as null, which means a probability of 0 among alternatives."""
    body = json.dumps(completion("42")).replace("-0.5", number, 1).encode()
    assert number.encode() in body
    (record,) = Exchange(REQUEST, body, HEADERS, {}).build_records("texts")
    assert not isinstance(record, bytes)
    assert number in json.dumps(record)


def test_numbers_of_the_request_stay() -> None:
    exchange = Exchange({**REQUEST, "temperature": math.nan}, json.dumps(completion()).encode(), HEADERS, {})
    (record,) = exchange.build_records("texts")
    assert math.isnan(record["request"]["temperature"])
    assert (is_finite({"a": [1, 2.0, "x", None]}), is_finite({"a": [math.inf]})) == (True, False)


def test_lone_surrogates_are_read_as_the_standard_library_reads_them() -> None:
    content, quick = parse_json(rb'{"token": "\ud83d"}')
    assert (content, quick) == ({"token": "\ud83d"}, False)
    with pytest.raises(ValueError, match="line 1"):
        parse_json(b"{")


@pytest.mark.parametrize("collecting", [True, False])
def test_the_collector_is_as_it_was(tmp_path: Path, collecting: bool) -> None:
    seen = []
    (gc.enable if collecting else gc.disable)()
    try:
        writer = LogWriter(tmp_path / str(collecting), ".jsonl.gz")

        def make() -> list[dict[str, int]]:
            seen.append(gc.isenabled())
            return [{"number": 1}]

        def fails() -> list[dict[str, int]]:
            raise ValueError

        writer.put(fails, 10)
        writer.put(make, 10)
        writer.close()
        assert (seen, gc.isenabled()) == ([False], collecting)
    finally:
        gc.enable()
    (path,) = (tmp_path / str(collecting)).iterdir()
    assert json.loads(gzip.decompress(path.read_bytes())) == {"number": 1}
