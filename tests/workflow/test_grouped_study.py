"""A study whose families compare answers by a classifier and a cross-encoder, through Snakemake; asked once."""

import json
import math
from pathlib import Path

import polars as pl
import pytest
import yaml
from answered import Said, write_answered
from text_models import entailing, random_classifier
from workflow_runs import Project

from entropy_sentinel.schemas.contract import read_provenance

pytestmark = pytest.mark.long

WORTH = {"which": 0.0, "one": 0.0, "red": 0.9, "crimson": 0.8, "navy": -0.7}
SEMANTICS, SAR = (f"results/mine/signals/{family}/elsewhere/colours.parquet" for family in ("semantics", "sar"))


def test_a_study_that_groups_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path / "cache"))
    project = Project(tmp_path / "project", ["study.yaml"])
    items = {"colours-00000": "which one", "colours-00001": "which one which"}
    (project.folder / "colours.jsonl").write_text("".join(json.dumps({"asked": one}) + "\n" for one in items.values()))
    message = [
        Said(item, [word], [math.log(share)])
        for item, words in zip(items, (("red", "crimson", "navy"), ("navy", "navy")), strict=True)
        for word, share in zip(words, (0.5, 0.25, 0.25), strict=False)
    ]
    (project.folder / "traces").mkdir()
    files = write_answered(project.folder, items, message)
    Path(files["generations"]).rename(project.folder / "traces" / "colours.parquet")
    study = {
        "study": "mine",
        "models": {"elsewhere": {"source": "traces", "source_logprobs_mode": "raw_logprobs", "samples": 3}},
        "benchmarks": {"colours": {"path": "colours.jsonl", "question": ["{asked}"]}},
        "run": {
            **{"models": ["elsewhere"], "benchmarks": ["colours"], "groups": [], "sizes": []},
            **{"features": ["tokens", "semantics", "sar"], "analyses": ["responses"]},
        },
        "signals": {
            "semantics": {"backend": "nli", "path": str(entailing(tmp_path / "nli", WORTH))},
            "sar": {"path": str(random_classifier(tmp_path / "cross", list(WORTH), ("LABEL_0",)))},
        },
    }
    (project.folder / "study.yaml").write_text(yaml.safe_dump(study))
    project.run(SEMANTICS, SAR)
    result, origin = pl.read_parquet(project.folder / SEMANTICS), read_provenance(project.folder / SEMANTICS)
    # Red and crimson are one class of 3/4.
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert result["semantic_entropy"].to_list() == pytest.approx([entropy] * 3 + [0, 0], rel=1e-5, abs=1e-9)
    assert result["answer_class"].to_list() == [0, 0, 1, 0, 0]
    assert (origin["grouping"]["pairs_asked"], origin["grouping"]["pairs_saved"]) == (3, 0)
    sar = pl.read_parquet(project.folder / SAR)
    assert sar["sar"].null_count() == 0
    (project.folder / SEMANTICS).unlink()
    project.run(SEMANTICS)
    assert pl.read_parquet(project.folder / SEMANTICS).equals(result)
    assert read_provenance(project.folder / SEMANTICS)["grouping"]["pairs_asked"] == 0
