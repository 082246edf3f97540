"""Numbers in words, `twenty-one`, `one hundred and five`, `two thirds`, and mixed ones, `7 and a half`, in digits."""

import re

_ONES = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_PARTS = {
    "half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fourth": 4, "fourths": 4, "fifth": 5,
    "fifths": 5, "sixth": 6, "sixths": 6, "eighth": 8, "eighths": 8, "tenth": 10, "tenths": 10,
}  # fmt: skip
NUMBER_WORDS = "|".join([*_ONES, *_TENS, *_SCALES, "hundred"])
_SEQUENCE = re.compile(rf"(?:{NUMBER_WORDS})(?:(?:\s+and\s+|\s*-\s*|\s+)(?:{NUMBER_WORDS}))*(?![\w-])", re.IGNORECASE)
_PART = "|".join(_PARTS)
_ONE_PART = rf"(?P<count>an?|{'|'.join(_ONES)})[\s-]+(?P<part>{_PART})(?!\w)"
_FRACTION = re.compile(_ONE_PART, re.IGNORECASE)
_MIXED = re.compile(
    rf"(?P<whole>(?<![\w.,/^{{_])\d+)\s*(?:\\text\{{)?\s*and\s+{_ONE_PART}(?:\s*\}}|(?P<rest>))", re.IGNORECASE
)


def mixed(text: str) -> str:
    """`7 and a half hours` as `7 1/2 hours`, wherever it stands."""
    return _MIXED.sub(lambda found: f"{found['whole']} {_fraction(found)}", text)


def in_digits(text: str) -> str:
    r"""`text` with the number in words that it begins with, if any, in digits; within `\text{...}`, too."""
    rest = re.sub(r"\A\s*(?:\\text\{\s*)?", "", text)
    opening = text.removesuffix(rest)
    if found := _FRACTION.match(rest):
        written, end = _fraction(found), found.end()
    elif (found := _SEQUENCE.match(rest)) and (value := _value(found[0])) is not None:
        written, end = str(value), found.end()
        if more := re.match(rf"\s+and\s+{_ONE_PART}", rest[end:], re.IGNORECASE):
            written, end = f"{written} {_fraction(more)}", end + more.end()
    else:
        return text
    if re.match(r"\s+of\b", rest[end:]):
        return text  # `one of them`, `two thirds of the time`
    left = rest[end:]
    if "\\text" not in opening:
        return written + left
    return written + (left.strip()[1:] if left.strip().startswith("}") else " \\text{" + left)


def _fraction(found: re.Match[str]) -> str:
    return f"{_ONES.get(found['count'].casefold(), 1)}/{_PARTS[found['part'].casefold()]}"


def _value(words: str) -> int | None:
    """The number of a sequence of number words; None where they do not follow each other as in one number."""
    total = part = 0
    last = None
    for word in re.findall(r"[a-z]+", words.casefold()):
        if word == "and":
            continue
        if word in _SCALES:
            if last is None or part == 0:
                return None
            total, part = total + part * _SCALES[word], 0
        elif word == "hundred":
            if not 0 < part < 100:
                return None
            part *= 100
        elif word in _TENS:
            if last is not None and (last in _ONES or last in _TENS):
                return None
            part += _TENS[word]
        else:
            if last in _ONES or (last in _TENS and not 0 < _ONES[word] < 10):
                return None
            part += _ONES[word]
        last = word
    return total + part
