"""A study with several judges, one of which labels a part and one of which is made of others, from end to end."""

import os
from pathlib import Path

import polars as pl
import pytest
import yaml
from test_imported_study import BENCHMARKS, STUDY, write_given
from workflow_runs import Project

from entropy_sentinel.analyses.agreement.frames import ERRORS, PAIRS
from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.label import LABELS

pytestmark = pytest.mark.long

JUDGES = {
    "people": {"kind": "file", "path": "given/labels"},
    "few": {"kind": "file", "path": "given/few"},
    "cascade": {"kind": "first_of", "judges": ["few", "people"]},
}
SEVERAL = STUDY | {
    "run": {"models": ["theirs"], "judges": ["people", "few", "cascade"], "analyses": ["agreement"], "sizes": []},
    "judges": JUDGES,
    "groups": {"extremes": {"configurations": "default"}},
    "estimation": {"keep": [], "estimators": ["group-accuracy", "atc-max"]},
}


def test_judges_are_compared(tmp_path: Path) -> None:
    project = Project(tmp_path, ["demo/config.yaml", "tests/workflow/tiny.yaml", "several.yaml"])
    (tmp_path / "several.yaml").write_text(yaml.safe_dump(SEVERAL))
    write_given(tmp_path / "given")
    # The judge `few` labels one benchmark, the reverse of every other label, and of another a single response.
    for benchmark in BENCHMARKS:
        labels = pl.read_parquet(tmp_path / "given" / "labels" / "theirs" / f"{benchmark}.parquet")
        number = pl.int_range(pl.len())
        known = number < 200 if benchmark == "percentages" else number == 0
        said = pl.when(known).then(pl.when(number % 2 == 0).then(~pl.col("label")).otherwise("label"))
        (tmp_path / "given" / "few" / "theirs").mkdir(parents=True, exist_ok=True)
        labels.with_columns(label=said).write_parquet(tmp_path / "given" / "few" / "theirs" / f"{benchmark}.parquet")
    project.run()
    results = tmp_path / "results" / "imported"
    pairs = PAIRS.read(results / "agreement" / "pairs.parquet").filter(first="people", second="few")
    (percentages,) = pairs.filter(benchmark="percentages").rows(named=True)
    assert percentages["n_pairs"] == 150
    assert 0.4 < percentages["agreement"] < 0.6
    assert pairs.filter(benchmark="one-digit-addition")["n_pairs"][0] <= 1
    # The cascade says of percentages what `few` says, and elsewhere what the people say.
    cascade = results / "labels" / "cascade" / "theirs"
    assert LABELS.read(cascade / "percentages.parquet")["decided_by"].unique().to_list() == ["few"]
    counts = read_provenance(cascade / "percentages.parquet")["counts"]
    assert [counts[name]["asked"] for name in ("few", "people")] == [150, 0]
    assert read_provenance(cascade / "one-digit-addition.parquet")["counts"]["people"]["asked"] >= 149
    # `few` has next to no label of the training benchmarks: its estimator has nothing to learn from.
    errors = ERRORS.read(results / "agreement" / "errors.parquet")
    assert errors["judge"].to_list() == ["people", "few", "cascade"]
    assert errors["n_domains"].to_list() == [1, 0, 1]
    assert "Agreement of judges" in (results / "agreement" / "summary.txt").read_text()
    assert "True, cascade" in (results / "agreement" / "report.html").read_text()
    assert project.planned() == {}
    # Another file of a member's labels is another job of the judge that is made of it, whatever its date.
    path = tmp_path / "given" / "few" / "theirs" / "percentages.parquet"
    stamp = path.stat().st_mtime_ns
    pl.read_parquet(path).with_columns(~pl.col("label")).write_parquet(path)
    os.utime(path, ns=(stamp, stamp))
    assert project.planned()["label"] == 2
