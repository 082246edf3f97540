"""Web servers that do not send a file as they should: `downloads.yaml`. The copy is the file, or there is none."""

from pathlib import Path

import pytest
from attack_cases import PLANTED, Case, attack, cases
from file_server import Site, serving

from entropy_sentinel.core import object_stores
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.object_stores import get_local_path

pytestmark = pytest.mark.slow


@cases("downloads.yaml")
def test_download(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(object_stores, "SILENT_S", 2.0)
    site = Site()
    with serving(site) as url:
        signed = f"{url}?X-Amz-Signature={PLANTED}"
        if "interrupted" in case:
            site.sent_at_most = 4
            with pytest.raises(InputError, match="after 4 bytes"):
                get_local_path(signed)
            site.sent_at_most = None
        for name, value in case["site"].items():
            setattr(site, name, value)
        replaced = {"SELF": url, "LONG": "9" * 5000}
        site.headers = {
            name: replaced.get(str(value), value and value.replace("PLANTED", PLANTED))
            for name, value in site.headers.items()
        }
        expect = case["expect"]
        copy = attack(expect, lambda: get_local_path(signed))
        if copy is not None:
            assert copy.read_text() == expect["content"]
            assert not copy.is_symlink()
        assert len(site.requested) < 40, "of redirects aiohttp follows ten"
    assert not [
        path for path in tmp_path.rglob("*") if path.is_dir() and path.name == "remote" and path.stat().st_mode & 0o077
    ]
