"""A job refuses a file that is of another model, benchmark, judge or group than its place says."""

import re
from pathlib import Path

import pytest

from entropy_sentinel.core.errors import ContractError
from entropy_sentinel.estimators.estimator_settings import group_file
from entropy_sentinel.schemas.contract import Contract
from entropy_sentinel.schemas.label_schema import LABELS
from entropy_sentinel.study.config.study_paths import STAGE_FOLDERS, StudyLayout
from entropy_sentinel.study.jobs.job_inputs import check_inputs, parse_study_path

ROW = {"item_id": ["gsm8k-00000"], "sample": [0], "label": [True], "reason": [None], "answer": ["4"]}
NAMES = {"model": "m", "benchmark": "gsm8k", "judge": "j", "group": "a+b"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(path: str, **message: str) -> str:
    """A file with rows on gsm8k; what it says of itself otherwise is in its provenance."""
    Contract("any", LABELS.key, LABELS.columns).write(LABELS.frame(ROW), path, message)
    return path


def test_paths_match_the_layout() -> None:
    layout = StudyLayout("my.study")
    assert parse_study_path(layout.estimates.format(**NAMES)) == {"judge": "j", "model": "m", "group": "a+b"}
    assert parse_study_path(layout.features.format(**NAMES)) == {"model": "m", "benchmark": "gsm8k"}
    assert parse_study_path(layout.observations.format(**NAMES)) == {"judge": "j", "model": "m"}
    for elsewhere in ("rows.parquet", "results/my.study/other/x.parquet", "demo/benchmarks/gsm8k.parquet", ""):
        assert parse_study_path(elsewhere) == {}


def test_the_layout_has_files_of_stages_only() -> None:
    layout = {name: template for name, template in vars(StudyLayout("s")).items() if name not in ("results", "logs")}
    assert layout.pop("costs") == "results/s/{judge}/costs.csv"
    assert {Path(template).parts[2] for template in layout.values()} <= set(STAGE_FOLDERS)


@pytest.mark.parametrize(
    ("template", "message", "refused"),
    [
        ("estimates", {"model": "m", "group": "a+c"}, "group 'a+b', is of 'a+c'"),
        ("estimates", {"model": "n", "group": "a+b"}, "model 'm', is of 'n'"),
        ("features", {"model": "n", "benchmark": "gsm8k"}, "model 'm', is of 'n'"),
        ("generations", {"model": "m", "benchmark": "math"}, "benchmark 'gsm8k', is of 'math'"),
        ("items", {"benchmark": "math"}, "benchmark 'gsm8k', is of 'math'"),
        ("labels", {"judge": "k"}, "judge 'j', is of 'k'"),
    ],
)
def test_the_provenance_of_a_file_must_match_its_path(template: str, message: dict[str, str], refused: str) -> None:
    path = getattr(StudyLayout("s"), template).format(**NAMES)
    right = {name: NAMES[name] for name in message}
    check_inputs([write(path, **right)])
    write(path, **message)
    with pytest.raises(ContractError, match=re.escape(f"{path}: must be of {refused}")):
        check_inputs(["no/such/place.parquet", path])


def test_files_of_groups_with_shortened_names_are_accepted() -> None:
    group = "+".join(f"benchmark-number-{n:03d}" for n in range(20))
    path = StudyLayout("s").estimates.format(**NAMES | {"group": group_file(group)})
    assert group not in path
    check_inputs([write(path, group=group)])
    with pytest.raises(ContractError, match="must be of group"):
        check_inputs([write(path, group=group[:-1])])


def test_labels_of_another_benchmark_are_reported_by_their_item_ids() -> None:
    path = StudyLayout("s").labels.format(**NAMES | {"benchmark": "math"})
    with pytest.raises(ContractError, match="must be of benchmark 'math', is of 'gsm8k'"):
        check_inputs([write(path, judge="j")])
