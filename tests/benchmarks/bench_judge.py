"""What the exact judge says of real references: copied, rewritten, stated without a box, rounded, and of other rows.

And of solutions that people wrote, sentence by sentence, which no rewriting of a reference is like.

Run by `make bench-judge` with ENTROPY_SENTINEL_ROWS naming a folder of real rows (tests/judges/test_real_rows.py). Two
references count as truly equal, and their pair is left out, where they are the same number by Python's fractions (or
within the benchmark's tolerance of each other), the same list of numbers, or the same text without spaces and dollars:
nothing of the judge decides that. Units are left aside there. Prints one JSON object as its last line.
"""

import argparse
import gzip
import json
import os
import random
import re
import resource
import sys
import time
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import yaml
from rewritings import REWRITINGS, ROOT, boxed, list_parts, measured, number, references, rewritten, unboxed

from entropy_sentinel.judges.judge import Case
from entropy_sentinel.judges.math_verify import MathVerifyJudge

VERDICTS = {True: "correct", False: "incorrect", None: "null"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20_000, help="pairs of a row with another row's answer")
    parser.add_argument("--share", type=float, default=1.0, help="share of the rows that is rewritten")
    parser.add_argument("--show", type=int, default=0, help="cases to print where the verdict is not the wanted one")
    parser.add_argument("--parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    arguments = parser.parse_args()
    folder = os.environ.get("ENTROPY_SENTINEL_ROWS")
    if not folder:
        sys.exit("ENTROPY_SENTINEL_ROWS must name a folder with real rows")
    found = references(folder)
    tolerances = {name: section.get("tolerance") for name, section in _benchmarks().items()}
    report: dict[str, dict] = {}
    for part in arguments.parts:
        report[part] = PARTS[part](found, tolerances, arguments)
    print(json.dumps({"benchmark": "judge", "rows": sum(map(len, found.values())), **report}))


def _benchmarks() -> dict[str, dict]:
    return yaml.safe_load((ROOT / "config.yaml").read_text())["benchmarks"]


class Counts:
    """Verdicts per benchmark or kind, and cases with another one than wanted."""

    def __init__(self, show: int) -> None:
        self.counts: dict[str, Counter] = defaultdict(Counter)
        self.show = show

    def add(self, name: str, cases: list[Case], wanted: bool, tolerance: dict | None, notes: list[str]) -> None:
        shown: Counter = Counter()
        for case, note, verdict in zip(cases, notes, MathVerifyJudge(tolerance).judge(cases), strict=True):
            self.counts[name][VERDICTS[verdict.label]] += 1
            self.counts[f"  {note}"][VERDICTS[verdict.label]] += 1
            shown[note] += verdict.label is not wanted
            if verdict.label is not wanted and shown[note] <= self.show:
                print(f"    {name} {note}: {case.reference!r} <- {case.response[-110:]!r}: {verdict.label} "
                      f"{verdict.answer!r} {verdict.reason or ''}")  # fmt: skip

    def print(self, title: str) -> dict:
        print(f"\n{title:40}  correct incorrect  null  share correct")
        total: Counter = Counter()
        for name, counts in self.counts.items():
            print(f"{name:40} {counts['correct']:8} {counts['incorrect']:9} {counts['null']:5}  "
                  f"{counts['correct'] / counts.total():.3f}")  # fmt: skip
            if not name.startswith(" "):
                total += counts
        print(f"{'all':40} {total['correct']:8} {total['incorrect']:9} {total['null']:5}  "
              f"{total['correct'] / max(total.total(), 1):.4f}")  # fmt: skip
        return dict(total)


def _rewritings(write, title: str):
    def run(found, tolerances, arguments) -> dict:
        counts = Counts(arguments.show)
        for benchmark, rows in found.items():
            some = [r for i, r in enumerate(rows) if i % 100 < 100 * arguments.share]
            cases = list(rewritten(some))
            counts.add(
                benchmark,
                [Case("?", write(text, row), reference, truncated=False) for _, row, reference, text in cases],
                True,
                None,
                [kind for kind, *_ in cases],
            )
        return counts.print(title)

    return run


def _equal(one: str, other: str, tolerance: dict | None) -> bool:
    """Whether two references are the same answer, by Python's fractions or as text; units are left aside."""
    values = [_value(reference) for reference in (one, other)]
    if None not in values:
        relative = Fraction(str((tolerance or {}).get("relative", "0.0001")))
        return abs(values[0] - values[1]) <= relative * abs(values[0]) + Fraction(1, 10**6)
    parts = [list_parts(reference) or _json_parts(reference) for reference in (one, other)]
    if None not in parts:
        return sorted(map(Fraction, parts[0])) == sorted(map(Fraction, parts[1]))
    return re.sub(r"[\s$]|\\left|\\right|\\[dt](?=frac)", "", one) == re.sub(
        r"[\s$]|\\left|\\right|\\[dt](?=frac)", "", other
    )


def _malformed(reference: str) -> bool:
    """`$221,$8$`, one row of olympiadbench: a formula that never ends, which as an answer can be read in two ways."""
    return reference.count("$") % 2 == 1 and reference.startswith("$")


def _json_parts(reference: str) -> list[str] | None:
    return reference.strip("[] ").split(", ") if re.fullmatch(r"\[[-\d., e]+\]", reference) else None


def _value(reference: str) -> Fraction | None:
    """The number of a reference by itself: digits, a fraction, a measured quantity with its power of ten."""
    text = reference.replace("−", "-").strip().replace("\\!", "").replace(",", "").strip("$").replace("\\$", "").strip()
    text = re.sub(r"^\\\{([^,]*)\\\}$", r"\1", text)  # a set of one
    text = re.sub(r"\s*(?:\^\{?\\circ\}?|\\?%|\\text\{[^{}]*\}|\\mbox\{[^{}]*\}(?:\^2)?)$", "", text)
    if re.fullmatch(r"-?\d+e[-+]?\d+|-?\d+\.\d+e[-+]?\d+", text):
        return Fraction(text)
    if (plain := number(text)) is not None:
        return plain
    fraction = re.fullmatch(r"(-?)\\[dt]?frac\s*\{?(\d+)\}?\s*\{?(\d+)\}?", text)
    if fraction and ("{" in text or len(fraction[2] + fraction[3]) == 2):
        return Fraction(int(fraction[1] + fraction[2]), int(fraction[3]))
    if found := re.fullmatch(r"([-+]?[\d.]+)\s.*", text, re.DOTALL):
        power = re.search(r"10\s*\^\s*\{?\s*(-?\d+)", text)
        if measured(reference) or power:
            return Fraction(found[1]) * Fraction(10) ** int(power[1] if power else 0)
    return None


def _other_rows(found, tolerances, arguments) -> dict:
    """A row's question with the boxed or stated reference of another row of the same benchmark."""
    counts, draw = Counts(arguments.show), random.Random(42)
    total = sum(map(len, found.values()))
    for benchmark, rows in found.items():
        for name, tolerance in dict.fromkeys([(benchmark, None), (f"{benchmark}, its tolerance", 1)]):
            tolerance = tolerance and tolerances[benchmark]
            if "," in name and not tolerance:
                continue
            cases, notes = [], []
            while len(cases) < arguments.pairs * len(rows) // total:
                (i, one), (j, other) = draw.sample(list(enumerate(rows)), 2)
                if _equal(one, other, tolerance) or _malformed(other):
                    continue
                notes.append("boxed" if len(cases) % 2 else "stated")
                text = boxed(other) if notes[-1] == "boxed" else unboxed(other, j)
                cases.append(Case("?", text, one, truncated=False))
            counts.add(name, cases, False, tolerance, notes)
    return counts.print("other rows' answers (correct is wrong)")


def _rounded(found, tolerances, arguments) -> dict:
    """Numbers with more than three digits, rounded to three, judged with the benchmark's tolerance and without."""
    counts = Counts(arguments.show)
    for benchmark in ("scibench", "theoremqa"):
        cases = []
        for reference in found[benchmark]:
            digits = re.match(r"[-+]?[\d,]*\.?\d+(?:e[-+]?\d+)?", reference.replace("−", "-"))
            if digits and "." in digits[0]:
                short = f"{float(digits[0].replace(',', '')):.3g}"
                cases.append(Case("?", boxed(short + reference[digits.end() :]), reference, truncated=False))
        for name, tolerance in ((f"{benchmark}, none", None), (f"{benchmark}, its tolerance", tolerances[benchmark])):
            counts.add(name, cases, True, tolerance, [name] * len(cases))
    return counts.print("rounded to three digits")


def _wrong_text(found, tolerances, arguments) -> dict:
    """Rows whose reference is words: wrong boxed words must not all be null while right ones are correct."""
    counts = Counts(arguments.show)
    for benchmark, rows in found.items():
        texts = [
            r for r in rows if re.search(r"[A-Za-z]{4,}", re.sub(r"\\(?!text)[A-Za-z]+", "", r)) and not measured(r)
        ]
        cases = [Case("?", boxed("\\text{something else}"), reference, truncated=False) for reference in texts]
        cases += [Case("?", boxed("\\text{north}"), reference, truncated=False) for reference in texts]
        cases += [Case("?", boxed(reference), reference, truncated=False) for reference in texts]
        notes = ["two wrong words"] * len(texts) + ["a wrong word"] * len(texts) + ["copy of a text"] * len(texts)
        counts.add(benchmark, cases, False, None, notes)
    return counts.print("text references")


def _solutions(found, tolerances, arguments) -> dict:
    """gsm8k's own solutions, which end in a calculation or a sentence, without the mark before the answer.

    As answers to their own questions they are right, but for some 60 whose last sentence has another number; to the
    next question they are wrong, but where the answers are equal.
    """
    counts, folder = Counts(arguments.show), Path(os.environ["ENTROPY_SENTINEL_ROWS"])
    rows = [
        json.loads(line)
        for name in ("gsm8k", "gsm8k_train")
        for line in gzip.decompress((folder / f"{name}.jsonl.gz").read_bytes()).splitlines()
    ]
    parts = [(row["question"], *re.sub(r"<<[^>]*>>", "", row["answer"]).split("####")) for row in rows]
    cases = [Case(question, text.strip(), one.strip(), truncated=False) for question, text, one in parts]
    counts.add("own questions", cases, True, None, ["own questions"] * len(cases))
    others = [
        Case(one.question, one.response, other.reference, truncated=False)
        for one, other in pairwise(cases)
        if one.reference != other.reference
    ]
    counts.add("next questions", others, False, None, ["next questions"] * len(others))
    return counts.print("solutions in words")


def _speed(found, tolerances, arguments) -> dict:
    """CPU-seconds for a rewriting of every reference, boxed and not, wrong and right: about 11,000 responses."""
    cases, draw = [], random.Random(1)
    for rows in found.values():
        for row, reference in enumerate(rows):
            cases.append(Case("?", LONG + boxed(reference), reference, truncated=False))
            cases.append(Case("?", LONG + boxed(draw.choice(rows)), reference, truncated=False))
            if row % 2:
                cases.append(Case("?", LONG + unboxed(reference, row), reference, truncated=False))
    before = time.process_time()
    MathVerifyJudge().judge(cases)
    cpu = time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\n{len(cases)} responses: {cpu:.1f} CPU-seconds, peak {peak:.0f} MiB")
    return {"responses": len(cases), "cpu_s": round(cpu, 1), "peak_mib": round(peak)}


LONG = "We have $a_1 = 3$ and so $2 \\cdot 3 + \\frac{1}{2} = 6.5$ by the first step. " * 20

PARTS = {
    "speed": _speed,  # first: what is read once is remembered
    "boxed": _rewritings(lambda text, row: boxed(text), f"boxed ({len(REWRITINGS)} kinds)"),
    "unboxed": _rewritings(unboxed, "stated without a box"),
    "other rows": _other_rows,
    "rounded": _rounded,
    "wrong text": _wrong_text,
    "solutions": _solutions,
}

if __name__ == "__main__":
    main()
