"""Send alerts to a webhook, as JSON or as a message for Slack and compatible chats.

The address of a webhook is a secret, because anyone who knows it can post. No message or error contains any part of
the address, so errors of the connection show only their type.
"""

import json
import queue
import threading
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from entropy_sentinel import __version__
from entropy_sentinel.estimators.verdict import USABLE
from entropy_sentinel.frames.errors import ConfigError, InputError
from entropy_sentinel.monitor.result import SHOWN, Monitored, alert_line, whose

# Limit for the whole request, from the look-up of the host's name to the answer.
TIMEOUT_S = 10.0
# Escapes for Slack's control characters, because a slice may be called <!channel>.
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def check_address(address: str) -> None:
    """Raise ConfigError for an address that is not an HTTP or HTTPS URL of printable ASCII."""
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not address.isascii() or not address.isprintable() or " " in address:
        raise ConfigError(
            "the address of a webhook must be https://HOST/PATH (it is not shown, because it may be secret)"
        )


def post_json(result: Monitored, address: str) -> None:
    """Post the alerts to tell as JSON in the format of `--alerts`; send nothing without any.

    Raises:
        InputError: If the server does not take them within TIMEOUT_S seconds.
    """
    if told := _told(result):
        _post({"alerts": told, "provenance": result.provenance}, address)


def post_message(result: Monitored, address: str) -> None:
    """Post the alerts to tell as the text of a message, `{"text": ...}`; send nothing without any.

    Raises:
        InputError: If the server does not take them within TIMEOUT_S seconds.
    """
    if _told(result):
        _post({"text": message(result)}, address)


def message(result: Monitored) -> str:
    """Return the estimator's line, the verdict, and a line with the interval for each of the first SHOWN to tell."""
    flags = result.provenance["general_flags"]
    verdict = f"about all slices: {', '.join(flags)}" if flags else f"verdict of the validation: {USABLE}"
    lines = [f"{alert_line(alert)}{_interval(alert)}" for alert in _told(result)]
    more = [f"and {len(lines) - SHOWN:,} more"] if len(lines) > SHOWN else []
    return "\n".join([whose(result)[0], verdict, *lines[:SHOWN], *more]).translate(_ESCAPED)


def _told(result: Monitored) -> list[dict[str, Any]]:
    return [alert for alert in result.alerts if alert["tell"]]


def _interval(alert: Mapping[str, Any]) -> str:
    if alert["lower"] is None:
        return ""
    return f" ({alert['level']:.0%} interval {alert['lower']:.3f} to {alert['upper']:.3f})"


class _NoRedirects(HTTPRedirectHandler):
    """Treats redirects as errors: they would lose the body, or send it elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _post(content: Mapping[str, Any], address: str) -> None:
    """Post JSON, in a thread because socket time-outs limit neither name look-ups nor slow answers."""
    headers = {"Content-Type": "application/json", "User-Agent": f"entropy-sentinel/{__version__}"}
    request = Request(address, json.dumps(content).encode(), headers)
    outcome: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=lambda: outcome.put(_problem(request)), daemon=True).start()
    try:
        problem = outcome.get(timeout=TIMEOUT_S)
    except queue.Empty:
        problem = f"no answer within {TIMEOUT_S:g} seconds"
    if problem:
        raise InputError(f"the alerts were not sent: {problem}")


def _problem(request: Request) -> str:
    """Send the request; return why it failed, or an empty text."""
    try:
        # This time-out is longer than the caller's, so that the caller reports it.
        build_opener(_NoRedirects).open(request, timeout=2 * TIMEOUT_S).close()
    except HTTPError as error:
        error.close()
        known = error.code in [*HTTPStatus]
        return f"the server answered {error.code}" + (f" {HTTPStatus(error.code).phrase}" if known else "")
    except Exception as error:  # of any type: the other outputs must still be written
        return type(error.reason if isinstance(error, URLError) else error).__name__
    return ""
