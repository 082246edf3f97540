"""Files from outside are compared by content: one that is replaced by an older file is read again."""

import os
import re
from pathlib import Path

import polars as pl
import pytest
import yaml
from workflow_runs import Project

pytestmark = pytest.mark.long

STEP = [-float(rank) for rank in range(1, 21)]
STUDY = {
    "study": "given",
    "run": {
        "models": ["theirs"],
        "benchmarks": ["sums", "products"],
        "judges": ["people"],
        "groups": ["both"],
        "sizes": [],
    },
    "models": {"theirs": {"source": "given/traces", "source_logprobs_mode": "raw_logprobs"}},
    "benchmarks": {
        name: {"path": f"given/{name}.csv", "question": ["{q}"], "reference": ["{a}"]} for name in ("sums", "products")
    },
    "judges": {"people": {"kind": "file", "path": "given/labels"}},
    "groups": {"both": {"benchmarks": ["sums"], "estimator": "forest-10d-balanced-isotonic"}},
}


def write_given(folder: Path, benchmark: str) -> None:
    ids = [f"{benchmark}-{row:05d}" for row in range(3)]
    for part in ("traces", "labels/theirs"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    pl.DataFrame({"q": ids, "a": ids}).write_csv(folder / f"{benchmark}.csv")
    steps = {"token_logprobs": [[-1.0]] * 3, "top_logprobs": [[STEP]] * 3}
    traces = pl.DataFrame({"item_id": ids, "text": ids, "finish_reason": ["stop"] * 3, **steps})
    traces.write_parquet(folder / "traces" / f"{benchmark}.parquet")
    pl.DataFrame({"item_id": ids, "label": [True, False, None]}).write_parquet(
        folder / "labels" / "theirs" / f"{benchmark}.parquet"
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Items, traces and labels of two benchmarks, made from files."""
    project = Project(tmp_path_factory.mktemp("project"), ["given.yaml"])
    (project.folder / "given.yaml").write_text(yaml.safe_dump(STUDY))
    for benchmark in STUDY["run"]["benchmarks"]:
        write_given(project.folder / "given", benchmark)
    project.run("labels")
    return project


def replace(path: Path) -> None:
    """Put a file of one row less in the place of `path`, dated long before it."""
    frame = pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
    other = path.with_name(f"other{path.suffix}")
    frame[:-1].write_csv(other) if path.suffix == ".csv" else frame[:-1].write_parquet(other)
    os.utime(other, (10**9, 10**9))
    other.rename(path)


def test_older_files_of_other_content_are_read_again(project: Project) -> None:
    """The items of one benchmark and the traces of the other are replaced; then the first ones come back."""
    paths = [project.folder / "given" / name for name in ("sums.csv", "traces/products.parquet")]
    before = [path.read_bytes() for path in paths]
    assert project.planned("labels") == {}
    for path in paths:
        replace(path)
    affected = {"benchmark": 1, "generation": 2, "label": 2, "labels": 1}
    assert project.planned("labels") == affected
    project.run("labels")
    for path in paths:
        path.touch()
    assert project.planned("labels") == {}, "the same content with a new date"
    for path, content in zip(paths, before, strict=True):
        path.write_bytes(content)
        os.utime(path, (10**9, 10**9))
    assert project.planned("labels") == affected


def test_items_that_did_not_change_bring_nothing_with_them(project: Project) -> None:
    """A column more, and a mapping in other words: the same questions and answers, so no job; a new answer, four."""
    project.run("labels")
    rows, items = (project.folder / name for name in ("given/sums.csv", "results/given/benchmarks/sums.parquet"))
    before, made = rows.read_bytes(), items.stat().st_mtime_ns
    frame = pl.read_csv(rows)
    frame.with_columns(source=pl.lit("a book")).write_csv(rows)
    assert project.planned("labels") == {}
    reworded = project.folder / "reworded.yaml"
    reworded.write_text("benchmarks: {sums: {question: ['{none}', '{q}'], reference: ['{a}']}}")
    frame.with_columns(none=pl.lit(None, pl.String)).write_csv(rows)
    assert project.over("reworded.yaml").planned("labels") == {}
    project.over("reworded.yaml").run("labels")
    assert items.stat().st_mtime_ns == made
    frame.with_columns(a=pl.lit("other")).write_csv(rows)
    assert project.planned("labels") == {"benchmark": 1, "generation": 1, "label": 1, "labels": 1}
    rows.write_bytes(before)
    assert project.planned("labels") == {}


def test_results_recorded_without_contents_stay_until_a_file_changes(project: Project) -> None:
    """As they were recorded at first: the checksums of inputs are there, the setting `content` is not."""
    project.run("labels")
    records = list((project.folder / ".snakemake" / "metadata").rglob("*"))
    without = 0
    for path in filter(Path.is_file, records):
        result = path.read_text()
        path.write_text(re.sub(r", 'content': 'sha256:[0-9a-f]{64}'", "", result))
        without += path.read_text() != result
    assert without == 6, "benchmarks, generations and labels of two benchmarks"
    assert project.planned("labels") == {}
    replace(project.folder / "given" / "labels" / "theirs" / "products.parquet")
    assert project.planned("labels") == {"label": 1, "labels": 1}
