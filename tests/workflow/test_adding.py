"""One of each kind is added to a copy of the project, in the places that the README names, and arrives in a run."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import yaml
from workflow_runs import Project

PACKAGE = "workflow/entropy_sentinel"
BENCHMARKS = ["averages", "multiply-then-add", "one-digit-addition", "two-digit-multiplication"]

# A file of the package, what stands there, and what takes its place.
EDITS = [
    (
        "features/catalogue.py",
        '        Feature("ppl",',
        '        Feature("last", "Last H", "H(t) of the last token", "nats", H(X.last())),\n        Feature("ppl",',
    ),
    (
        "estimators/catalogue.py",
        '    Family(\n        "doc",',
        '    Family("half", "one half", f"{_ROOM}.half", {"half": "One half"}),\n    Family(\n        "doc",',
    ),
    (
        "judges/settings.py",
        "KINDS: dict",
        "class Yes(Settings):\n"
        '    MODULE: ClassVar[str] = "entropy_sentinel.judges.yes"\n'
        '    kind: Literal["yes"] = Field(description="yes: right if there is an a in it")\n'
        '    letter: Text = Field("a", description="yes: the letter")\n\n\n'
        "KINDS: dict",
    ),
    ("judges/settings.py", '    "math-verify": MathVerify,', '    "yes": Yes,\n    "math-verify": MathVerify,'),
    (
        "engines/catalogue.py",
        "PROMPTS: dict[str, Prompt] = {",
        'PROMPTS: dict[str, Prompt] = {\n    "bare": Prompt(version=1, user="{question}"),',
    ),
    ("analyses/accuracy/catalogue.py", '    "estimates":', '    "11_counts": "Counts of responses",\n    "estimates":'),
]
NEW = {
    "estimators/half.py": """
from dataclasses import dataclass

import numpy as np

from entropy_sentinel.estimators.estimator import Estimator


@dataclass(frozen=True)
class Half(Estimator):
    def values(self, features):
        return np.full(len(features), 0.5)


SAVED = (Half,)


def fit(name, rows):
    return Half(name)
""",
    "judges/yes.py": """
from entropy_sentinel.judges.judge import Verdict


class Yes:
    version = "yes 1"

    def __init__(self, letter):
        self.letter = letter

    def judge(self, cases):
        return [Verdict(self.letter in case.response) for case in cases]


def make(settings):
    return Yes(settings["letter"])
""",
}
TABLE = '''

def table_11_counts(domains: pl.DataFrame) -> Table:
    """Responses by domain."""
    return Table("How many.", domains.select("model", "benchmark", "n_responses"))
'''
STUDY = {
    "study": "added",
    "run": {
        "models": ["made-elsewhere"],
        "benchmarks": [*BENCHMARKS, "odd"],
        "groups": ["extremes"],
        "sizes": [],
        "judges": ["letter"],
    },
    "generation": {"prompt": "bare"},
    "estimation": {"beside": ["half", "baseline-last", "atc-last"], "trees": 10, "hidden_layers": [[5]]},
    "models": {"made-elsewhere": {"source": "traces"}},
    "benchmarks": {"odd": {"path": "odd.jsonl", "question": ["{data[text][0]}"], "reference": ["{data[gold]}"]}},
    "judges": {"letter": {"kind": "yes", "letter": "a"}},
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


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished study that uses one new thing of each kind."""
    project = Project(tmp_path_factory.mktemp("added"), ["demo/config.yaml", "added.yaml"])
    package = project.folder / PACKAGE
    for name, old, new in EDITS:
        project.edit(f"{PACKAGE}/{name}", old, new)
    for name, text in NEW.items():
        (package / name).write_text(text)
    tables = package / "analyses" / "accuracy" / "tables_of_domains.py"
    tables.write_text(tables.read_text() + TABLE)
    (project.folder / "added.yaml").write_text(yaml.safe_dump(STUDY))
    (project.folder / "odd.jsonl").write_text('{"data": {"text": ["What?"], "gold": 4}}\n' * 20)
    (project.folder / "traces").mkdir()
    for path in (package / "example" / "traces").iterdir():
        pl.read_parquet(path).write_parquet(project.folder / "traces" / path.name)
    made = pl.read_parquet(project.folder / "traces" / "averages.parquet").head(20)
    ids = pl.Series("item_id", [f"odd-{row:05d}" for row in range(20)])
    made.with_columns(ids).write_parquet(project.folder / "traces" / "odd.parquet")
    states_its_kind = {"models": {"made-elsewhere": {"source_logprobs_mode": "raw_logprobs"}}}
    (project.folder / "kind.yaml").write_text(yaml.safe_dump(states_its_kind))
    project.over("kind.yaml").run()
    return project.folder


@pytest.mark.slow
def test_each_arrives_in_results_and_tables(added: Path) -> None:
    results = added / "results" / "added"
    features = pl.read_parquet(results / "features" / "made-elsewhere" / "odd.parquet")
    assert features["last"].null_count() == 0
    assert pl.read_parquet(results / "benchmarks" / "odd.parquet")["question"].to_list() == ["What?"] * 20
    labels = pl.read_parquet(results / "labels" / "letter" / "made-elsewhere" / "odd.parquet")
    traces = pl.read_parquet(added / "traces" / "odd.parquet")
    assert labels["label"].to_list() == ["a" in text for text in traces["text"]]
    estimates = pl.read_parquet(next((results / "estimates" / "letter" / "made-elsewhere").iterdir()))
    by_name = dict(estimates.group_by("estimator").agg(pl.col("estimated_accuracy").mean()).iter_rows())
    assert by_name["half"] == 0.5
    assert {"baseline-last", "atc-last"} < by_name.keys()
    tables = {path.stem: path.read_text() for path in (results / "letter" / "tables").glob("*.csv")}
    assert "Last H" in tables["table_1_auroc"]
    assert "One half" in tables["table_3_simple_estimators"]
    assert "ATC, Last H" in tables["table_3_simple_estimators"]
    assert "made-elsewhere,odd,20" in tables["table_11_counts"]
    assert "How many." in (results / "letter" / "report.html").read_text()


@pytest.mark.slow
def test_names_are_known_to_the_config_check(added: Path) -> None:
    code = """
from entropy_sentinel.config.config import load_config, read_config
from entropy_sentinel.config import study

config = load_config(read_config(["config.yaml"]) | {"generation": {"prompt": "bare"}})
print(study.generation_settings(config, "qwen3-4b", "gsm8k")["prompt"])
"""
    command = [sys.executable, "-c", code]
    environment = {"PYTHONPATH": str(added / "workflow")}
    assert subprocess.check_output(command, cwd=added, env=environment, text=True) == "bare\n"
