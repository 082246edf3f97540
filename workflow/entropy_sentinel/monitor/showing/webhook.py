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
    if alerts := _to_report(result):
        _post({"alerts": alerts, "provenance": result.provenance}, address)


def post_message(result: Monitored, address: str) -> None:
    """Post the alerts to report as the text of a message, `{"text": ...}`; send nothing without any.

    Raises:
        InputError: If the server does not take them within TIMEOUT_S seconds.
    """
    if _to_report(result):
        _post({"text": message(result)}, address)


def message(result: Monitored) -> str:
    """Return the estimator's line, the verdict, and a line with the interval for each of the first SHOWN to report."""
    flags = result.provenance["general_flags"]
    verdict = f"about all slices: {', '.join(flags)}" if flags else f"verdict of the validation: {USABLE}"
    lines = [whose(result)[0], verdict]
    alerts = _to_report(result)
    for alert in alerts[:SHOWN]:
        line = alert_line(alert)
        if alert["lower"] is not None:
            line += f" ({alert['level']:.0%} interval {alert['lower']:.3f} to {alert['upper']:.3f})"
        lines.append(line)
    if len(alerts) > SHOWN:
        lines.append(f"and {len(alerts) - SHOWN:,} more")
    return "\n".join(lines).translate(_ESCAPED)


def _to_report(result: Monitored) -> list[dict[str, Any]]:
    return [alert for alert in result.alerts if alert["to_report"]]


def _post(content: Mapping[str, Any], address: str) -> None:
    if problem := post(content, address):
        raise InputError(f"the alerts were not sent: {problem.words}")
