from pathlib import Path

import pytest

from entropy_sentinel.llm_client.request_sending import Sender


@pytest.fixture(autouse=True)
def quick_and_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache per test, short pauses, and a key as a user would set it, of the shape that providers give out."""
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", "sk-proj-0a1b2c3d4e5f6a7b")
    monkeypatch.setattr(Sender, "FIRST_PAUSE_S", 0.01)
