"""Alerts that are posted: what a server gets, and what a run says if it does not take them."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calling import run
from fake_api import Answer, fake_api
from production import BEGIN, fitted, saved, traffic, written

import entropy_sentinel as es
from entropy_sentinel.core import json_posting
from entropy_sentinel.core.errors import ConfigError, InputError
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
    assert "&lt;!channel&gt; &amp; &lt;@U1&gt;" in webhook.write_message(result)
    assert "<" not in webhook.write_message(result)


# What a chat would act on, and where.
ACTED_ON = re.compile(r"@\w|\]\(|://|www\.|<[!@#h]|\*\w|~\w|\[\w", re.IGNORECASE)
NAMES = (
    *("@channel", "@here @all", "[here](http://h.example)", "![x](http://h.example/x.png)", "<http://h.example|here>"),
    *("www.h.example", "**bold** ~~gone~~", "~town-square", "`code` @all", "a\n# heading @all", "HTTP://H.EXAMPLE"),
    *("\u202e@channel", "``@channel``", "<!here>", "\\@channel"),
)


@pytest.mark.parametrize("name", NAMES)
def test_no_name_is_markup_in_a_chat(name: str) -> None:
    """In the place of a slice, of the monitor, of a model and of an event."""
    named = traffic(90).with_columns(route=pl.lit(name), time=BEGIN)
    options: dict[str, Any] = {"window": "day", "name": name, "events": {"2026-11-02": name or "x"}}
    result = es.monitor(fitted("atc-se_sum"), named, by=["route"], fail_below=0.99, **options)
    result.provenance["estimators"][0]["model"] = name
    text = webhook.write_message(result)
    assert len(text.splitlines()) == 2
    assert "began on the day of" in text
    assert not ACTED_ON.search(text)
    # Each name is code, which a backtick of its own would end.
    assert text.count("`") == 2 * 3
    assert not set("\x1b\x07\u202e") & set(text)


def test_a_message_is_two_lines_and_the_page() -> None:
    """The first alert with its interval; the names of the others, and the verdict."""
    rows = traffic(210).with_columns(route=pl.Series([f"r{number % 7}" for number in range(210)]))
    url = "https://pages.example/slices.html?a=1&b=<2>"
    result = es.monitor(fitted("atc-se_sum"), rows, by=["route"], fail_below=0.99, page_url=url, name="shop")
    first, second, link = webhook.write_message(result).split("\n")
    alert = result.alerts[0]
    assert first.startswith(f"`shop`: ALERT `{alert['slice']['route']}`: {alert['message']}")
    assert first.endswith(f"(90% interval {alert['lower']:.3f} to {alert['upper']:.3f})")
    others = [f"`{alert['slice']['route']}` (below)" for alert in result.alerts[1:6]]
    assert second.startswith(f"and {', '.join(others)} and 1 more; estimates of `m`: ")
    assert link == "<https://pages.example/slices.html?a=1&b=%3C2%3E>"
    assert result.provenance["page_url"] == url
    with pytest.raises(ConfigError, match="page_url: must be https://HOST/PATH"):
        es.monitor("none", "none", page_url="javascript:alert(1)")


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
    monkeypatch.setattr(json_posting, "TIMEOUT_S", 0.5)
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
            webhook._post_content({}, f"{server.base_url}/{SECRET}")
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
