"""A study's record of a data set's commit that cannot be read counts as absent, or is named.

Damaged replies of servers are in tests/llm_client/test_paid_once.py, damaged parts in
tests/study/stages/test_generation.py.
"""

from pathlib import Path

import pytest
from attack_cases import attack

from entropy_sentinel.hub import hub_files as hub

pytestmark = pytest.mark.slow

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize("content", ["", "hello", "[]", '{"id": 1}', None], ids=str)
def test_a_damaged_record_of_a_commit(content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = tmp_path / "datasets" / "a--b.json"
    record.parent.mkdir()
    record.mkdir() if content is None else record.write_text(content)
    monkeypatch.setattr(hub, "resolve_commit", lambda *_: COMMIT)
    commit = attack({"either": "datasets/a--b.json"}, lambda: hub.pin_commit("dataset", "a/b", None, tmp_path))
    assert commit in (None, COMMIT)
