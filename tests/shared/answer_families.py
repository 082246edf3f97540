"""Families of references and answers whose truth is known from how they were drawn, for the exact judges.

Each family yields pairs from a random generator: the reference, the answer, whether it is right (None where nobody can
tell), and the question. Truths come from the calendar, from fractions and from the drawn digits, never from a judge.
"""

import random
from collections.abc import Callable, Iterator
from datetime import date, time, timedelta
from fractions import Fraction
from typing import NamedTuple


class Pair(NamedTuple):
    """A reference and an answer; `right` is None where nobody can tell."""

    reference: str
    answer: str
    right: bool | None
    question: str = "?"


def _dates(draw: random.Random) -> Iterator[Pair]:
    day = date(1900, 1, 1) + timedelta(days=draw.randrange(45_000))
    other = day + timedelta(days=draw.choice([-1, 1]) * draw.choice([1, 2, 7, 31, 365, 400]))
    reference = draw.choice(_clear_dates(day))
    yield Pair(reference, draw.choice(_clear_dates(day)), True)
    yield Pair(reference, draw.choice(_clear_dates(other)), False)
    # The difference or the quotient of the numbers is another day's too.
    yield Pair(reference, str(day.year - day.month - day.day), False)
    yield Pair(f"{day.month:02}/{day.day:02}/{day.year}", rf"\frac{{{day.month}}}{{{day.day * day.year}}}", False)
    if day.day != day.month and max(day.day, day.month) <= 12:
        yield Pair(f"{day.month}/{day.day}/{day.year}", draw.choice(_clear_dates(day)), None)
        swapped = day.replace(month=day.day, day=day.month)
        yield Pair(f"{day.month}/{day.day}/{day.year}", draw.choice(_clear_dates(swapped)), None)


def _clear_dates(day: date) -> list[str]:
    """Return a date in notations that have one meaning."""
    month = day.strftime("%B")
    forms = [
        day.isoformat(), f"{day.year}/{day.month}/{day.day}", f"{month} {day.day}, {day.year}",
        f"{day.day} {month} {day.year}", f"{month[:3]} {day.day}, {day.year}",
        rf"\text{{{_rank(day.day)} of {month} {day.year}}}",
    ]  # fmt: skip
    if day.day > 12:
        forms += [f"{day.month:02}/{day.day:02}/{day.year}", f"{day.day}.{day.month}.{day.year}"]
    return forms


def _times(draw: random.Random) -> Iterator[Pair]:
    minutes = draw.randrange(24 * 60)
    reference = draw.choice(_clear_times(minutes))
    yield Pair(reference, draw.choice(_clear_times(minutes)), True)
    yield Pair(reference, draw.choice(_clear_times((minutes + draw.choice([1, 30, 60, 720])) % (24 * 60))), False)


def _clear_times(minutes: int) -> list[str]:
    clock = time(minutes // 60, minutes % 60)
    hour = clock.hour % 12 or 12
    half = "AM" if clock.hour < 12 else "PM"
    forms = [f"{hour}:{clock.minute:02} {half}", f"{hour}:{clock.minute:02} \\text{{ {half[0].lower()}.m.}}"]
    return forms + ([f"{clock.hour}:{clock.minute:02}"] if clock.hour > 12 else [])


def _ranges(draw: random.Random) -> Iterator[Pair]:
    first = draw.randrange(1, 3000)
    second, shift = first + draw.randrange(1, 40), draw.choice([-3, -1, 1, 2, 10])
    unit = draw.choice(["", "", " km", " minutes", "\\%", " dollars"])
    reference = f"{first}-{second}{unit}"
    joints = ["-", " - ", "–", r"\text{ to }"]
    yield Pair(reference, f"{first}{draw.choice(joints)}{second}{unit}", True)
    yield Pair(reference, f"{first + shift}{draw.choice(joints)}{second + shift}{unit}", False)
    yield Pair(reference, f"{first}-{second + 1}{unit}", False)
    yield Pair(reference, str(first - second), None)
    yield Pair(str(first - second), f"{first}-{second}", None)
    year = draw.randrange(1950, 2040)
    season = draw.choice([f"{year}-{year + 1}", f"{year}/{(year + 1) % 100:02}"])
    yield Pair(season, f"{year}-{year + 1}", True)
    yield Pair(season, draw.choice([f"{year + 1}-{year + 2}", f"{year - 1}/{year % 100:02}", str(year + 5)]), False)


def _scores(draw: random.Random) -> Iterator[Pair]:
    first, second, more = draw.randrange(12), draw.randrange(12), draw.randrange(1, 5)
    yield Pair(f"{first}-{second}", f"{first} - {second}", True)
    yield Pair(f"{first}-{second}", f"{first + more}-{second + more}", False)
    yield Pair(f"{first}-{second}", str(first - second), None)
    scale = draw.randrange(2, 6)
    if first and second:
        yield Pair(f"{first}:{second}:7", f"{first * scale}:{second * scale}:{7 * scale}", True)
        yield Pair(f"{first}:{second}:7", f"{first + more}:{second}:7", False)


def _codes(draw: random.Random) -> Iterator[Pair]:
    area, office, line = draw.randrange(200, 999), draw.randrange(200, 999), draw.randrange(1000, 9999)
    forms = [f"{area}-{office}-{line}", f"({area}) {office}-{line}", f"{area} {office} {line}", f"{area}{office}{line}"]
    wrong = [
        f"{area}-{office}-{line + 1}",
        f"({area + 1}) {office}-{line}",
        f"{area - office - line}",
        f"{area + 1}-{office + 1}-{line}",
    ]
    yield Pair(forms[draw.randrange(3)], draw.choice(forms), True)
    yield Pair(forms[draw.randrange(3)], draw.choice(wrong), False)
    yield Pair(f"{office}-{line}", f"{office + 5}-{line + 5}", False)
    parts = [draw.randrange(1, 250) for _ in range(draw.choice([3, 4]))]
    place = draw.randrange(len(parts))
    changed = [part + (number == place) for number, part in enumerate(parts)]
    version, other = ".".join(map(str, parts)), ".".join(map(str, changed))
    yield Pair(version, version, True)
    yield Pair(version, other, False)


def _ranks(draw: random.Random) -> Iterator[Pair]:
    number = draw.randrange(1, 120)
    rank = _rank(number)
    yield Pair(rank, draw.choice([rank, rf"{number}^{{\text{{{rank[-2:]}}}}}", rf"\text{{the {rank}}}"]), True)
    yield Pair(rank, _rank(number + draw.choice([1, 2, 10])), False)
    yield Pair(rank, str(number), None)
    yield Pair(str(number), rank, None)
    yield Pair(str(number), _rank(number + 1), False)


def _rank(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _matrices(draw: random.Random) -> Iterator[Pair]:
    rows, columns = draw.choice([(2, 1), (3, 1), (2, 2), (1, 3), (3, 3)])
    factor = draw.choice([Fraction(-1), Fraction(2), Fraction(-3), Fraction(1, 2), Fraction(-2, 3), Fraction(5, 4)])
    cells = [[Fraction(draw.randrange(-9, 10)) for _ in range(columns)] for _ in range(rows)]
    cells[0][0] = Fraction(draw.choice([-7, 1, 2, 5]))
    product = [[factor * cell for cell in row] for row in cells]
    written, scaled = _matrix(product), draw.choice(["", " ", r"\cdot "]).join([_factor(factor), _matrix(cells)])
    yield Pair(written, scaled, True)
    yield Pair(scaled, written, True)
    yield Pair(scaled, _matrix(cells), False)
    yield Pair(written, _factor(-factor) + _matrix(cells), False)
    place, line = draw.randrange(columns), draw.randrange(rows)
    changed = [[cell + (i == line and j == place) for j, cell in enumerate(row)] for i, row in enumerate(cells)]
    yield Pair(written, _factor(factor) + _matrix(changed), False)
    yield Pair(_matrix(changed), f"{_matrix(cells)} + {_matrix(_difference(changed, cells))}", True)
    if columns == 1:
        point = ", ".join(_number(row[0]) for row in cells)
        yield Pair(f"({', '.join(_number(row[0]) for row in product)})", f"{_factor(factor)}({point})", True)
        yield Pair(f"({', '.join(_number(row[0]) for row in product)})", f"{_factor(-factor)}({point})", False)


def _difference(one: list[list[Fraction]], other: list[list[Fraction]]) -> list[list[Fraction]]:
    return [[left - right for left, right in zip(*rows, strict=True)] for rows in zip(one, other, strict=True)]


def _number(value: Fraction) -> str:
    sign = "-" if value < 0 else ""
    return str(value) if value.denominator == 1 else rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def _factor(value: Fraction) -> str:
    return "-" if value == -1 else "" if value == 1 else _number(value)


def _matrix(cells: list[list[Fraction]]) -> str:
    inside = r" \\ ".join(" & ".join(map(_number, row)) for row in cells)
    return rf"\begin{{pmatrix}} {inside} \end{{pmatrix}}"


def _constants(draw: random.Random) -> Iterator[Pair]:
    a, n = draw.randrange(2, 9), draw.randrange(2, 5)
    one, other = draw.sample(["C", "K", "D", "A", "c", "k"], 2)
    if one.casefold() == other.casefold():
        return
    yield Pair(f"{a}x^{n} + {one}", f"{other} + {a}x^{n}", None)
    yield Pair(f"{a}x^{n} + {one}", f"{a + 1}x^{n} + {other}", False)
    yield Pair(f"{a}x^{n} + {one}", f"{one} + {a}x^{n}", True)
    yield Pair(f"y = {one}e^{{{a}x}}", f"y = {other}e^{{{a}x}}", None)
    yield Pair(f"y = {one}e^{{{a}x}}", f"y = {other}e^{{{a + 1}x}}", False)
    yield Pair(rf"{one}_1\cos {a}x + {one}_2\sin {a}x", rf"{other}_1\cos {a}x + {other}_2\sin {a}x", None)
    yield Pair(rf"{one}_1\cos {a}x + {one}_2\sin {a}x", rf"{other}_1\cos {n}x + {other}_2\sin {a + 9}x", False)


def _bases(draw: random.Random) -> Iterator[Pair]:
    base, value = draw.choice([2, 3, 5, 7, 8, 9, 16]), draw.randrange(40, 5000)
    digits, other = _in_base(value, base), _in_base(value + draw.choice([1, 2, base]), base)
    reference = f"{digits}_{{{base}}}"
    yield Pair(
        reference,
        draw.choice([f"{digits}_{base}" if base < 10 else reference, rf"{digits} \text{{ (base }}{base})"]),
        True,
    )
    yield Pair(reference, f"{other}_{{{base}}}", False)
    yield Pair(reference, digits, None)
    yield Pair(reference, digits, True, f"Write it in base {base}.")
    yield Pair(reference, str(value), None)
    yield Pair(reference, other, False, f"Write it in base {base}.")
    yield Pair(str(value), f"{other}_{{{base}}}", False)


def _in_base(value: int, base: int) -> str:
    digits = ""
    while value:
        value, digit = divmod(value, base)
        digits = "0123456789ABCDEF"[digit] + digits
    return digits


def _recurring(draw: random.Random) -> Iterator[Pair]:
    below = draw.choice([3, 6, 7, 9, 11, 12, 13, 22, 27, 37])
    above = draw.randrange(1, 4 * below)
    value = Fraction(above, below)
    whole, fixed, period = _decimal(value)
    if period == "0":
        return
    reference = rf"\frac{{{above}}}{{{below}}}"
    forms = [rf"{whole}.{fixed}\overline{{{period}}}", f"{whole}.{fixed}({period})", f"{whole}.{fixed}{period * 3}...",
             rf"{whole}.{fixed}{period * 2}\ldots"]  # fmt: skip
    yield Pair(reference, draw.choice(forms), True)
    yield Pair(draw.choice(forms), reference, True)
    yield Pair(rf"\frac{{{above + 1}}}{{{below}}}", draw.choice(forms), False)
    yield Pair(rf"\frac{{{above}}}{{{below + 1}}}", draw.choice(forms), False)


def _decimal(value: Fraction) -> tuple[str, str, str]:
    """Return the whole part of a fraction, its digits before the period, and the period, by long division."""
    whole, rest = divmod(value.numerator, value.denominator)
    digits, seen = "", dict[int, int]()
    while rest not in seen:
        seen[rest] = len(digits)
        digit, rest = divmod(10 * rest, value.denominator)
        digits += str(digit)
    return str(whole), digits[: seen[rest]], digits[seen[rest] :]


def _notations(draw: random.Random) -> Iterator[Pair]:
    number = draw.randrange(1000, 10**7)
    cents = draw.randrange(1, 100)
    yield Pair(str(number), f"{number:,}".replace(",", "."), None)
    yield Pair(str(number), f"{number + 1:,}".replace(",", "."), False)
    yield Pair(f"{number % 999}.{cents:02}", f"{number % 999},{cents:02}", None)
    yield Pair(f"{number % 999}.{cents:02}", f"{number % 999 + 1},{cents:02}", False)
    yield Pair(f"{number}.{cents:02}", f"{number:,}".replace(",", ".") + f",{cents:02}", None)


def _options(draw: random.Random) -> Iterator[Pair]:
    texts = draw.choice([_drawn_numbers, _drawn_masses, _drawn_words])(draw)
    question = "Which is it?\n" + "\n".join(f"{letter}) {text}" for letter, text in zip("ABCD", texts, strict=False))
    right, wrong = draw.sample(range(4), 2)
    letter, other = "ABCD"[right], "ABCD"[wrong]
    reference = f"({letter})"
    yield Pair(reference, rf"\text{{{letter}. {texts[right]}}}", True, question)
    yield Pair(reference, texts[right], True, question)
    yield Pair(reference, texts[wrong], False, question)
    yield Pair(reference, rf"\text{{({other}) {texts[wrong]}}}", False, question)
    yield Pair(reference, rf"\text{{{letter}. {texts[wrong]}}}", None, question)
    yield Pair(reference, rf"\text{{{other}: {texts[right]}}}", None, question)
    yield Pair(reference, texts[4], False, question)
    yield Pair(reference, "E", False, question)


def _drawn_numbers(draw: random.Random) -> list[str]:
    return [str(number) for number in draw.sample(range(3, 999), 5)]


def _drawn_masses(draw: random.Random) -> list[str]:
    return [f"{number} kg" for number in draw.sample(range(3, 999), 5)]


def _drawn_words(draw: random.Random) -> list[str]:
    return draw.sample(["Neon", "Argon", "Hydrogen", "Gold", "Copper", "Krypton", "a noble gas", "Iron oxide"], 5)


FAMILIES: dict[str, Callable[[random.Random], Iterator[Pair]]] = {
    "dates": _dates,
    "times of day": _times,
    "ranges": _ranges,
    "scores and ratios": _scores,
    "telephone numbers, versions": _codes,
    "ranks": _ranks,
    "matrices times numbers": _matrices,
    "arbitrary constants": _constants,
    "bases": _bases,
    "recurring decimals": _recurring,
    "digits of other countries": _notations,
    "options": _options,
}


def drawn_pairs(family: str, rounds: int, seed: int = 0) -> list[Pair]:
    """Return the pairs of a number of draws from a family."""
    draw = random.Random(f"{family} {seed}")
    pairs: list[Pair] = []
    for _ in range(rounds):
        pairs += FAMILIES[family](draw)
    return pairs
