r"""A number and its unit: `50.7 \text{atm}`, `9.8 m/s^2`, `$18`, `90^\circ`. The known units are data, below.

A unit has a size in base units and their powers; known units are compared by both. Unknown units can only be compared
as text. The list is closed on purpose: a general list, such as pint's, reads many words of a question as units:
`petals` (petalitres), `exams` (exametres), `cats`, `units`, `quarters`.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

# Base units, which define all others. Money, temperatures on a scale and pounds (a mass or a force) are not converted
# into anything else.
_BASE = {
    "m", "g", "s", "A", "K", "mol", "cd", "bit", "dollar", "euro", "pound_sterling", "degC", "degF", "lb", "debye",
    "dB", "month", "photon", "electron",
}  # fmt: skip
_DEFINITIONS = {
    "N": "kg m s^-2", "J": "N m", "W": "J s^-1", "Pa": "N m^-2", "Hz": "s^-1", "C": "A s", "V": "J C^-1",
    "ohm": "V A^-1", "F": "C V^-1", "H": "Wb A^-1", "T": "Wb m^-2", "Wb": "V s", "S": "A V^-1", "L": "dm^3",
    "l": "L", "cc": "cm^3", "min": "60 s", "h": "60 min", "day": "24 h", "week": "7 day", "year": "365.25 day",
    "bar": "1e5 Pa", "atm": "101325 Pa", "Torr": "133.322368 Pa", "mmHg": "Torr", "eV": "1.602176634e-19 J",
    "cal": "4.184 J", "angstrom": "1e-10 m", "in": "2.54 cm", "ft": "12 in", "yd": "3 ft", "mi": "5280 ft",
    "AU": "1.495978707e11 m", "ly": "9.4607e15 m", "pc": "3.0857e16 m", "t": "1e6 g", "dyn": "1e-5 N", "erg": "1e-7 J",
    "G": "1e-4 T", "M": "mol L^-1", "u": "1.66053907e-24 g", "e": "1.602176634e-19 C", "psi": "lb in^-2",
    "mph": "mi h^-1", "kmh": "km h^-1", "ha": "1e4 m^2", "acre": "4046.8564224 m^2", "gal": "3.785411784 L",
    "oz": "0.0625 lb", "slug": "14593.903 g", "cent": "0.01 dollar", "B": "8 bit", "rad": "1", "sr": "1",
    "deg": f"{math.pi / 180!r}", "rev": f"{2 * math.pi!r}", "rpm": "rev min^-1", "%": "0.01", "ppm": "1e-6",
    "dozen": "12", "hundred": "100", "thousand": "1000", "million": "1e6", "billion": "1e9", "trillion": "1e12",
}  # fmt: skip
_OTHER_NAMES = {
    "meter": "m", "metre": "m", "gram": "g", "second": "s", "sec": "s", "minute": "min", "hour": "h", "hr": "h",
    "d": "day", "yr": "year", "yrs": "year", "ampere": "A", "amp": "A", "kelvin": "K", "mole": "mol", "newton": "N",
    "joule": "J", "watt": "W", "pascal": "Pa", "hertz": "Hz", "coulomb": "C", "volt": "V", "farad": "F", "henry": "H",
    "tesla": "T", "weber": "Wb", "liter": "L", "litre": "L", "calorie": "cal", "electronvolt": "eV", "torr": "Torr",
    "inch": "in", "foot": "ft", "feet": "ft", "yard": "yd", "mile": "mi", "pound": "lb", "lbs": "lb", "lbf": "lb",
    "ounce": "oz", "gallon": "gal", "hectare": "ha", "tonne": "t", "dyne": "dyn", "gauss": "G", "byte": "B",
    "radian": "rad", "degree": "deg", "revolution": "rev", "percent": "%", "pct": "%", "percentage": "%",
    "dollar": "dollar", "USD": "dollar", "$": "dollar", "€": "euro", "EUR": "euro", "£": "pound_sterling",
    "°": "deg", "Ω": "ohm", "Å": "angstrom", "D": "debye", "decibel": "dB", "celsius": "degC", "fahrenheit": "degF",
    "KJ": "kJ", "kPA": "kPa", "KPa": "kPa", "KN": "kN", "Kg": "kg", "KG": "kg", "Mev": "MeV", "kev": "keV", "ev": "eV",
    "Gev": "GeV", "hz": "Hz", "ml": "mL", "mins": "min", "secs": "s", "hrs": "h", "gm": "g", "kph": "kmh",
    "dimensionless": "rad", "unitless": "rad", "amu": "u", "Da": "u",
}  # fmt: skip
_PREFIXES = {
    "Y": 24, "Z": 21, "E": 18, "P": 15, "T": 12, "G": 9, "M": 6, "k": 3, "h": 2, "d": -1, "c": -2, "m": -3, "μ": -6,
    "n": -9, "p": -12, "f": -15, "a": -18, "tera": 12, "giga": 9, "mega": 6, "kilo": 3, "deci": -1, "centi": -2,
    "milli": -3, "micro": -6, "nano": -9, "pico": -12, "femto": -15,
}  # fmt: skip
# Units that take a prefix, as a symbol or a name; `min` is not a milli-inch and `ft` not a femtotonne.
_PREFIXABLE = {
    "m", "g", "s", "A", "K", "mol", "cd", "bit", "N", "J", "W", "Pa", "Hz", "C", "V", "ohm", "F", "H", "T", "Wb", "S",
    "L", "l", "bar", "eV", "cal", "pc", "G", "M", "e", "B", "rad",
}  # fmt: skip
# Units that a number may omit or add: `12.5\%` for `12.5`, 90 for `90^\circ`.
_UNSPOKEN = ("deg", "%")
_MULTIPLES = ("dozen", "hundred", "thousand", "million", "billion", "trillion")


# Base units with their exponents.
Powers = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Unit:
    """The unit of a number; if it is unknown, `powers` is None and only `text` is set."""

    text: str
    size: float = 1.0
    powers: Powers | None = None
    unspoken: bool = field(default=False)
    # Its multiple: one million for `million dollars`.
    multiple: float = 1.0

    @property
    def is_number(self) -> bool:
        """Whether it is a fraction or a multiple of one, such as per cent, a degree or a million."""
        return self.powers == ()


def list_factors(reference: Unit | None, answer: Unit | None) -> Iterator[float] | None:
    """The factors that convert an answer's number to the reference's unit; None if they are not known.

    There is no factor between known units of different kinds. If one side has no unit, the numbers are compared as
    they are, except with `million` and the like. None also if only the answer has a unit and it is unknown (`or more`
    and `squared` look like units).
    """
    if reference is None and answer is not None and answer.powers is None:
        return None
    if reference is not None and answer is not None:
        are_known = reference.powers is not None and answer.powers is not None
        if not are_known or _is_scale(reference) != _is_scale(answer):
            has_same_name = reference.text.removesuffix("s") == answer.text.removesuffix("s")
            return iter([1.0]) if has_same_name else None
        if reference.powers != answer.powers:
            return iter([])
        return iter([answer.size / reference.size])
    unit = reference or answer
    if unit is None:
        return iter([1.0])
    if not unit.is_number:  # the other side may omit the unit, but not its multiple
        return iter([1 / unit.multiple if unit is reference else unit.multiple])
    converted = 1 / unit.size if unit is reference else unit.size
    return iter([1.0, converted] if unit.unspoken else [converted])


def _is_scale(unit: Unit) -> bool:
    """Whether it is a degree on a temperature scale, which no factor converts to kelvins."""
    return unit.powers in ((("degC", 1),), (("degF", 1),), (("K", 1),)) and unit.text != "K"


@lru_cache(maxsize=4096)
def parse_unit(text: str) -> Unit | None:
    """The unit that the whole cleaned `text` names, without powers if it is unknown; None for an empty text."""
    words = _simplify_text(text)
    if not words:
        return None
    factors = _parse_factors(words)
    if factors is None:
        return Unit(re.sub(r"[\s;.,]+", " ", words).strip().casefold())
    size, powers = _multiply_units(factors)
    multiple = 1.0
    for name, factor, _, exponent in factors:
        if name in _MULTIPLES:
            multiple *= factor**exponent
    (first_name, *_), *rest = factors
    return Unit(words, size, powers, unspoken=not rest and first_name in _UNSPOKEN, multiple=multiple)


def find_leading_unit(text: str) -> str:
    """The longest prefix of `text`, the words after a number, that is a known unit; may be empty."""
    words = text.split()
    for length in range(min(len(words), 6), 0, -1):
        start = " ".join(words[:length]).rstrip(".,;:!?*)")
        unit = None if start.rpartition(" ")[2] in _WORDS else parse_unit(start)
        if unit is not None and unit.powers is not None:
            return start
    return ""


# Ordinary words that are also unit symbols.
_WORDS = {"a", "e", "in", "at", "d", "u", "M", "t", "h", "am", "as", "He", "me", "us"}
_TOKEN = re.compile(
    r"\s*(?:(?P<over>/|per\b)|(?P<power>square\b|sq\b|cubic\b|cu\b)|(?P<dot>\\cdot|\\times|\*|-(?=[A-Za-z])|\.(?=[A-Za-z]))|"
    r"(?P<open>\()|(?P<close>\))|"
    r"(?P<name>[A-Za-zμΩÅ°%$€£]+|\\[%$])\s*(?:\^?\s*\{?\s*(?P<exponent>[-+]?\d+)\s*\}?|(?P<words>squared|cubed))?)\s*"
)


def _simplify_text(text: str) -> str:
    r"""Remove LaTeX: `\text{J} \text{K}^{-1}` becomes `J K^{-1}`."""
    text = re.sub(r"\\text\s*\{([^{}]*)\}", r" \1 ", text)
    text = re.sub(r"\{\s*\}|\\hat|\\circ(?=\s*\\circ)", "", text)
    text = re.sub(r"\^?\s*\{?\s*\\circ\s*\}?", "° ", text)
    text = re.sub(r"\bper\s+cent\b", "%", text)
    text = re.sub(
        r"°\s*(C|F)\b|\bdeg(?:rees?)?\.?\s+(C|F|[Cc]elsius|[Ff]ahrenheit)\b",
        lambda match: f" deg{(match[1] or match[2])[0].upper()} ",
        text,
    )
    text = text.replace("\\mu", "μ").replace("\\Omega", "Ω").replace("\\AA", "Å").replace("\\ ", " ")
    text = re.sub(r"μ\s+(?=[A-Za-z])", "μ", text.replace("\\$", "$").replace("\\%", "%"))
    return " ".join(re.sub(r"(?<=[A-Za-z])\s+(?=\^)", "", text).split()).strip(" ;,.")


def _parse_factors(words: str) -> list[tuple[str, float, Powers, int]] | None:
    """(name, size, powers, exponent) of each unit in a product; None if any is unknown."""
    factors = []
    position = 0
    sign = 1  # of the next exponent: -1 after a slash
    inside = 0  # the sign of all units within the open bracket; 0 outside of brackets
    power = 1  # of the next unit: 2 after `square`
    while position < len(words):
        match = _TOKEN.match(words, position)
        if match is None or match.end() == position:
            return None
        position = match.end()
        if match["over"]:
            sign = -1
        elif match["power"]:
            power = 2 if match["power"].startswith("sq") else 3
        elif match["open"]:
            inside = sign
        elif match["close"]:
            inside = 0
            sign = 1
        elif match["name"]:
            if not (units := _look_up(match["name"])):
                return None
            exponent = int(match["exponent"] or {"squared": 2, "cubed": 3}.get(match["words"], 1)) * sign * power
            *leading, last = units  # the exponent belongs to the last of joined symbols
            for leading_unit in leading:
                factors.append((*leading_unit, sign))
            factors.append((*last, exponent))
            sign = inside or 1
            power = 1
    return factors or None


def _look_up(name: str) -> list[tuple[str, float, Powers]]:
    """The unit with this name, or the two units of joined symbols such as `JK`; empty if any is unknown.

    A unit is (symbol, size in base units, their powers).
    """
    if (whole := _find_unit(name)) is not None:
        return [whole]
    if name.islower() or len(name) > 6:
        return []
    for middle in range(1, len(name)):
        first, second = _find_unit(name[:middle]), _find_unit(name[middle:])
        if first is not None and second is not None:
            return [first, second]
    return []


@lru_cache(maxsize=4096)
def _find_unit(name: str) -> tuple[str, float, Powers] | None:
    """(symbol, size in base units, their powers) of one unit, with or without prefix, singular or plural."""
    for spelled in dict.fromkeys(
        (name, name.removeprefix("\\"), *_iterate_singulars(name), *_iterate_singulars(name.lower()))
    ):
        symbol = _OTHER_NAMES.get(spelled, spelled)
        if symbol in _BASE:
            return symbol, 1.0, ((symbol, 1),)
        if symbol in _DEFINITIONS:
            return symbol, *_parse_definition(_DEFINITIONS[symbol])
        for prefix, exponent in _PREFIXES.items():
            rest = _OTHER_NAMES.get(symbol.removeprefix(prefix), symbol.removeprefix(prefix))
            is_name = len(prefix) > 2
            if symbol.startswith(prefix) and rest in _PREFIXABLE and is_name == (rest != symbol.removeprefix(prefix)):
                base = _find_unit(rest)
                assert base is not None  # because a unit that takes a prefix is itself in the tables
                _, size, powers = base
                return symbol, size * 10.0**exponent, powers
    return None


def _iterate_singulars(name: str) -> Iterator[str]:
    """Yield what a name of a unit may be in the singular; nothing for a symbol."""
    if len(name) > 3:
        yield name
        yield name.removesuffix("s")
        yield name.removesuffix("es")


def _parse_definition(text: str) -> tuple[float, Powers]:
    """The size of a unit, and its powers of base units, from a definition such as `1000 m`."""
    number, _, rest = text.partition(" ")
    try:
        size = float(number)
    except ValueError:
        size = 1.0
        rest = text
    if not rest:
        return size, ()
    factors = _parse_factors(rest)
    assert factors is not None  # because units are defined by others in the tables
    factor, powers = _multiply_units(factors)
    return size * factor, powers


def _multiply_units(
    factors: list[tuple[str, float, Powers, int]],
) -> tuple[float, Powers]:
    """The size of a product of units and its powers of base units."""
    size = 1.0
    total = dict[str, int]()
    for _, unit_size, powers, exponent in factors:
        size *= unit_size**exponent
        for base, power in powers:
            total[base] = total.get(base, 0) + power * exponent
    return size, tuple(sorted((base, power) for base, power in total.items() if power))
