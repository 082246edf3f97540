"""Web servers and stores that are slow, wrong or changing, names that are none, and what messages show of a URL."""

import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import fsspec
import pytest
from file_server import Site, serving

import entropy_sentinel as es
from entropy_sentinel.core import object_stores
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.object_stores import get_local_path, list_remote_files
from entropy_sentinel.core.urls import format_path, hide_secrets, make_file_name
from entropy_sentinel.core.whole_files import write_whole


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    fsspec.filesystem("memory").store.clear()
    return tmp_path / "cache" / "entropy-sentinel" / "remote"


def interrupt(site: Site, url: str, after: int = 4) -> None:
    """Leave a partial copy of its first bytes."""
    site.sent_at_most = after
    with pytest.raises(InputError, match=rf"after {after} bytes, the next run continues"):
        get_local_path(url)
    site.sent_at_most = None
    site.requested.clear()


def test_an_interrupted_download_continues(cache: Path) -> None:
    site = Site()
    with serving(site) as url:
        interrupt(site, url)
        assert get_local_path(url).read_bytes() == site.content
        assert site.requested == ["bytes=4-9"]
        assert get_local_path(url).read_bytes() == site.content
        assert len(site.requested) == 1, "the copy is current"


@pytest.mark.parametrize("headers", [{"ETag": '"2"'}, {"Last-Modified": "Wed, 25 Nov 2026 10:00:00 GMT"}, {}])
def test_a_download_never_continues_from_another_version(headers: dict[str, str]) -> None:
    site = Site()
    with serving(site) as url:
        interrupt(site, url)
        site.content, site.headers = b"abcdefghij", headers
        assert get_local_path(url).read_bytes() == b"abcdefghij"
        assert site.requested == [None]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"ETag": '"1"'}, {"ETag": '"2"'}),
        ({"Last-Modified": "Wed, 25 Nov 2026 10:00:00 GMT"}, {"Last-Modified": "Wed, 25 Nov 2026 10:00:01 GMT"}),
        ({}, {}),
    ],
)
def test_changed_content_of_equal_size_is_read(first: dict[str, str], second: dict[str, str]) -> None:
    site = Site(headers=first)
    with serving(site) as url:
        assert get_local_path(url).read_bytes() == b"0123456789"
        site.content, site.headers = b"abcdefghij", second
        assert get_local_path(url).read_bytes() == b"abcdefghij"


def test_an_unchanged_file_with_the_time_of_its_change_is_not_downloaded_again() -> None:
    site = Site(headers={"Last-Modified": "Wed, 25 Nov 2026 10:00:00 GMT"})
    with serving(site) as url:
        get_local_path(url)
        get_local_path(url)
    assert len(site.requested) == 1


@pytest.mark.parametrize("damage", ["truncated", "longer", "replaced", "same size", "link"])
def test_a_copy_that_changed_is_not_used(tmp_path: Path, damage: str) -> None:
    site = Site()
    with serving(site) as url:
        copy = get_local_path(url)
        if damage in ("replaced", "link"):
            copy.unlink()
        if damage == "link":
            (tmp_path / "other").write_bytes(b"abcdefghij")
            copy.symlink_to(tmp_path / "other")
        else:
            damaged = {
                "truncated": b"01",
                "longer": b"0123456789a",
                "replaced": b"abcdefghij",
                "same size": b"ab23456789",
            }
            copy.write_bytes(damaged[damage])
        assert get_local_path(url).read_bytes() == site.content
        assert not get_local_path(url).is_symlink()


def test_a_short_answer_of_a_store_is_not_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store whose library does not notice it."""
    filesystem = fsspec.filesystem("memory")
    filesystem.pipe_file("/short/a.jsonl", b"0123456789")
    info = filesystem.info("/short/a.jsonl")
    monkeypatch.setattr(type(filesystem), "info", lambda self, path, **_: {**info, "size": 11})
    with pytest.raises(InputError, match=r"the connection ended before 11 bytes"):
        get_local_path("memory://short/a.jsonl")
    monkeypatch.setattr(type(filesystem), "info", lambda self, path, **_: {**info, "size": 9})
    with pytest.raises(InputError, match=r"announced 9 bytes, but sent more"):
        get_local_path("memory://short/a.jsonl")


def test_a_file_that_is_replaced_during_the_download_is_read_again() -> None:
    def replace(site: Site) -> None:
        if len(site.requested) == 1:
            site.content, site.headers = b"abcdefghij", {"ETag": '"2"'}

    site = Site(after_answer=replace)
    with serving(site) as url:
        assert get_local_path(url).read_bytes() == b"abcdefghij"
        assert len(site.requested) == 2


def test_a_file_that_always_changes_is_an_error() -> None:
    def replace(site: Site) -> None:
        site.headers = {"ETag": f'"{len(site.requested)}"'}

    site = Site(after_answer=replace, headers={"ETag": '"0"'})
    with serving(site) as url, pytest.raises(InputError, match="changes while it is read"):
        get_local_path(url)
    assert len(site.requested) == 3


def test_another_part_than_the_wanted_one_is_not_accepted() -> None:
    """The download begins again, and asks for the whole file."""
    site = Site(range_offset=2)
    with serving(site) as url:
        interrupt(site, url)
        assert get_local_path(url).read_bytes() == site.content
        assert site.requested == ["bytes=4-9", None]


def test_a_server_without_ranges_sends_the_whole_file_again() -> None:
    site = Site(ranges=False)
    with serving(site) as url:
        interrupt(site, url)
        assert get_local_path(url).read_bytes() == site.content
        site = Site(ranges=False, headers={"Accept-Ranges": "none", "ETag": '"1"'})
    with serving(site) as url:
        interrupt(site, url)
        assert get_local_path(url).read_bytes() == site.content


def test_a_silent_server_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_stores, "SILENT_S", 0.3)
    released = threading.Event()
    site = Site(before_answer=lambda _: (released.wait(10), None)[1])
    with serving(site) as url:
        begin = time.monotonic()
        with pytest.raises(InputError, match=f"{url}: cannot be read: the server does not answer .*[Tt]imeout"):
            get_local_path(url)
        assert time.monotonic() - begin < 5
        released.set()


def test_a_server_that_never_answers_is_not_a_missing_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_stores, "SILENT_S", 0.4)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/day.jsonl"
        begin = time.monotonic()
        with pytest.raises(InputError, match=f"{url}: cannot be listed: the server does not answer .*[Tt]imeout"):
            es.read_logs(url)
        assert time.monotonic() - begin < 5


def test_commands_that_read_one_url_at_once_download_it_once(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    site = Site(content=bytes(range(256)) * 8000, before_answer=lambda _: time.sleep(0.5))
    with serving(site) as url:
        code = (
            "import sys; from entropy_sentinel.core.object_stores import get_local_path; "
            "print(len(get_local_path(sys.argv[1]).read_bytes()))"
        )
        commands = [
            subprocess.Popen(
                [sys.executable, "-c", code, url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            for _ in range(2)
        ]
        done = [command.communicate(timeout=30) for command in commands]
        assert [output.strip() for output, _ in done] == [str(256 * 8000)] * 2
        assert len(site.requested) == 1
        assert get_local_path(url).read_bytes() == site.content
    waited = "".join(error for _, error in done)
    assert "waiting for another command that downloads it" in waited


def test_copies_are_their_users_alone(cache: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o755)
    site = Site()
    with serving(site) as url:
        copy = get_local_path(url)
    assert cache.stat().st_mode & 0o077 == 0
    assert copy.parent.stat().st_mode & 0o077 == 0


SIGNED = "X-Amz-Signature=a1b2c3d4e5f6&X-Amz-Credential=AKIAPLANTED%2F20261125"


@pytest.mark.parametrize("status", [401, 403, 404, 405, 429, 500, 503])
def test_messages_of_a_server_show_no_secret(status: int) -> None:
    site = Site(status=status)
    with serving(site) as url:
        secret = url.replace("http://", "http://me:pass-w0rd@") + f"?{SIGNED}"
        for act in (get_local_path, lambda it: list(list_remote_files(it, bool)), lambda it: write_whole(it, "a")):
            try:
                shows = str(act(secret)).replace(secret, "")  # the listing of a server that refuses HEAD
            except InputError as error:
                shows = str(error)
                assert shows.startswith(url)
            for planted in ("a1b2c3", "AKIAPLANTED", "pass-w0rd", "Signature"):
                assert planted not in shows


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://me:se/cret@host/a.jsonl?X=1", "https://host/a.jsonl"),
        ("https://me:se?cret@host/a.jsonl", "https://host/a.jsonl"),
        ("https://me:se#cret@host/a.jsonl#part", "https://host/a.jsonl"),
        ("https://me:se@cret@host/a.jsonl", "https://host/a.jsonl"),
        ("https://token@host:8443/a@b.jsonl", "https://host:8443/a@b.jsonl"),
        ("https://host/a@b.jsonl?token=1", "https://host/a@b.jsonl"),
        ("https://host:8443/a@b/c.jsonl", "https://host:8443/a@b/c.jsonl"),
        ("https://me:secret", "https://…"),
        ("http://[::1", "http://[::1"),
        ("http://[::1]:80/a.jsonl", "http://[::1]:80/a.jsonl"),
        ("s3://bucket/a b.jsonl", "s3://bucket/a b.jsonl"),
        ("logs/a?b.jsonl", "logs/a?b.jsonl"),
    ],
)
def test_a_shown_url_has_no_secret(url: str, expected: str) -> None:
    assert format_path(url) == expected


def test_words_of_libraries_have_no_secret() -> None:
    url = f"https://me:pass-w0rd@host/a.jsonl?{SIGNED}"
    words = f"403, message='no', url='{url}' for /a.jsonl?{SIGNED} of me, with pass-w0rd,\nAKIAPLANTED/20261125"
    assert hide_secrets(words, url) == ("403, message='no', url='https://host/a.jsonl' for /a.jsonl?… of me, with …, …")
    assert len(hide_secrets("x" * 1000, url)) == 200


@pytest.mark.parametrize("url", ["http://[::1", "http://[::1]:9/a.jsonl", "https://me:secret", "http://:0/a"])
def test_a_malformed_or_unreachable_url_is_an_error(url: str) -> None:
    for act in (get_local_path, lambda it: list(list_remote_files(it, bool))):
        with pytest.raises(InputError, match="http"):
            act(url)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("logs/day.jsonl.gz", "day.jsonl.gz"),
        ("logs/.facts.json", ".facts.json"),
        ("logs/a\0b\n.csv", "a_b_.csv"),
        ("logs/" + "é" * 150 + ".features.jsonl.gz", None),
        ("logs/..", None),
        ("logs/.", None),
        ("logs/", None),
    ],
)
def test_every_key_of_a_store_has_a_name_for_its_copy(tmp_path: Path, key: str, expected: str | None) -> None:
    name = make_file_name(f"s3://bucket/{key}")
    if expected is not None:
        assert name == expected
    (tmp_path / name).write_text("a")
    assert (tmp_path / name).parent == tmp_path
    assert len(name.encode()) <= 255
    if ".features" in key:
        assert name.endswith(".features.jsonl.gz")


@pytest.mark.parametrize("name", ["..", ".", "x" * 300 + ".jsonl", ".facts.json", "a\0b.jsonl"])
def test_files_of_any_key_are_read_and_written(name: str) -> None:
    write_whole(f"memory://keys/{name}", "content")
    assert get_local_path(f"memory://keys/{name}").read_bytes() == b"content"
