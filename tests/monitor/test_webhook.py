"""Alerts that are posted: what a server gets, and what a run says if it does not take them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calling import run
from fake_api import Answer, fake_api
from production import fitted, saved, traffic, written

import entropy_sentinel as es
from entropy_sentinel.frames import posting
from entropy_sentinel.frames.errors import ConfigError, InputError
from entropy_sentinel.monitor.showing import webhook

SECRET = "T024-B7Yhn3-sekret"


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """An estimator and a log."""
    folder = tmp_path_factory.mktemp("given")
    return [saved(folder, "atc-se_sum"), written(traffic(90), folder / "log.parquet")]


@pytest.fixture
def call(given: list[Path], tmp_path: Path) -> list[Any]:
    """A call of the monitor that writes the alerts to a file as well; every slice is an alert."""
    files = ["--alerts", tmp_path / "alerts.json", "--state", tmp_path / "state", "--page", tmp_path / "page.html"]
    return ["monitor", *given, "--fail-below", "0.99", *files]


def reply(status: int, headers: dict[str, str], body: bytes, delay_s: float = 0.0) -> Callable[..., Answer]:
    """What a server answers to whatever it gets."""
    return lambda *_: (status, headers, body, delay_s)


TOOK = reply(200, {}, b"ok")
REFUSED = reply(403, {"Location": f"http://x/{SECRET}"}, SECRET.encode())
MOVED = reply(307, {"Location": f"/{SECRET}/elsewhere"}, b"")


def test_a_server_gets_what_the_file_has(call: list[Any], tmp_path: Path, capsys, monkeypatch) -> None:
    with fake_api(TOOK) as server:
        monkeypatch.setenv("ENTROPY_SENTINEL_SLACK", f"{server.base_url}/{SECRET}")
        status, _, errors = run(capsys, *call, "--webhook", f"{server.base_url}/{SECRET}")
    assert (status, errors) == (4, "")
    assert server.requests[0] == json.loads((tmp_path / "alerts.json").read_text())
    (alert,) = server.requests[0]["alerts"]
    assert list(server.requests[1]) == ["text"]
    assert alert["message"] in server.requests[1]["text"]
    assert SECRET not in str([path.read_bytes() for path in tmp_path.iterdir()])


def test_nothing_is_sent_without_an_alert() -> None:
    with fake_api(TOOK) as server:
        result = es.monitor(fitted("atc-se_sum"), traffic(90))
        webhook.post_json(result, server.base_url)
        webhook.post_message(result, server.base_url)
        assert server.requests == []


def test_a_slice_cannot_call_everybody_in_a_chat() -> None:
    named = traffic(90).with_columns(route=pl.lit("<!channel> & <@U1>"))
    result = es.monitor(fitted("atc-se_sum"), named, by=["route"], fail_below=0.99)
    assert "&lt;!channel&gt; &amp; &lt;@U1&gt;" in webhook.message(result)
    assert "<" not in webhook.message(result)


@pytest.mark.parametrize(
    ("option", "answer", "problem"),
    [
        ("--webhook", REFUSED, "403 Forbidden"),
        ("--slack", MOVED, "307 Temporary Redirect"),
        ("--webhook", reply(200, {}, b"", 1.0), "no answer within 0.5 seconds"),
        ("--slack", reply(799, {}, b""), "answered 799"),
    ],
)
def test_a_server_that_refuses_loses_nothing(
    option: str, answer: Any, problem: str, call: list[Any], tmp_path: Path, capsys, monkeypatch
) -> None:
    monkeypatch.setattr(posting, "TIMEOUT_S", 0.5)
    with fake_api(answer) as server:
        status, shown, errors = run(capsys, *call, option, f"{server.base_url}/{SECRET}")
        assert len(server.requests) == 1
    assert status == 4
    assert errors.startswith(f"{option}: ")
    assert problem in errors
    assert "ALERT" in shown
    assert len(json.loads((tmp_path / "alerts.json").read_text())["alerts"]) == 1
    assert SECRET not in shown + errors + str([path.read_bytes() for path in tmp_path.iterdir()])


@pytest.mark.parametrize("status", [302, 307])
def test_no_redirect_is_followed(status: int) -> None:
    """urllib would send a GET request without the alerts, and take its answer for theirs."""
    with fake_api(TOOK) as other, fake_api(reply(status, {"Location": f"{other.base_url}/x"}, b"")) as server:
        with pytest.raises(InputError, match=f"the server answered {status}"):
            webhook._post({}, f"{server.base_url}/{SECRET}")
        assert other.requests == []


@pytest.mark.parametrize(
    "address",
    [
        *["hooks.slack.com/x", "ftp://host/x", "https:///x", "http://[x/", "http://host/a b", "http://h:99999/x"],
        *["http://host/a\x7f", "http://host/a\r\nX: y", "http://host/\xe9"],
    ],
)
def test_an_invalid_address_is_refused_before_a_log_is_read(address: str, tmp_path: Path, capsys) -> None:
    with pytest.raises(ConfigError):
        webhook.check_address(address)
    status, _, errors = run(capsys, "monitor", tmp_path / "estimator", tmp_path / "none", "--slack", address)
    assert status == 1
    assert "webhook" in errors
    assert address not in errors
