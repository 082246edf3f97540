"""`entropy-sentinel init`: a study from files of rows and a model, or from a log, that Snakemake can plan."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from workflow_runs import Project, job_counts

from entropy_sentinel.cli.main import main
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.init import config_writing
from entropy_sentinel.study.init.row_sources import detect_columns, make_name

ROOT = Path(__file__).parents[3]
LOG = ROOT / "demo/logs/week-1.jsonl.gz"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the paper's config.yaml, in which the command is run."""
    (tmp_path / "config.yaml").write_text((ROOT / "config.yaml").read_text())
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(path: str, rows: list[dict[str, Any]]) -> str:
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def written(*arguments: str) -> dict[str, Any]:
    assert run("init", "mine.yaml", *arguments) == 0
    return yaml.safe_load(Path("mine.yaml").read_text())


def run(*arguments: str) -> int:
    """The exit status."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    return end.value.code


def test_columns_are_found_by_their_names(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marked = [{"Question": f"{n} + 1?", "answer": f"so\n#### {n + 1}", "id": n} for n in range(3)]
    choices = {"problem": "Lightest?", "choices": {"text": ["Neon", "Helium"], "label": ["A", "B"]}, "answer": "B"}
    Path("texts.csv").write_text("input,output\nWhy?,Because.\n")
    Path("gsm8k.jsonl.gz").write_bytes(gzip.compress(json.dumps({"q": "Open?", "topic": "x"}).encode()))
    files = [lines("my sums.jsonl", marked), lines("gases.jsonl", [choices]), "texts.csv", "gsm8k.jsonl.gz"]
    result = written(*files, "--model", "weights", "--model", "Qwen/Qwen3-8B", "--model", "someone/New-Model")
    assert result["benchmarks"] == {
        "my-sums": {
            "path": "my sums.jsonl",
            "question": ["{Question}"],
            "reference": ["{answer}"],
            "reference_after": "####",
        },
        "gases": {
            "path": "gases.jsonl",
            "question": ["{problem}"],
            "reference": ["{answer}"],
            "options": "choices[text]",
            "judge": "choice",
        },
        "texts": {"path": "texts.csv", "question": ["{input}"], "reference": ["{output}"]},
        # config.yaml has a gsm8k of its own.
        "gsm8k-2": {"path": "gsm8k.jsonl.gz", "question": ["{q}"]},
    }
    assert result["models"] == {"weights": {"path": "weights"}, "new-model": {"id": "someone/New-Model"}}
    assert result["run"]["models"] == ["weights", "qwen3-8b", "new-model"]
    assert (
        "gases: gases.jsonl, question 'problem', reference 'answer', options 'choices[text]'" in capsys.readouterr().out
    )
    config = load_config(read_config(["config.yaml", "mine.yaml"]), "mine.yaml", result)
    assert config.left_out == []
    assert config.labelled_benchmarks == ["my-sums", "gases", "texts"]


def test_names_that_yaml_would_misread_are_quoted(here: Path) -> None:
    names = ["123", "yes", "true", "null", "2024", "2024-01-01", "0x1F", "1_0"]
    files = [lines(f"{name}.jsonl", [{"question": "1 + 1?", "answer": "2"}]) for name in names]
    for name in ("off", "7"):
        (here / name).mkdir()
        (here / name / "config.json").write_text("{}")
    assert run("init", "2025.yaml", *files, "--model", "off", "--model", "7") == 0
    result = yaml.safe_load(Path("2025.yaml").read_text())
    assert result["study"] == "2025"
    assert list(result["benchmarks"]) == result["run"]["benchmarks"] == names
    assert result["groups"]["training"]["benchmarks"] == ["123", "yes", "true"]
    assert result["run"]["models"] == list(result["models"]) == ["off", "7"]
    assert result["models"]["7"] == {"path": "7"}


@pytest.mark.parametrize("bfloat16", [True, False])
def test_a_cpu_build_uses_all_cores(here: Path, monkeypatch: pytest.MonkeyPatch, bfloat16: bool) -> None:
    files = [lines(f"{name}.jsonl", [{"question": "1 + 1?", "answer": "2"}]) for name in ("a", "b")]
    monkeypatch.setattr(config_writing, "count_cores", lambda: 8)
    monkeypatch.setattr(config_writing, "is_cpu_build", lambda: True)
    monkeypatch.setattr(config_writing, "has_bfloat16_instructions", lambda: bfloat16)
    result = written(*files, "--model", "weights")["generation"]
    assert (result["threads"], result.get("engine_args")) == (8, None if bfloat16 else {"dtype": "float32"})


@pytest.mark.parametrize(
    "names", [["A", "B", "C"], ["option_a", "option_b", "option_c"], ["Option A", "Option B", "Option C"]]
)
def test_a_column_for_each_option_is_found(here: Path, names: list[str]) -> None:
    row = {"question": "Lightest?", **dict(zip(names, ["Neon", "Helium", "Argon"], strict=True)), "answer": "B"}
    found = detect_columns(lines("a.jsonl", [row]))
    assert (found.options, found.reference, found.reference_is) == (tuple(names), "answer", None)
    result = written("a.jsonl", lines("b.jsonl", [row | {"question": "Heaviest?"}]), "--model", "weights")
    assert (result["benchmarks"]["a"]["options"], result["benchmarks"]["a"]["judge"]) == (names, "choice")


def test_columns_that_skip_a_letter_are_no_options(here: Path) -> None:
    row = {"question": "a or c?", "a": "1", "c": "2", "answer": "1"}
    assert detect_columns(lines("a.jsonl", [row])).options is None


def test_an_ambiguous_option_number_is_marked_for_checking(here: Path) -> None:
    rows = [{"question": "Lightest?", "options": ["Neon", "Helium", "Argon"], "answer": 1}]
    assert detect_columns(lines("a.jsonl", rows)).reference_is == "index"
    assert detect_columns(lines("a.jsonl", [rows[0] | {"answer": 0}])).reference_is is None
    assert detect_columns(lines("a.jsonl", [rows[0] | {"answer": "argon"}])).reference_is is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a/b/rows.v2.jsonl.gz", "rows.v2"), ("Qwen/New Model", "New-Model"), ("über.csv", "ber"), ("...", "rows")],
)
def test_names_are_valid_file_names(name: str, expected: str) -> None:
    assert make_name(name) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["one.jsonl", "-m", "weights"],
            "mine.yaml: a study needs at least two domains",
        ),
        (
            ["odd.jsonl", "one.jsonl", "-m", "weights"],
            "odd.jsonl: which column is the question? Name it with --question",
        ),
        (
            ["one.jsonl", "one.jsonl", "-m", "traces"],
            "--model traces: must be a folder with weights (config.json), or with",
        ),
        (
            ["one.jsonl", "one.jsonl", "-m", "q4.gguf"],
            "--model q4.gguf: must be a folder of safetensors with a config.json; 'q4.gguf' is a GGUF file: convert",
        ),
        (["one.jsonl", "one.jsonl"], "--model, or --log"),
        (
            ["--log", str(LOG), "--by", "model", "--labels", "labels.csv"],
            "it has 1 and 0. ",
        ),
        (["--log", str(LOG), "--by", "topic", "--labels", "labels.csv"], "has no column 'topic'"),
        (["empty.jsonl", "one.jsonl", "-m", "weights"], "empty.jsonl: must have rows, has none"),
    ],
)
def test_rows_that_give_no_study_are_refused_and_nothing_is_written(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str
) -> None:
    lines("one.jsonl", [{"question": "1 + 1?", "answer": "2"}])
    lines("open.jsonl", [{"question": "1 + 1?"}])
    lines("odd.jsonl", [{"x": "1 + 1?"}])
    lines("empty.jsonl", [])
    Path("labels.csv").write_text("item_id,label\nanother,true\n")
    (here / "traces").mkdir()
    before = sorted(here.rglob("*"))
    assert run("init", "mine.yaml", *arguments) == 1
    assert expected in capsys.readouterr().err
    assert sorted(here.rglob("*")) == before


def test_existing_files_are_not_overwritten(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [lines(f"{name}.jsonl", [{"question": "1 + 1?", "answer": "2"}]) for name in ("one", "two")]
    Path("mine.yaml").write_text("mine: all")
    assert run("init", "mine.yaml", *rows, "-m", "weights") == 1
    assert "mine.yaml: already exists" in capsys.readouterr().err
    assert Path("mine.yaml").read_text() == "mine: all"


@pytest.mark.slow
def test_studies_of_rows_and_of_a_log_are_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project(tmp_path, ["mine.yaml"], profile="profiles/default")
    monkeypatch.chdir(tmp_path)
    rows = [f"demo/benchmarks/{name}.jsonl" for name in ("averages", "percentages", "mixed")]
    assert run("init", "mine.yaml", *rows, "--model", "demo/models/tiny-1m") == 0
    output = project.run("--dry-run", "--quiet", "rules")
    counts = job_counts(output)
    assert (counts["generation"], counts["label"], counts["estimate"], counts["accuracy_report"]) == (3, 3, 2, 1)
    assert "left out" not in output
    truth = pl.read_csv("demo/truth/logs.csv", schema_overrides={"label": pl.Boolean})
    truth.filter(pl.col("item_id").str.starts_with("week-1-")).write_csv("labels.csv")
    asked = ["--log", "demo/logs/week-1.jsonl.gz", "--by", "metadata.route", "--labels", "labels.csv"]
    assert run("init", "log.yaml", *asked) == 0
    assert run("init", "log.yaml", *asked) == 1
    project.configs = ["log.yaml"]
    counts = job_counts(project.run("--dry-run", "--quiet", "rules"))
    # Two routes to learn from, and all but one of four: shop and travel, and four groups of three.
    assert (counts["generation"], counts["label"], counts["estimate"]) == (4, 4, 5)
    traces = pl.read_parquet("log/traces/shop.parquet")
    asked_of = [json.loads(line) for line in Path("log/benchmarks/shop.jsonl").read_text().splitlines()]
    assert traces["item_id"].to_list() == [f"shop-{place:05d}" for place in range(len(asked_of))]
    labels = pl.read_parquet("log/labels/tiny-1m/shop.parquet")
    known = dict(truth.iter_rows())
    assert labels["label"].to_list() == [known[row["log_id"]] for row in asked_of]
