"""Synthetic arithmetic word problems in ten domains of graded difficulty.

``python demo/problems.py`` writes ``demo/benchmarks/<domain>.jsonl``: 200 test problems per domain. And
``demo/benchmarks/mixed.jsonl``, 200 more from all domains, questions alone: traffic that nobody has labelled. Its
answers go to ``demo/truth/mixed.jsonl``, which a test reads and the pipeline never does. And
``demo/training/easy.jsonl`` and ``hard.jsonl``: 100 training problems per domain, some to train on.

Training and test problems never share their numbers: a problem is identified by its domain and its
numbers (sorted where the operands commute), the identity is hashed, and one fifth of the hash space
belongs to the test. Adding problems, domains or seeds therefore never moves a problem across the line.
"""

import hashlib
import itertools
import json
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

NAMES = ("Ada", "Ben", "Cleo", "Emil", "Hana", "Ivo", "Kira", "Leo", "Mia", "Rosa", "Sam", "Tom")
THINGS = ("pens", "apples", "stamps", "shells", "cards", "books", "beads", "eggs")
TEST_SHARE = 5  # one problem in five is a test problem
Numbers = tuple[int, ...]


@dataclass(frozen=True)
class Domain:
    """One kind of problem: how numbers are drawn, how they are worked, and how the question is worded.

    ``wordings`` are format strings: {0}, {1}, ... are the numbers; {who}, {friend} and {things} vary freely.
    """

    draw: Callable[[random.Random], Numbers]
    work: Callable[..., tuple[str, int]]  # the numbers -> (working, answer)
    wordings: tuple[str, ...]
    canonical: Callable[[Numbers], Iterable[int]] = tuple  # equal for problems that are the same sum
    few_numbers: bool = False  # too few to hold a fifth of them out: split by the whole question instead


@dataclass(frozen=True)
class Problem:
    """A question, its worked solution ending in ``\\boxed{answer}``, and the reference answer."""

    domain: str
    question: str
    solution: str
    answer: str
    is_test: bool


def count_on(start: int, steps: int) -> tuple[str, int]:
    """Easy but long: every number on the way is written out."""
    counted = " ".join(str(start + i + 1) for i in range(steps))
    return f"Count on {steps} from {start}: {counted}.", start + steps


def keep_total(*terms: int) -> tuple[str, int]:
    """Easy but long: one addition of a one-digit number at a time."""
    totals = list(itertools.accumulate(terms))
    lines = [f"{total}+{term}={total + term}." for total, term in zip(totals, terms[1:], strict=False)]
    return " ".join(lines), totals[-1]


def discount(percent: int, price: int) -> tuple[str, int]:
    """A share of the price, taken off the price."""
    off = percent * price // 100
    return f"{percent}% of {price} is {off}. {price}-{off}={price - off}.", price - off


def average(a: int, b: int, c: int) -> tuple[str, int]:
    """Two additions and a division."""
    total = a + b + c
    return f"{a}+{b}={a + b}. {a + b}+{c}={total}. {total}/3={total // 3}.", total // 3


def shop(count: int, price: int, other_count: int, other_price: int) -> tuple[str, int]:
    """Two products, their sum, and the change from 1000."""
    first, second = count * price, other_count * other_price
    both = first + second
    products = f"{count}*{price}={first}. {other_count}*{other_price}={second}."
    return f"{products} {first}+{second}={both}. 1000-{both}={1000 - both}.", 1000 - both


def draw_average(rng: random.Random) -> Numbers:
    """Three two-digit numbers whose sum is a multiple of three."""
    a, b = rng.randint(10, 99), rng.randint(10, 99)
    return a, b, rng.randrange(10 + (-a - b - 10) % 3, 100, 3)


def draw_subtraction(rng: random.Random) -> Numbers:
    """A three-digit number and a smaller one."""
    a = rng.randint(200, 999)
    return a, rng.randint(100, a - 1)


DOMAINS: dict[str, Domain] = {
    "one-digit-addition": Domain(
        lambda rng: (rng.randint(2, 9), rng.randint(2, 9)),
        lambda a, b: (f"{a}+{b}={a + b}.", a + b),
        (
            "{who} has {0} {things} and {friend} has {1} {things}. How many {things} do they have together?",
            "{who} finds {0} {things} in the morning and {1} in the evening. How many {things} is that?",
            "There are {0} {things} on the table. {who} puts down {1} more. How many {things} are on it now?",
            "{who} packs {0} {things}, then {friend} packs {1}. What is the number of {things} packed?",
        ),
        canonical=sorted,
        few_numbers=True,
    ),
    "counting-on": Domain(
        lambda rng: (rng.randint(11, 199), rng.randint(5, 14)),
        count_on,
        (
            "{who} sits on step {0} of a long stair and climbs {1} steps. On which step is {who} now?",
            "The page number is {0}. {who} turns {1} pages, one number each. Which page number is reached?",
            "A counter shows {0}. {who} presses the button {1} times. What does the counter show?",
            "{who} stands at house {0} and walks past {1} houses, up to the last. What is its number?",
        ),
    ),
    "running-total": Domain(
        lambda rng: tuple(rng.randint(2, 9) for _ in range(6)),
        keep_total,
        (
            "{who} buys {things} on six days: {0}, {1}, {2}, {3}, {4} and {5}. How many {things} in all?",
            "Six friends bring {0}, {1}, {2}, {3}, {4} and {5} {things}. How many {things} are there?",
            "{who} throws six dice of a game and sees {0}, {1}, {2}, {3}, {4}, {5}. What is the total?",
            "In six boxes {who} counts {0}, {1}, {2}, {3}, {4} and {5} {things}. What is the sum?",
        ),
        canonical=sorted,
    ),
    "three-digit-subtraction": Domain(
        draw_subtraction,
        lambda a, b: (f"{a}-{b}={a - b}.", a - b),
        (
            "{who} had {0} {things} and gave away {1}. How many {things} are left?",
            "Of {0} {things} in the store, {1} were sold. How many {things} remain?",
            "{who} needs {0} {things} and already has {1}. How many {things} are missing?",
            "{who} collected {0} {things}, {friend} only {1}. How many more {things} has {who}?",
        ),
    ),
    "multiply-then-add": Domain(
        lambda rng: (rng.randint(3, 9), rng.randint(11, 99), rng.randint(11, 99)),
        lambda k, n, c: (f"{k}*{n}={k * n}. {k * n}+{c}={k * n + c}.", k * n + c),
        (
            "{who} fills {0} boxes with {1} {things} each and has {2} {things} over. How many {things}?",
            "A carton holds {1} {things}. {who} has {0} cartons and {2} loose {things}. How many in all?",
            "{who} earns {1} coins a day. After {0} days and a gift of {2} coins, how many coins are there?",
            "There are {0} rows of {1} seats and {2} seats at the side. How many seats are there?",
        ),
    ),
    "percentages": Domain(
        lambda rng: (rng.randrange(5, 100, 5), rng.randrange(40, 1000, 20)),
        discount,
        (
            "A coat costs {1} coins. {who} gets {0}% off. What does {who} pay?",
            "{who} has {1} {things} and sells {0}% of them. How many {things} are left?",
            "Of {1} guests {0}% went home. How many guests stayed?",
            "A tank of {1} litres loses {0}% of its water. How many litres remain?",
        ),
    ),
    "averages": Domain(
        draw_average,
        average,
        (
            "{who} scored {0}, {1} and {2} points in three games. What is the average score?",
            "Three boxes hold {0}, {1} and {2} {things}. How many {things} are in a box on average?",
            "{who} walked {0}, {1} and {2} minutes on three days. What is the mean time in minutes?",
            "Three friends with {0}, {1} and {2} {things} share evenly. How many {things} does each get?",
        ),
        canonical=sorted,
    ),
    "shopping-change": Domain(
        lambda rng: (rng.randint(3, 9), rng.randint(11, 50), rng.randint(3, 9), rng.randint(11, 50)),
        shop,
        (
            "{who} buys {0} lamps at {1} coins and {2} chairs at {3} and pays 1000. What is the change?",
            "With 1000 coins {who} pays {0} tickets at {1} and {2} meals at {3}. How many coins are left?",
            "Of 1000 {things}, {0} bags of {1} and {2} bags of {3} are sold. How many {things} remain?",
            "A trip of 1000 miles: {who} drives {0} days of {1} and {2} days of {3} miles. What is left?",
        ),
        canonical=lambda numbers: min(numbers, numbers[2:] + numbers[:2]),
    ),
    "remainders": Domain(
        lambda rng: (rng.randint(100, 999), rng.randint(3, 9)),
        lambda n, d: ("", n % d),
        (
            "{who} packs {0} {things} into bags of {1}. How many {things} are left over?",
            "{0} {things} are shared evenly among {1} children. How many {things} remain?",
            "What is the remainder when {who} divides {0} {things} by {1}?",
            "{who} puts {0} {things} in full rows of {1}. How many {things} do not fit in a full row?",
        ),
    ),
    "two-digit-multiplication": Domain(
        lambda rng: (rng.randint(11, 99), rng.randint(11, 99)),
        lambda a, b: ("", a * b),
        (
            "{who} has {0} boxes with {1} {things} each. How many {things} is that?",
            "A hall has {0} rows of {1} seats. How many seats are in the hall?",
            "{0} children each bring {1} {things}. How many {things} do they bring?",
            "{who} buys {0} {things} at {1} coins each. How many coins does {who} pay?",
        ),
        canonical=sorted,
    ),
}

# Problems of each domain in the mixed benchmark. Traffic is not uniform: easy questions are asked most.
MIX = {
    "one-digit-addition": 44,
    "averages": 34,
    "multiply-then-add": 30,
    "running-total": 24,
    "shopping-change": 20,
    "counting-on": 16,
    "percentages": 12,
    "three-digit-subtraction": 10,
    "remainders": 6,
    "two-digit-multiplication": 4,
}


# What the candidates of a training are: domains that the models are good at, and the others.
TRAINING = {
    "easy": ("averages", "counting-on", "multiply-then-add", "one-digit-addition", "running-total"),
    "hard": (
        "percentages",
        "remainders",
        "shopping-change",
        "three-digit-subtraction",
        "two-digit-multiplication",
    ),
}


def in_test(identity: str) -> bool:
    """Whether a problem belongs to the test, from a hash that is the same on every machine."""
    digest = hashlib.blake2b(identity.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % TEST_SHARE == 0


def draw_problem(name: str, rng: random.Random) -> Problem:
    """Draw one problem of a domain, from either side of the split."""
    domain = DOMAINS[name]
    numbers = domain.draw(rng)
    who, friend = rng.sample(NAMES, 2)
    wording = rng.choice(domain.wordings)
    question = wording.format(*numbers, who=who, friend=friend, things=rng.choice(THINGS))
    working, answer = domain.work(*numbers)
    identity = question if domain.few_numbers else str(tuple(domain.canonical(numbers)))
    return Problem(
        domain=name,
        question=question,
        solution=f"{working} Answer: \\boxed{{{answer}}}".lstrip(),
        answer=str(answer),
        is_test=in_test(f"{name} {identity}"),
    )


def stream(name: str, seed: int, test: bool) -> Iterator[Problem]:
    """Endless problems of one domain and one side of the split, the same for the same seed."""
    rng = random.Random(f"{seed} {name}")  # a string seed: hashed stably, and different for each domain
    while True:
        problem = draw_problem(name, rng)
        if problem.is_test == test:
            yield problem


def held_out(name: str, count: int, seed: int, test: bool = True) -> list[Problem]:
    """``count`` test problems of one domain, or training problems, no question twice."""
    distinct: dict[str, Problem] = {}
    for problem in stream(name, seed, test):
        distinct.setdefault(problem.question, problem)
        if len(distinct) == count:
            break
    return list(distinct.values())


def mixed(count: int, seed: int) -> list[Problem]:
    """Test problems of all domains in the shares of MIX, shuffled.

    They are those that follow the first ``count`` of each domain in its stream, so no question is among these.
    """
    problems = [problem for name, share in MIX.items() for problem in held_out(name, count + share, seed)[count:]]
    random.Random(f"{seed} mixed").shuffle(problems)
    return problems


def write_rows(path: Path, rows: Iterable[dict[str, str]]) -> None:
    """Write a JSON Lines file, the same bytes on every machine."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8", newline="\n")


def solved(problems: Iterable[Problem]) -> list[dict[str, str]]:
    """A row for each problem of a domain, with an id."""
    return [
        {
            "id": f"{problem.domain}-{i:03d}",
            "question": problem.question,
            "answer": problem.answer,
            "solution": problem.solution,
        }
        for i, problem in enumerate(problems)
    ]


def write_benchmarks(demo: Path, count: int = 200, training: int = 100, seed: int = 2026) -> None:
    """Write one file per domain (id, question, answer, solution), the mixed one (question) and its truth
    (question, answer, domain), and the two of training problems below the folder ``demo``.
    """
    for name in DOMAINS:
        write_rows(demo / "benchmarks" / f"{name}.jsonl", solved(held_out(name, count, seed)))
    for name, domains in TRAINING.items():
        rows = [row for domain in domains for row in solved(held_out(domain, training, seed, test=False))]
        write_rows(demo / "training" / f"{name}.jsonl", rows)
    problems = mixed(count, seed)
    write_rows(demo / "benchmarks" / "mixed.jsonl", [{"question": problem.question} for problem in problems])
    truth = [{"question": problem.question, "answer": problem.answer, "domain": problem.domain} for problem in problems]
    write_rows(demo / "truth" / "mixed.jsonl", truth)


if __name__ == "__main__":
    write_benchmarks(Path(__file__).parent)
