"""Counts names that a reader stumbles over, against ceilings that only fall: `python tests/shared/names.py`.

The rules are in AGENTS.md: a function is a verb and its object; no pronoun, participle or preposition is a name; the
name of a file is unique. It is part of `make check`: a number above its ceiling fails. When a number has fallen, lower
its ceiling. `--list MEASURE` prints the names of a measure, most frequent first.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "workflow", ROOT / "papers")

# Words that name nothing: which own, which others, told to whom?
WORDS = frozenset(
    ("own", "others", "other", "known", "given", "whose", "told", "taken", "look", "looks", "shown")
    + ("several", "further", "more", "here", "there", "named")
)
PREPOSITION = re.compile(
    r"_*(of|with|as|by|in|at|on|until|before|behind|beside|without|among|within|after|above|below)(_|$)"
)
# A name of one word is right for a method, whose class says the object, and for what a framework calls.
FRAMEWORK = frozenset({"command", "main"})
# Participles that are adjectives of their own, or no participles.
NO_PARTICIPLES = frozenset({"need", "seed", "feed", "speed", "embed", "shared", "signed", "bed", "red", "led", "shed"})
# `__init__.py` aside, and what Snakemake and an analysis's folder prescribe.
PRESCRIBED = frozenset({"__init__.py", "rules.smk", "names.smk", "report.html.j2"})

# Measured; they only fall.
CEILINGS: Mapping[str, float] = {
    "words": 11,
    "prepositions": 0.0,
    "participles": 21,
    "one_word": 87,
    "returns": 0.0,
    "repeated_files": 0,
}


@dataclass
class Names:
    """The names of all files by measure; `functions` and `docstrings` are the numbers that shares refer to."""

    words: Counter[str] = field(default_factory=Counter)
    prepositions: Counter[str] = field(default_factory=Counter)
    participles: Counter[str] = field(default_factory=Counter)
    one_word: Counter[str] = field(default_factory=Counter)
    returns: Counter[str] = field(default_factory=Counter)
    repeated_files: Counter[str] = field(default_factory=Counter)
    functions: int = 0
    docstrings: int = 0


def list_files() -> list[Path]:
    """List the Python files of the package and of the papers, without tests."""
    files = [path for folder in FOLDERS for path in sorted(folder.rglob("*.py"))]
    return [path for path in files if "tests" not in path.relative_to(ROOT).parts]


def bind_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds: variables, arguments, attributes, functions and classes."""
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.id if isinstance(node, ast.Name) else node.attr
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name


def is_participle(word: str) -> bool:
    """Whether a word looks like a past participle: `checked`, `loaded`, `taken`."""
    return word not in NO_PARTICIPLES and bool(
        re.fullmatch("[a-z]{2,}ed|taken|given|shown|known|told|drawn|made", word)
    )


@cache
def measure_names() -> Names:
    """Measure all files."""
    names = Names()
    for path in list_files():
        tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):
            names.words.update(name.strip("_") for name in bind_names(node) if name.strip("_") in WORDS)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names.functions += 1
                if PREPOSITION.match(node.name):
                    names.prepositions[node.name] += 1
                plain = node.name.strip("_")
                if "_" not in plain and is_participle(plain):
                    names.participles[plain] += 1
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
                text = ast.get_docstring(node)
                names.docstrings += text is not None
                if text and re.match(r"Returns?\b", text):
                    names.returns[f"{path.relative_to(ROOT)}:{getattr(node, 'name', '')}"] += 1
        for node in tree.body:
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            if is_function and "_" not in node.name.strip("_") and node.name not in FRAMEWORK:
                names.one_word[node.name.strip("_")] += 1
    for name, count in Counter(path.name for path in list_files() if path.name not in PRESCRIBED).items():
        if count > 1:
            names.repeated_files[name] = count
    return names


def measures() -> dict[str, float]:
    """Return each measure's number: bindings, functions, files; prepositions and returns are percentages."""
    names = measure_names()
    return {
        "words": names.words.total(),
        "prepositions": round(100 * names.prepositions.total() / names.functions, 1),
        "participles": names.participles.total(),
        "one_word": names.one_word.total(),
        "returns": round(100 * names.returns.total() / names.docstrings, 1),
        "repeated_files": names.repeated_files.total(),
    }


def main(arguments: list[str]) -> int:
    """Print the measures, or the names of one; the exit status is 1 if a measure is above its ceiling."""
    if arguments[:1] == ["--list"]:
        for name, count in getattr(measure_names(), arguments[1]).most_common():
            print(count, name)
        return 0
    status = 0
    for measure, number in measures().items():
        ceiling = CEILINGS[measure]
        if number > ceiling:
            print(f"{measure}: {number}, above the ceiling of {ceiling}: see `--list {measure}` and AGENTS.md, Words")
            status = 1
        elif number < ceiling:
            print(f"{measure}: {number}, below the ceiling of {ceiling}: lower it in tests/shared/names.py")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
