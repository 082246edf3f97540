"""Write the reference page of stable codes: flags, problems, alerts and notes, from the families of the package."""

import re
from collections.abc import Iterator
from importlib import import_module
from inspect import getdoc
from pathlib import Path

import entropy_sentinel
from entropy_sentinel.core.code_base import StableCode
from entropy_sentinel.monitor.reading.problem_codes import OPTIONS_IN_WORDS
from made.markdown import code, plain, table

_PACKAGE = Path(entropy_sentinel.__file__).parent
_FAMILY = re.compile(r"^class (\w+)\(StableCode\)", re.MULTILINE)


def page() -> str:
    """The page of all codes."""
    parts = [
        "# Codes\n",
        "Files, metrics and states name flags, problems and alerts by a code, such as `ES110`, beside their words. A "
        "code keeps its meaning in later releases; words may improve. Compare codes in scripts, queries and tests.\n",
        table(
            ["where", "words", "code"],
            [
                ["rows of slices (CSV, Parquet, JSON, frames)", code("flags"), code("flag_codes")],
                ["rows of slices with labels or second opinions", code("note"), code("note_codes")],
                ["alerts (JSON, webhook)", code("kind"), code("kind_code")],
                ["provenance (JSON)", code("general_flags"), code("general_flag_codes")],
                [f"metric {code('entropy_sentinel_flag')}", code("flag"), code("flag_code")],
                [f"metric {code('entropy_sentinel_alert')}", code("kind"), code("kind_code")],
            ],
        ),
        "A flag or an alert that an [extension](../extensions.md) declares has no number: its slug is its code.\n",
    ]
    for family in families():
        parts += [f"## {_heading(family)}\n", table(["code", "slug", "words", "meaning", "what to do"], _rows(family))]
    return "\n".join(parts)


def families() -> list[type[StableCode]]:
    """All families of the package, in the order of their numbers."""
    found: list[type[StableCode]] = []
    for path in sorted(_PACKAGE.rglob("*.py")):
        for name in _FAMILY.findall(path.read_text("utf-8")):
            module = ".".join(path.relative_to(_PACKAGE.parent).with_suffix("").parts)
            found.append(getattr(import_module(module), name))
    return sorted(found, key=lambda family: min(member.number for member in family))


def _heading(family: type[StableCode]) -> str:
    first_line = (getdoc(family) or "").partition("\n")[0].rstrip(".")
    numbers = sorted(member.number for member in family)
    return plain(f"{first_line.partition(';')[0]} ({numbers[0]} to {numbers[-1]})")


def _rows(family: type[StableCode]) -> Iterator[list[str]]:
    for member in family:
        meaning, remedy = plain(member.meaning), plain(member.remedy) or "-"
        words = member.words
        for name in OPTIONS_IN_WORDS:
            words = words.replace(f"{{{name}}}", f"--{name.replace('_', '-')}")
        words = words.replace("{set_cluster}", "--cluster {subject}")
        yield [code(member.number), code(member.slug), plain(words), meaning, remedy]
