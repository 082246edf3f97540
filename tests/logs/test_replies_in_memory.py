"""Replies in memory and tables in CSV: the same responses as from the same records in a file."""

import csv
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal
from production import BEGIN, line, log_file

import entropy_sentinel as es
from entropy_sentinel.core.errors import InputError

RECORDS = [line(number, user=None if number % 4 else "ann") for number in range(8)]
LOGS = Path(__file__).parent / "samples"


def from_file(folder: Path, records: list[dict[str, Any]]) -> pl.DataFrame:
    """The frame of the records in a file of JSON Lines with the name that replies in memory go by."""
    return es.read_logs(log_file(folder / "replies.jsonl", records))


def openai_replies() -> list[dict[str, Any]]:
    lines = (LOGS / "openai.jsonl").read_text().splitlines()
    return [one for one in map(json.loads, lines) if one.get("object") == "chat.completion"]


def test_dicts_are_read_like_lines(tmp_path: Path) -> None:
    expected = from_file(tmp_path, RECORDS)
    assert expected.height == 8
    assert_frame_equal(es.read_logs(RECORDS), expected)
    assert_frame_equal(es.read_logs(iter(RECORDS)), expected)
    assert_frame_equal(es.read_logs(RECORDS[0]), es.read_logs(RECORDS[:1]))


def test_replies_of_the_clients_of_openai_and_litellm(tmp_path: Path) -> None:
    openai = pytest.importorskip("openai", reason="a client whose replies are read")
    replies = openai_replies()
    assert len(replies) > 1
    expected = from_file(tmp_path, replies)
    made = [openai.types.chat.ChatCompletion.model_construct(**reply) for reply in replies]
    typed = [openai.types.chat.ChatCompletion.model_validate(reply) for reply in replies if reply["choices"]]
    assert_frame_equal(es.read_logs(made), expected)
    assert es.read_logs(typed)["item_id"].to_list() == [one.id for one in typed for _ in one.choices]
    assert es.read_logs(typed[0])["text"][0] == typed[0].choices[0].message.content


@pytest.mark.slow
def test_a_reply_of_litellm() -> None:
    script = """
import json, sys, warnings
warnings.simplefilter("ignore")
from litellm import ModelResponse
import entropy_sentinel as es
replies = [ModelResponse(**one) for one in json.load(sys.stdin)]
warnings.simplefilter("error")
print(json.dumps(es.read_logs(replies).select("item_id", "text", "n_tokens", "top_k_returned").rows()))
"""
    replies = [one for one in openai_replies() if one["choices"][0].get("logprobs")][:2]
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(replies),
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path), "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
    )
    assert done.returncode == 0, done.stderr
    expected = es.read_logs(replies).select("item_id", "text", "n_tokens", "top_k_returned").rows()
    assert json.loads(done.stdout) == [list(one) for one in expected]


def test_frames_of_polars_pandas_and_arrow(tmp_path: Path) -> None:
    expected = from_file(tmp_path, RECORDS)
    frame = pl.DataFrame(RECORDS)
    for given in (frame, frame.lazy(), pd.DataFrame(RECORDS), pa.Table.from_pylist(RECORDS)):
        assert_frame_equal(es.read_logs(given), expected, check_column_order=False)


def test_numbers_of_numpy_and_what_pandas_misses(tmp_path: Path) -> None:
    """Arrays in cells, a NaN for a missing value, a Timestamp, a nullable integer."""
    rows = [
        {
            **record,
            "token_logprobs": np.array(record["token_logprobs"]),
            "top_logprobs": np.array(record["top_logprobs"]),
        }
        for record in RECORDS
    ]
    table = pd.DataFrame(rows)
    table["tier"] = ["free", float("nan")] * 4
    table["seed"] = pd.array([7, None] * 4, dtype="Int64")
    table["when"] = pd.to_datetime(table["time"])
    result = es.read_logs(table)
    assert_frame_equal(
        result.select(from_file(tmp_path, RECORDS).columns).drop("seed"), from_file(tmp_path, RECORDS).drop("seed")
    )
    assert result["seed"].to_list() == [7, -1] * 4
    assert result["tier"].to_list() == ["free", None] * 4
    assert result["when"][0] == BEGIN


def test_features_of_replies(tmp_path: Path) -> None:
    expected = es.features(from_file(tmp_path, RECORDS))
    assert_frame_equal(es.features(RECORDS), expected)
    assert_frame_equal(es.features(pd.DataFrame(RECORDS)), expected)
    assert_frame_equal(es.features(pl.DataFrame(RECORDS)), expected)
    assert_frame_equal(es.read_features(iter(RECORDS)), expected)
    assert es.read_features(RECORDS, columns=["route"])["route"][0] == "school"
    with pytest.raises(InputError, match=r"es.read_features\(paths\)"):
        es.features("log.jsonl")


@pytest.mark.parametrize(
    ("given", "output"),
    [
        (7, r"logs: must be files, or replies: .*; got int"),
        (["a.jsonl", RECORDS[0]], r"got a list of 1 paths and 1 others"),
        ([7], r"replies: entry 1 \(must be a JSON object, is int: 7\)|no usable response"),
        ([{"a": 1}], "no known format"),
        ([], "is no file|no usable response"),
    ],
)
def test_logs_that_are_no_replies_are_refused(given: Any, output: str) -> None:
    with pytest.raises(InputError, match=output):
        es.read_logs(given)


def table(path: Path, records: list[dict[str, Any]], delimiter: str = ",", opened: Any = open) -> Path:
    names = list(records[0])
    with opened(path, "wt", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, names, delimiter=delimiter)
        writer.writeheader()
        for one in records:
            writer.writerow(
                {key: json.dumps(value) if isinstance(value, list | dict) else value for key, value in one.items()}
            )
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_table_in_csv_is_read_like_lines(tmp_path: Path, delimiter: str) -> None:
    records = [record | {"text": 'two\nlines, "quoted"', "sample": 0, "tokens": ["a", ",", "\n"]} for record in RECORDS]
    expected = from_file(tmp_path, records)
    path = table(tmp_path / "replies.csv", records, delimiter)
    assert_frame_equal(es.read_logs(path), expected)
    packed = table(tmp_path / "replies.csv.gz", records, delimiter, gzip.open)
    assert_frame_equal(es.read_logs(packed), expected)


def test_a_long_trace_fits_into_a_cell(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    long = line(0) | {name: line(0)[name][:1] * 2000 for name in ("token_logprobs", "top_logprobs")}
    assert len(json.dumps(long["top_logprobs"])) > 131_072  # the limit of the module csv
    assert es.read_logs(table(tmp_path / "a.csv", [long]))["n_tokens"].to_list() == [2000]
    assert csv.field_size_limit() == limit


def test_bad_rows_of_csv_are_named_and_the_rest_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = table(tmp_path / "a.csv", RECORDS)
    lines = path.read_text(encoding="utf-8-sig").splitlines(keepends=True)
    lines[2] = "only,two\r\n"
    lines[3] = lines[3].replace('"[', '"[oops ', 1)
    path.write_text("".join(lines))
    result = es.read_logs(path)
    assert result["item_id"].to_list() == [f"req-{n:04d}" for n in (0, 3, 4, 5, 6, 7)]
    assert f"{path}: row 2: must have 9 cells like the first line, has 2" in caplog.text
    assert f"{path}: row 3: 'token_logprobs' must be JSON, such as [-0.1, -2.3], got '[oops " in caplog.text


def test_another_table_is_refused_once(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("item_id,label\n" + "a,true\n" * 1000)
    with pytest.raises(InputError, match=rf"{path}: .*token_logprobs is missing, columns: item_id, label$"):
        es.read_logs(path)
