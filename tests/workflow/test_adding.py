"""The recipes of CONTRIBUTING.md, followed word by word in a copy of the project: what they add arrives in a run."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import recipes
import yaml
from workflow_runs import Project

BENCHMARKS = ["averages", "multiply-then-add", "one-digit-addition", "two-digit-multiplication"]
# What the study of the recipes needs beside them: traces that are there, and estimators that are quick.
STUDY = {
    "study": "added",
    "run": {"models": ["made-elsewhere"], "benchmarks": [*BENCHMARKS, "odd"], "groups": ["extremes"], "sizes": []},
    "estimation": {"trees": 10, "hidden_layers": [[5]]},
    "groups": {"extremes": {"configurations": "default"}},
    "models": {"made-elsewhere": {"source": "traces", "source_logprobs_mode": "raw_logprobs"}},
    "analyses": {
        "accuracy": {
            "tables": ["1_auroc", "3_simple_estimators", "11_counts"],
            "figures": [],
            "auroc_models": ["made-elsewhere"],
            "auroc_benchmarks": ["averages"],
            "figure_model": "made-elsewhere",
        }
    },
}
# Two tokens with the entropies of a coin, and of one that shows heads in three of four throws.
COIN, BIASED = [math.log(0.5)] * 2, [math.log(0.75), math.log(0.25)]
RECORD = {
    "number": "a-1",
    "model": "m",
    "said": "yes",
    "ended": "stop",
    "route": "shop",
    "steps": [{"sampled": COIN[0], "likely": COIN}, {"sampled": BIASED[0], "likely": BIASED}],
}


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, dict[str, object]]:
    """A copy of the project in which every recipe has been followed, and the config that they show."""
    project = Project(tmp_path_factory.mktemp("added"), ["demo/config.yaml", "mine.yaml"])
    return project, recipes.merged(recipes.apply(project.folder), STUDY)


@pytest.fixture(scope="module")
def added(followed: tuple[Project, dict[str, object]]) -> Path:
    """The folder of a finished study that uses one new thing of each kind."""
    project, study = followed
    (project.folder / "mine.yaml").write_text(yaml.safe_dump(study))
    (project.folder / "odd.jsonl").write_text('{"data": {"text": ["What?"], "gold": 4}}\n' * 20)
    (project.folder / "traces").mkdir()
    for path in (project.folder / "workflow" / "entropy_sentinel" / "example" / "traces").iterdir():
        pl.read_parquet(path).write_parquet(project.folder / "traces" / path.name)
    made = pl.read_parquet(project.folder / "traces" / "averages.parquet").head(20)
    ids = pl.Series("item_id", [f"odd-{row:05d}" for row in range(20)])
    made.with_columns(ids).write_parquet(project.folder / "traces" / "odd.parquet")
    project.run()
    return project.folder


def in_the_copy(folder: Path, *arguments: str) -> str:
    """What a Python of the copy prints."""
    environment = os.environ | {"PYTHONPATH": str(folder / "workflow")}
    return subprocess.check_output([sys.executable, *arguments], cwd=folder, env=environment, text=True)


def test_every_recipe_has_blocks() -> None:
    guide = recipes.GUIDE.read_text()
    for recipe in guide.partition("## Recipes")[2].split("\n### ")[1:]:
        named = [block for block in recipes.blocks() if block[2] in recipe]
        assert named, recipe.splitlines()[0]
    # No block is passed over: each of these kinds names its file.
    kinds = ("python", "diff", "jinja", "snakemake", "yaml")
    assert len(recipes.blocks()) == sum(guide.count(f"```{kind}\n") for kind in kinds)


def test_a_log_of_the_new_format_is_read(followed: tuple[Project, dict[str, object]]) -> None:
    folder = followed[0].folder
    records = [RECORD, RECORD | {"number": "a-2", "steps": 3}]
    (folder / "log.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    code = "import entropy_sentinel as es; f = es.read_features('log.jsonl'); f.write_json('features.json')"
    in_the_copy(folder, "-c", code)
    (row,) = json.loads((folder / "features.json").read_text())
    biased = -0.75 * math.log(0.75) - 0.25 * math.log(0.25)
    assert (row["item_id"], row["route"], row["n_tokens"]) == ("a-1", "shop", 2)
    assert row["max"] == pytest.approx(math.log(2), abs=1e-6)
    assert row["last"] == pytest.approx(biased, abs=1e-6)


@pytest.mark.parametrize(
    ("ending", "command"), [(".py", "ruff check"), (".py", "ruff format --check"), (".smk", "snakefmt --check")]
)
def test_recipes_are_as_the_linters_want_them(
    followed: tuple[Project, dict[str, object]], ending: str, command: str
) -> None:
    files = sorted({name for _, name, _ in recipes.blocks() if name.endswith(ending)})
    program, *arguments = command.split()
    call = [str(Path(sys.executable).with_name(program)), *arguments, *files]
    done = subprocess.run(call, cwd=followed[0].folder, capture_output=True, text=True)
    assert files
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_each_arrives_in_results_and_tables(added: Path) -> None:
    results = added / "results" / "added"
    features = pl.read_parquet(results / "features" / "made-elsewhere" / "odd.parquet")
    assert features["last"].null_count() == 0
    assert pl.read_parquet(results / "benchmarks" / "odd.parquet")["question"].to_list() == ["What?"] * 20
    labels = pl.read_parquet(results / "labels" / "mine" / "made-elsewhere" / "odd.parquet")
    traces = pl.read_parquet(added / "traces" / "odd.parquet")
    assert labels["label"].to_list() == ["a" in text for text in traces["text"]]
    estimates = pl.read_parquet(next((results / "estimates" / "mine" / "made-elsewhere").iterdir()))
    by_name = dict(estimates.group_by("estimator").agg(pl.col("estimated_accuracy").mean()).iter_rows())
    assert by_name["half"] == 0.5
    assert {"baseline-last", "atc-last"} < by_name.keys()
    tables = {path.stem: path.read_text() for path in (results / "mine" / "tables").glob("*.csv")}
    assert "Last H" in tables["table_1_auroc"]
    assert "One half" in tables["table_3_simple_estimators"]
    assert "ATC, Last H" in tables["table_3_simple_estimators"]
    assert "made-elsewhere,odd,20" in tables["table_11_counts"]
    assert "How many responses" in (results / "mine" / "report.html").read_text()


@pytest.mark.slow
def test_the_kept_estimator_can_be_loaded(added: Path) -> None:
    code = (
        "import entropy_sentinel as es, pathlib; print(*(es.load(one).estimator.name for one in "
        "sorted(pathlib.Path('results/added/estimators').rglob('half.estimator'))))"
    )
    assert in_the_copy(added, "-c", code).split() == ["half"]


@pytest.mark.slow
def test_the_new_analysis_has_its_page_and_a_link(added: Path) -> None:
    page = (added / "results" / "added" / "lengths" / "made-elsewhere.html").read_text()
    lengths = pl.read_parquet(added / "traces" / "odd.parquet")["n_tokens"]
    numbers = (len(lengths), round(lengths.mean(), 1), (lengths > 5).sum())
    cells = "".join(f'<td class="n">{one}</td>' for one in numbers)
    assert f'<td class="name">odd</td>{cells}' in page
    assert "../lengths/made-elsewhere.html" in (added / "results" / "added" / "mine" / "report.html").read_text()


@pytest.mark.slow
def test_names_are_known_to_the_config_check(added: Path) -> None:
    code = """
from entropy_sentinel.config.config import load_config, read_config
from entropy_sentinel.config import study

config = load_config(read_config(["config.yaml"]) | {"generation": {"prompt": "bare"}})
print(study.generation_settings(config, "qwen3-4b", "gsm8k")["prompt"])
"""
    assert in_the_copy(added, "-c", code) == "bare\n"
