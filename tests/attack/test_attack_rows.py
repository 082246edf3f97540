"""Files of questions that are not as they should be: `rows.yaml`. From the config to the items, as a study goes."""

import datetime
import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from attack_cases import ROOT, Case, attack, cases, expand, text

from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config.generation_requests import benchmark_settings
from entropy_sentinel.study.stages.benchmark_stage import write_benchmark

pytestmark = pytest.mark.slow

# Values that YAML has no word for.
SPECIAL = {
    "day": datetime.date(2025, 1, 1),
    "moment": datetime.datetime(2025, 1, 1, 12),
    "span": datetime.timedelta(seconds=5),
    "bytes": b"abc",
}


def _special(value: Any) -> Any:
    if isinstance(value, list):
        return [_special(one) for one in value]
    return SPECIAL.get(value, value) if isinstance(value, str) else value


def write_rows(case: Case, path: Path) -> None:
    """The file of a case: `rows` of JSON, the `text`, the bytes as `hex`, or `columns` of Parquet."""
    if "columns" in case:
        columns = {name: _special(values) for name, values in expand(case["columns"]).items()}
        pl.DataFrame(columns).write_parquet(path)
        return
    if "hex" in case:
        content = bytes.fromhex(case["hex"])
    elif "rows" in case:
        content = "".join(json.dumps(row) + "\n" for row in case["rows"]).encode()
    else:
        content = text(case["text"]).encode(case.get("encoding", "utf-8"))
    if case.get("gzip"):
        content = gzip.compress(content, mtime=0)
    content = content[: case.get("cut")]
    for place, byte in case.get("bytes", {}).items():
        content = content[:place] + bytes([byte]) + content[place:][1:]
    path.write_bytes(content)


@cases("rows.yaml")
def test_rows(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    path, output = tmp_path / case.get("file", "rows.jsonl"), tmp_path / "benchmarks" / "sums.parquet"
    write_rows(case, path)
    benchmark = {"path": str(path), "question": ["{q}"], "reference": ["{a}"]} | case.get("settings", {})
    benchmark = {key: value for key, value in benchmark.items() if value is not None}
    over = tmp_path / "over.yaml"
    over.write_text(yaml.safe_dump({"benchmarks": {"sums": benchmark}}))

    def items() -> pl.DataFrame:
        config = load_config(read_config([ROOT / "config.yaml", over]))
        write_benchmark(benchmark_settings(config, "sums"), str(output))
        return BENCHMARKS.check(BENCHMARKS.read(output))

    frame = attack(case["expect"], items)
    if frame is None:
        assert not output.exists()
        return
    wanted: dict[str, Any] = case["expect"]
    if "items" in wanted:
        assert frame.select("question", "reference").rows() == [tuple(item) for item in wanted["items"]]
    if "left_out" in wanted:
        assert read_provenance(output)["left_out"] == wanted["left_out"]
    # What Python makes of things that are no text.
    for column in ("question", "reference"):
        assert not frame[column].str.contains(r"<(class|built-in|function|bound)|b'|object at 0x|^[\[{]'").any()
