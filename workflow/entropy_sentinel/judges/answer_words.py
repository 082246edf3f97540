"""The words of an answer as they are compared: numbers, fractions and constants by their value.

Texts become lower case, without punctuation, articles, accents and text marks. `1,000`, `1000.0` and `$1000` are the
same word, and so are `1½`, `1 1/2` and `\\frac32`, or `2\\pi` and `2π`. A minus apart from its number is a sign if
nothing stands before it from which something could be subtracted.
"""

import re
import unicodedata
from fractions import Fraction

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\U00020000-\U0003ffff"
)
# Letters, digits, and the marks of scripts whose vowels are marks.
_LETTER = rf"(?:(?![{_UNSPACED}_])[\w\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff])"
WORD = re.compile(
    r"(?<![A-Za-z_.\d/])(?P<number>-?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+(?!\.?\d))?|-?\.\d+)(?P<exponent>[eE][-+]?\d{1,3}(?![\w.]))?"
    r"(?:/(?P<below>\d+)(?![\d/]))?|"
    rf"(?P<letter>[{_UNSPACED}])|(?P<operator>[<>=+≤≥≠±×÷]+|(?<=[A-Za-z])#|[/^]|(?<![\w)\]}}])-(?=\s?(?:pi|sqrt)\b|"
    rf"[A-Za-z](?![A-Za-z'’-])|\())|(?P<word>{_LETTER}+)"
)
RATIONAL = re.compile(r"-?\d+(?:/\d+)?")
# A number, or a multiple of pi or of a square root, as `_merge_constants` writes it.
NUMBER = re.compile(r"-?\d+(?:/\d+)?(?:\*(?:pi|sqrt\d+(?:/\d+)?))?")
# Characters of a number that is compared by its value; Python refuses to convert many more digits.
LONGEST_NUMBER = 1000
_MINUS = str.maketrans(dict.fromkeys("−–‒", "-"))
# White space and marks between thousands, initials, and marks of accents.
_THOUSANDS = re.compile(r"(?<=\d)[\u00a0\u2009\u202f'’](?=\d{3}(?!\d))")
_INITIALS = re.compile(r"(?<![\w.])(?:[A-Za-z]\.){2,}")
_ACCENTS = re.compile("[\u0300-\u036f]")
_CURRENCY = re.compile(r"\\?[$€£¥₹]\s?(?=[-.\d])")
# LaTeX takes the next digit for an argument without braces: `\frac12` is 1/2.
_FRACTION = re.compile(
    r"(?P<whole>(?<!\d)\d{1,9})?\s*\\[cdt]?frac\s*(?:\{\s*(?P<above>-?\d{1,18})\s*\}|(?P<digit_above>\d))\s*"
    r"(?:\{\s*(?P<below>\d{1,18})\s*\}|(?P<digit_below>\d))"
)
_ARGUMENT = r"\s*\{((?:[^{}]|\{[^{}]*\})*)\}"
_ANY_FRACTION = re.compile(rf"\\[cdt]?frac{_ARGUMENT}{_ARGUMENT}")
_VULGAR = re.compile(r"(?P<whole>(?<!\d)\d{1,9})?[ \u00a0]?(?P<vulgar>[\u00bc-\u00be\u2150-\u215e\u2189])")
_MIXED = re.compile(r"(?<![\d./,])(?P<whole>\d{1,9})[ \u00a0](?P<above>\d{1,9})/(?P<below>\d{1,9})(?![\d/.])")
_SUPERSCRIPT = re.compile("(?<=[\\w)\\]}])[\u2070\u00b9\u00b2\u00b3\u2074-\u2079\u207b]+")
# The divisor of a root is none of what stands below it.
_ROOT_DIVIDED = re.compile(r"((?:\\sqrt\s*\{?|√)\s*\d+\s*\}?)\s*/\s*(\d+)")
_DEGREES = re.compile(r"\^\s*\{?\s*\\circ\s*\}?")
_PI = re.compile(r"\\pi(?![A-Za-z])|π|(?<=\d) ?pi\b")
_ROOT = re.compile(r"\\sqrt(?![A-Za-z\[])|√|(?<=\d)sqrt\b")
# A sign of multiplication before a constant, such as in `2 * pi`.
_TIMES_CONSTANT = re.compile(
    r"(?<=[\w)}])\s*(?:\*|·|⋅|×|\\cdot(?![A-Za-z])|\\times(?![A-Za-z]))\s*(?=\\?(?:pi|sqrt)\b|[π√])"
)
# A minus apart from its number, and the text before one that is a sign and no subtraction.
_APART = re.compile(r"-[ \u00a0]+(?=[\d.\\π√])")
_BEFORE_SIGN = re.compile(r"(?:[=(\[{,:<>≤≥≠$]|\b(?:is|are|equals|be))\s*$")
_NEAR = 20
# Commands of LaTeX that only frame or set a text, and tags.
_FRAME = re.compile(
    r"\\(?:f?boxed|text\w*|math(?:rm|bf|it|sf|bb)|left|right|q?quad|displaystyle)(?![A-Za-z])|\\[()\[\],;!]|"
    r"</?[A-Za-z]\w*>"
)
# An article stands before a word. `A` within a sentence is the letter of an option.
ARTICLE = re.compile(
    r"\b(?i:the|an)\b(?=\s+[*`'\"]*\w)|\ba\b(?=\s+[*`'\"]*[^\W\d_])|(?:^|(?<=[.!?]\s))A(?=\s+[a-z])", re.MULTILINE
)
_APOSTROPHE = re.compile(r"(?<=\w)['’](?!s\b)(?=\w)")


def split_words(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation and articles; a number is written as its value."""
    return _merge_constants([normalise_word(match) for match in WORD.finditer(unify_notation(text))])


def unify_notation(text: str) -> str:
    """A text in which a number, a fraction, a constant and a sign are written in one way."""
    if not text.isascii():
        text = _SUPERSCRIPT.sub(lambda match: "^" + unicodedata.normalize("NFKC", match[0]), text)
        text = _VULGAR.sub(_write_vulgar, text)
    text = _ACCENTS.sub("", unicodedata.normalize("NFKD", _THOUSANDS.sub("", text)))
    text = unicodedata.normalize("NFKC", text).replace("\u2044", "/").translate(_MINUS)
    text = _INITIALS.sub(lambda initials: initials[0].replace(".", ""), text)
    text = _FRAME.sub(" ", _CURRENCY.sub("", _DEGREES.sub("°", text)))
    text = _APART.sub(_join_sign, _TIMES_CONSTANT.sub(" ", text))
    if "frac" in text:
        text = _ANY_FRACTION.sub(r" \1 / \2 ", _FRACTION.sub(_write_fraction, text))
    text = _ROOT.sub(" sqrt ", _PI.sub(" pi ", _ROOT_DIVIDED.sub(r"\1 / \2", text)))
    text = _MIXED.sub(_write_mixed, text)
    return _APOSTROPHE.sub("", ARTICLE.sub(" ", text))


def _write_value(match: re.Match[str], whole: str | None, above: int, below: int) -> str:
    """The value of a matched fraction, with the `whole` of a mixed number, as text between spaces, or after a minus."""
    before = "" if match.string[: match.start()].endswith("-") else " "
    if not below:
        return f"{before}{whole or ''} {above}/0 "
    if whole is not None and not 0 < above < below:  # no mixed number: a number and a fraction
        return f"{before}{whole} {above}/{below} "
    value = int(whole or 0) + Fraction(above, below)
    return f"{before}{value.numerator}/{value.denominator} "


def _write_vulgar(match: re.Match[str]) -> str:
    """The value of `½` or `1½` as text."""
    above, _, below = unicodedata.normalize("NFKC", match["vulgar"]).partition("\u2044")
    return _write_value(match, match["whole"], int(above or 1), int(below or 1))


def _write_fraction(match: re.Match[str]) -> str:
    r"""The value of `\frac{1}{2}` or `1\frac12` as text."""
    above = match["above"] or match["digit_above"]
    below = match["below"] or match["digit_below"]
    return _write_value(match, match["whole"], int(above), int(below))


def _write_mixed(match: re.Match[str]) -> str:
    """The value of `1 1/2` as text."""
    return _write_value(match, match["whole"], int(match["above"]), int(match["below"]))


def _join_sign(match: re.Match[str]) -> str:
    """A minus without the space after it if it is a sign; at the start of a line among others it is a bullet."""
    before = match.string[max(match.start() - _NEAR, 0) : match.start()]
    if not before.rpartition("\n")[2].strip():
        is_sign = "\n" not in match.string.strip() and match.start() < _NEAR
    else:
        is_sign = _BEFORE_SIGN.search(before) is not None
    return "-" if is_sign else match[0]


def _merge_constants(words: list[str]) -> list[str]:
    """The words with multiples of pi and of square roots as one word, such as `2/3*pi`; other slashes go."""
    merged: list[str] = []
    place = 0  # of the next word
    while place < len(words):
        word = words[place]
        place += 1
        has_next_number = place < len(words) and RATIONAL.fullmatch(words[place])
        if word == "sqrt" and has_next_number and not words[place].startswith("-"):
            word += words[place]
            place += 1
        if word == "pi" or (word.startswith("sqrt") and word != "sqrt"):
            factor = Fraction(1)
            if merged and len(merged[-1]) <= LONGEST_NUMBER and RATIONAL.fullmatch(merged[-1]):
                factor = read_rational(merged.pop())
            elif merged and merged[-1] == "-":
                merged.pop()
                factor = Fraction(-1)
            slash, divisor = (*words[place : place + 2], "", "")[:2]
            if slash == "/" and re.fullmatch(r"[1-9]\d{0,9}", divisor):
                factor /= int(divisor)
                place += 2
            word = f"{factor}*{word}"
        if word != "/":
            merged.append(word)
    return merged


def read_rational(word: str) -> Fraction:
    """The value of a word that RATIONAL matches, such as `3/4`; 0 if it divides by 0."""
    above, _, below = word.partition("/")
    return Fraction(int(above), int(below or 1)) if below != "0" else Fraction(0)


def normalise_word(match: re.Match[str]) -> str:
    """A word that WORD matched, as it is compared: a number by its value, anything else in lower case."""
    if len(match[0]) > LONGEST_NUMBER:
        return match[0].casefold()
    if (number := match["number"]) is None:
        word = match[0].casefold()
        return str(int(word)) if word.isdecimal() else word
    value = Fraction(number.replace(",", "") + (match["exponent"] or ""))
    below = int(match["below"] or 1)
    return str(value / below) if below else f"{value}/0"


def is_letter(word: str) -> bool:
    """Whether a word is one letter of a script that does not separate words."""
    return len(word) == 1 and re.match(f"[{_UNSPACED}]", word) is not None
