"""Caches that cannot be read count as absent, or are named with what to do: `caches.yaml`."""

import gzip
import shutil
from pathlib import Path

import pytest
from a_study import Study
from attack_cases import PLANTED, Case, attack, cases
from fake_api import completion, fake_api, ok, quiet_litellm

from entropy_sentinel.config.generations import announce_servers
from entropy_sentinel.frames.generation import GENERATIONS
from entropy_sentinel.sources import hub

pytestmark = [quiet_litellm, pytest.mark.slow]

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def spoil(case: Case, path: Path) -> None:
    """Put what the case says in the place of a file."""
    before = path.read_bytes() if path.is_file() else b""
    content = case.get("text", "").encode()
    if case.get("gzip"):
        content = gzip.compress(content)
    if "cut" in case:
        content = before[: case["cut"]]
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    if case.get("folder"):
        path.mkdir()
    else:
        path.write_bytes(content)


@cases("caches.yaml")
def test_cache(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ENTROPY_SENTINEL_SERVERS", "{}")
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", PLANTED)
    if case["cache"] == "commit":
        spoil(case, tmp_path / "revisions" / "datasets" / "a--b.json")
        monkeypatch.setattr(hub, "resolve", lambda *_: COMMIT)
        commit = attack(case["expect"], lambda: hub.pinned_commit("dataset", "a/b", None, tmp_path / "revisions"))
        assert commit in (None, COMMIT)
        return
    with fake_api(lambda *_: ok(completion())) as server:
        study = Study(tmp_path, 2, {"api": {"model": "hosted_vllm/tiny", "base_url": server.base_url}})
        announce_servers(study.config)
        study.make_items()
        study.make_generations()
        parts = Path(f"{study.generations}.parts")
        if case["cache"] == "replies":
            shutil.rmtree(parts, ignore_errors=True)
            spoiled = list((tmp_path / "cache").rglob("*.json.gz"))
            assert len(spoiled) == 2
        else:
            spoiled = [path for path in parts.iterdir() if path.suffix in (".parquet", ".json")]
            assert spoiled
        for path in spoiled:
            spoil(case, path)
        Path(study.generations).unlink()
        attack(case["expect"], study.make_generations)
        frame = GENERATIONS.check(GENERATIONS.read(study.generations))
        assert frame["text"].to_list() == ["42", "42"]
        assert len(server.requests) == case["expect"].get("requests", 2)
