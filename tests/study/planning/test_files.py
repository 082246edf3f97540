"""Which files of a study are still to be made. Each case was compared with `snakemake -n` on the demo's results."""

import hashlib
import os
import time
from pathlib import Path

import pytest
from study_trees import PAPER, make, make_all, small_study

from entropy_sentinel.core.analysis import load_sections
from entropy_sentinel.study.config.config_loading import Config, load_config
from entropy_sentinel.study.jobs.job_records import StudyRecords
from entropy_sentinel.study.planning.file_plan import plan_files

RESULTS = Path("results/paper")


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def config() -> Config:
    """Two models on gsm8k and svamp, all files made."""
    config = load_config(small_study())
    make_all(config)
    return config


def to_make(config: Config) -> set[str]:
    return {path.relative_to(RESULTS).as_posix() for path in plan_files(config).to_make}


def counts(config: Config) -> list[int]:
    """Files to be made per stage."""
    files = plan_files(config)
    return [sum(path in files.to_make for path in paths) for paths in files.stages.values()]


FROM_OBSERVATION = {
    "observations/math-verify/qwen3-4b.parquet",
    "estimates/math-verify/qwen3-4b/gsm8k.parquet",
    "estimates/math-verify/qwen3-4b/svamp.parquet",
    "scores/math-verify/qwen3-4b/extremes.parquet",
    "math-verify/sweep.parquet",
    "math-verify/report.html",
}


def test_stages_have_their_files(config: Config) -> None:
    files = plan_files(config)
    assert {stage: len(paths) for stage, paths in files.stages.items()} == {
        "benchmarks": 2,
        "generations": 4,
        "labels": 4,
        "features": 4,
        "observations": 2,
        "estimates": 4,
        "estimators": 2,
        "sweep": 1,
        "report": 1,
    }
    observation = files.inputs[RESULTS / "observations/math-verify/qwen3-8b.parquet"]
    assert {path.relative_to(RESULTS).as_posix() for path in observation} == {
        *("benchmarks/gsm8k.parquet", "benchmarks/svamp.parquet"),
        *("labels/math-verify/qwen3-8b/gsm8k.parquet", "labels/math-verify/qwen3-8b/svamp.parquet"),
        *("features/qwen3-8b/gsm8k.parquet", "features/qwen3-8b/svamp.parquet"),
    }


def test_full_study_of_the_paper_has_its_files() -> None:
    config, start = load_config(PAPER), time.process_time()
    stages = plan_files(config).stages
    assert time.process_time() - start < 2, "seconds of CPU time; 0.05 on the machine that it was written on"
    assert [len(stages[stage]) for stage in ("generations", "labels", "features", "estimates")] == [
        *(90, 2 * 90, 90),
        3555 + 9 * 4,  # the second judge's labels: four named groups of nine models
    ]


FEATURES, OBSERVATIONS = "features/qwen3-4b/gsm8k.parquet", "observations/math-verify/qwen3-4b.parquet"
TRACES, LABELS = "generations/qwen3-4b/gsm8k.parquet", "labels/math-verify/qwen3-4b/gsm8k.parquet"
ITEMS, REPORT = "benchmarks/gsm8k.parquet", "math-verify/report.html"


@pytest.mark.parametrize(
    ("deleted", "newer", "expected"),
    [
        ([], [], set()),
        # Nothing waits for these.
        ([FEATURES], [], set()),
        ([FEATURES, OBSERVATIONS], [], set()),
        ([ITEMS], [], set()),
        ([FEATURES, OBSERVATIONS, REPORT], [], {FEATURES, *FROM_OBSERVATION}),
        ([], [FEATURES], FROM_OBSERVATION),
        # A newer file counts past a deleted one.
        ([FEATURES], [TRACES], {LABELS, FEATURES, *FROM_OBSERVATION}),
    ],
)
def test_outputs_of_deleted_and_newer_files_are_to_be_made(
    config: Config, deleted: list[str], newer: list[str], expected: set[str]
) -> None:
    for path in deleted:
        (RESULTS / path).unlink()
    for path in newer:
        make(RESULTS / path, age_s=0)
    assert to_make(config) == expected


def test_a_missing_report_needs_its_items(config: Config) -> None:
    for path in (ITEMS, REPORT):
        (RESULTS / path).unlink()
    assert counts(config) == [1, 2, 2, 2, 2, 4, 2, 1, 1]


THREE = ["gsm8k", "math", "svamp"]


@pytest.mark.parametrize(
    ("made", "planned", "expected"),
    [
        (None, small_study(), [2, 4, 4, 4, 2, 4, 2, 1, 1]),
        # One file of items, two of responses, all observations, six estimates, kept estimators, sweep, report.
        (small_study(), small_study(THREE), [1, 2, 2, 2, 2, 6, 2, 1, 1]),
        (small_study(THREE), small_study(), [0, 0, 0, 0, 2, 4, 2, 1, 1]),
        (small_study(), small_study(models=["qwen3-4b", "qwen3-8b", "gemma-3-4b"]), [0, 2, 2, 2, 1, 2, 1, 1, 1]),
    ],
    ids=["nothing made", "a benchmark more", "a benchmark less", "a model more"],
)
def test_changes_reach_the_report(made: dict | None, planned: dict, expected: list[int]) -> None:
    if made:
        make_all(load_config(made))
    assert counts(load_config(planned)) == expected


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1 cut off", b"PAR1" + b"\xff" * 50 + b"PAR1"])
def test_damaged_files_are_found_and_named(config: Config, content: bytes) -> None:
    path = RESULTS / OBSERVATIONS
    made = path.stat()
    path.write_bytes(content)
    os.utime(path, (made.st_atime, made.st_mtime))
    assert plan_files(config).damaged_files == {path}
    assert to_make(config) == FROM_OBSERVATION


def test_a_file_that_lacks_columns_is_to_be_made(config: Config) -> None:
    make(RESULTS / "math-verify/sweep.parquet", 4600, {"something": [1]})
    assert to_make(config) == {"math-verify/sweep.parquet", "math-verify/report.html"}


def test_estimates_of_a_judge_without_a_report_cover_the_comparison() -> None:
    raw = small_study()
    raw["judges"]["other"] = {"kind": "math-verify"}
    raw["run"] |= {"judges": ["math-verify", "other"], "analyses": ["accuracy", "agreement"]}
    raw["analyses"] |= {"accuracy": {"judges": ["math-verify"]}}
    stages = plan_files(load_config(raw)).stages
    groups, shown = (
        {path.stem for path in stages["estimates"] if path.parts[-3] == judge} for judge in ("math-verify", "other")
    )
    assert groups == {"gsm8k", "svamp"}
    assert (shown < groups, len(shown)) == (True, 1)
    assert [path.as_posix() for path in stages["report"]] == ["results/paper/math-verify/report.html"]
    assert len(stages["observations"]) == 4


def test_a_study_without_the_report_does_not_wait_for_it() -> None:
    raw = small_study()
    raw["run"]["analyses"] = ["rejection", "responses"]
    config = load_config(raw)
    make_all(config)
    assert list(plan_files(config).stages)[-1] == "estimators"
    assert to_make(config) == set()


def test_names_of_analyses_and_stages_differ() -> None:
    declared = [stage for section in load_sections().values() for stage in section.STAGES]
    assert declared == ["sweep", "report"]
    pipeline = list(plan_files(load_config(PAPER)).stages)[: -len(declared)]
    assert len({*pipeline, *declared}) == len(pipeline) + len(declared)


def write_record(made: str, checksums: dict[Path, str]) -> None:
    """What the study's folder keeps of a job that has made a file."""
    record = {"input_checksums": {str(one): result for one, result in checksums.items()}}
    StudyRecords(str(RESULTS)).add([f"{RESULTS}/{made}"], record)


def test_a_newer_file_with_the_recorded_content_invalidates_nothing(config: Config) -> None:
    """As after a copy without dates. Of another content, or of one that nobody recorded, it counts."""
    features = RESULTS / FEATURES
    make(features, age_s=0)
    same = f"sha256:{hashlib.sha256(features.read_bytes()).hexdigest()}"
    assert to_make(config) == FROM_OBSERVATION
    for checksums, expected in (
        ({features: same}, set()),
        ({features: f"sha256:{'0' * 64}"}, FROM_OBSERVATION),
        ({RESULTS / "other.parquet": same}, FROM_OBSERVATION),
    ):
        write_record(OBSERVATIONS, checksums)
        assert to_make(config) == expected
    write_record(OBSERVATIONS, {features: same})
    make(features, -5, {"item_id": ["y"]})
    assert to_make(config) == FROM_OBSERVATION


RECORD = f'{{"outputs": ["{RESULTS}/{OBSERVATIONS}"]'


@pytest.mark.parametrize(
    "line",
    ["", "[]", "{", "{}", RECORD + "}", RECORD + ', "record": null}', RECORD + ', "record": {"input_checksums": [1]}}'],
)
def test_an_empty_record_changes_nothing(config: Config, line: str) -> None:
    make(RESULTS / FEATURES, age_s=0)
    (RESULTS / "jobs.jsonl").write_text(line)
    assert to_make(config) == FROM_OBSERVATION


def test_a_family_that_asks_the_model_needs_one_pass_per_file_of_traces() -> None:
    raw = small_study()
    make_all(load_config(raw))
    raw["run"]["features"] = ["tokens", "forced_answer"]
    config = load_config(raw)
    pairs = {f"{model}/{benchmark}.parquet" for model in config.run.models for benchmark in config.run.benchmarks}
    made = to_make(config)
    for stage in ("passes", "signals"):
        assert {name for name in made if name.startswith(stage)} == {f"{stage}/forced_answer/{pair}" for pair in pairs}
    assert made >= FROM_OBSERVATION, "the observations lack the signals"
    make_all(config)
    for path in plan_files(config).stages["observations"]:
        rows = {"benchmark": config.run.benchmarks, "eas": [1.0, 2.0], "mean_eas": [0.1, 0.2]}
        make(path, 5000 - 60 * list(plan_files(config).stages).index("observations"), rows)
    assert to_make(config) == set()
    Path(RESULTS / "passes/forced_answer/qwen3-4b/gsm8k.parquet").unlink()
    assert to_make(config) == set(), "nothing waits for it"
