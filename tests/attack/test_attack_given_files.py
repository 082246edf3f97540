"""Files that a user has given, damaged: each is named, and nobody is told to delete the only copy."""

import gzip
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from attack_cases import PLANTED
from calling import run
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.api.response_reading import write_features
from entropy_sentinel.core.errors import InputError

pytestmark = pytest.mark.slow


def estimator() -> Any:
    features = es.features(es.read_logs(TINY.traces))
    return es.fit(features, es.read_labels(TINY.labels), "doc-mtp")


# The content of a whole file to that of a damaged one.
DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda content: content[: len(content) // 2],
    "its end alone": lambda content: content[len(content) // 2 :],
    "empty": lambda _: b"",
    "text": lambda _: f"hello {PLANTED}".encode(),
    "zeros within": lambda content: content[:100] + bytes(len(content) // 2) + content[100 + len(content) // 2 :],
    "packed": lambda content: gzip.compress(content),
}


def write_given(kind: str, path: Path) -> None:
    if kind == "traces":
        path.write_bytes((TINY.traces / "averages.parquet").read_bytes())
    elif kind == "table":
        table = es.read_logs(TINY.traces).select("item_id", "model", "text", "token_logprobs", "top_logprobs")
        table.with_columns(pl.col("top_logprobs").list.eval(pl.element().arr.to_list())).write_parquet(path)
    else:
        write_features(es.features(es.read_logs(TINY.traces)), path)


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize(
    ("read", "kind"), [(es.read_logs, "table"), *product([es.read_features], ("traces", "table", "features"))]
)
def test_a_users_own_file(read: Callable[[Path], Any], kind: str, damage: str, tmp_path: Path) -> None:
    path = tmp_path / "production.parquet"
    write_given(kind, path)
    path.write_bytes(spoiled := DAMAGE[damage](path.read_bytes()))
    with pytest.raises(InputError) as error:
        read(path)
    message = str(error.value)
    assert message.startswith(f"{path}: ")
    assert "get a complete copy" in message
    assert "delete" not in message
    assert PLANTED not in message
    assert path.read_bytes() == spoiled


@pytest.mark.parametrize("command", ["fit", "estimate", "features", "monitor", "sample"])
def test_on_the_command_line(command: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path, mine = tmp_path / "production.parquet", tmp_path / "mine.estimator"
    es.save(estimator(), mine)
    write_given("table", path)
    path.write_bytes(DAMAGE["cut"](path.read_bytes()))
    output = str(tmp_path / "output.parquet")
    arguments = {
        "fit": [str(path), "--labels", str(TINY.labels), "--output", output],
        "estimate": [str(mine), str(path)],
        "features": [str(path), "--output", output],
        "monitor": [str(mine), str(path), "--strict"],
        "sample": [str(mine), str(path), "--budget", "5", "--strict", "--output", str(tmp_path / "label.csv")],
    }[command]
    status, _, message = run(capsys, command, *arguments)
    assert status == 1
    assert f"{path}: " in message
    assert "get a complete copy" in message
    assert "delete" not in message
    assert not Path(output).exists()


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "zeros within"])
def test_labels(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    path.write_bytes(DAMAGE[damage](TINY.labels.read_bytes()))
    with pytest.raises(InputError) as error:
        es.read_labels(path)
    assert str(path) in str(error.value)
    assert "delete" not in str(error.value)
