"""Seeded mutations of what a file holds: values of JSON, and bytes. The same seed gives the same mutation."""

import copy
import random
from collections.abc import Iterator
from typing import Any

# What stands where something else should: of every kind of JSON, and at its edges.
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**63, -(2**64), 10**400, 0.5, -0.0, 1e308, -1e308, float("nan"), float("inf")),
    *("", " ", "NaN", "\ud800", "\0", "\u202e", "a\nb", "x" * 10_000, "=1+1", "<b>", "{{", "-1"),
    *([], {}, [None], [[]], {"": None}, {"\ud800": 1}, [1] * 50, {"logprob": None}, [float("-inf")]),
)
ODD_NAMES = ("", "\ud800", "a.b", "run", "log_run", "label", "place_in_log", "column.x", "\0", "item_id", "trace_start")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values within a value, its own among them."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield from places(one, (*path, name))


def mutated(value: Any, seed: int | str) -> Any:
    """A copy of a JSON value with one or two odd things in it."""
    chance, result = random.Random(str(seed)), copy.deepcopy(value)
    for _ in range(chance.choice((1, 1, 2))):
        *above, name = chance.choice([path for path in places(result) if path] or [("new",)])
        place = result
        for step in above:
            place = place[step]
        _mutate(place, name, chance)
    return result


def _mutate(place: Any, name: Any, chance: random.Random) -> None:
    kind = chance.choice(("replace", "replace", "replace", "remove", "rename", "repeat"))
    if name == "new":  # there was nothing to change
        place[name] = True
    elif kind == "remove":
        del place[name]
    elif kind == "rename" and isinstance(place, dict):
        place[chance.choice(ODD_NAMES)] = place.pop(name)
    elif kind == "repeat" and isinstance(place, list):
        place.insert(name, copy.deepcopy(place[name]))
    else:
        place[name] = copy.deepcopy(chance.choice(ODD))


def mutated_bytes(content: bytes, seed: int | str) -> bytes:
    """A copy of some bytes that was cut, or in which some are changed, left out or there twice."""
    chance = random.Random(str(seed))
    at = chance.randrange(len(content))
    end = min(len(content), at + chance.choice((1, 1, 4, 64, 4096)))
    kind = chance.choice(("change", "change", "cut", "leave out", "twice", "zero"))
    if kind == "cut":
        return content[:at]
    if kind == "leave out":
        return content[:at] + content[end:]
    if kind == "twice":
        return content[:end] + content[at:]
    between = bytes(end - at) if kind == "zero" else chance.randbytes(end - at)
    return content[:at] + between + content[end:]
