"""Benchmarks of local files: they take the place of data sets, and their columns are checked before anything runs."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from item_files import write_rows
from production import log_file
from studies import PAPER

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.section_base import merge_sections
from entropy_sentinel.study.config.config_loading import load_config
from entropy_sentinel.study.config.generation_requests import benchmark_settings
from entropy_sentinel.study.config.study_config import Config

RUN = {"run": {"models": ["qwen3-4b"], "benchmarks": ["gsm8k", "svamp"], "groups": [], "sizes": [{"size": 1}]}}
ROWS = [{"question": f"{n} + 1?", "answer": f"#### {n + 1}"} for n in range(3)]


def study(**benchmarks: Any) -> Config:
    """The paper's study with the user's own file over it, as Snakemake and the commands load it."""
    own = {**RUN, "benchmarks": benchmarks}
    return load_config(merge_sections(deepcopy(PAPER), own), "config.yaml + mine.yaml", own)


def refusal(**benchmarks: Any) -> str:
    with pytest.raises(ConfigError) as error:
        study(**benchmarks)
    return str(error.value)


def lines(path: Path, rows: list[dict[str, Any]]) -> str:
    return str(log_file(path, rows))


def test_a_path_replaces_the_data_set_and_keeps_the_mapping(tmp_path: Path) -> None:
    path = lines(tmp_path / "own.jsonl", ROWS)
    result = study(gsm8k={"path": path}).benchmarks["gsm8k"]
    assert (result.dataset, result.configs, result.split, result.path) == (None, [], "test", path)
    assert (result.question, result.reference_after) == (["{question}"], "####"), "the built-in mapping"


def test_a_study_that_sets_the_data_set_to_null_itself_is_unchanged(tmp_path: Path) -> None:
    """`dataset: null` was needed once; its items are not made again."""
    path = lines(tmp_path / "own.jsonl", ROWS)
    settings = benchmark_settings(study(gsm8k={"dataset": None, "path": path}), "gsm8k")
    assert settings == benchmark_settings(study(), "gsm8k") | {"dataset": None, "path": path}


def test_a_data_set_replaces_a_path(tmp_path: Path) -> None:
    raw = merge_sections(deepcopy(PAPER), RUN)
    raw["benchmarks"]["gsm8k"] = {"path": "nowhere.jsonl", "question": ["{question}"], "reference": ["{answer}"]}
    own = {"benchmarks": {"gsm8k": {"dataset": "me/mine"}}}
    result = load_config(merge_sections(raw, own), "mine.yaml", own).benchmarks["gsm8k"]
    assert (result.dataset, result.path) == ("me/mine", None)


def test_path_and_data_set_in_the_same_file_are_refused(tmp_path: Path) -> None:
    path = lines(tmp_path / "own.jsonl", ROWS)
    told = refusal(gsm8k={"dataset": "me/mine", "path": path})
    assert "benchmarks.gsm8k: needs exactly one of 'dataset' (a Hugging Face id) and 'path' (a local file)" in told
    assert told.endswith("both are set; leave one out")
    assert refusal(x={"question": ["{q}"]}).endswith("has neither")


@pytest.mark.parametrize("name", ["own.jsonl", "own.jsonl.gz", "own.csv", "own.parquet"])
@pytest.mark.parametrize(
    ("changes", "column"),
    [
        ({"question": ["{Promt}"]}, "Promt"),
        ({"reference": ["{anwser}"]}, "anwser"),
        ({"options": ["a", "b"]}, "a"),
        ({"only_if_empty": ["picture"]}, "picture"),
    ],
)
def test_a_missing_column_is_named_with_the_existing_ones(
    tmp_path: Path, name: str, changes: dict[str, Any], column: str
) -> None:
    path = write_rows(tmp_path / name, ROWS)
    told = refusal(gsm8k={"path": path, **changes})
    assert told.startswith(f"config.yaml + mine.yaml: benchmarks.gsm8k: {path}")
    assert told.endswith(f"has no column '{column}'; columns: question, answer")


def test_an_alternative_column_that_no_row_uses_is_checked_too(tmp_path: Path) -> None:
    alternatives = {"question": ["{question}", "{Promt}"]}
    assert "has no column 'Promt'" in refusal(gsm8k={"path": write_rows(tmp_path / "own.csv", ROWS), **alternatives})
    # Each line has columns of its own: this one asks nothing of the alternative, and a later one may have it.
    assert study(gsm8k={"path": lines(tmp_path / "own.jsonl", ROWS), **alternatives})


def test_a_missing_part_and_an_invalid_json_line_are_reported_too(tmp_path: Path) -> None:
    path = lines(tmp_path / "own.jsonl", ROWS)
    assert "own.jsonl: row 0 has no 'answer[text]'" in refusal(gsm8k={"path": path, "reference": ["{answer[text]}"]})
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{\n")
    assert "broken.jsonl: line 1 must be a JSON object" in refusal(gsm8k={"path": str(broken)})


def test_checks_that_need_all_rows_are_left_to_the_job(tmp_path: Path) -> None:
    """Whether a reference is an option's number from 0 or from 1 may be clear from a later row alone."""
    row = {"question": "Which?", "answer": "1", "options": ["a", "b"]}
    path = lines(tmp_path / "own.jsonl", [row] * 100 + [row | {"answer": "2"}])
    assert study(gsm8k={"path": path, "reference_after": None, "options": "options"})


def test_only_the_first_rows_of_a_long_file_are_read(tmp_path: Path) -> None:
    """What is no JSON stands behind them; a plan must not read a file of any size."""
    path = tmp_path / "long.jsonl"
    lines(path, ROWS * 40)
    path.write_text(path.read_text() + "{\n")
    assert study(gsm8k={"path": str(path)})


def test_columns_of_benchmarks_that_are_not_run_are_not_checked(tmp_path: Path) -> None:
    assert study(math={"path": lines(tmp_path / "own.jsonl", ROWS), "question": ["{Promt}"]})
