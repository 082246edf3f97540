"""Pages in a real browser: what a script finds on one, and what every page must hold.

A process starts one Chromium, with the first page, and speaks to it through its debugging pipe. Each page has a context
of its own, so that it finds nothing that another one stored.
"""

import atexit
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from programs import skip_without

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = skip_without(BROWSER, "Chromium", "apt-get install chromium")

TIMEOUT_S = 60
_OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars")
_QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions")


class Browser:
    """A running Chromium."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        (commands, self._commands), (self._replies, replies) = os.pipe(), os.pipe()
        # Chromium reads commands from descriptor 3 and writes replies to 4; a message ends with a null character.
        ends = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10) for descriptor in (commands, replies)]
        start = f'exec "$@" 3<&{ends[0]} 4>&{ends[1]}'
        options = [*_OPTIONS, *_QUIET, f"--user-data-dir={self._folder.name}", "--remote-debugging-pipe"]
        self._process = subprocess.Popen(
            ["bash", "-c", start, "bash", str(BROWSER), *options],
            pass_fds=ends,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for descriptor in (commands, replies, *ends):
            os.close(descriptor)
        self._number, self._buffer = 0, b""
        self.events: list[dict[str, Any]] = []

    def close(self) -> None:
        """End the browser."""
        for descriptor in (self._commands, self._replies):
            os.close(descriptor)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def send(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Send a command of Chromium's debugging protocol and wait for its result."""
        self._number += 1
        number = self._number
        command = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self._receive()
            if message.get("id") == number:
                assert "error" not in message, f"{method}: {message['error']}"
                return dict(message["result"])
            self.events.append(message)

    def wait_for(self, method: str, session: str) -> None:
        """Wait for an event of a session."""
        while not any(one.get("method") == method and one.get("sessionId") == session for one in self.events):
            self.events.append(self._receive())

    def _receive(self) -> dict[str, Any]:
        deadline = time.monotonic() + TIMEOUT_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._replies], [], [], max(deadline - time.monotonic(), 0))
            assert ready, f"the browser said nothing for {TIMEOUT_S} s"
            part = os.read(self._replies, 1 << 20)
            assert part, f"the browser ended, with status {self._process.wait(10)}"
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))

    @contextmanager
    def open_page(self, page: Path, width: int = 1280, is_dark: bool = False) -> "Iterator[Tab]":
        """Open a file in a context of its own, `width` pixels wide, and wait until it is loaded."""
        self.events.clear()
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        tab = Tab(self, self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
        for domain in ("Page", "Runtime", "Log"):
            tab.send(f"{domain}.enable")
        tab.resize(width)
        tab.set_palette(is_dark)
        tab.send("Page.navigate", url=page.absolute().as_uri())
        self.wait_for("Page.loadEventFired", tab.session)
        try:
            yield tab
        finally:
            self.send("Target.disposeBrowserContext", browserContextId=context)


class Tab:
    """A page that is open in a browser."""

    def __init__(self, browser: Browser, session: str) -> None:
        self.browser, self.session = browser, session

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command to the page."""
        return self.browser.send(method, self.session, **params)

    def resize(self, width: int) -> None:
        """Make the page `width` pixels wide, as a telephone does where it is narrow."""
        is_phone = width < 500
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=is_phone)

    def set_palette(self, is_dark: bool) -> None:
        """Choose the dark palette, or the light one."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.send("Emulation.setEmulatedMedia", media="screen", features=[scheme])

    def evaluate(self, script: str) -> Any:
        """The value of a script, an expression or a promise."""
        result = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    @property
    def errors(self) -> list[str]:
        """What the page wrote to the console as a warning or an error, and what a script did not catch."""
        lines = []
        for event in self.browser.events:
            params = event.get("params", {})
            if event.get("sessionId") != self.session:
                continue
            if event["method"] == "Runtime.exceptionThrown":
                lines.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
            elif event["method"] == "Runtime.consoleAPICalled" and params["type"] in ("warning", "error", "assert"):
                lines.append(" ".join(str(part.get("value")) for part in params["args"]))
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("warning", "error"):
                lines.append(params["entry"]["text"])
        return lines


@cache
def shared_browser() -> Browser:
    """The browser of this process."""
    browser = Browser()
    atexit.register(browser.close)
    return browser


def found_on(page: Path, script: str, width: int = 1280) -> Any:
    """What `script`, which says `const found = ...`, finds on a page that is `width` pixels wide."""
    with shared_browser().open_page(page, width) as tab:
        return tab.evaluate(f"(async () => {{ {script}; return found; }})()")
