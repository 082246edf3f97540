"""Studies reuse the responses and labels of other studies, and of other users by a shared folder."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from item_files import write_items

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.judges.judge_interface import Verdict
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.schemas.label_schema import LABELS
from entropy_sentinel.study.engines.engine_interface import Response
from entropy_sentinel.study.jobs.result_reuse import (
    STORE_VARIABLE,
    check_store,
    compute_reuse_key,
    describe_store,
    forbid_reuse,
)
from entropy_sentinel.study.stages import generation_stage
from entropy_sentinel.study.stages import label_stage as stages_label

SETTINGS = {
    **{"engine": "vllm", "version": 1, "model": "tiny", "benchmark": "a", "seed": 42, "samples": 1, "environment": {}},
    **{"local": True, "weights": "models/tiny", "revision": "0123456789ab", "lora": None, "lora_revision": None},
    **{"prompt": "solve-step-by-step", "sampling": {"temperature": 0.5, "max_tokens": 100}},
}
JUDGE = {"version": 1, "judge": "mine", "kind": "mine"}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (STORE_VARIABLE, "ENTROPY_SENTINEL_FORCED"):
        monkeypatch.setenv(name, "")


class Maker:
    """An engine, and a judge: `asked` are the prompts and the responses that they were asked about."""

    provenance = {"engine": "mine", "engine_version": "1", "logprobs_mode": "none"}
    software = "mine"

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def answer(self, prompts: list[Any], seeds: list[int]) -> Iterator[tuple[int, Response]]:
        for place, prompt in enumerate(prompts):
            self.asked.append(prompt)
            yield place, Response("0" * 16, 7, f"answer {place}", "stop", None, None, None)

    def under_way(self) -> list[int]:
        return []

    def judge(self, cases: list[Any]) -> list[Verdict]:
        self.asked += [case.response for case in cases]
        return [Verdict(None, reason="unclear", exchange={"reply": "perhaps"}) for _ in cases]


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch) -> Maker:
    made = Maker()
    monkeypatch.setattr(generation_stage, "make_engine", lambda settings, threads: made)
    monkeypatch.setattr(generation_stage, "StrictEngine", lambda engine, settings: engine)
    monkeypatch.setattr(stages_label, "make_judge", lambda settings: made)
    return made


def run(project: Path, study: str, questions: tuple[str, ...] = ("1?", "2?"), **changes: Any) -> Path:
    """The responses of a study in `project/results`, and its labels beside them in labels.parquet."""
    folder = project / "results" / study
    (folder / "benchmarks").mkdir(parents=True)
    ids = [f"a-{number:05d}" for number in range(len(questions))]
    items = write_items(folder / "benchmarks", ids, question=list(questions), reference=["1"] * len(ids))
    output = folder / "generations" / "tiny" / "a.parquet"
    generation_stage.write_generations(items, SETTINGS | changes, 1, str(output))
    labels = folder / "labels" / "mine" / "tiny" / "a.parquet"
    stages_label.write_labels(items, str(output), JUDGE, str(labels))
    assert GENERATIONS.read(output)["item_id"].to_list() == LABELS.read(labels)["item_id"].to_list() == ids
    return folder


def test_another_study_with_the_same_settings_and_items_asks_nothing(tmp_path: Path, maker: Maker) -> None:
    first = run(tmp_path, "first")
    assert len(maker.asked) == 4
    second = run(tmp_path, "second", weights="/elsewhere/tiny", environment={"HF_HOME": "/scratch"})
    assert len(maker.asked) == 4
    for name in ("generations/tiny/a.parquet", "labels/mine/tiny/a.parquet", "labels/mine/tiny/a.unreadable.jsonl"):
        assert (second / name).read_bytes() == (first / name).read_bytes(), name
        assert not (second / name).samefile(first / name)
    assert (
        json.loads((second / "labels/mine/tiny/a.unreadable.jsonl").read_text().splitlines()[0])["reply"] == "perhaps"
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"sampling": {"temperature": 1, "max_tokens": 100}},
        {"version": 2},
        {"seed": 43},
        {"revision": "ba9876543210"},
        {"environment": {"VLLM_CPU_KVCACHE_SPACE": "1"}},
        {"questions": ("1?", "3?")},
        {"questions": ("1?",)},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_responses_depend_on_is_asked_again(tmp_path: Path, maker: Maker, changes: dict[str, Any]) -> None:
    run(tmp_path, "first")
    run(tmp_path, "second", **changes)
    # The same responses to the same items have the same labels.
    assert len(maker.asked) == 4 + (2 * len(changes["questions"]) if "questions" in changes else 2)


def test_a_forced_run_reuses_nothing(tmp_path: Path, maker: Maker) -> None:
    run(tmp_path, "first")
    forbid_reuse()
    run(tmp_path, "second")
    assert len(maker.asked) == 8


def test_weights_that_have_moved_are_the_same(tmp_path: Path, maker: Maker) -> None:
    """Snakemake deletes the output, whose second name onstart keeps (common.smk)."""
    output = run(tmp_path, "first") / "generations" / "tiny" / "a.parquet"
    items = str(output.parents[2] / "benchmarks" / "items.parquet")
    for settings, n_asked in ((SETTINGS | {"weights": "/moved"}, 4), (SETTINGS | {"revision": "1"}, 6)):
        output.unlink()
        generation_stage.write_generations(items, settings, 1, str(output))
        assert len(maker.asked) == n_asked


def test_damaged_files_and_rows_of_others_are_passed_over(
    tmp_path: Path, maker: Maker, caplog: pytest.LogCaptureFixture
) -> None:
    first = run(tmp_path, "first") / "generations" / "tiny" / "a.parquet"
    GENERATIONS.write(GENERATIONS.read(first).head(1), first, read_provenance(first))
    run(tmp_path, "second")
    assert len(maker.asked) == 4 + 2, "its labels are of the same responses"
    for study in ("first", "second"):
        path = tmp_path / "results" / study / "generations" / "tiny" / "a.parquet"
        path.write_bytes(path.read_bytes()[:100])
    run(tmp_path, "third")
    assert len(maker.asked) == 4 + 2 + 2
    assert caplog.text.count("a.parquet cannot be reused: ") == 2


def test_responses_of_earlier_versions_count_by_their_identity(tmp_path: Path, maker: Maker) -> None:
    first = run(tmp_path, "first") / "generations" / "tiny" / "a.parquet"
    older = {key: value for key, value in read_provenance(first).items() if key != "reuse_key"}
    GENERATIONS.write(GENERATIONS.read(first), first, older)
    run(tmp_path, "second")
    assert len(maker.asked) == 4
    # Traces of another tool may have any provenance.
    GENERATIONS.write(GENERATIONS.read(first), first, older | {"source": "traces/a.parquet"})
    (tmp_path / "results" / "second" / "generations" / "tiny" / "a.parquet").unlink()
    run(tmp_path, "third")
    assert len(maker.asked) == 4 + 2


@pytest.mark.parametrize(("mode", "file"), [(0o2770, 0o640), (0o755, 0o644)])
def test_users_share_a_folder_with_its_permissions(
    tmp_path: Path, maker: Maker, monkeypatch: pytest.MonkeyPatch, mode: int, file: int
) -> None:
    store = tmp_path / "store"
    store.mkdir()
    store.chmod(mode)
    monkeypatch.setenv(STORE_VARIABLE, str(store))
    run(tmp_path / "alice", "mine")
    kept = sorted(store.rglob("*"))
    assert {path.suffix for path in kept} == {"", ".parquet", ".jsonl"}
    for path in kept:
        assert stat.S_IMODE(path.stat().st_mode) == (mode if path.is_dir() else file), path
    run(tmp_path / "bob", "other")
    assert len(maker.asked) == 4
    monkeypatch.setenv(STORE_VARIABLE, "")
    run(tmp_path / "carol", "mine")
    assert len(maker.asked) == 8


def test_what_a_study_reuses_is_shared_as_well(tmp_path: Path, maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path / "alice", "first")
    (tmp_path / "store").mkdir()
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    run(tmp_path / "alice", "second")
    run(tmp_path / "bob", "mine")
    assert len(maker.asked) == 4


def test_a_store_that_cannot_be_used(
    tmp_path: Path, maker: Maker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "none"))
    with pytest.raises(ConfigError, match=f"{STORE_VARIABLE}: there is no folder '{tmp_path}/none'; create it"):
        check_store()
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.R_OK | os.X_OK)  # a folder to read
    assert describe_store()[0].startswith(f"{STORE_VARIABLE}: '{tmp_path}/none' cannot be written by this user: ")
    # It went away meanwhile: the responses are there all the same.
    run(tmp_path, "mine")
    assert caplog.text.count("a.parquet is not shared: ") == 2


def test_the_key_of_a_judge_has_no_paths() -> None:
    served = {"server": {"local": True, "weights": "models/judge", "revision": "0123456789ab"}}
    moved = {"server": served["server"] | {"weights": "/elsewhere/judge"}}
    assert compute_reuse_key("labels", JUDGE | served) == compute_reuse_key("labels", JUDGE | moved)
    assert compute_reuse_key("labels", JUDGE | served) != compute_reuse_key(
        "labels", JUDGE | {"server": served["server"] | {"revision": "1"}}
    )
    # A model of the hub is its name.
    hub = {"local": False, "weights": "a/b", "revision": None, "commit": "1" * 40}
    assert compute_reuse_key("generations", hub) != compute_reuse_key("generations", hub | {"weights": "a/c"})
    assert compute_reuse_key("generations", hub) != compute_reuse_key("generations", hub | {"commit": "2" * 40})
