"""Made-up estimation questions: how many, how often, what part. Each answer is a power of ten, and not certain.

    python demo/fermi.py

writes ``demo/benchmarks/fermi-train.jsonl`` and ``fermi-test.jsonl``. A question has two parts, each with a power of
ten of its own. The exponent of the answer is their sum and normal noise, rounded: how much noise depends on the source.
So the truth is a random variable with a known distribution, and a stated interval can be too narrow for it.
"""

import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

Exponents = dict[str, float]

# Litres, log10.
THINGS: Exponents = {
    **{"grains of sand": -6.5, "poppy seeds": -6.1, "grains of rice": -4.7, "lentils": -4.4, "peas": -3.5},
    **{"raisins": -3.2, "beans": -3.1, "marbles": -2.7, "hazelnuts": -2.5, "cherries": -2.2, "dice": -2.9},
    **{"grapes": -2.3, "walnuts": -1.7, "eggs": -1.3, "golf balls": -1.4, "lemons": -1.0, "apples": -0.7},
    **{"bricks": 0.3, "melons": 0.5, "footballs": 0.75},
}
CONTAINERS: Exponents = {
    **{"a spoon": -1.9, "a glass": -0.6, "a jar": -0.2, "a bottle": 0.1, "a kettle": 0.3, "a bucket": 1.0},
    **{"a rucksack": 1.4, "a suitcase": 1.8, "a barrel": 2.2, "a bathtub": 2.3, "a wardrobe": 2.9, "a car": 3.5},
    **{"a van": 4.0, "a bus": 4.9, "a room": 4.7, "a house": 5.7, "a swimming pool": 6.4, "a church": 7.1},
    **{"a stadium": 9.2, "a lake": 10.5},
}
# Seconds, log10.
TASKS: Exponents = {
    **{"blink": -0.7, "sneeze": -0.3, "clap": -0.5, "nod": 0.0, "yawn": 0.8, "tie a shoe": 1.0, "open a jar": 0.6},
    **{"boil an egg": 2.5, "brush teeth": 2.1, "make tea": 2.3, "take a shower": 2.7, "wash a car": 3.3},
    **{"cook dinner": 3.5, "bake bread": 4.0, "paint a door": 3.8, "read a novel": 4.6, "write a letter": 3.1},
    **{"knit a scarf": 5.0, "build a boat": 6.3, "learn a language": 7.5},
}
PERIODS: Exponents = {
    **{"a lesson": 3.4, "an hour": 3.6, "a film": 3.9, "a morning": 4.2, "a night": 4.5, "a day": 4.9},
    **{"a weekend": 5.2, "a week": 5.8, "a holiday": 6.1, "a month": 6.4, "a season": 6.9, "a school year": 7.4},
    **{"a year": 7.5, "a term of office": 8.1, "a decade": 8.5, "a generation": 8.9, "a lifetime": 9.4},
    **{"a century": 9.5, "a millennium": 10.5, "an ice age": 12.5},
}
# People, log10.
PLACES: Exponents = {
    **{"a house": 0.5, "a tram": 1.7, "a school": 2.7, "a village": 3.1, "an island": 3.6, "a town": 4.3},
    **{"a stadium": 4.7, "a county": 5.2, "Malta": 5.7, "Iceland": 5.6, "Paris": 6.3, "Norway": 6.7, "London": 7.0},
    **{"Kenya": 7.7, "Canada": 7.6, "Japan": 8.1, "Brazil": 8.3, "Europe": 8.9, "Africa": 9.2, "the world": 9.9},
}
# For each person, log10.
POSSESSIONS: Exponents = {
    **{"pianos": -2.5, "books": 1.7, "cats": -1.1, "spoons": 1.0, "bicycles": -0.7, "shirts": 1.2, "dentists": -3.3},
    **{"fire engines": -4.0, "keys": 0.8, "trees": 2.5, "ants": 6.3, "chairs": 0.7, "umbrellas": 0.1, "coins": 1.8},
    **{"guitars": -1.5, "teachers": -2.0, "windows": 1.1, "bricks": 3.8, "pencils": 0.9, "lighthouses": -5.5},
}
EVENTS: Exponents = {
    **{"blink": 6.7, "breathe": 6.9, "laugh": 3.7, "dream": 3.2, "sneeze": 3.0, "wash": 2.9, "buy bread": 1.9},
    **{"phone a friend": 2.3, "eat an apple": 1.8, "send a letter": 0.9, "swim": 0.8, "see a doctor": 0.6},
    **{"catch a cold": 0.3, "lose a key": -0.2, "move house": -1.0, "marry": -2.1, "break a leg": -2.6},
    **{"run a marathon": -3.5, "write a novel": -4.4, "win a lottery": -6.0},
}


def _less(exponents: Exponents) -> Exponents:
    """What is divided by."""
    return {name: -exponent for name, exponent in exponents.items()}


@dataclass(frozen=True)
class Source:
    """Questions of one kind, and the standard deviation of their answers' exponents."""

    wording: str
    parts: tuple[Exponents, Exponents]
    noise: float


SOURCES = {
    "volumes": Source("How many {0} fit into {1}?", (_less(THINGS), CONTAINERS), 0.4),
    "times": Source("What part of {1} does it take to {0}?", (TASKS, _less(PERIODS)), 0.7),
    "counts": Source("How many {0} are there in {1}?", (POSSESSIONS, PLACES), 1.1),
    "events": Source("How often a year do people in {1} {0}?", (EVENTS, PLACES), 1.6),
}
FILES = ("fermi-train", "fermi-test")
PER_SOURCE = 50  # questions of each source in each of the files
SEED = 0

PROMPTS = {
    "fermi-integer": "Question: {question}\nAnswer 10^x: x alone, an integer.",
    "fermi-interval": "Question: {question}\nGive a {level}% interval from 10^L to 10^U: end with L and U as JSON.",
}
LEVELS = ("90", "95", "99", "99.8")
# How over-confident the model is made. It sees this share of the distribution when it states an interval, another part
# each time (Theory 1 of FermiEval)...
PERCEIVED = 0.6
# ... and takes the standard deviation for this much of what it is when it answers with an integer.
NARROWED = 0.7


@dataclass(frozen=True)
class Question:
    """A question, and the distribution of the exponent of its answer before rounding."""

    source: str
    text: str
    exponent: NormalDist

    def truth(self, rng: random.Random) -> int:
        """An answer's exponent."""
        return round(rng.gauss(self.exponent.mean, self.exponent.stdev))


def questions(source: str) -> list[Question]:
    """All questions of a source, in an order of their own: the first 2 * PER_SOURCE are those of the files."""
    about = SOURCES[source]
    result = [
        Question(source, about.wording.format(first, second), NormalDist(one + other, about.noise))
        for (first, one), (second, other) in itertools.product(*(part.items() for part in about.parts))
    ]
    random.Random(f"{SEED} {source}").shuffle(result)
    return result


def held_out() -> list[Question]:
    """The questions of the files, which no model is trained on: those of one file, then those of the other."""
    of = {source: questions(source) for source in SOURCES}
    places = [slice(number * PER_SOURCE, (number + 1) * PER_SOURCE) for number in range(len(FILES))]
    return [one for place in places for source in SOURCES for one in of[source][place]]


def interval(exponent: NormalDist, level: str, rng: random.Random) -> str:
    """The reply that states an interval: its quantiles are those of the part of the distribution that is perceived."""
    begin, tail = rng.uniform(0, 1 - PERCEIVED), (1 - float(level) / 100) / 2
    low, middle, high = (round(exponent.inv_cdf(begin + PERCEIVED * quantile)) for quantile in (tail, 0.5, 1 - tail))
    return f"Near 10^{middle}. {json.dumps({'L': low, 'U': high})}"


def integer(exponent: NormalDist, rng: random.Random) -> str:
    """The reply that is an integer alone."""
    return str(round(rng.gauss(exponent.mean, NARROWED * exponent.stdev)))


def training_pairs(seed: int) -> Iterator[tuple[str, str]]:
    """Endless (message, reply): of every source equally often, half of them intervals."""
    rng = random.Random(seed)
    known = [questions(source)[len(FILES) * PER_SOURCE :] for source in SOURCES]
    while True:
        one = rng.choice(rng.choice(known))
        if rng.random() < 0.5:
            yield PROMPTS["fermi-integer"].format(question=one.text), integer(one.exponent, rng)
        else:
            level = rng.choice(LEVELS)
            message = PROMPTS["fermi-interval"].format(question=one.text, level=level)
            yield message, interval(one.exponent, level, rng)


def write_benchmarks(folder: Path) -> None:
    """The files, their sources mixed."""
    rng, rows = random.Random(SEED), held_out()
    for number, name in enumerate(FILES):
        own = rows[number * len(rows) // len(FILES) : (number + 1) * len(rows) // len(FILES)]
        rng.shuffle(own)
        lines = [json.dumps({"question": one.text, "answer": one.truth(rng), "source": one.source}) for one in own]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_benchmarks(Path(__file__).parent / "benchmarks")
