"""`entropy-sentinel select` in the folder of a study."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from selectable import write_study_files
from study_trees import small_study
from typer.testing import CliRunner

from entropy_sentinel.cli.main import app, main


@pytest.fixture(autouse=True)
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Model m has answered the items of a and b five times; the pass has asked it again."""
    monkeypatch.chdir(tmp_path)
    write_config()
    write_study_files(tmp_path / "results/paper", judge="math-verify")
    return tmp_path


def write_config() -> None:
    raw: dict[str, Any] = small_study()
    raw["models"] = {"m": {"id": "nobody/nothing", "revision": "main"}}
    row = {"path": "rows.jsonl", "question": ["{question}"], "reference": ["{answer}"]}
    raw["benchmarks"] = {"a": row, "b": row}
    raw["groups"], raw["generation"]["samples"] = {}, 5
    raw["run"] |= {"models": ["m"], "benchmarks": ["a", "b"], "groups": [], "features": ["tokens", "forced_answer"]}
    raw["run"] |= {"sizes": [{"size": 1}], "judges": ["math-verify"], "analyses": ["accuracy"]}
    Path("config.yaml").write_text(yaml.safe_dump(raw))
    Path("rows.jsonl").write_text('{"question": "a?", "answer": "1"}\n')


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_a_file_for_a_trainer_and_what_is_in_it() -> None:
    result = CliRunner().invoke(app, ["select", "m", "-s", "eas", "-n", "2", "-o", "out.jsonl"])
    assert (result.exit_code, result.exception) == (0, None)
    rows = lines("out.jsonl")
    assert rows[0]["item_id"] == "a-00005"
    assert rows[0]["messages"][-1] == {"role": "assistant", "content": "15"}
    assert rows[1]["reason"] == "EAS 3.0 bits (own answer), place 2 of 6"
    message = [line.split() for line in result.stdout.splitlines() if line]
    assert message[1] == ["All", "candidates", "7", "0.458", "0.571", "37.9", "2.783"]
    assert message[2][:3] == ["Highest", "EAS", "2"]
    assert result.stdout.splitlines()[-1] == "out.jsonl: 2 of 7 items"
    assert result.stderr == "eas: items left out: 1 (no final answer)\n"


def test_the_same_seed_the_same_bytes() -> None:
    for seed, name in ((1, "a"), (1, "b"), (2, "c")):
        CliRunner().invoke(app, ["select", "m", "-s", "random", "-n", "7", "--seed", str(seed), "-o", f"{name}.jsonl"])
    first, again, other = (Path(f"{name}.jsonl").read_bytes() for name in "abc")
    assert first == again != other


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["m", "-s", "hardest"], 2, "unknown 'hardest'; known: random, longest, pass-rate, eas"),
        (["m", "-n", "0"], 2, "must be 1 or more"),
        (["me"], 1, "ConfigError: 'me' is not in run.models: m"),
        (["m", "--judge", "me"], 1, "ConfigError: 'me' is not in run.judges: math-verify"),
        (["m", "-o", "out.csv"], 1, "--output: must end with .jsonl, got 'out.csv'"),
        (["m", "-o", "results/paper/out.jsonl"], 1, "--output: results/paper/out.jsonl is in results/paper"),
        (
            ["m", "-s", "pass-rate", "--tries", "6"],
            1,
            "pass-rate needs 6 responses to each item, got 5; set generation",
        ),
    ],
)
def test_wrong_calls_are_answered(
    arguments: list[str], code: int, error: str, capsys: pytest.CaptureFixture, study: Path
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["select", "-o", "out.jsonl", *arguments])
    assert ended.value.code == code
    assert error in " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert not (study / "out.jsonl").exists()


def test_a_missing_file_of_the_pass_is_named(capsys: pytest.CaptureFixture) -> None:
    Path("results/paper/passes/forced_answer/m/b.parquet").unlink()
    with pytest.raises(SystemExit):
        main(["select", "m", "-o", "out.jsonl"])
    assert "passes/forced_answer/m/b.parquet: must be a whole Parquet file" in capsys.readouterr().err
