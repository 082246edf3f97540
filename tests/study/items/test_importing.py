"""Traces and labels made elsewhere: what is taken over, and what a person reads about a file that cannot be."""

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from item_files import write_items
from studies import PAPER, study

from entropy_sentinel.core.errors import ConfigError, ContractError, InputError
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.generation_schema import GENERATIONS, scan_traces
from entropy_sentinel.schemas.label_schema import LABELS
from entropy_sentinel.study.config.generation_requests import count_gpus, generation_settings
from entropy_sentinel.study.config.label_requests import list_labels_files
from entropy_sentinel.study.config.study_config import Config
from entropy_sentinel.study.items import table_import as steps
from entropy_sentinel.study.items.trace_import import import_labels
from entropy_sentinel.study.stages.generation_stage import write_generations
from entropy_sentinel.study.stages.label_stage import write_labels

IDS = [f"a-{number:05d}" for number in range(4)]
STEP = [-0.5 - rank for rank in range(20)]
SETTINGS = {
    "version": 1,
    "model": "theirs",
    "benchmark": "a",
    "engine": "source",
    "logprobs_mode": "raw_logprobs",
    "samples": 1,
    "sampling": {"temperature": 0.7},
}


def traces(**changes: list) -> dict[str, Any]:
    """The columns that a file of traces must have, for the items 2, 0 and 1: responses of 2, 1 and 0 tokens."""
    lengths = (2, 1, 0)
    columns = {
        "item_id": [IDS[2], IDS[0], IDS[1]],
        "text": ["two", "one", ""],
        "finish_reason": ["stop", "length", "content_filter"],
        "token_logprobs": [[-0.5] * n for n in lengths],
        "top_logprobs": [[STEP] * n for n in lengths],
    }
    return columns | changes


def run_import(folder: Path, columns: dict[str, Any], ids: list[str] = IDS, **settings: Any) -> Path:
    """Write a file of traces, import it for the items `ids`, and return the output."""
    source, output = folder / "source.parquet", folder / "out.parquet"
    pl.DataFrame(columns).write_parquet(source)
    write_generations(write_items(folder, ids), SETTINGS | {"source": str(source)} | settings, 1, str(output))
    return output


def test_lacking_columns_are_filled_and_rows_come_in_benchmark_order(tmp_path: Path) -> None:
    output = run_import(tmp_path, traces())
    frame = GENERATIONS.check(GENERATIONS.read(output))
    assert frame["item_id"].to_list() == IDS[:3]
    assert frame["n_tokens"].to_list() == [1, 0, 2]
    assert frame["text"].to_list() == ["one", "", "two"]
    assert frame["top_logprobs"].list.len().to_list() == [1, 0, 2]
    assert frame["top_logprobs"][2][1].to_list() == STEP
    same = {"sample": 0, "seed": -1, "run": 0, "prompt_hash": "", "prompt_tokens": 0, "trace_start": 0}
    same |= {"token_ids": None, "top_token_ids": None, "displaced_steps": 0}
    assert frame.select(list(same)).unique().row(0, named=True) == same


def test_missing_items_are_counted_and_the_config_says_what_the_file_does_not(tmp_path: Path) -> None:
    result = read_provenance(run_import(tmp_path, traces(), content="sha256:12ab"))
    assert result["source_content"] == "sha256:12ab"
    assert (result["missing_items"], result["unused_rows"]) == (1, 0)
    assert (result["engine"], result["source_engine"]) == ("source", None)
    assert (result["logprobs_mode"], result["top_k_returned"]) == ("raw_logprobs", 20)
    assert result["sampling"] == "unknown"  # whatever the study's own is


def test_texts_of_the_most_likely_tokens_are_taken_over(tmp_path: Path) -> None:
    texts = [f"t{rank}" for rank in range(20)]
    given = [[texts] * len(one) for one in traces()["token_logprobs"]]
    result = GENERATIONS.read(run_import(tmp_path, traces() | {"top_tokens": given}))
    assert result["top_tokens"].to_list() == [[texts] * n for n in result["n_tokens"]]
    with pytest.raises(InputError, match="'top_tokens' must have as many steps as token_logprobs"):
        run_import(tmp_path, traces() | {"top_tokens": [[texts] * 3] * len(given)})


def test_rows_of_items_that_a_limited_study_leaves_out_are_set_aside(tmp_path: Path) -> None:
    output = run_import(tmp_path, traces(), ids=[IDS[0], IDS[3]])
    assert GENERATIONS.read(output)["item_id"].to_list() == [IDS[0]]
    result = read_provenance(output)
    assert (result["unused_rows"], result["missing_items"]) == (2, 1)
    labels, labelled = tmp_path / "labels.parquet", tmp_path / "labelled.parquet"
    pl.DataFrame({"item_id": IDS, "label": [True, False, True, False]}).write_parquet(labels)
    settings = {"version": 1, "judge": "people", "kind": "file", "path": str(tmp_path.parent)}
    write_labels("unused", str(output), settings, str(labelled), [str(labels)])
    assert LABELS.read(labelled, ["item_id", "label"]).rows() == [(IDS[0], True)]
    assert read_provenance(labelled)["unused_rows"] == 3


def test_a_file_without_any_item_of_the_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"source.parquet: none of its 3 rows .*a-00003"):
        run_import(tmp_path, traces(), ids=[IDS[3]])
    labels = tmp_path / "labels.parquet"
    pl.DataFrame({"item_id": IDS[1:], "label": [True] * 3}).write_parquet(labels)
    responses = pl.DataFrame({"item_id": IDS[:1], "sample": [0]}, schema_overrides={"sample": pl.UInt16})
    with pytest.raises(InputError, match=r"labels.parquet: none of its 3 rows "):
        import_labels(responses, str(labels))


def test_kind_of_log_probabilities_must_be_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"source.parquet: .* set models.theirs.source_logprobs_mode"):
        run_import(tmp_path, traces(), logprobs_mode=None)


def test_file_of_this_pipeline_speaks_for_itself(tmp_path: Path) -> None:
    first = run_import(tmp_path, traces())
    again = tmp_path / "again.parquet"
    kept = GENERATIONS.read(first)
    GENERATIONS.write(kept, first, read_provenance(first) | {"sampling": {"temperature": 0.2}})
    settings = SETTINGS | {"source": str(first), "logprobs_mode": None, "model": "renamed"}
    write_generations(str(tmp_path / "items.parquet"), settings, 1, str(again))
    assert GENERATIONS.read(again).equals(GENERATIONS.read(first))
    result = read_provenance(again)
    assert (result["model"], result["source_model"]) == ("renamed", "theirs")
    assert (result["logprobs_mode"], result["sampling"]) == ("raw_logprobs", {"temperature": 0.2})


def test_samples_are_counted_where_the_file_does_not_number_them(tmp_path: Path) -> None:
    output = run_import(tmp_path, traces(item_id=[IDS[0], IDS[1], IDS[0]]), samples=2)
    frame = GENERATIONS.read(output, ["item_id", "sample", "text"])
    assert frame.rows() == [(IDS[0], 0, "two"), (IDS[0], 1, ""), (IDS[1], 0, "one")]
    output = run_import(tmp_path, traces(item_id=[IDS[0], IDS[1], IDS[0]], sample=[1, 0, 0]), samples=2)
    assert GENERATIONS.read(output, ["sample", "text"]).rows() == [(0, ""), (1, "two"), (0, "one")]


STEPS = [[STEP] * n for n in (2, 1, 0)]
INF = float("inf")
LEVEL = [math.log(1.002 / 20)] * 20  # 20 probabilities that add up to 1.002


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"item_id": [IDS[0], "b-00007", "b-00008"]}, "row 1: 'item_id' .*b-00007"),
        ({"item_id": [IDS[0], "a-7", IDS[1]]}, "row 1: 'item_id' .*a-NNNNN; got a-7"),
        ({"item_id": [IDS[0], "aa-00001", IDS[1]]}, "row 1: 'item_id' .*got aa-00001"),
        ({"item_id": [IDS[0], IDS[1], IDS[0]]}, "row 2: 'item_id' must occur once .*1"),
        ({"sample": [0, 1, 0]}, "row 1: 'sample' .*generation.samples, 1; got 1"),
        ({"item_id": [IDS[0], None, IDS[1]]}, "row 1: 'item_id' must not be null"),
        ({"item_id": [IDS[0]] * 3, "sample": [0, 1, 0]}, "row 2: 'item_id' must occur once"),
        *(
            ({"finish_reason": values}, f"row {row}: 'finish_reason' must be 'stop', .*; got {values[row]}")
            for row, values in (
                (1, ["stop", "eos", "stop"]),
                (0, ["STOP ", "length", "stop"]),
            )
        ),
        ({"token_logprobs": [[-0.5], [-0.5], []]}, "row 0: 'top_logprobs' must have as many steps"),
        ({"token_logprobs": [[-0.5, None], [-0.5], []]}, "row 0: 'token_logprobs' must not contain null"),
        ({"token_ids": [[1, 2], [3, 4], []]}, "row 1: 'token_ids' must have as many steps"),
        ({"token_ids": [[1, 2], [-3], []]}, r"row 1: 'token_ids' must be List\(UInt32\)"),
        ({"n_tokens": [2, 1, 1]}, "row 2: 'n_tokens' .*token_logprobs; got 1"),
        ({"trace_start": [2, 2, 0]}, "row 1: 'trace_start' must be at most"),
        ({"top_logprobs": [STEPS[0], [STEP[:19]], []]}, r"row 1, step 0: 'top_logprobs' .*\(20\), has 19; got \[-0.5,"),
        (
            {"top_logprobs": [[STEP[:5], STEP[:4]], [STEP[:5]], []]},
            r"row 0, step 1: 'top_logprobs' .*\(5\), has 4;",
        ),
        ({"top_logprobs": [[[0.6, 0.3, 0.1]] * 2, [[0.6, 0.3, 0.1]], []]}, "row 0, step 0: .* must be logarithms of"),
        ({"top_logprobs": [["a", "b"], ["c"], []]}, r"row 0: 'top_logprobs' must be List\(Array\(Float32"),
        ({"top_logprobs": [STEPS[0], [STEP[::-1]], []]}, "row 1, step 0: 'top_logprobs' .*20 largest"),
        ({"top_logprobs": [[STEP, None], [STEP], []]}, "row 0, step 1: 'top_logprobs' .*20 largest"),
        ({"top_logprobs": [[STEP, STEP], [[*STEP[:19], None]], []]}, "row 1, step 0: 'top_logprobs' .*20 largest"),
        ({"top_logprobs": [[STEP, [-INF] * 20], [STEP], []]}, r"row 0, step 1: .*above 0; got \[-inf, "),
        ({"top_logprobs": [[STEP, [-9999.0] * 20], [STEP], []]}, r"row 0, step 1: .*above 0; got \[-9999.0, "),
        (
            {"top_logprobs": [[STEP, STEP], [LEVEL], []], "token_logprobs": [[-0.5, -0.5], [-3], []]},
            r"row 1, step 0: 'top_logprobs' must be logarithms .*; got \[-2.99",
        ),
        ({"top_logprobs": [[STEP, [90.0, *STEP[1:]]], [STEP], []]}, "row 0, step 1: 'top_logprobs' .*logarithms"),
        ({"token_logprobs": [[-0.5, -0.25], [-0.5], []]}, "row 0, step 1: 'token_logprobs' .*largest .*; got -0.25"),
    ],
)
def test_unusable_rows_are_named(tmp_path: Path, changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError, match=f"source.parquet: {expected}"):
        run_import(tmp_path, traces(**changes))
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("dtype", [pl.List(pl.Float64), pl.Array(pl.Float32, 5)])
def test_five_alternatives_are_a_fact_of_the_traces(tmp_path: Path, dtype: pl.DataType) -> None:
    top = pl.Series([[STEP[:5]] * n for n in (2, 1, 0)], dtype=pl.List(dtype))
    output = run_import(tmp_path, traces(top_logprobs=top))
    assert GENERATIONS.read(output)["top_logprobs"].to_list() == [[STEP[:5]], [], [STEP[:5]] * 2]
    assert read_provenance(output)["top_k_returned"] == 5
    GENERATIONS.write(GENERATIONS.read(output), output, read_provenance(output) | {"top_k_returned": 7})
    with pytest.raises(ContractError, match="a step must have top_k_returned = 7 entries, has 5"):
        scan_traces(output)


def test_a_log_with_the_items_of_the_study_is_a_source(tmp_path: Path) -> None:
    steps = [{"token": "a", "logprob": -0.5, "top_logprobs": [{"token": "b", "logprob": p} for p in STEP[:3]]}]
    choice = {"index": 0, "message": {"content": "one"}, "finish_reason": "stop", "logprobs": {"content": steps}}
    answered = {"id": "batch_req_1", "response": {"status_code": 200, "body": {"choices": [choice]}}, "error": None}
    source = tmp_path / "a.jsonl"
    source.write_text("".join(json.dumps({"custom_id": item, **answered}) + "\n" for item in IDS[1::-1]))
    settings = SETTINGS | {"source": str(source)}
    write_generations(write_items(tmp_path, IDS), settings, 1, str(tmp_path / "out.parquet"))
    result = GENERATIONS.read(tmp_path / "out.parquet")
    assert result["item_id"].to_list() == IDS[:2]
    assert result["top_logprobs"].to_list() == [[STEP[:3]]] * 2
    assert read_provenance(tmp_path / "out.parquet")["top_k_returned"] == 3
    source.write_text(source.read_text() + "{}\n")
    with pytest.raises(InputError, match=r"a.jsonl: line 3: has no known format"):
        write_generations(str(tmp_path / "items.parquet"), settings, 1, str(tmp_path / "out.parquet"))
    without = {"custom_id": IDS[2], **answered, "response": {"body": {"choices": [choice | {"logprobs": None}]}}}
    source.write_text(json.dumps(without))
    with pytest.raises(InputError, match=r"a.jsonl: row 0: 'text' must have log-probabilities; got one"):
        write_generations(str(tmp_path / "items.parquet"), settings, 1, str(tmp_path / "out.parquet"))


def test_a_log_with_ids_of_its_own_is_matched_by_its_questions(tmp_path: Path) -> None:
    """Three questions in three epochs, of which the last question failed; a repeated question comes in its order."""
    questions = [f"Which number is {name}?" for name in ("two", "one", "four", "one")]
    items = write_items(tmp_path, IDS, question=questions, duplicate_of=[*IDS[:3], IDS[1]])
    settings = SETTINGS | {"source": str(Path(__file__).parents[2] / "logs" / "samples" / "numbers.eval"), "samples": 3}
    write_generations(items, settings, 1, str(tmp_path / "out.parquet"))
    frame = GENERATIONS.read(tmp_path / "out.parquet")
    assert frame.select("item_id", "sample").rows() == list(product(IDS[:2], range(3)))
    facts = read_provenance(tmp_path / "out.parquet")
    assert (facts["missing_items"], facts["unused_rows"]) == (2, 3)
    with pytest.raises(InputError, match="'item_id' must be an item of the benchmark, a-NNNNN; got "):
        write_generations(write_items(tmp_path, IDS), settings, 1, "out.parquet")


def test_rounding_and_probabilities_of_zero_are_possible(tmp_path: Path) -> None:
    level = [math.log(1.0005 / 20)] * 20
    only = [0.0, *[-INF] * 19]
    columns = traces(
        top_logprobs=[[level, only], [[float("nan")] * 20], []],
        token_logprobs=[[level[0] + 0.0005, -INF], [float("nan")], []],
    )
    assert GENERATIONS.read(run_import(tmp_path, columns))["n_tokens"].to_list() == [1, 0, 2]


def test_the_step_is_counted_within_its_response(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "RESPONSES_AT_A_TIME", 2)
    lengths = [3, 0, 0, 2, 4]
    top = [[STEP] * n for n in lengths]
    top[4][2] = [-INF] * 20
    frame = pl.DataFrame(
        {"token_logprobs": [[-0.5] * n for n in lengths], "top_logprobs": top},
        schema={name: GENERATIONS.schema[name] for name in ("token_logprobs", "top_logprobs")},
    )
    assert steps.find_impossible_step(frame)[:3] == (4, 2, "top_logprobs")
    assert steps.find_impossible_step(frame[:4]) is None
    assert steps.find_impossible_step(frame[1:3]) is None


def test_file_without_a_column_or_of_another_format_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"column 'finish_reason' .*: item_id, text"):
        run_import(tmp_path, {name: values for name, values in traces().items() if name != "finish_reason"})
    with pytest.raises(InputError, match=r"source.parquet: has no row"):
        run_import(tmp_path, GENERATIONS.schema.to_frame().to_dict())
    (tmp_path / "text.parquet").write_text("no table")
    with pytest.raises(InputError, match=r"text.parquet: must be a Parquet file"):
        import_labels(pl.DataFrame(), str(tmp_path / "text.parquet"))


def test_labels_are_taken_by_item_and_sample(tmp_path: Path) -> None:
    generations = run_import(tmp_path, traces())
    source, output = tmp_path / "labels.parquet", tmp_path / "labelled.parquet"
    pl.DataFrame({"item_id": [IDS[2], IDS[0]], "label": [True, None], "extra": [1, 2]}).write_parquet(source)
    settings = {"version": 1, "judge": "people", "kind": "file", "path": str(tmp_path.parent)}
    write_labels("unused", str(generations), settings, str(output), [str(source)])
    frame = LABELS.read(output)
    assert frame["item_id"].to_list() == IDS[:3]
    assert frame["label"].to_list() == [None, None, True]
    assert frame["reason"].to_list() == ["no label in the file", "no label in the file", None]
    assert read_provenance(output)["judge"] == "people"


def test_unusable_labels_are_named(tmp_path: Path) -> None:
    responses = pl.DataFrame({"item_id": IDS, "sample": [0] * 4}, schema_overrides={"sample": pl.UInt16})
    source = tmp_path / "labels.parquet"
    for columns, message in (
        ({"item_id": [IDS[2], "b-00001"], "label": [True, False]}, "row 1: 'item_id' .*a-NNNNN; got b-00001"),
        ({"item_id": [IDS[2], IDS[1]], "sample": [0, 1], "label": [True, False]}, "row 1: 'sample' .*got 1"),
        ({"item_id": [IDS[2]], "label": ["yes"]}, "column 'label' must be Boolean, got String"),
    ):
        pl.DataFrame(columns).write_parquet(source)
        with pytest.raises(InputError, match=message):
            import_labels(responses, str(source))
    pl.DataFrame({"item_id": [IDS[2]], "label": [None], "reason": ["unclear"]}).write_parquet(source)
    assert import_labels(responses, str(source))[0]["reason"][2] == "unclear"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("labels.csv", "item_id,label,reason\na-00002,TRUE,\na-00000,,unclear\n"),
        ("labels.csv", "item_id;label\na-00002;1\na-00000;\n"),
        ("labels.jsonl", '{"item_id": "a-00002", "label": true}\n{"item_id": "a-00000", "label": null}\n'),
    ],
)
def test_labels_of_a_spreadsheet_or_json_lines_and_their_missing_rows(name: str, text: str, tmp_path: Path) -> None:
    responses = pl.DataFrame({"item_id": IDS, "sample": [0] * 4}, schema_overrides={"sample": pl.UInt16})
    (tmp_path / name).write_text(text)
    frame, counts = import_labels(responses, str(tmp_path / name))
    assert LABELS.check(frame)["label"].to_list() == [None, None, True, None]
    assert frame["reason"].to_list()[1::2] == ["no label in the file"] * 2
    assert frame["reason"][0] == ("unclear" if "unclear" in text else "no label in the file")
    assert counts == {"missing_rows": 2, "unused_rows": 0}
    (tmp_path / name).write_text(text.replace("a-00000", "b-00000"))
    with pytest.raises(InputError, match=f"{name}: row 1: 'item_id' must be an item of the benchmark, a-NNNNN"):
        import_labels(responses, str(tmp_path / name))
    (tmp_path / name).write_text(text.replace("TRUE", "perhaps").replace(";1", ";perhaps").replace("true", '"perhaps"'))
    with pytest.raises(InputError, match=f"{name}: row 1: 'label' must be true, false, .*perhaps"):
        import_labels(responses, str(tmp_path / name))


def study_of_files(folder: Path) -> Config:
    """The paper's study with one model and one judge, both made elsewhere."""
    return study(
        {
            "models": {"theirs": {"source": str(folder), "source_logprobs_mode": "raw_logprobs"}},
            "judges": {"people": {"kind": "file", "path": str(folder)}},
            "run.models": ["theirs"],
            "run.judges": ["people"],
            "analyses": {},
        }
    )


def test_config_asks_for_every_file_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"models.theirs.source: must hold gsm8k.parquet"):
        study_of_files(tmp_path)
    for benchmark in PAPER["run"]["benchmarks"]:
        (tmp_path / f"{benchmark}.parquet").touch()
    with pytest.raises(ConfigError, match=r"judges.people.path: must hold theirs/gsm8k.parquet"):
        study_of_files(tmp_path)
    (tmp_path / "theirs").mkdir()
    for benchmark in PAPER["run"]["benchmarks"]:
        (tmp_path / "theirs" / f"{benchmark}.parquet").touch()
    (tmp_path / "math.parquet").rename(tmp_path / "math.jsonl")
    (tmp_path / "theirs" / "math.parquet").rename(tmp_path / "theirs" / "math.csv")
    # Of several evaluations of a task the newest counts.
    newest = (tmp_path / "svamp.parquet").rename(tmp_path / "2026-01-02T00-00-00_svamp_b.eval")
    newest.with_name("2026-01-01T00-00-00_svamp_a.eval").touch()
    config = study_of_files(tmp_path)
    assert generation_settings(config, "theirs", "svamp")["source"] == str(newest)
    assert generation_settings(config, "theirs", "math")["source"] == str(tmp_path / "math.jsonl")
    settings = generation_settings(config, "theirs", "gsm8k")
    assert (settings["engine"], settings["source"]) == ("source", str(tmp_path / "gsm8k.parquet"))
    assert settings["logprobs_mode"] == "raw_logprobs"
    assert list_labels_files(config, "people", "theirs", "gsm8k") == [str(tmp_path / "theirs" / "gsm8k.parquet")]
    assert list_labels_files(config, "people", "theirs", "math") == [str(tmp_path / "theirs" / "math.csv")]
    assert count_gpus(config, "theirs") == 0


def test_a_benchmark_without_references_needs_no_file_of_labels(tmp_path: Path) -> None:
    for benchmark in ("gsm8k", "math", "svamp"):
        (tmp_path / f"{benchmark}.parquet").touch()
    (tmp_path / "theirs").mkdir()
    for benchmark in ("gsm8k", "math"):
        (tmp_path / "theirs" / f"{benchmark}.csv").touch()
    raw = {
        "models": {"theirs": {"source": str(tmp_path), "source_logprobs_mode": "raw_logprobs"}},
        "judges": {"people": {"kind": "file", "path": str(tmp_path)}},
        **{"run.models": ["theirs"], "run.judges": ["people"], "run.benchmarks": ["gsm8k", "math", "svamp"]},
        **{"run.groups": [], "groups": {}, "analyses": {}, "benchmarks.svamp.reference": []},
    }
    config = study(raw)
    assert config.labelled_benchmarks == ["gsm8k", "math"]
    assert list_labels_files(config, "people", "theirs", "svamp") == []
    with pytest.raises(ConfigError, match="groups.all: benchmark 'svamp' has no references and no imported labels"):
        study(raw | {"run.groups": ["all"], "groups": {"all": {"benchmarks": ["gsm8k", "svamp"]}}})
    (tmp_path / "theirs" / "svamp.jsonl").touch()
    config = study(raw)
    assert config.labelled_benchmarks == ["gsm8k", "math", "svamp"]
    assert list_labels_files(config, "people", "theirs", "svamp") == [str(tmp_path / "theirs" / "svamp.jsonl")]
    (tmp_path / "theirs" / "math.csv").unlink()
    with pytest.raises(ConfigError, match=r"judges.people.path: must hold theirs/math.parquet \(.csv or .jsonl\)"):
        study(raw)


def test_without_a_file_all_labels_are_null(tmp_path: Path) -> None:
    generations, output = run_import(tmp_path, traces()), tmp_path / "labelled.parquet"
    settings = {"version": 1, "judge": "people", "kind": "file", "path": str(tmp_path)}
    write_labels(write_items(tmp_path, IDS, reference=[None] * 4), str(generations), settings, str(output))
    assert LABELS.read(output, ["label", "reason"]).unique().rows() == [(None, "no reference")]
