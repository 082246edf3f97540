"""Label a model's answers by programs: `python examples/kinds/label_answers.py qwen2.5-coder-1.5b`.

It reads the model's traces beside this file, and writes its labels. `check` in a question's row names the program. A
truncated answer is checked like the others. Answers that are Python code run with few built-in functions and modules,
in a process of their own that is ended after ten seconds. This is no jail: run it where nothing is at stake.
"""

import argparse
import json
import re
import sqlite3
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl

FOLDER = Path(__file__).parent
SECONDS = 10
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_DAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b")
_BLOCK = re.compile(r"```\w*\n(.*?)(?:```|$)", re.DOTALL)
# "A" before a word in lower case is an article.
_LETTER = re.compile(r"\b(?:A(?! [a-z])|[BCD])\b")
_FINAL_LETTER = re.compile(r"(?:answer|choice)\W+(?:is\W+)?(?:\\?\(?\\boxed\{|\(|\*\*)?([A-D])\b")
# Runs the code between the names of the harmless and the calls with their results. Only the last line counts.
_PROGRAM = """
import builtins
names = '''abs all any bin bool chr dict divmod enumerate filter float frozenset int isinstance iter len list map max
min next ord pow print range repr reversed round set sorted str sum tuple zip Exception IndexError KeyError TypeError
ValueError ZeroDivisionError StopIteration'''.split()
def harmless_import(name, *rest):
    if name not in ("collections", "functools", "itertools", "math", "re", "string", "typing"):
        raise ImportError(name)
    return __import__(name, *rest)
space = {{"__builtins__": {{"__import__": harmless_import}} | {{name: getattr(builtins, name) for name in names}}}}
exec({code!r}, space)
print("\\n" + str(all(space["f"](*arguments) == result for arguments, result in {calls!r})))
"""
# Calls and results of each function that the questions ask for, in their order.
CALLS: list[list[tuple[tuple[Any, ...], Any]]] = [
    [(([1, 2, 3],), 14), (([],), 0), (([-2, 5],), 29)],
    [(("banana",), 3), (("rhythm",), 0), (("education",), 5)],
    [(("level",), True), (("levels",), False), (("",), True)],
    [(([3, 1, 2],), 2), (([5, 5, 4, 1],), 4), (([-1, -2],), -2)],
    [(([3, 1, 3, 2, 1],), [3, 1, 2]), (([],), [])],
    [((0,), 1), ((5,), 120)],
    [((0,), 0), ((1,), 1), ((10,), 55)],
    [((12, 18), 6), ((7, 13), 1), ((5, 5), 5)],
    [(("the cat sat",), "sat cat the"), (("one",), "one")],
    [(("the cat sat",), 3), (("one",), 1), (("",), 0)],
    [(("abca",), {"a": 2, "b": 1, "c": 1}), (("",), {})],
    [((2,), True), ((1,), False), ((15,), False), ((97,), True), ((49,), False)],
    [(([2, 3, 4],), 24), (([],), 1), (([0, 5],), 0)],
    [(([1, 2, 3],), 2), (([],), 0), (([1, 2],), 1.5)],
    [(([1, 2, 3, 4],), [2, 4]), (([],), []), (([-2, 0],), [-2, 0])],
    [(("a bird sings loudly",), "loudly"), (("one two six",), "one")],
    [(("the big cat",), "The Big Cat"), (("a",), "A")],
    [((0,), 0), ((12345,), 15), ((909,), 18)],
    [((0,), 32), ((100,), 212), ((-40,), -40)],
    [(([[1, 2], [3], []],), [1, 2, 3]), (([],), [])],
    [((0,), "0"), ((5,), "101"), ((8,), "1000")],
    [(([3, 1, 2],), 2), (([4, 1, 3, 2],), 2.5), (([7],), 7)],
    [(([1, 2, 3, 4], 1), [4, 1, 2, 3]), (([1, 2, 3], 2), [2, 3, 1]), (([1, 2, 3], 0), [1, 2, 3])],
    [(("listen", "silent"), True), (("abc", "abd"), False), (("aab", "abb"), False)],
    [(([3, 1, 2, 3], [3, 2, 5]), [2, 3]), (([1], [2]), [])],
    [(([1, 2, 3],), [1, 3, 6]), (([],), [])],
    [(("aabc",), [("a", 2), ("b", 1), ("c", 1)]), (("aaa",), [("a", 3)]), (("",), [])],
    [(([[1, 2], [3, 4], [5, 6]],), [[1, 3, 5], [2, 4, 6]])],
    [(([1, 3, 5, 7], 5), 2), (([1, 3, 5, 7], 4), -1), (([], 1), -1), (([1, 3, 5, 7], 1), 0)],
    [(([1, 4], [2, 3, 5]), [1, 2, 3, 4, 5]), (([], [1]), [1])],
    [(("banana",), "bnn"), (("sky",), "sky")],
    [((4, 6), 12), ((3, 5), 15), ((7, 7), 7)],
    [(([3, 9, 1],), 8), (([4],), 0), (([-3, 2],), 5)],
    [(([1, 2, 9],), 1), (([1, 2, 3, 4],), 2), (([5, 5],), 0)],
    [(("(())()",), True), (("(()",), False), (("())(",), False), (("a(b)c",), True)],
    [(({"a": 1, "b": 2},), {1: "a", 2: "b"}), (({},), {})],
    [(("abc", 1), "bcd"), (("xyz!", 3), "abc!"), (("a b", 2), "c d")],
    [(([1, 2, 3, 4, 5], 2), [[1, 2], [3, 4], [5]]), (([], 3), [])],
    [((1,), 31), ((2,), 28), ((4,), 30), ((12,), 31)],
    [((2000,), True), ((1900,), False), ((2024,), True), ((2023,), False)],
]
ROWS = [
    (1, "Ada", "Lyon", 12),
    (2, "Ben", "Oslo", 95),
    (3, "Cleo", "Lyon", 41),
    (4, "Dan", "Rome", 7),
    (5, "Eve", "Oslo", 58),
    (6, "Finn", "Rome", 77),
    (7, "Gus", "Lyon", 89),
]


def split_words(text: str) -> list[str]:
    """The words of a text, in lower case, without accents and punctuation."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.findall(r"\w+", plain.lower())


def check_number(text: str, answer: list[str]) -> bool:
    """Whether the last number is the right one."""
    numbers = _NUMBER.findall(text)
    return bool(numbers) and float(numbers[-1].replace(",", "")) == float(answer[0])


def check_letter(text: str, answer: list[str]) -> bool:
    """Whether the letter of the first option is the right one; in an argument, the letter of its conclusion."""
    final = _FINAL_LETTER.findall(text) if len(text.split()) > 30 else []
    letters = final[-1:] or _LETTER.findall(text)
    return bool(letters) and bool(letters[0] == answer[0])


def check_word(text: str, answer: list[str]) -> bool:
    """Whether the text has a right name."""
    padded = f" {' '.join(split_words(text))} "
    return any(f" {' '.join(split_words(name))} " in padded for name in answer)


def check_json(text: str, answer: list[str]) -> bool:
    """Whether the object has the right values; neither case nor surrounding spaces count."""

    def read(raw: str) -> dict[str, str]:
        return {key: str(value).strip().lower() for key, value in json.loads(raw).items()}

    found = re.search(r"\{.*\}", text, re.DOTALL)
    try:
        return found is not None and read(found.group()) == read(answer[0])
    except (AttributeError, ValueError):
        return False


def check_sql(text: str, answer: list[str]) -> bool:
    """Whether the first query has the right result on a made-up table."""
    table, column, right = json.loads(answer[0])
    block = _BLOCK.search(text)
    query = (block.group(1) if block else text).split(";")[0]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE {table} (id, name, city, {column})")
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", ROWS)
        try:
            return connection.execute(query).fetchall() == connection.execute(right).fetchall()
        except sqlite3.Error:
            return False


def check_code(text: str, answer: list[str]) -> bool:
    """Whether the function `f` returns what it should, in a process of its own."""
    block = _BLOCK.search(text)
    program = _PROGRAM.format(code=block.group(1) if block else text, calls=CALLS[int(answer[0])])
    try:
        done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0 and done.stdout.splitlines()[-1] == "True"


CHECKS: dict[str, Callable[[str, list[str]], bool]] = {
    "number": check_number,
    "letter": check_letter,
    "word": check_word,
    "json": check_json,
    "sql": check_sql,
    "code": check_code,
    "list": lambda text, answer: re.findall(r"-?\w+", text) == re.findall(r"-?\w+", answer[0]),
    "first": lambda text, answer: split_words(text)[:1] == [answer[0].lower()],
    "case": lambda text, answer: re.search(rf"\b{re.escape(answer[0])}\b", text) is not None,
    "last-day": lambda text, answer: _DAY.findall(text.lower())[-1:] == [answer[0].lower()],
    "lines": lambda text, answer: sum(bool(line.strip()) for line in text.splitlines()) == int(answer[0]),
    "words": lambda text, answer: len(text.split()) == int(answer[0]),
    "uses": lambda text, answer: all(word in text.lower() for word in answer),
}


def label_family(traces: Path) -> pl.DataFrame:
    """The labels of a family's answers: `item_id`, `sample` and `label`."""
    lines = (FOLDER / "benchmarks" / f"{traces.stem}.jsonl").read_text(encoding="utf-8").splitlines()
    answers = pl.read_parquet(traces, columns=["item_id", "sample", "text"])

    def labels() -> Iterator[bool]:
        for item, text in answers.select("item_id", "text").iter_rows():
            row = json.loads(lines[int(item.rpartition("-")[2])])
            yield CHECKS[row["check"]](text, row["answer"])

    return answers.select("item_id", "sample", label=pl.Series(list(labels()), dtype=pl.Boolean))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="folder in traces/")
    model = parser.parse_args().model
    folder = FOLDER / "labels" / model
    folder.mkdir(exist_ok=True)
    for traces in sorted((FOLDER / "traces" / model).glob("*.parquet")):
        label_family(traces).write_parquet(folder / traces.name)


if __name__ == "__main__":
    main()
