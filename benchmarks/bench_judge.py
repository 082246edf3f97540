"""Test the exact judge on real references: copied, rewritten, stated as the answer, rounded, or from other rows.

It draws families of pairs (dates, ranges, numerals, matrices, options and so on) whose truth is known. It also tests
math-verify without the judge, with the benchmarks' tolerances and one-word references, on labels by
people or the exact judge: the real answers in examples/real, and pairs that are easy to misjudge.

Run by `make bench-judge` with ENTROPY_SENTINEL_ROWS naming a folder of real rows (tests/judges/test_real_rows.py). Two
references count as truly equal, and their pair is left out, if they are the same number by Python's fractions (or
within the benchmark's tolerance of each other), the same list of numbers, or the same text without spaces and dollars:
this does not use the judge. It ignores units. Prints one JSON object as its last line.
"""

import argparse
import json
import os
import random
import re
import resource
import sys
import time
from collections import Counter, defaultdict
from fractions import Fraction

import polars as pl
import yaml
from answer_families import FAMILIES, drawn_pairs
from answer_forms import OPTION_STATEMENTS, OPTION_TRICKS, STATEMENTS, TRICKS, questions
from math_verify import parse, verify

from entropy_sentinel.judges.final_answers import find_last_boxed
from entropy_sentinel.judges.judge_interface import Case
from entropy_sentinel.judges.math_verify import MathVerifyJudge
from entropy_sentinel.judges.text_judges import ChoiceJudge
from entropy_sentinel.schemas.generation_schema import CUT_OFF
from entropy_sentinel.schemas.response_schema import SAMPLE
from rewritings import (
    QUESTION,
    REWRITINGS,
    ROOT,
    boxed,
    items_of,
    list_parts,
    measured,
    number,
    references,
    rewritten,
    unboxed,
)

VERDICTS = {True: "correct", False: "incorrect", None: "null"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20_000, help="pairs of a row with another row's answer")
    parser.add_argument("--share", type=float, default=1.0, help="share of the rows that is rewritten")
    parser.add_argument("--show", type=int, default=0, help="number of cases with an unexpected verdict to print")
    parser.add_argument("--parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    arguments = parser.parse_args()
    folder = os.environ.get("ENTROPY_SENTINEL_ROWS")
    if not folder:
        sys.exit("ENTROPY_SENTINEL_ROWS must name a folder with real rows")
    result = references(folder)
    tolerances = {name: section.get("tolerance") for name, section in _benchmarks().items()}
    report: dict[str, dict] = {}
    for part in arguments.parts:
        report[part] = PARTS[part](result, tolerances, arguments)
    print(json.dumps({"benchmark": "judge", "rows": sum(map(len, result.values())), **report}))


def _benchmarks() -> dict[str, dict]:
    return yaml.safe_load((ROOT / "config.yaml").read_text())["benchmarks"]


class Counts:
    """Verdicts per benchmark or kind, and cases with a verdict other than the expected one."""

    def __init__(self, show: int) -> None:
        self.counts: dict[str, Counter] = defaultdict(Counter)
        self.show = show

    def add(self, name: str, cases: list[Case], wanted: bool, tolerance: dict | None, notes: list[str]) -> None:
        shown: Counter = Counter()
        for case, note, verdict in zip(cases, notes, MathVerifyJudge(tolerance).judge(cases), strict=True):
            self.counts[name][VERDICTS[verdict.label]] += 1
            self.counts[f"  {note}"][VERDICTS[verdict.label]] += 1
            shown[note] += verdict.label is not wanted
            shown_first = verdict.label is (not wanted) or shown[note] <= self.show
            if verdict.label is not wanted and shown_first:
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
    def run(result, tolerances, arguments) -> dict:
        counts = Counts(arguments.show)
        for benchmark, rows in result.items():
            some = [r for i, r in enumerate(rows) if i % 100 < 100 * arguments.share]
            cases = list(rewritten(some))
            counts.add(
                benchmark,
                [Case(QUESTION, write(text, row), reference, truncated=False) for _, row, reference, text in cases],
                True,
                None,
                [kind for kind, *_ in cases],
            )
        return counts.print(title)

    return run


def _equal(one: str, other: str, tolerance: dict | None) -> bool:
    """Whether two references are the same answer, by Python's fractions or as text, ignoring units."""
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
    if result := re.fullmatch(r"([-+]?[\d.]+)\s.*", text, re.DOTALL):
        power = re.search(r"10\s*\^\s*\{?\s*(-?\d+)", text)
        if measured(reference) or power:
            return Fraction(result[1]) * Fraction(10) ** int(power[1] if power else 0)
    return None


def _other_rows(result, tolerances, arguments) -> dict:
    """A row's question with the boxed or stated reference of another row of the same benchmark."""
    counts, draw = Counts(arguments.show), random.Random(42)
    total = sum(map(len, result.values()))
    for benchmark, rows in result.items():
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


def _rounded(result, tolerances, arguments) -> dict:
    """Numbers with more than three digits, rounded to three, judged with the benchmark's tolerance and without."""
    counts = Counts(arguments.show)
    for benchmark in ("scibench", "theoremqa"):
        cases = []
        for reference in result[benchmark]:
            digits = re.match(r"[-+]?[\d,]*\.?\d+(?:e[-+]?\d+)?", reference.replace("−", "-"))
            if digits and "." in digits[0]:
                short = f"{float(digits[0].replace(',', '')):.3g}"
                cases.append(Case("?", boxed(short + reference[digits.end() :]), reference, truncated=False))
        for name, tolerance in ((f"{benchmark}, none", None), (f"{benchmark}, its tolerance", tolerances[benchmark])):
            counts.add(name, cases, True, tolerance, [name] * len(cases))
    return counts.print("rounded to three digits")


def _wrong_text(result, tolerances, arguments) -> dict:
    """Rows whose reference is words: wrong boxed words must not all be null while right ones are correct."""
    counts = Counts(arguments.show)
    for benchmark, rows in result.items():
        texts = [
            r for r in rows if re.search(r"[A-Za-z]{4,}", re.sub(r"\\(?!text)[A-Za-z]+", "", r)) and not measured(r)
        ]
        cases = [Case("?", boxed("\\text{something else}"), reference, truncated=False) for reference in texts]
        cases += [Case("?", boxed("\\text{north}"), reference, truncated=False) for reference in texts]
        cases += [Case("?", boxed(reference), reference, truncated=False) for reference in texts]
        notes = ["two wrong words"] * len(texts) + ["a wrong word"] * len(texts) + ["copy of a text"] * len(texts)
        counts.add(benchmark, cases, False, None, notes)
    return counts.print("text references")


def _forms(result, tolerances, arguments) -> dict:
    """Counts for each form of an answer: of its own row, of another row, and in a trick; also for options."""
    draw, report = random.Random(7), {}
    rows = [(one, draw.choice(rows)) for rows in result.values() for one in draw.sample(rows, min(len(rows), 60))]
    rows = [(one, other) for one, other in rows if not _equal(one, other, None) and _readable(one) and _readable(other)]
    stated = {"stated": (STATEMENTS, True), "stated, wrong": (STATEMENTS, False), "tricks": (TRICKS, False)}
    for title, (forms, wanted) in stated.items():
        counts = Counts(arguments.show)
        for name, form in forms.items():
            cases = [_filled(form, one, other, title) for one, other in rows]
            counts.add(name, cases, wanted, None, [name] * len(cases))
        report[title] = counts.print(title)
    options = list(questions())
    chosen = {"options, stated": (OPTION_STATEMENTS, "a"), "options, wrong": (OPTION_STATEMENTS, "o")}
    for title, (forms, reference) in (chosen | {"options, tricks": (OPTION_TRICKS, "a")}).items():
        total: Counter = Counter()
        for judge in (MathVerifyJudge(), ChoiceJudge()):
            for name, form in forms.items():
                cases = [Case(text, form.format(**fields), f"({fields[reference]})", False) for text, fields in options]
                taken = Counter(VERDICTS[verdict.label] for verdict in judge.judge(cases))
                total += taken
                print(f"  {title}, {type(judge).__name__}: {name:35} {dict(taken)}")
        report[title] = dict(total)
    return report


def _readable(reference: str) -> bool:
    """Whether a reference in a box is read, and has no dollars that end a formula around it."""
    [verdict] = MathVerifyJudge().judge([Case("?", boxed(reference), reference, False)])
    return "$" not in reference and verdict.label is True


def _filled(form: str, one: str, other: str, title: str) -> Case:
    answer, another = (other, one) if title == "stated, wrong" else (one, other)
    return Case("?", form.format(a=answer, o=another), one, truncated=False)


# Draws of a family; formulas with constants take a tenth of a second each.
_ROUNDS, _SLOW_ROUNDS = 400, {"arbitrary constants": 40}


def _families(result, tolerances, arguments) -> dict:
    """Drawn pairs of dates, ranges, numerals, matrices, options and so on, whose truth is known from the drawing."""
    report: dict[str, dict[str, int]] = {}
    print(f"\n{'drawn families':40}    right     wrong  null  nobody can tell: left open, decided")
    for family in FAMILIES:
        judges = [MathVerifyJudge(), ChoiceJudge()] if family == "options" else [MathVerifyJudge()]
        counts: Counter = Counter()
        for pair in drawn_pairs(family, _SLOW_ROUNDS.get(family, _ROUNDS)):
            case = Case(pair.question, boxed(pair.answer), pair.reference, truncated=False)
            for judge in judges:
                [verdict] = judge.judge([case])
                counts[_outcome(pair.right, verdict.label)] += 1
                if verdict.label is not pair.right and counts[_outcome(pair.right, verdict.label)] <= arguments.show:
                    print(f"    {family}: {pair}: {verdict.label} {verdict.reason or ''}")
        report[family] = dict(counts)
        right = counts["right"]
        wrong = counts["wrong taken for right"] + counts["right taken for wrong"]
        print(f"{family:40} {right:8} {wrong:9} {counts['null']:5}  {counts['left open']:8} {counts['decided']:8}")
    return report


def _outcome(right: bool | None, label: bool | None) -> str:
    if right is None:
        return "left open" if label is None else "decided"
    if label is None:
        return "null"
    return "right" if label is right else "wrong taken for right" if label else "right taken for wrong"


def _plain(result, tolerances, arguments) -> dict:
    """Count verdicts of math-verify without the judge against the existing labels."""
    return {"real answers": _against_plain(_real(tolerances)), "adversarial pairs": _against_plain(_adversarial())}


def _against_plain(rows) -> dict:
    counts: dict[str, Counter] = {"plain": Counter(), "exact": Counter()}
    for label, case, tolerance in rows:
        [verdict] = MathVerifyJudge(tolerance).judge([case])
        for name, message in (("plain", _plain_verdict(case, tolerance)), ("exact", verdict.label)):
            counts[name][f"{VERDICTS[label]} taken for {VERDICTS[message]}"] += 1
    for name, taken in counts.items():
        print(f"{name}: " + ", ".join(f"{count} {what}" for what, count in sorted(taken.items())))
    return {name: dict(sorted(taken.items())) for name, taken in counts.items()}


def _plain_verdict(case: Case, tolerance: dict | None) -> bool | None:
    """Math-verify's verdict on the unchanged response; for a one-word reference, compare the boxed word."""
    if (word := _word(case.reference)) is not None:
        box = _word(find_last_boxed(case.response) or "")
        return None if box is None else box == word
    dollars = "" if "$" in case.reference else "$"
    wanted, message = (
        parse(text, parsing_timeout=None) for text in (f"{dollars}{case.reference}{dollars}", case.response)
    )
    if not wanted or not message:
        return None
    try:
        values = float(wanted[0]), float(message[0])
    except (TypeError, ValueError, OverflowError, AttributeError, RecursionError):
        return verify(wanted, message, timeout_seconds=None)
    if tolerance and "relative" in tolerance:
        return abs(values[0] - values[1]) <= float(tolerance["relative"]) * abs(values[0])
    return verify(wanted, message, timeout_seconds=None)


def _word(text: str) -> str | None:
    plain = re.sub(r"\\text\{([^{}]*)\}|\$", r"\1", text).strip(" .").casefold()
    return {"yes": "true", "no": "false"}.get(plain, plain) if re.fullmatch(r"[a-z]{2,}|\(?[a-j]\)?", plain) else None


def _real(tolerances):
    """The labels of real traces with their cases, without null labels."""
    for path in sorted((ROOT / "examples/real/labels").glob("*/*.parquet")):
        benchmark = path.stem
        items = {
            item["item_id"]: item for item in items_of(benchmark, f"{ROOT}/examples/real/benchmarks/{benchmark}.jsonl")
        }
        traces = pl.scan_parquet(ROOT / "examples/real/traces" / path.parent.name / path.name)
        responses = traces.select(*SAMPLE, "text", cut_off=CUT_OFF).collect()
        for row in pl.read_parquet(path).drop_nulls("label").join(responses, on=SAMPLE).iter_rows(named=True):
            item = items[row["item_id"]]
            case = Case(item["question"], row["text"], item["reference"], truncated=row["cut_off"])
            yield row["label"], case, tolerances[benchmark]


def _adversarial():
    for pair in yaml.safe_load((ROOT / "tests/judges/adversarial_pairs.yaml").read_text()):
        text = pair["text"] if "text" in pair else f"So the answer is $\\boxed{{{pair['box']}}}$."
        case = Case(pair.get("question", "?"), text, pair["ref"], truncated=False)
        yield pair["label"], case, pair.get("tolerance")


def _speed(result, tolerances, arguments) -> dict:
    """CPU-seconds for a rewriting of every reference, boxed and not, wrong and right: about 11,000 responses."""
    cases, draw = [], random.Random(1)
    for rows in result.values():
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
    "speed": _speed,  # first, because later readings are cached
    "boxed": _rewritings(lambda text, row: boxed(text), f"boxed ({len(REWRITINGS)} kinds)"),
    "unboxed": _rewritings(unboxed, "called the answer"),
    "other rows": _other_rows,
    "rounded": _rounded,
    "wrong text": _wrong_text,
    "forms": _forms,
    "families": _families,
    "math-verify alone": _plain,
}

if __name__ == "__main__":
    main()
