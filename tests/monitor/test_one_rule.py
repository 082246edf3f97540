"""Every verb leaves out the same responses, finds the same columns, and names options that do what it says."""

import csv
import json
import re
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calling import run
from production import line, log_file, saved

import entropy_sentinel as es
from entropy_sentinel.core.errors import ConfigError, InputError

VERBS = ("monitor", "estimate", "score", "sample")
OWN = ("token_logprobs", "top_logprobs")


def call(verb: str, estimator: Path, log: Path, folder: Path, *more: object) -> list[object]:
    """A call of a verb that reads a log for an estimator."""
    own = {"score": ["-o", folder / "scores.csv"], "sample": ["-o", folder / "to_label.csv", "-n", "8"]}
    return [verb, estimator, log, *own.get(verb, []), *more]


@pytest.fixture(scope="module")
def estimator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("estimator"), "log-3d")


# What responses are of and the estimator is not, and the option that takes them.
OTHERS = (
    ({"model": "m 2"}, "of model 'm 2'", "--any-model"),
    ({"k": 5}, "of top_k_returned 5, not 20", "--any-logprobs"),
    ({"k": 25}, "of top_k_returned 25, not 20", "--top-k 20"),
)


@pytest.mark.parametrize(
    ("verb", "changes", "kind", "takes"),
    [("monitor", *other) for other in OTHERS] + [(verb, *other) for verb, other in zip(VERBS[1:], OTHERS, strict=True)],
)
def test_what_the_estimator_is_not_for_is_left_out_with_a_remedy(
    verb: str, changes: dict[str, Any], kind: str, takes: str, estimator: Path, tmp_path: Path, capsys
) -> None:
    """12 of 52 responses; each option that the line names, pasted, does what the line says."""
    records = [line(number, **(changes if number >= 40 else {})) for number in range(52)]
    log = log_file(tmp_path / "log.jsonl", records)
    status, _, err = run(capsys, *call(verb, estimator, log, tmp_path))
    (expected,) = [line for line in err.splitlines() if "left out" in line]
    assert (status, expected.startswith(f"12 responses {kind} left out: the estimator has ")) == (3, True)
    assert f"{log}: line 41" in expected
    where = re.search(r"--where (.+?) skips them", expected)
    assert where is not None
    assert f"{takes} " in expected
    for option, n_rows in ((shlex.split(where[0].removesuffix(" skips them")), 40), (takes.split(), 52)):
        (tmp_path / "to_label.csv").unlink(missing_ok=True)
        status, out, err = run(capsys, *call(verb, estimator, log, tmp_path, *option))
        assert (status, "left out:" in err) == (0, False)
        assert re.search(rf"\b{n_rows}\b( responses|  )", out), (option, out)


def formats(folder: Path, n: int = 40) -> Path:
    """As many responses in each of three formats, with route and time where each has them; half are of `shop`."""
    folder.mkdir()
    records = [line(number, route="shop" if number % 2 else "school") for number in range(3 * n)]
    table = [{"timestamp": record.pop("time"), **record} for record in records[:n]]
    with (folder / "table.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows({**one, **{name: json.dumps(one[name]) for name in OWN}} for one in table)
    nested = [{"metadata": {"route": record.pop("route"), "tier": "gold"}, **record} for record in records[n : 2 * n]]
    pl.DataFrame(nested).write_parquet(folder / "nested.parquet")
    log_file(folder / "payloads.jsonl", [payload(record) for record in records[2 * n :]])
    return folder


def payload(record: dict[str, Any]) -> dict[str, Any]:
    """A table's row as LiteLLM's proxy logs it."""
    steps = [
        {"token": "a", "logprob": sampled, "top_logprobs": [{"token": str(i), "logprob": x} for i, x in enumerate(top)]}
        for sampled, top in zip(record["token_logprobs"], record["top_logprobs"], strict=True)
    ]
    choice = {"message": {"content": "a b c"}, "finish_reason": "stop", "logprobs": {"content": steps}}
    return {
        "id": record["id"],
        "call_type": "acompletion",
        "model": "m",
        "model_parameters": {},
        "startTime": 1762041600.0,
        "metadata": {"route": record["route"], "user_api_key_hash": "0f", "requester_ip_address": "10.0.0.7"},
        "response": {"id": record["id"], "model": "m", "choices": [choice]},
    }


def slices(result: pl.DataFrame, name: str) -> dict[str | None, int]:
    return dict(result.select(name, "n_responses").rows())


def test_three_formats_share_a_slice(estimator: Path, tmp_path: Path, capsys) -> None:
    folder = formats(tmp_path / "logs")
    assert run(capsys, "features", folder, "-o", tmp_path / "features.parquet")[0] == 0
    kept = pl.read_parquet(tmp_path / "features.parquet")
    # 40 in the table's column, 80 among the metadata of the others; who asked is not kept.
    assert (kept["route"].count(), kept["metadata.route"].count()) == (40, 80)
    assert not [name for name in kept.columns if "user_api_key" in name or "requester" in name]
    mapped = {"column": ["route=metadata.route"]}
    for logs in (folder, tmp_path / "features.parquet"):
        for result in (
            es.estimate(estimator, logs, ["route"], **mapped),
            es.monitor(estimator, logs, ["route"], **mapped).slices,
            es.sample(estimator, logs, ["route"], 20, **mapped).slices,
        ):
            assert slices(result, "route") == {"shop": 60, "school": 60}
        # What has the mapped name in one format, and the place in two.
        assert slices(es.estimate(estimator, logs, ["metadata.route"]), "metadata.route") == {
            None: 40,
            "shop": 40,
            "school": 40,
        }
    named = es.read_features(folder, column={"route": "metadata.route"})
    assert named["route"].null_count() == 0
    days = es.monitor(estimator, folder / "table.csv", window="day").windows
    assert days["window"].null_count() == 0


def test_where_takes_the_responses_with_the_values(estimator: Path, tmp_path: Path) -> None:
    folder = formats(tmp_path / "logs")
    for where in (["route=shop"], {"route": "shop"}):
        result = es.estimate(estimator, folder, ["route"], where=where, column={"route": "metadata.route"})
        assert slices(result, "route") == {"shop": 60}
    features = es.read_features(folder)
    both = es.monitor(estimator, features, ["benchmark"], where={"benchmark": ["table", "nested"], "model": "m"})
    assert slices(both.slices, "benchmark") == {"table": 40, "nested": 40}
    assert both.problems.lines() == ["40 responses left out by where: benchmark 'payloads'"]
    assert len(es.read_features(folder, where={"metadata.tier": "gold"})) == 40
    with pytest.raises(InputError, match=r"where .*model 'm' \(120\); columns: "):
        es.read_features(folder, where={"model": "n"})
    with pytest.raises(ConfigError, match="where: must be NAME=VALUE, got 'shop'"):
        es.read_features(folder, where="shop")


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("monitor", ["--by", "rout"]),
        ("sample", ["--by", "rout"]),
        *((verb, ["--where", "rout=shop"]) for verb in VERBS),
    ],
)
def test_an_unknown_column_is_refused_with_the_columns(
    verb: str, options: list[str], estimator: Path, tmp_path: Path, capsys
) -> None:
    folder = formats(tmp_path / "logs", 4)
    status, _, err = run(capsys, *call(verb, estimator, folder, tmp_path, *options))
    assert (status, "column 'rout' " in err) == (1, True)
    assert {"model", "benchmark", "route", "metadata.route", "timestamp"} <= set(re.split(r"[,:] |\n", err))


def test_a_model_can_be_a_slice_of_any_log(estimator: Path, tmp_path: Path) -> None:
    """A payload's record names the model in another place than its reply."""
    pair = {"request": {"model": "alias"}, "response": payload(line(0))["response"]}
    log = log_file(tmp_path / "pairs.jsonl", [pair])
    for result in (es.estimate(estimator, log), es.monitor(estimator, log, ["model", "benchmark"]).slices):
        assert result.select("model", "benchmark").rows() == [("m", "pairs")]
