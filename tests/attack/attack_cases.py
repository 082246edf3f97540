"""Cases of an attack, read from YAML, and what must hold of every one.

A case has a name, an input (what differs from a valid one) and `expect`, one of

- `error: regex`: refused, with an error of this project whose message the regex is found in;
- `either: regex`: refused so, or accepted with nothing wrong in the result;
- what the test of its kind knows how to check: `ok`, `items`, `null`, ...: accepted with that result.

Whatever the input, there is no other exception, no hang, and no planted key in what a person reads.
"""

import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from entropy_sentinel.core.errors import EntropySentinelError

ROOT = Path(__file__).parents[2]
# What the cases plant as a key, of the shape that providers give out.
PLANTED = "sk-planted-0a1b2c3d4e5f6a7b"
LIMIT_S = 20
# A message that fits a screen.
LONGEST_MESSAGE = 2500

Case = dict[str, Any]


class _TooSlow(BaseException):
    """Not an Exception: code that survives any error must not survive this."""


def cases(file: str) -> Any:
    """The cases of a YAML file beside this one, as parameters of a test. One `over` or `damage` of several is each."""
    read = yaml.safe_load((Path(__file__).parent / file).read_text())
    names = [case["name"] for case in read]
    assert len(names) == len(set(names)), f"{file}: {max(names, key=names.count)} is there twice"
    return pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in read])


def attack(expect: Mapping[str, Any], act: Callable[[], Any]) -> Any | None:
    """Do what the case is about: what `act` returns, or None where it was refused as it must or may be."""
    with time_limit():
        try:
            result = act()
        except EntropySentinelError as error:
            message = str(error)
            assert PLANTED not in message, "the message shows a key"
            assert len(message) <= LONGEST_MESSAGE, f"a message of {len(message)} characters: {message[:300]}"
            pattern = expect.get("error") or expect.get("either")
            assert pattern, f"refused, must be accepted: {message}"
            assert re.search(pattern, message, re.DOTALL), f"refused, but not by a message of {pattern!r}: {message}"
            return None
    assert "error" not in expect, "accepted, must be refused"
    return result


@contextmanager
def time_limit() -> Iterator[None]:
    def too_slow(*_: Any) -> None:
        raise _TooSlow(f"not done after {LIMIT_S} s")

    before = signal.signal(signal.SIGALRM, too_slow)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    start = time.monotonic()
    try:
        yield
    except _TooSlow as slow:
        pytest.fail(str(slow))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    # Of libraries that take the alarm for themselves.
    assert time.monotonic() - start < LIMIT_S


def at(thing: Any, path: str) -> Any:
    """What lies at a dotted path of nested mappings."""
    for key in path.split("."):
        thing = thing[key]
    return thing


def expand(value: Any) -> Any:
    """Data with `{repeat: [what, times]}` written out, in a text (a list of pieces) or as a list.

    `{code: number}` is the character that YAML has no escape for.
    """
    if isinstance(value, Mapping):
        if value.keys() == {"code"}:
            return chr(value["code"])
        if value.keys() == {"repeat"}:
            what, times = value["repeat"]
            return what * times if isinstance(what, str) else [expand(what)] * times
        return {expand(key): expand(one) for key, one in value.items()}
    if isinstance(value, list):
        return [expand(one) for one in value]
    return value


def text(pieces: Any) -> str:
    """A text given whole, or as a list of pieces."""
    return pieces if isinstance(pieces, str) else "".join(expand(piece) for piece in pieces)
