"""Looks for habits of unclear English in what users read: `python tests/shared/prose.py`, part of `make check`.

It reads the pages, the text of `--help` and messages, and the docstrings of functions for notebooks. A line of its
output names the place, the words, and what to write instead. The exit status is 1 if there are any.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "workflow" / "entropy_sentinel"
PAPERS = ROOT / "papers"
# Pages whose tables and sentences are written by a program from results.
GENERATED = {"gallery.md", "how_well.md"}
# Longer sentences are read twice. The rule is 25; a list of names can take a few more.
MOST_WORDS = 34
# An entry of the changelog: one sentence with the outcome, and whether results change.
MOST_WORDS_OF_AN_ENTRY = 45
# A shorter text is a name, a key or a unit.
FEWEST_WORDS = 4

# What is hard to read, and what to write. Each is a habit that readers stumbled over; patterns match no usual English.
HABITS = {
    r"\bof (whose|whom)\b|\bof which (a|it|no|some|that|the|there|two)\b": "'whose', or two sentences",
    r"\b(is|are) (said|told)\b": "who reports it, where ('the log states', 'a warning names')",
    r"\b(is|are) taken for\b": "'counts as' or 'is assumed to be'",
    r"\bstands? (beside|aside)\b": "'is next to', 'is held out'",
    r"\b(takes?|in) the place of\b": "'replaces', 'instead of'",
    r"\b(speaks? against|reckons? with|has it that|holds? against)\b": "'warns about', 'accounts for', 'compares'",
    r"\bis for \w+( \w+)? to (say|decide|tell)\b": "who decides it",
    r"\b(but for|but what|save for)\b": "'except', 'only'",
    r"\bmade (again|anew|elsewhere)\b": "'rebuilt', 'imported'",
    r"\bagain and again\b": "'repeatedly'",
    r"(?:^|[.;:] )(Whoever|Who|Which|Those) (is|are|has|have|was|does|goes|can)\b(?![^.]*\?)": "a noun as the subject",
    r"(?<!here )\b(is|are|was|were) none\b": "'is not a ...', 'there is no ...'",
    r"(?<![Tt]here )\b(is|are) no (?!longer|more\b|less|fewer|better|worse|larger|smaller|different|reason|clear)": (
        "'is not a ...'"
    ),
    r"\b(is|are) there (once|twice|already|with)\b|\b(must be|is not|are not) there\b|\bcolumns there\b": (
        "'exists', 'is missing', 'occurs twice'"
    ),
    r"\bwhere (none|nothing|there (is|are) (none|nothing)|nobody)\b": "'if there is no ...'",
    r"[a-z], for (there|it|they|that|this|these|he) (is|are|was|were|has|have|takes?|would)\b": "'because'",
    r"\b(its|their|the|of|at) begin\b": "'start' (begin is a verb)",
    r"\bin the mean\b": "'on average', 'mean ...'",
    r"\bwants? (a|an|to be)\b": "'needs'",
    r"\b(is|are) passed over\b|\bpasses over\b": "'skipped'",
    r"\bmend (it|the|a)\b": "'correct', 'repair'",
    r"\bmust\b[^.;]*[,;] (was|were) ": "what was given: 'must be 1 or more, got 0'",
    r"\bof (?:[a-z'-]+ ){1,3}of (?:[a-z'-]+ ){1,3}of\b": "a verb or a compound noun instead of a third 'of'",
    r"\b\w+\(s\)": "a plural that agrees (core.printable.counted)",
    r"\b(one|the) after the other\b": "'in sequence'",
    # One word for each thing (docs/terms.md).
    r"\b(is|are|was|were|be) cut off\b": "the term: truncated",
    r"\blog[ -]probs?\b|\blog probabilit": "the term: log-probability (`logprobs` in code)",
    r"\bun-?labeled\b|\bun-labelled\b|\blabeled\b": "the spelling: labelled",
}
_HABIT = {re.compile(pattern): remedy for pattern, remedy in HABITS.items()}
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_END = re.compile(r"(?<=[.!?:;])\s+|\n\s*\n|\n\s*[-*#>]|\n\s*\d+\. | \|")


def pages() -> Iterator[tuple[str, str]]:
    """Place and text of each paragraph of the pages, without code."""
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if path.name in GENERATED:
            continue
        text = _FENCE.sub(lambda block: "\n" * block[0].count("\n"), path.read_text("utf-8"))
        line = 1
        for paragraph in re.split(r"(\n\s*\n)", text):
            if not paragraph.isspace() and not paragraph.startswith("    "):
                words = re.sub(r"\[[^\]]*\]\([^)]*\)", "link", paragraph)
                yield f"{path.relative_to(ROOT)}:{line}", re.sub(r"`[^`]*`", "`code`", words)
            line += paragraph.count("\n")


def changelog() -> Iterator[tuple[str, str]]:
    """Place and fault of each entry of the next release: an outcome, and whether results change, in a line."""
    lines = (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
    begin = lines.index("## Unreleased") + 1
    for number, line in enumerate(lines[begin:], begin + 1):
        if line.startswith("## "):
            return
        if line and not line.startswith("- "):
            yield f"CHANGELOG.md:{number}", "an entry is one line that begins with '- '; details belong in docs/"
        elif (n := len(line.split()) - 1) > MOST_WORDS_OF_AN_ENTRY:
            yield f"CHANGELOG.md:{number}", f"{n} words: at most {MOST_WORDS_OF_AN_ENTRY}; details belong in docs/"


def strings(code: bool = False) -> Iterator[tuple[str, str]]:
    """Place and text of messages, descriptions and public docstrings of the package; expressions become a word.

    Without `code` the words in backticks become one.
    """
    for path in sorted([*PACKAGE.rglob("*.py"), *(path for path in PAPERS.rglob("*.py") if "tests" not in path.parts)]):
        tree = ast.parse(path.read_text("utf-8"))
        documented = {id(node.body[0].value): node for node in ast.walk(tree) if _docstring(node)}
        inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        public = path.parent.name in ("cli", "api") or path.name.startswith("command_")
        for node in ast.walk(tree):
            text = _text(node)
            if text is None or id(node) in inside:
                continue
            if id(node) in documented and (not public or getattr(documented[id(node)], "name", "_").startswith("_")):
                continue
            yield f"{path.relative_to(ROOT)}:{node.lineno}", text if code else re.sub(r"`[^`]*`", "`code`", text)


def _docstring(node: ast.AST) -> bool:
    named = isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and node.body
    return bool(named) and isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "0" for part in node.values)
    return None


def findings(text: str) -> Iterator[str]:
    """What is hard to read in a text, each with what to write."""
    if len(text.split()) < FEWEST_WORDS or "(?:" in text:  # a pattern is no text
        return
    line = " ".join(text.split())
    for pattern, remedy in _HABIT.items():
        for result in pattern.finditer(line):
            yield f"'{result[0].strip()}': write {remedy}"
    for sentence in _END.split(text):
        if (n := len(re.findall(r"[A-Za-z][\w'-]*", sentence))) > MOST_WORDS:
            yield f"{n} words: '{' '.join(sentence.split()[:6])} ...': write two sentences, or a list"


def main() -> None:
    """Print all findings; exit with 1 if there are any."""
    lines = [
        f"{place}: {finding}" for texts in (pages(), strings()) for place, text in texts for finding in findings(text)
    ]
    lines += [f"{place}: {fault}" for place, fault in changelog()]
    print(*lines, sep="\n", end="\n" * bool(lines))
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
