"""An analysis of two files in a copy of the project: a class with the function `make`, and its rules."""

import json
from pathlib import Path

import polars as pl
import pytest
import yaml
from tiny import TINY
from workflow_runs import Project

pytestmark = pytest.mark.slow

CODE = '''
"""The longest responses of a model."""

import json
from pathlib import Path
from typing import Any

from entropy_sentinel.frames.analysis import Analysis
from entropy_sentinel.frames.sections import Positive


class Longest(Analysis):
    """The longest responses of a model."""

    READS_LABELS = False

    most: Positive = 2


def make(files: Any, output: str | Path, most: int) -> None:
    import polars as pl

    lengths = pl.concat([pl.read_parquet(path, columns=["item_id", "n_tokens"]) for path in files.features])
    Path(output).write_text(json.dumps(lengths.top_k(most, by="n_tokens")["n_tokens"].to_list()))
'''
RULES = """
LONGEST = f"{RESULTS}/longest/{{model}}.json"


use rule cpu_job as longest with:
    input:
        features=expand(FEATURES, benchmark=BENCHMARKS, allow_missing=True),
    output:
        LONGEST,
    log:
        f"{LOGS}/longest/{{model}}.log",
    params:
        **calls("analyses.longest.make"),
        most=CONFIG.analyses.longest.most,


TARGETS += expand(LONGEST, model=MODELS)
"""
STUDY = {
    "study": "small",
    "run": {"models": ["given"], "benchmarks": ["averages"], "analyses": ["longest"], "groups": [], "sizes": []},
    "models": {"given": {"source": "traces", "source_logprobs_mode": "raw_logprobs"}},
    "analyses": {"longest": {"most": 3}},
}


def test_it_runs_and_is_made_again_for_an_edit_of_its_own_alone(tmp_path: Path) -> None:
    project = Project(tmp_path, ["demo/config.yaml", "small.yaml"])
    room = project.folder / "workflow/entropy_sentinel/analyses/longest"
    room.mkdir()
    (room / "__init__.py").write_text(CODE)
    (room / "rules.smk").write_text(RULES)
    (project.folder / "small.yaml").write_text(yaml.safe_dump(STUDY))
    (project.folder / "traces").mkdir()
    traces = pl.read_parquet(TINY.traces / "averages.parquet")
    traces.write_parquet(project.folder / "traces" / "averages.parquet")
    # Nothing reads labels: no judge is asked.
    assert project.planned() == {"benchmark": 1, "generation": 1, "feature": 1, "longest": 1}
    project.run()
    expected = traces["token_logprobs"].list.len().sort(descending=True)
    made = project.folder / "results/small/longest/given.json"
    assert json.loads(made.read_text()) == expected.head(3).to_list()
    assert project.planned() == {}
    (room / "__init__.py").write_text(CODE.replace("top_k(", "bottom_k("))
    assert project.planned() == {"longest": 1}
    (room / "__init__.py").write_text(CODE)
    (project.folder / "small.yaml").write_text(yaml.safe_dump(STUDY | {"analyses": {"longest": {"most": 2}}}))
    assert project.planned() == {"longest": 1}
