"""Send alerts to a webhook, as JSON or as a message for Slack and compatible chats.

The address of a webhook is a secret, because anyone who knows it can post. No message or error contains any part of
the address, so errors of the connection show only their type.
"""

import re
from collections.abc import Mapping
from typing import Any

from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.core.json_posting import is_address, send_json
from entropy_sentinel.core.printable import make_one_line
from entropy_sentinel.formatting.text_format import format_list
from entropy_sentinel.monitor.alert import Alert
from entropy_sentinel.monitor.estimating.flags import VERDICT_FLAGS
from entropy_sentinel.monitor.monitor_result import (
    Monitored,
    describe_alert,
    describe_label_basis,
    format_verdicts,
    name_slice,
)

# Characters that have a meaning in a chat, and what is shown instead. A slice may be called <!channel>, @channel or
# [here](http://...): Slack has escapes for its own control characters, and Mattermost, which accepts the same format,
# acts on mentions, links and Markdown in plain text, so these get a character that looks alike.
_HARMLESS = str.maketrans(
    {
        **{"&": "&amp;", "<": "&lt;", ">": "&gt;"},
        **{"[": "［", "]": "］", "`": "ˋ", "*": "＊", "~": "～", "\\": "＼"},
    }
)
# Slack's <@U1> is escaped anyway.
_MENTION = re.compile("(?<!<)@")
_LINK = re.compile(r"://|\bwww\.", re.IGNORECASE)
# What would end the address between < and >.
_ADDRESS = str.maketrans({"<": "%3C", ">": "%3E", "|": "%7C"})
# Longest text of an alert in a message, and largest number of slices that the second line names.
_LONGEST, _MOST_NAMED_SLICES = 300, 5


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
    if alerts := _select_alerts(result):
        _post_content({"alerts": [alert.to_dict() for alert in alerts], "provenance": result.provenance}, address)


def post_message(result: Monitored, address: str) -> None:
    """Post the alerts to report as the text of a message, `{"text": ...}`; send nothing without any.

    Raises:
        InputError: If the server does not take them within TIMEOUT_S seconds.
    """
    if _select_alerts(result):
        _post_content({"text": write_message(result)}, address)


def write_message(result: Monitored) -> str:
    """Two lines: the first alert to report; the others and the verdict. A third has the page's address."""
    about = result.provenance
    alerts = sorted(_select_alerts(result), key=lambda alert: alert.is_over)
    lines = [f"{_format_code(about['monitor'])}: {_first_alert(alerts[0])}"] if alerts else []
    later_alerts = [f"{_format_code(_name_alert(alert))} ({_escape_text(alert.kind.slug)})" for alert in alerts[1:]]
    verdicts = [
        f"estimates of {_format_code(str(each['model']))}: {_escape_text(format_verdicts(each))}"
        for each in about["estimators"]
    ]
    if not verdicts:
        verdicts.append(_escape_text(describe_label_basis(result)))
    general = zip(about["general_flags"], about["general_flag_codes"], strict=True)
    flags = [flag for flag, code in general if code not in VERDICT_FLAGS.values()]  # the verdicts are named already
    if later_alerts:
        verdicts.insert(0, f"and {format_list(later_alerts, _MOST_NAMED_SLICES)}")
    lines.append("; ".join([*verdicts, *(_escape_text(f"about all slices: {flag}") for flag in flags)]))
    if about["page_url"]:
        lines.append(f"<{about['page_url'].translate(_ADDRESS)}>")
    return "\n".join(lines)


def _first_alert(alert: Alert) -> str:
    """The alert that a message shows whole: its slice or subject, its text and the interval."""
    word = "ALERT" if alert.subject is None else "NOT WATCHED"
    if alert.is_over:
        word = "OVER"
    title = f"{word} {_format_code(_name_alert(alert))}"
    text = _escape_text(_shorten_text(describe_alert(alert)))
    interval = ""
    if alert["lower"] is not None:
        interval = f" ({alert['level']:.0%} interval {alert['lower']:.3f} to {alert['upper']:.3f})"
    return f"{title}: {text}{interval}"


def _name_alert(alert: Alert) -> str:
    """What an alert is about: a slice, or a subject such as a model."""
    return name_slice(alert.slice.values()) if alert.subject is None else alert.subject.name


def _escape_text(text: str) -> str:
    """A text without anything that a chat would act on: mentions, links and Markdown."""
    text = _MENTION.sub("＠", make_one_line(text))
    without_links = _LINK.sub(lambda found: found[0].replace(":", "：").replace(".", "．"), text)
    return without_links.translate(_HARMLESS)


def _format_code(text: str) -> str:
    """A name as code, in which chats also leave addresses and underscores as they are."""
    return f"`{_escape_text(_shorten_text(text)) or ' '}`"


def _shorten_text(text: str) -> str:
    """A text of at most about _LONGEST characters, cut between words if possible."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST].rpartition(' ')[0] or text[:_LONGEST]} ..."


def _select_alerts(result: Monitored) -> list[Alert]:
    return [alert for alert in result.alerts if alert.to_report]


def _post_content(content: Mapping[str, Any], address: str) -> None:
    """Post JSON; raises InputError, without the address, if the server does not take it."""
    if problem := send_json(content, address):
        raise InputError(f"the alerts were not sent: {problem.words}")
