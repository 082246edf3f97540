"""What holds for all tests of engines: a cache for each test, and short pauses between two tries."""

from pathlib import Path

import pytest

from entropy_sentinel.llm_client.request_sending import Sender


@pytest.fixture(autouse=True)
def quick_and_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(Sender, "FIRST_PAUSE_S", 0.01)
