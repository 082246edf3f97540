"""Rewrite real references in other notations with the same meaning, which a judge must recognise.

The rewritings work only on text and do not use the judge. Each returns None if it does not apply.
"""

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from entropy_sentinel.study.config.config_loading import load_config
from entropy_sentinel.study.config.generation_requests import benchmark_settings
from entropy_sentinel.study.items.item_conversion import read_items
from entropy_sentinel.study.stages.benchmark_stage import open_source

ROOT = Path(__file__).parents[1]
FILES = {
    "gsm8k": ["gsm8k"],
    "svamp": ["svamp"],
    "math": ["math_hendrycks"],
    "theoremqa": ["theoremqa"],
    "scibench": ["scibench"],
    "olympiadbench": ["olympiadbench_OE_TO_maths_en_COMP"],
    "livemathbench": ["livemathbench_v202412_en", "livemathbench_v202412_hard_en"],
}

_NUMBER = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[-+]?\d*\.?\d+")
_MEASURED = re.compile(r"([-+]?[\d,]*\.?\d+) +(\S.*)", re.DOTALL)
_ROMAN = re.compile(r"\\(?:mathrm|text|rm)\s*\{\s*~?\s*([A-Za-z]+)\s*\}(?:\^\{?(-?\d)\}?)?")


def references(folder: str) -> dict[str, list[str]]:
    """The references of those of the paper's benchmarks for which `folder` has real rows."""
    result: dict[str, list[str]] = {}
    for benchmark, files in FILES.items():
        for file in files:
            items = items_of(benchmark, f"{folder}/{file}.jsonl.gz")
            result.setdefault(benchmark, []).extend(item["reference"] for item in items if item["reference"])
    return result


def items_of(benchmark: str, path: str) -> list[dict[str, Any]]:
    """The items of a file of real rows, read as in the paper's config."""
    config = load_config(yaml.safe_load((ROOT / "config.yaml").read_text()))
    settings = benchmark_settings(config, benchmark) | {"dataset": None, "path": path}
    items, _ = read_items(open_source(settings, Path("unused"))[0], settings, benchmark)
    return items


def number(reference: str) -> Fraction | None:
    """The value of a reference that is only a plain number."""
    text = reference.strip().strip("$").replace("−", "-").replace("\\!", "").replace("\\$", "")
    text = re.sub(r",\s*(?=\d{3})", ",", text)
    return Fraction(text.replace(",", "")) if _NUMBER.fullmatch(text) else None


def measured(reference: str) -> tuple[str, str] | None:
    """Digits and unit of a measured quantity in scibench's notation, with the power of ten in the unit."""
    result = _MEASURED.fullmatch(reference.strip())
    no_unit = r"[\d+-]|\\mathrm\{10|\\frac|\\sqrt|\\pi"
    return (result[1], result[2]) if result and not re.match(no_unit, result[2].strip("$ \r\n")) else None


def _of_number(write: Callable[[Fraction, str], str | None]) -> Callable[[str], str | None]:
    def rewrite(reference: str) -> str | None:
        value = number(reference)
        digits = reference.strip().strip("$").replace("\\!", "").replace("\\$", "").replace(",", "").replace(" ", "")
        return None if value is None else write(value, digits.replace("−", "-"))

    return rewrite


def _without_unit(write: Callable[[Fraction, str], str | None]) -> Callable[[str], str | None]:
    rewrite = _of_number(write)
    return lambda reference: None if "\\$" in reference else rewrite(reference)


def _of_measured(write: Callable[[str, str], str | None]) -> Callable[[str], str | None]:
    def rewrite(reference: str) -> str | None:
        result = measured(reference)
        return result and write(*result)

    return rewrite


def _substituted(pattern: str, replacement: str) -> Callable[[str], str | None]:
    def rewrite(reference: str) -> str | None:
        changed = re.sub(pattern, replacement, reference)
        return None if changed == reference else changed

    return rewrite


def _inner(reference: str) -> str:
    text = reference.strip()
    return text[1:-1] if text.startswith("$") and text.endswith("$") and text.count("$") == 2 else text


def _grouped(separator: str) -> Callable[[Fraction, str], str | None]:
    def write(value: Fraction, digits: str) -> str | None:
        if abs(value) < 1000:
            return None
        whole, dot, rest = digits.partition(".")
        return f"{int(whole):,}".replace(",", separator) + dot + rest

    return write


def _scientific(form: str) -> Callable[[Fraction, str], str | None]:
    def write(value: Fraction, digits: str) -> str | None:
        significant = digits.lstrip("+-").replace(".", "").lstrip("0")
        if not significant or len(significant) > 12:
            return None
        exponent = 0
        while abs(value) >= 10 * Fraction(10) ** exponent:
            exponent += 1
        while abs(value) < Fraction(10) ** exponent:
            exponent -= 1
        mantissa = ("-" if value < 0 else "") + significant[0] + ("." + significant[1:] if significant[1:] else "")
        return form.format(mantissa=mantissa, exponent=exponent, raised=_raised(exponent))

    return write


def _raised(exponent: int) -> str:
    return str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _plain_unit(unit: str) -> str | None:
    """`$\\mathrm{~kJ} \\mathrm{~mol}^{-1}$` as `kJ mol^-1`; None for units with anything else in them."""
    text = unit.strip().strip("$").strip()
    parts = _ROMAN.findall(text)
    if not parts or _ROMAN.sub("", text).strip(" ~"):
        return text if re.fullmatch(r"[A-Za-z]+(?: ?/ ?[A-Za-z]+)?", text) else None
    return " ".join(name + (f"^{power}" if power else "") for name, power in parts)


def _plain_measured(digits: str, unit: str) -> str | None:
    plain = _plain_unit(unit)
    return plain and f"{digits} {plain}"


def _tight_measured(digits: str, unit: str) -> str | None:
    plain = _plain_unit(unit)
    return f"{digits}\\text{{{plain}}}" if plain and re.fullmatch("[A-Za-z]+", plain) else None


def _over_measured(digits: str, unit: str) -> str | None:
    result = re.fullmatch(r"([A-Za-z]+) ([A-Za-z]+)\^-1", _plain_unit(unit) or "")
    return result and f"{digits} \\text{{ {result[1]}/{result[2]}}}"


def _prefixed_measured(digits: str, unit: str) -> str | None:
    """The quantity in a thousandth or a thousand times its unit."""
    other = {"kJ": ("J", 3), "J": ("kJ", -3), "nm": ("pm", 3), "m": ("cm", 2), "km": ("m", 3), "kPa": ("Pa", 3),
             "mm": ("m", -3), "cm": ("m", -2), "s": ("ms", 3), "N": ("mN", 3)}  # fmt: skip
    plain = _plain_unit(unit)
    if plain not in other or "," in digits:
        return None
    name, exponent = other[plain]
    return f"{digits} \\times 10^{{{exponent}}} \\text{{ {name}}}"


def _fraction(value: Fraction, digits: str) -> str | None:
    if "." not in digits:
        return None if value == 0 else f"\\frac{{{2 * value}}}{{2}}"
    return f"\\frac{{{value.numerator}}}{{{value.denominator}}}" if value.denominator <= 1000 else None


def _decimal(reference: str) -> str | None:
    """A fraction as a terminating decimal, or None."""
    result = re.fullmatch(r"(-?)\\[dt]?frac\{?(\d+)\}?\{(\d+)\}", _inner(reference))
    if not result or (Fraction(10**6) / int(result[3])).denominator != 1:
        return None
    return f"{result[1]}{float(Fraction(int(result[2]), int(result[3])))!r}"


def _slashed(reference: str) -> str | None:
    result = re.fullmatch(r"(-?)\\[dt]?frac\{(\d+)\}\{(\d+)\}", _inner(reference))
    return result and f"{result[1]}{result[2]}/{result[3]}"


def list_parts(reference: str) -> list[str] | None:
    """The parts of an unbracketed list, `1,-2`, `$69$,$84$`; None for others, also for thousands commas."""
    text = reference.replace("$", "").strip()
    if reference.endswith(" $"):
        return None  # money
    if re.fullmatch(r"[-\d.]+(?:\s*,\s*[-\d.]+)+", text) and not re.fullmatch(r"-?\d{1,3}(,\d{3})+", text):
        return [part.strip() for part in text.split(",")]
    return None


def _of_list(write: Callable[[list[str]], str]) -> Callable[[str], str | None]:
    def rewrite(reference: str) -> str | None:
        parts = list_parts(reference)
        return parts and write(parts)

    return rewrite


def _of_json(write: Callable[[str], str]) -> Callable[[str], str | None]:
    def rewrite(reference: str) -> str | None:
        result = re.fullmatch(r"\[([-\d., e]+)\]", reference)
        return result and write(result[1])

    return rewrite


def _named(reference: str) -> str | None:
    """The answer with a name; None for words, several answers and relations."""
    text = _inner(reference)
    if re.fullmatch(r"\([a-e]\)|[A-E]", text):
        return None
    if re.search(
        r"[=<>]|\\(?:in|text|geq|leq|equiv|angle|mbox)|[A-Za-z]{4,}(?<!frac)(?<!sqrt)|,", text.replace("\\", " \\")
    ):
        return None if number(reference) is None else f"x = {_inner(reference)}"
    return f"x = {text}" if "$" not in text else None


def _degrees(reference: str) -> str | None:
    result = re.fullmatch(r"(-?[\d.]+)\s*\$?\s*\^\{?\\circ\}?", _inner(reference))
    return result and f"{result[1]} \\text{{ degrees}}"


def _with_lines(reference: str) -> str | None:
    return None if "\\begin" not in reference else reference.replace("pmatrix", "bmatrix")


def _lower_truth(reference: str) -> str | None:
    return f"\\text{{{reference.lower()}}}" if reference in ("True", "False") else None


def _yes_no(reference: str) -> str | None:
    return {"True": "\\text{Yes}", "False": "\\text{No}"}.get(reference)


def _letter(form: str) -> Callable[[str], str | None]:
    def rewrite(reference: str) -> str | None:
        result = re.fullmatch(r"\\text\{\(([A-E])\)\}|\(([a-e])\)|\$([A-E])\$", reference)
        return result and form.format(letter=next(filter(None, result.groups())))

    return rewrite


def _sized(reference: str) -> str | None:
    """The reference with sized parentheses, if they match."""
    if "(" not in reference or re.search(r"\\left|\\text", reference) or reference.count("(") != reference.count(")"):
        return None
    return reference.replace("(", "\\left(").replace(")", "\\right)")


REWRITINGS: dict[str, Callable[[str], str | None]] = {
    "copy": lambda reference: reference,
    "no delimiters": lambda reference: _inner(reference) if _inner(reference) != reference else None,
    "delimiters": lambda reference: f"${reference}$" if "$" not in reference and "\\" in reference else None,
    "full stop": lambda reference: None if reference.endswith(".") else _inner(reference) + ".",
    "thousands: 1,234": _of_number(_grouped(",")),
    "thousands: 1\\,234": _of_number(_grouped("\\,")),
    "thousands: 1{,}234": _of_number(_grouped("{,}")),
    "thousands: 1 234": _of_number(_grouped(" ")),
    "trailing zero": _of_number(lambda value, digits: digits + ("0" if "." in digits else ".0")),
    "\\times 10^{}": _of_number(_scientific("{mantissa} \\times 10^{{{exponent}}}")),
    "\\cdot 10^": _of_number(_scientific("{mantissa} \\cdot 10^{{{exponent}}}")),
    "e notation": _of_number(_scientific("{mantissa}e{exponent}")),
    "× 10⁻³": _of_number(_scientific("{mantissa} × 10{raised}")),
    "× 10^-3": _of_number(_scientific("{mantissa} × 10^{exponent}")),
    "fraction of a number": _of_number(_fraction),
    "dollars": _of_number(lambda value, digits: f"\\${digits}"),
    "euros": _without_unit(lambda value, digits: f"{digits}€"),
    "words after": _without_unit(lambda value, digits: f"{digits} \\text{{ apples}}"),
    "~unit": _without_unit(lambda value, digits: f"{digits}~\\text{{cm}}"),
    "plain unit after": _without_unit(lambda value, digits: f"{digits} meters"),
    "minus sign": _of_number(lambda value, digits: digits.replace("-", "−") if value < 0 else None),
    "bold": _of_number(lambda value, digits: f"\\mathbf{{{digits}}}"),
    "x = ": _named,
    "\\approx": _of_number(lambda value, digits: f"x \\approx {digits}"),
    "number alone": _of_measured(lambda digits, unit: digits),
    "plain unit": _of_measured(_plain_measured),
    "tight unit": _of_measured(_tight_measured),
    "thin space before the unit": _of_measured(lambda digits, unit: f"{digits}\\, {_inner(unit)}"),
    "~ before the unit": _of_measured(lambda digits, unit: f"{digits}~{_inner(unit)}"),
    "J/mol": _of_measured(_over_measured),
    "another prefix": _of_measured(_prefixed_measured),
    "power of ten with \\times": _substituted(
        r"^(\S+)\s+\$?\s*(?:\\mathrm\{)?10\s*\^\s*\{?(-?\d+)\}?\}?\s*(.*?)\$?$", r"\1 \\times 10^{\2} \3"
    ),
    "\\dfrac": _substituted(r"\\frac", r"\\dfrac"),
    "\\tfrac": _substituted(r"\\frac", r"\\tfrac"),
    "\\left( \\right)": _sized,
    "spaces around signs": _substituted(r"(?<=[\w)}])(?<!\de)([+-])(?=[\w(\\])(?!\d+\})", r" \1 "),
    "decimals of a fraction": _decimal,
    "slash": _slashed,
    "\\displaystyle": lambda r: f"\\displaystyle {_inner(r)}" if "\\frac" in r and "$" not in _inner(r) else None,
    "list turned round": _of_list(lambda parts: ", ".join(reversed(parts))),
    "list with and": _of_list(lambda parts: ", ".join(parts[:-1]) + " \\text{ and } " + parts[-1]),
    "list as a set": _of_list(lambda parts: "\\{" + ", ".join(parts) + "\\}"),
    "list as equations": _of_list(lambda parts: " \\text{ or } ".join(f"x = {part}" for part in parts)),
    "several boxes": _of_list(lambda parts: "} and \\boxed{".join(parts)),
    "list in parentheses": _of_json(lambda inside: f"({inside})"),
    "list without brackets": _of_json(lambda inside: inside),
    "list without spaces": _of_json(lambda inside: f"[{inside.replace(' ', '')}]"),
    "list in angles": _of_json(lambda inside: f"\\langle {inside} \\rangle"),
    "degrees": _degrees,
    "°": _substituted(r"^\$?(-?[\d.]+)\s*\$?\s*\^\{?\\circ\}?\s*\$?$", r"\1°"),
    "other matrix": _with_lines,
    "truth in text": _lower_truth,
    "yes and no": _yes_no,
    "letter alone": _letter("{letter}"),
    "letter in text": _letter("\\text{{({letter})}}"),
    "letter in bold": _letter("\\textbf{{({letter})}}"),
}  # fmt: skip

# How a response without a box states its answer. Other words around a number would need a judgement of language.
SENTENCES = [
    "The answer is {math}.",
    "Therefore, the final answer is {math}.",
    "**Answer:** {math}",
    "So in the end the result is {math}. I hope this helps!",
    "Hence, with 7 in place of n, we have $y = 7 + 1 = 8$.\n\nThe final answer is: {math}",
]
# The question of all rewritings: one of them has apples after the number.
QUESTION = "How many apples?"


def boxed(rewritten: str) -> str:
    return f"With 5 + 7 = 12 in mind, we get 40 and so the answer is $\\boxed{{{rewritten}}}$."


def unboxed(rewritten: str, row: int) -> str:
    r"""The answer as the last statement: formulas between dollars, text and plain numbers unchanged."""
    plain = rewritten.replace("} and \\boxed{", " and ")
    is_formula = bool(re.search(r"[\\^_{}]|(?<![A-Za-z])[A-Za-z](?![A-Za-z])", plain.replace("\\$", "")))
    math = f"${plain}$" if is_formula and not re.search(r"(?<!\\)\$", plain) else plain
    return SENTENCES[row % len(SENTENCES)].format(math=math)


def rewritten(references: list[str]) -> Iterator[tuple[str, int, str, str]]:
    """Yield (kind of rewriting, row, reference, rewritten) for every rewriting that applies."""
    for row, reference in enumerate(references):
        for kind, rewrite in REWRITINGS.items():
            text = rewrite(reference)
            if text is not None and (kind == "copy" or text != reference):
                yield kind, row, reference, text
