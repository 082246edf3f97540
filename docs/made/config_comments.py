"""Write the comments of config.yaml: the description of each key, from the classes that check it.

`PYTHONPATH=docs:workflow python -m made.config_comments` rewrites the comments; a test checks that they are current. A
key that the file does not set is commented out, as `# key: null`. Comments inside the entries of `models`, `benchmarks`
and similar sections are about a single entry, and are not changed.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from entropy_sentinel.study.config.study_config import Config
from made.config_keys import Schema, inside, keys, kind_names, kinds_of, meaning, section_of

FILE = Path(__file__).parents[2] / "config.yaml"
WIDTH = 120
_KEY = re.compile(r"( *)(# )?([A-Za-z_][\w-]*):( .*)?$")
_RULER = "# ---"


def rewritten(text: str) -> str:
    """The text of the config file with each key's comment replaced by its description."""
    known, written, comment = described(), [], []
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        result = _KEY.match(line)
        name = ".".join([*(key for indent, key in above if indent < len(result[1])), result[3]]) if result else ""
        is_key = result and (not result[2] or (name in known and result[4] == " null"))
        if is_key and not result[2]:
            above = [one for one in above if one[0] < len(result[1])] + [(len(result[1]), result[3])]
        if is_key and name in known:
            comment, line = _wrapped(result[1], known[name]), _without_remark(line)
        if not is_key and line.lstrip().startswith("#") and _RULER not in line:
            comment.append(line)
            continue
        written += [*comment, line]
        comment = []
    return "\n".join([*written, *comment]) + "\n"


def missing(text: str) -> list[str]:
    """The keys that a config file neither sets nor shows after a `#`.

    Keys of an analysis or family that the file omits altogether do not count.
    """
    data, result = yaml.safe_load(text), []
    for name in described():
        *above, key = name.split(".")
        part, _, rest = name.partition(".")
        if part in ("analyses", "signals") and rest and rest.split(".")[0] not in data[part]:
            continue
        section = data
        for one in above:
            section = section.get(one, {})
        if key not in section and not re.search(rf"^ *# {key}: null$", text, re.MULTILINE):
            result.append(name)
    return result


def _without_remark(line: str) -> str:
    return re.sub(r"^([^#\"']*?\S) +# .*$", r"\1", line)


def described() -> dict[str, list[str]]:
    """The lines of every key's comment by its dotted name; lines of a list are indented.

    Keys below a name of the user's choice, or in a list, are described in the comment of their section, because they
    can occur in several places.
    """
    schema = Config.model_json_schema()
    definitions, result = schema["$defs"], {}
    for name, key in keys().items():
        if "NAME" not in name and "[]" not in name:
            elsewhere = [(place, one) for place, one in inside(name, key, definitions) if place != name]
            listed = [line for place, one in elsewhere for line in _listed(place, one, definitions, 1)]
            result[name] = [_sentence(meaning(key, definitions)), *listed]
    return result


def _listed(name: str, section: Schema, definitions: Schema, depth: int) -> Iterator[str]:
    """Yield a line for every kind and every key of a section."""
    kinds, indent = kinds_of(section, definitions), "  " * depth
    if len(kinds) > 1:
        yield "Kinds:"
        for kind, kind_name in zip(kinds, kind_names(kinds), strict=True):
            yield f"{indent}{kind_name}: {' '.join(kind['description'].split())}"
        yield "Keys:"
    for key, of in section_of(kinds).items():
        # The kinds are already described above.
        if key != "kind":
            yield f"{indent}{key}: {_meanings(of, len(kinds), definitions)}"
            for place, one in inside(f"{name}.{key}", next(iter(of.values())), definitions):
                yield from _listed(place, one, definitions, depth + 1)


def _meanings(of: Mapping[str, Schema], n_kinds: int, definitions: Schema) -> str:
    """A key's meaning; if only some kinds have the key, prefixed with these kinds."""
    by_text: dict[str, list[str]] = {}
    for kind, key in of.items():
        by_text.setdefault(meaning(key, definitions), []).append(kind)
    every = len(by_text) == 1 and len(of) == n_kinds
    return "; ".join(text if every else f"({', '.join(whose)}) {text}" for text, whose in by_text.items())


def _sentence(text: str) -> str:
    """A description as a sentence, with a capital letter and a full stop."""
    text = " ".join(text.split())
    return text[:1].upper() + text[1:].removesuffix(".") + "."


def _wrapped(indent: str, lines: list[str]) -> list[str]:
    wrapped = []
    for line in lines:
        own = " " * (len(line) - len(line.lstrip()))
        first, more = f"{indent}# {own}", f"{indent}# {own}{'  ' * bool(own)}"
        whole = {"break_long_words": False, "break_on_hyphens": False}
        wrapped += textwrap.wrap(line.strip(), WIDTH, initial_indent=first, subsequent_indent=more, **whole)
    return wrapped


if __name__ == "__main__":
    FILE.write_text(rewritten(FILE.read_text()))
