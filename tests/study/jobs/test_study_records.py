"""What Snakemake records of jobs stays with the results; without a record, the provenance is compared."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.study.jobs.job_records import StudyRecords, find_different_settings, remember_jobs

RECORD = {
    "rule": "feature",
    "input": ["results/a/generations/m/b.parquet", "rows.jsonl"],
    "params": ["{'revisions': 'results/a/revisions'}"],
    "record_format_version": 6,
    "input_checksums": {"results/a/generations/m/b.parquet": "sha256:1"},
}
OUTPUTS = ["results/a/features/m/b.parquet", "results/a/features/m/c.parquet"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for output in OUTPUTS:
        Path(output).parent.mkdir(parents=True, exist_ok=True)
        Path(output).touch()
    return tmp_path


def test_records_move_with_the_results(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    StudyRecords("results/a").add(OUTPUTS, RECORD | {"shellcmd": "touch", "code": None})
    assert StudyRecords("results/a").find(OUTPUTS[1]) == RECORD
    Path("results/a").rename("results/other")
    moved = StudyRecords("results/other")
    assert moved.recover("results/other/features/m/c.parquet") == {
        "rule": "feature",
        "input": ["results/other/generations/m/b.parquet", "rows.jsonl"],
        "params": ["{'revisions': 'results/other/revisions'}"],
        "record_format_version": 6,
        "input_checksums": {"results/other/generations/m/b.parquet": "sha256:1"},
    }
    assert moved.find(OUTPUTS[0]) is moved.recover("results/other/features/m/d.parquet") is None
    assert capsys.readouterr().err.count("results/other: has files without metadata of Snakemake") == 1


def test_the_last_line_of_an_output_counts_and_a_line_of_a_killed_run_does_not(folder: Path) -> None:
    records = StudyRecords("results/a")
    for number in range(150):
        records.add(OUTPUTS[:1], RECORD | {"endtime": number})
    records.add(OUTPUTS[1:], RECORD)
    records.add(["elsewhere/page.html"], RECORD)
    records.add(OUTPUTS[1:], None)
    with records.path.open("a") as file:
        file.write('{"outputs": ["${study}/features/m/b.parquet"], "record": {"ru')
    for _ in range(2):
        read = StudyRecords("results/a")
        assert read.find(OUTPUTS[0]) == RECORD | {"endtime": 149}
        assert (read.find(OUTPUTS[1]), read.is_accepted(OUTPUTS[1]), read.is_accepted(OUTPUTS[0])) == (
            None,
            True,
            False,
        )
        read.compact()
        assert len(records.path.read_text().splitlines()) == 2


class Persistence:
    """Snakemake's records, as far as they matter here."""

    def __init__(self) -> None:
        self.records: dict[str, dict[str, Any]] = {}

    def metadata(self, target: str) -> dict[str, Any] | None:
        return self.records.get(target)

    def has_metadata(self, job: SimpleNamespace) -> bool:
        return all(self.metadata(output) for output in job.output)

    async def finished(self, job: SimpleNamespace) -> None:
        self.records |= dict.fromkeys(job.output, RECORD)

    def cleanup_metadata(self, target: str) -> bool:
        return self.records.pop(target, None) is not None

    def _clear_cache(self) -> None:
        pass


@pytest.fixture
def persistence(folder: Path) -> type[Persistence]:
    class Remembering(Persistence):
        pass

    remember_jobs(Remembering, dict, 6, StudyRecords("results/a"))
    return Remembering


def test_snakemake_reads_the_records_where_it_has_none(persistence: type[Persistence]) -> None:
    job = SimpleNamespace(output=OUTPUTS, params={"call": "study.stages.feature_stage.write_features"})
    asyncio.run(persistence().finished(job))
    lost = persistence()
    assert (lost.has_metadata(job), lost.metadata(OUTPUTS[1])) == (True, RECORD)
    # As Snakemake proposes for a change that makes no difference.
    assert [lost.cleanup_metadata(output) for output in (*OUTPUTS, "elsewhere.html")] == [True, True, False]
    assert (lost.has_metadata(job), lost.metadata(OUTPUTS[1])) == (False, None)


SAMPLING = {"temperature": 0.5, "max_tokens": 10}


@pytest.mark.parametrize(
    ("settings", "provenance", "keys"),
    [
        ({"version": 1, "sampling": SAMPLING}, {"version": 1, "sampling": SAMPLING, "engine": "vllm"}, []),
        ({"version": 2, "sampling": SAMPLING}, {"version": 1, "sampling": {}}, ["sampling", "version"]),
        # Weights that have moved.
        (
            {"weights": "/new/tiny", "local": True, "revision": "1"},
            {"weights": "/old/tiny", "local": True, "revision": "1"},
            [],
        ),
        ({"weights": "a/b", "local": False, "revision": "1"}, {"weights": "a/c", "local": False}, ["weights"]),
        # Facts of the engine, settings of earlier versions, and settings that are newer than the file.
        ({"engine": "vllm"}, {"engine": "vllm 0.9", "trace_after": "</think>"}, []),
        ({"keep_top_tokens": True}, {"version": 1}, []),
        # A judge has a model, too.
        ({"judge": "grok", "model": "grok-4"}, {"judge": "all", "labelled_by": "grok", "model": "qwen"}, []),
        ({"judge": "other", "llm": {"prompt": "a"}}, {"judge": "grok", "llm": {"prompt": "b"}}, ["judge", "llm"]),
        # The commit of a pass is found by its job.
        ({"asked_with": {"sampling": SAMPLING}}, {"pass": {"asked_with": {"sampling": SAMPLING, "commit": "1"}}}, []),
        ({"asked_with": {"sampling": SAMPLING}}, {"pass": {"asked_with": {"sampling": {}}}}, ["asked_with"]),
        # Of imported traces the file states how they were sampled.
        (
            {"source": "a", "samples": 2, "sampling": SAMPLING},
            {"source": "a", "samples": 1, "sampling": {}},
            ["samples"],
        ),
    ],
)
def test_settings_that_a_file_states_otherwise(
    settings: dict[str, Any], provenance: dict[str, Any], keys: list[str]
) -> None:
    assert find_different_settings(settings, provenance) == keys


@pytest.mark.parametrize(
    ("call", "temperature", "is_different"),
    [
        ("generation_stage.write_generations", 1, True),
        ("generation_stage.write_generations", 0.5, False),
        ("feature_stage.write", 1, False),
    ],
)
def test_files_without_any_record_say_how_they_were_made(
    persistence: type[Persistence],
    capsys: pytest.CaptureFixture[str],
    call: str,
    temperature: float,
    is_different: bool,
) -> None:
    for output in OUTPUTS:
        GENERATIONS.write(GENERATIONS.frame([]), output, {"sampling": SAMPLING})
    snakemake, settings = persistence(), {"sampling": SAMPLING | {"temperature": temperature}}
    jobs = [
        SimpleNamespace(output=OUTPUTS, params={"call": f"study.stages.{call}", "settings": settings}) for _ in range(2)
    ]
    assert [snakemake.has_metadata(job) for job in jobs] == [is_different] * 2
    # Parameters that no job has, so Snakemake runs it.
    assert (snakemake.metadata(OUTPUTS[0]) or {}).get("params") == (["of " + OUTPUTS[0]] if is_different else None)
    line = "results/a/features/m: has files without metadata of Snakemake that were made with another sampling"
    assert capsys.readouterr().err.count(line) == is_different
