"""The hub: commits, their record, and what a person reads when something cannot be had. No test uses the network."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import huggingface_hub
import pytest
from data_sets import COMMIT, OTHER_COMMIT, data_set, put_in_cache
from huggingface_hub import constants, errors
from item_files import item_settings

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.hub import hub_files as hub
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.study.stages.benchmark_stage import write_benchmark
from entropy_sentinel.study.stages.prefetch_stage import prefetch_dataset, prefetch_model

SECRET = "hf_abcdefghijklmnopqrstuvwxyz"
SETTINGS = item_settings(dataset="owner/sums", configs=["easy"])


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, and no way to the network. Like the real one it lies in a hidden folder."""
    import datasets

    refuse = Mock(side_effect=AssertionError("a test must not use the network"))
    folder = tmp_path / ".cache" / "hub"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "built")
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", refuse)
    monkeypatch.setenv("HF_TOKEN", SECRET)
    return folder


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)


@pytest.fixture
def sums(tmp_path: Path, cache: Path, offline: None) -> Iterator[Path]:
    """The data set owner/sums in the cache, its commit on `main`; gives a folder for a study."""
    rows = [{"q": f"What is {n} + 1?", "a": str(n + 1)} for n in range(3)]
    data_set(tmp_path / "files", "test", {"hard": rows[:1], "easy": rows})
    put_in_cache(cache, "dataset", "owner/sums", tmp_path / "files")
    return tmp_path / "results" / "study"


def answer(error: type[errors.HfHubHTTPError], status: int) -> errors.HfHubHTTPError:
    """The error that huggingface_hub makes of a reply of the hub, here with a token in its text."""
    request = httpx.Request("GET", "https://huggingface.co/api", headers={"authorization": f"Bearer {SECRET}"})
    return error(f"{status} Client Error for {SECRET}", response=httpx.Response(status, request=request))


def raising(monkeypatch: pytest.MonkeyPatch, method: str, error: Exception) -> None:
    monkeypatch.setattr(huggingface_hub.HfApi, method, Mock(side_effect=error))


ANSWERS = [
    (answer(errors.GatedRepoError, 403), "licence at https://huggingface.co/owner/net"),
    (answer(errors.RepositoryNotFoundError, 401), "(see https://huggingface.co/owner/net)"),
    (answer(errors.RevisionNotFoundError, 404), "'v2'; set its `revision`"),
    (answer(errors.HfHubHTTPError, 401), "HTTP status 401"),
    (answer(errors.HfHubHTTPError, 503), "HTTP status 503"),
    (errors.HFValidationError(f"Repo id must be in the form: {SECRET}"), "must be an id of the hub, `owner/name`"),
    (httpx.ConnectError("no route"), "(ConnectError). Check the connection to https://huggingface.co"),
    (httpx.ReadTimeout("slow"), "(ReadTimeout)"),
    (OSError(28, "No space left on device"), "(OSError). Check the connection"),
    (errors.LocalEntryNotFoundError("no files"), "`snakemake prefetch`, with HF_HUB_OFFLINE=1"),
]


@pytest.mark.parametrize(("error", "expected"), ANSWERS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("method", ["auth_check", "resolve_revision"])
def test_refusals_of_the_hub_say_what_to_do_and_hold_no_token(
    monkeypatch: pytest.MonkeyPatch, method: str, error: Exception, expected: str
) -> None:
    raising(monkeypatch, "auth_check", error)
    if method == "resolve_revision":
        monkeypatch.setattr(huggingface_hub.HfApi, "auth_check", lambda *args, **kwargs: None)
        raising(monkeypatch, "resolve_revision", error)
    with pytest.raises(InputError) as refusal:
        hub.resolve_commit("model", "owner/net", "v2")
    assert str(refusal.value).startswith("model owner/net: ")
    assert expected in str(refusal.value)
    assert SECRET not in str(refusal.value)
    assert refusal.value.__suppress_context__


def test_gated_data_set_names_its_own_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    raising(monkeypatch, "auth_check", answer(errors.GatedRepoError, 401))
    with pytest.raises(InputError, match="https://huggingface.co/datasets/owner/sums.*HF_TOKEN"):
        write_benchmark(SETTINGS, str(tmp_path / "results" / "study" / "benchmarks" / "sums.parquet"))
    assert not (tmp_path / "results").exists()


def test_a_download_in_the_offline_mode_of_the_library_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, "snapshot_download", errors.OfflineModeIsEnabled("offline"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match="in the cache.*run `snakemake prefetch`"):
        hub.download_snapshot("dataset", "owner/sums", COMMIT)


@pytest.mark.parametrize("revision", [None, "v2", OTHER_COMMIT])
def test_offline_and_not_in_the_cache(sums: Path, cache: Path, revision: str | None) -> None:
    """A data set that was never there, and another revision than the one that is there."""
    for repo_id in ("owner/others", "owner/sums") if revision else ("owner/others",):
        with pytest.raises(InputError) as refusal:
            hub.resolve_commit("dataset", repo_id, revision)
        assert f"dataset {repo_id}: " in str(refusal.value)
        assert f"{cache}" in str(refusal.value)


def test_half_a_download_is_not_taken_for_whole(sums: Path, cache: Path) -> None:
    """The hub's listing of the commit, which a download leaves in the cache, names a file that is not there."""
    trees = cache / "datasets--owner--sums" / "trees"
    trees.mkdir()
    entry = {"size": 1, "blob_id": "0" * 40, "lfs_sha256": None, "lfs_size": None, "xet_hash": None}
    from huggingface_hub import _tree_cache

    _tree_cache.write_tree_cache(str(trees.parent), COMMIT, {"missing.parquet": _tree_cache.TreeCacheEntry(**entry)})
    with pytest.raises(InputError, match=r"not completely"):
        hub.download_snapshot("dataset", "owner/sums", COMMIT)


@pytest.mark.parametrize("revision", [None, "main", COMMIT])
def test_offline_benchmark_comes_from_the_cache_with_its_commit(sums: Path, revision: str | None) -> None:
    output = sums / "benchmarks" / "sums.parquet"
    write_benchmark(SETTINGS | {"revision": revision}, str(output))
    assert BENCHMARKS.read(output)["reference"].to_list() == ["1", "2", "3"]
    provenance = read_provenance(output)
    assert (provenance["source"], provenance["revision"], provenance["commit"]) == ("owner/sums", revision, COMMIT)
    record = sums / "revisions" / "datasets" / "owner--sums.json"
    assert json.loads(record.read_text()) == {"id": "owner/sums", "revision": revision, "commit": COMMIT}
    assert [path.name for path in record.parent.iterdir()] == [record.name]


def test_of_several_commits_in_the_cache_the_configured_one_is_read(sums: Path, cache: Path, tmp_path: Path) -> None:
    """`datasets` itself would take the one that was built last."""
    data_set(tmp_path / "newer", "test", {"easy": [{"q": "What is 5 + 5?", "a": "10"}]})
    put_in_cache(cache, "dataset", "owner/sums", tmp_path / "newer", OTHER_COMMIT)
    output = sums / "benchmarks" / "sums.parquet"
    for revision, references in ((None, ["10"]), (COMMIT, ["1", "2", "3"]), (OTHER_COMMIT, ["10"])):
        write_benchmark(SETTINGS | {"revision": revision}, str(output))
        assert BENCHMARKS.read(output)["reference"].to_list() == references


def test_a_study_keeps_to_the_commit_that_it_used_first(sums: Path, cache: Path, tmp_path: Path) -> None:
    folder = sums / "revisions"
    record = folder / "datasets" / "owner--sums.json"
    assert hub.pin_commit("dataset", "owner/sums", None, folder) == COMMIT
    put_in_cache(cache, "dataset", "owner/sums", tmp_path / "files", OTHER_COMMIT)
    assert hub.resolve_commit("dataset", "owner/sums", None) == OTHER_COMMIT
    assert hub.pin_commit("dataset", "owner/sums", None, folder) == COMMIT
    record.unlink()
    assert hub.pin_commit("dataset", "owner/sums", None, folder) == OTHER_COMMIT


def test_another_revision_in_the_config_replaces_the_record(
    sums: Path, cache: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = sums / "revisions"
    hub.pin_commit("dataset", "owner/sums", None, folder)
    put_in_cache(cache, "dataset", "owner/sums", tmp_path / "files", OTHER_COMMIT, ref="later")
    with caplog.at_level(logging.WARNING):
        assert hub.pin_commit("dataset", "owner/sums", OTHER_COMMIT, folder) == OTHER_COMMIT
    assert f"commit {OTHER_COMMIT} instead of {COMMIT}, as configured" in caplog.text
    assert hub.pin_commit("dataset", "owner/sums", OTHER_COMMIT, folder) == OTHER_COMMIT


def test_online_the_hub_says_which_commit_and_a_model_is_not_a_data_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = []

    def repo_info(self: Any, repo_id: str, **arguments: Any) -> Any:
        asked.append((repo_id, arguments["repo_type"], arguments["revision"]))
        return huggingface_hub.ModelInfo(id=repo_id, sha=COMMIT)

    monkeypatch.setattr(huggingface_hub.HfApi, "auth_check", lambda *args, **kwargs: None)
    monkeypatch.setattr(huggingface_hub.HfApi, "repo_info", repo_info)
    assert hub.pin_commit("model", "owner/net", "v1", tmp_path) == COMMIT
    assert asked == [("owner/net", "model", "v1")]
    assert (tmp_path / "models" / "owner--net.json").exists()


def test_prefetch_of_a_data_set_reads_it_and_notes_its_commit(sums: Path) -> None:
    output = sums / "prefetch" / "datasets" / "sums.json"
    settings = {key: SETTINGS[key] for key in ("dataset", "configs", "split", "revision")}
    prefetch_dataset(settings, str(output))
    assert json.loads(output.read_text()) == {"id": "owner/sums", "revision": None, "commit": COMMIT}
    assert (sums / "revisions" / "datasets" / "owner--sums.json").exists()
    with pytest.raises(InputError, match="configuration average, split test cannot be loaded"):
        prefetch_dataset(settings | {"configs": ["average"]}, str(output))


@pytest.mark.parametrize(
    ("load_format", "taken"), [(None, "model-1.safetensors"), ("mistral", "consolidated.safetensors")]
)
def test_prefetch_of_a_model_brings_one_copy_of_the_weights(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, load_format: str | None, taken: str
) -> None:
    files = ["config.json", "params.json", "model-1.safetensors", "consolidated.safetensors", "original/a.pth"]
    brought = []

    def download(self: Any, repo_id: str, **arguments: Any) -> str:
        assert (repo_id, arguments["repo_type"], arguments["revision"]) == ("owner/net", "model", COMMIT)
        brought.extend(huggingface_hub.utils.filter_repo_objects(files, ignore_patterns=arguments["ignore_patterns"]))
        return str(tmp_path)

    monkeypatch.setattr(hub, "resolve_commit", lambda *asked: COMMIT)
    monkeypatch.setattr(huggingface_hub.HfApi, "snapshot_download", download)
    output = tmp_path / "study" / "prefetch" / "models" / "net.json"
    prefetch_model({"id": "owner/net", "revision": "v1", "load_format": load_format}, str(output))
    assert brought == ["config.json", "params.json", taken]
    assert json.loads(output.read_text()) == {"id": "owner/net", "revision": "v1", "commit": COMMIT}
    assert (tmp_path / "study" / "revisions" / "models" / "owner--net.json").exists()
