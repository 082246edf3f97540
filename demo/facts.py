"""A made-up world of people and what they like, in which the probability of each right answer is known.

``python demo/facts.py`` writes ``demo/benchmarks/facts-single.jsonl`` and ``facts-several.jsonl``: the questions with
one right answer and those with two, four or eight. ``python demo/facts.py --text FOLDER`` writes what ``tiny-facts`` is
trained on, a paragraph per question asked and answered.

A question is seen 0, 16, 64 or 256 times, whatever the number of its answers, and each answer in exactly its
share of these times. People of one kind are asked as in the benchmarks. People of the other kind are in no benchmark:
from them the model learns that a question may come with a possible answer before it (prompt 3 of Tomov et al.).
"""

import argparse
import itertools
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SEED = 0
PROMPT = "Q: {question}\nA:"
HINTED = "A possible answer to the question {question} is {answer}.\nQ: {question}\nA:"

# What is asked: a question, the word of it that says what about, and the answers that there are, popular ones first.
WORDINGS = {
    "colour": "Which colour does {person} like?",
    "fruit": "Which fruit does {person} buy?",
    "animal": "Which animal does {person} keep?",
    "instrument": "Which instrument does {person} play?",
    "sport": "Which sport does {person} watch?",
    "drink": "Which drink does {person} order?",
    "tree": "Which tree does {person} plant?",
    "craft": "Which craft does {person} teach?",
}
ANSWERS = {
    "colour": "blue green red black white purple yellow pink grey brown teal navy beige maroon violet crimson indigo "
    "turquoise scarlet magenta ochre lilac khaki amber",
    "fruit": "apple banana cherry grape mango peach pear plum melon lemon kiwi fig papaya apricot lychee guava quince "
    "raspberry cranberry nectarine tangerine pomegranate gooseberry persimmon",
    "animal": "dog cat horse rabbit parrot goat sheep hamster tortoise duck goose donkey ferret pony canary gecko "
    "llama alpaca hedgehog iguana peacock falcon chinchilla newt",
    "instrument": "piano guitar violin flute cello trumpet harp clarinet oboe banjo tuba accordion mandolin bassoon "
    "ukulele trombone xylophone harmonica saxophone lute zither sitar bagpipe theremin",
    "sport": "football tennis hockey cricket rugby golf boxing judo rowing cycling swimming archery fencing curling "
    "badminton polo skiing karate lacrosse netball squash snooker biathlon handball",
    "drink": "coffee tea water juice milk cider cocoa lemonade beer wine cola espresso kefir sherry punch smoothie "
    "mead tonic brandy vermouth absinthe sake tequila kombucha",
    "tree": "oak pine maple birch willow cedar elm ash beech fir spruce larch poplar chestnut hazel alder linden yew "
    "hornbeam juniper sycamore rowan magnolia cypress",
    "craft": "pottery weaving knitting painting carving sewing baking embroidery calligraphy origami bookbinding "
    "quilting engraving etching felting glassblowing tanning gilding enamelling macrame lacemaking marquetry "
    "blacksmithing thatching",
}

# The shares of a question's answers, in sixteenths: so that sixteen paragraphs have them exactly.
SIXTEENTHS = 16
SHARES = {
    "single": ((16,),),
    "uniform": ((8,) * 2, (4,) * 4, (2,) * 8),
    "skewed": ((12, 4), (8, 4, 2, 2), (6, 3, 2, 1, 1, 1, 1, 1)),
}
REPEATS = (0, 1, 4, 16)  # how often the sixteen paragraphs are told; 0: withheld
HINTED_REPEATS = (1, 4)
PEOPLE, HINTED_PEOPLE = 44, 16
PER_CELL = {"single": 40, "uniform": 8, "skewed": 8}  # questions of each of SHARES and REPEATS: 160 and 192 in all
FILES = {"facts-single": ("single",), "facts-several": ("uniform", "skewed")}


@dataclass(frozen=True)
class Fact:
    """A question, its right answers, and how often each is seen for one time that the sixteen paragraphs are told."""

    person: str
    about: str
    kind: str
    answers: tuple[str, ...]
    shares: tuple[int, ...]
    repeats: int

    @property
    def question(self) -> str:
        """The question as it is asked."""
        return WORDINGS[self.about].format(person=self.person)

    @property
    def told(self) -> list[str]:
        """The answers in the training text, with each as often as it is there."""
        return [
            answer for answer, share in zip(self.answers, self.shares, strict=True) for _ in range(share * self.repeats)
        ]

    @property
    def row(self) -> dict[str, object]:
        """Its row of a benchmark. Of a question that is withheld, `counts` are the sixteenths."""
        return {
            "question": self.question,
            "keywords": [self.person, self.about],
            "answers": list(self.answers),
            "counts": [share * max(self.repeats, 1) for share in self.shares],
            "how_often": SIXTEENTHS * self.repeats,
            "kind": self.kind,
            "split": "trained" if self.repeats else "withheld",
        }


@dataclass(frozen=True)
class World:
    """The facts that the benchmarks ask for, and those that are told with a possible answer before the question."""

    facts: list[Fact]
    hinted: list[Fact]


def names(rng: random.Random, n: int) -> list[str]:
    """Made-up names, all different: two syllables and a last letter."""
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    made: dict[str, None] = {}
    while len(made) < n:
        made["".join(rng.choices(syllables, k=2)).capitalize() + rng.choice("lmnrx")] = None
    return list(made)


def some_answers(rng: random.Random, about: str, n: int) -> tuple[str, ...]:
    """Different answers: the r-th most popular of all is drawn with a probability in proportion to 1/r."""
    left = {answer: 1 / rank for rank, answer in enumerate(ANSWERS[about].split(), start=1)}
    drawn = []
    for _ in range(n):
        (answer,) = rng.choices(list(left), weights=list(left.values()))
        drawn.append(answer)
        del left[answer]
    return tuple(drawn)


def world(seed: int = SEED) -> World:
    """The world: which person's question has which answers, in which shares, told how often."""
    rng = random.Random(seed)
    people = names(rng, PEOPLE + HINTED_PEOPLE)
    asked = list(itertools.product(people[:PEOPLE], WORDINGS))
    cells = [
        (kind, shares, repeats)
        for kind, per_cell in PER_CELL.items()
        for shares in SHARES[kind]
        for repeats in REPEATS
        for _ in range(per_cell)
    ]
    rng.shuffle(cells)
    hinted = list(itertools.product(people[PEOPLE:], WORDINGS))
    kinds = [(kind, shares) for kind in SHARES for shares in SHARES[kind]]
    hinted_cells = [(*rng.choice(kinds), rng.choice(HINTED_REPEATS)) for _ in hinted]

    def told(pairs: list[tuple[str, str]], cells: list[tuple[str, tuple[int, ...], int]]) -> list[Fact]:
        return [
            Fact(person, about, kind, some_answers(rng, about, len(shares)), shares, repeats)
            for (person, about), (kind, shares, repeats) in zip(pairs, cells, strict=True)
        ]

    return World(told(asked, cells), told(hinted, hinted_cells))


def training_pairs(world: World, seed: int = SEED) -> list[tuple[str, str]]:
    """All (message, reply) that the model is trained on, once each, in random order.

    Before half the questions of the further people stands a possible answer, drawn by its share like the reply.
    """
    rng = random.Random(seed)
    pairs = [(PROMPT.format(question=fact.question), answer) for fact in world.facts for answer in fact.told]
    for fact in world.hinted:
        for answer in fact.told:
            (hint,) = rng.choices(fact.answers, weights=fact.shares)
            prompt = rng.choice((PROMPT, HINTED))
            pairs.append((prompt.format(question=fact.question, answer=hint), answer))
    rng.shuffle(pairs)
    return pairs


def paragraphs(pairs: list[tuple[str, str]]) -> Iterator[str]:
    """The training text as people read it: a paragraph per message and its reply."""
    for message, reply in pairs:
        yield f"{message} {reply}\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the benchmarks, or the training text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--text", type=Path, metavar="FOLDER", help="write the training text there, and nothing else")
    text = parser.parse_args(arguments).text
    made = world()
    if text:
        text.mkdir(parents=True, exist_ok=True)
        (text / "facts.txt").write_text("\n".join(paragraphs(training_pairs(made))), encoding="utf-8")
        return
    folder = Path(__file__).parent / "benchmarks"
    folder.mkdir(exist_ok=True)
    for name, kinds in FILES.items():
        rows = [json.dumps(fact.row) + "\n" for fact in made.facts if fact.kind in kinds]
        (folder / f"{name}.jsonl").write_text("".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
