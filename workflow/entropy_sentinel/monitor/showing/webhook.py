"""Send alerts to a webhook, as JSON or as a message for Slack and compatible chats.

The address of a webhook is a secret, because anyone who knows it can post. No message or error contains any part of
the address, so errors of the connection show only their type.
"""

from collections.abc import Mapping
from typing import Any

from entropy_sentinel.estimators.verdict import USABLE
from entropy_sentinel.frames.errors import ConfigError, InputError
from entropy_sentinel.frames.posting import is_address, post
from entropy_sentinel.monitor.result import SHOWN, Monitored, alert_line, whose

# Escapes for Slack's control characters, because a slice may be called <!channel>.
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def check_address(address: str) -> None:
    """Raise ConfigError for an address that is not an HTTP or HTTPS URL of printable ASCII."""
    if not is_address(address):
        raise ConfigError(
            "the address of a webhook must be https://HOST/PATH (it is not shown, because it may be secret)"
        )


def post_json(result: Monitored, address: str) -> None:
    """Post the alerts to report as JSON in the format of `--alerts`; send nothing without any.

    Raises:
        InputError: If the server does not take them within TIMEOUT_S seconds.
    """
    if told := _told(result):
        _post({"alerts": told, "provenance": result.provenance}, address)


def post_message(result: Monitored, address: str) -> None:
    """Post the alerts to report as the text of a message, `{"text": ...}`; send nothing without any.

    Raises:
        InputError: If the server does not take them within TIMEOUT_S seconds.
    """
    if _told(result):
        _post({"text": message(result)}, address)


def message(result: Monitored) -> str:
    """Return the estimator's line, the verdict, and a line with the interval for each of the first SHOWN to report."""
    flags = result.provenance["general_flags"]
    verdict = f"about all slices: {', '.join(flags)}" if flags else f"verdict of the validation: {USABLE}"
    lines = [f"{alert_line(alert)}{_interval(alert)}" for alert in _told(result)]
    more = [f"and {len(lines) - SHOWN:,} more"] if len(lines) > SHOWN else []
    return "\n".join([whose(result)[0], verdict, *lines[:SHOWN], *more]).translate(_ESCAPED)


def _told(result: Monitored) -> list[dict[str, Any]]:
    return [alert for alert in result.alerts if alert["to_report"]]


def _interval(alert: Mapping[str, Any]) -> str:
    if alert["lower"] is None:
        return ""
    return f" ({alert['level']:.0%} interval {alert['lower']:.3f} to {alert['upper']:.3f})"


def _post(content: Mapping[str, Any], address: str) -> None:
    if problem := post(content, address):
        raise InputError(f"the alerts were not sent: {problem}")
