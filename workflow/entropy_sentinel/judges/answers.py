"""Answers as text: where the final one stands, and which kind of thing a reference is."""

import json
import re

_SCIENTIFIC = re.compile(r"(?<![\w.\\])([-+]?\d+(?:\.\d+)?)[eE]([-+]?\d+)(?!\w)")
_QUANTITY = re.compile(r"(?P<number>[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?)\s+(?P<unit>\S.*)", re.DOTALL)
# What a unit begins with: text in LaTeX, a sign, a power of ten, a word, or one of the units of one letter. A variable
# or a constant after a number, `5 x`, `288 \pi`, is a factor and no unit.
_UNIT = re.compile(
    r"[$\s]*(?:\\(?:mathrm|text|rm|%|Omega|AA|circ)|\^|%|°|10\s*\^|[A-Za-z]{2}|[NJKVAmsgLCWTFHe](?![A-Za-z]))"
)
_EXPONENT = re.compile(r"(?:10\s*)?\^\s*(?:\{[^}]*\}|-?\d+)")
_POWER_OF_TEN = re.compile(r"10\s*\^\s*\{?\s*(-?\d+)")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_WORD = re.compile(r"[A-Za-z]{3,}|\b(?:or|no|if|is|of|to)\b", re.IGNORECASE)
_FUNCTIONS = {"sin", "cos", "tan", "cot", "sec", "csc", "log", "exp", "sqrt", "max", "min", "gcd", "lcm", "mod", "inf"}
_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}


def last_boxed(text: str) -> str | None:
    r"""What stands inside the last `\boxed{...}` of `text`, braces balanced; None if there is none or it never ends."""
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    depth, begin = 0, start + len("\\boxed{") - 1
    for position in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return text[begin + 1 : position].strip()
    return None


def scientific(text: str) -> str:
    r"""`4e-05` as `4 \times 10^{-5}`: math-verify takes the e for Euler's number."""
    return _SCIENTIFIC.sub(lambda found: f"{found[1]} \\times 10^{{{int(found[2])}}}", text)


def quantity(reference: str) -> str | None:
    """The number of a reference with a unit, which math-verify would read as a product; None if it is no such.

    `0.286 nm` is `0.286`; a power of ten in the unit belongs to the number: `1.9 $10^{-47}$ kg`.
    """
    found = _QUANTITY.fullmatch(reference.strip())
    if (
        found is None
        or not _UNIT.match(found["unit"])
        or re.search(r"\d|\b(?:and|or)\b|,", _EXPONENT.sub("", found["unit"]))
    ):
        return None
    power = _POWER_OF_TEN.search(found["unit"])
    return scientific(found["number"]) + (f" \\times 10^{{{power[1]}}}" if power else "")


def truth(text: str | None) -> bool | None:
    """Whether `text` says true or yes, false or no; None if it says something else."""
    return None if text is None else _TRUTHS.get(bare(text))


def is_text(reference: str) -> bool:
    """Whether a reference is words, such as the name of a compound or a proof, and no expression."""
    words = {word.casefold() for word in _WORD.findall(_COMMAND.sub(" ", reference))}
    return bool(words - _FUNCTIONS)


def elements(text: str) -> list[str] | None:
    """The elements of a JSON list, `[0, 5]`, as text; None if it is none. `$[0, 5]$` is an interval."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        return None
    return [str(element) for element in found] if isinstance(found, list) else None


def bare(text: str) -> str:
    r"""Text without LaTeX commands, brackets, punctuation at the ends, and differences of case."""
    return re.sub(r"[\s{}$]+", " ", _COMMAND.sub(" ", text)).strip(" .,;:").casefold()
