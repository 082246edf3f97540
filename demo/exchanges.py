"""What the tiny judge learns from: what the demo's models write, a reference, and the verdict.

All problems are training problems (``problems.py`` says how they are kept apart), so the judge has seen no item of
``demo/benchmarks``. A response is shown with the number that it ends in, with the reference of its problem, or with a
near miss: the verdict follows from the two numbers, and no verdict of a judge is learned from.
"""

import itertools
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from problems import DOMAINS, Problem, stream

# What the judge is asked, as in demo/config.yaml. The question would not help: the judge need not solve the problem.
PROMPT = "Response: {response}\nCorrect answer: {reference}"
REPLIES = {True: '{"success": true}', False: '{"success": false}'}

# Other ways to write the final answer, drawn for one response in four. {0} is the number.
NOTATIONS = (
    "\\boxed{{{0}.0}}",
    "\\boxed{{\\${0}}}",
    "\\boxed{{{0} \\text{{ coins}}}}",
    "\\boxed{{{0}\\text{{ books}}}}",
    "{0}",
    "{0}.",
    "{0} coins",
)
NOTATION_SHARE, CUT_SHARE = 0.25, 0.03
BOX = re.compile(r"\\boxed\{(\d+)\}")


@dataclass(frozen=True)
class Answer:
    """A response to a problem, the number in its last box (None without), and the reference answer."""

    response: str
    final: str | None
    reference: str


def final_number(response: str) -> str | None:
    """The whole number in the last box."""
    boxes = BOX.findall(response)
    return boxes[-1] if boxes else None


def answer(problem: Problem, response: str) -> Answer:
    """A response with what is known of it."""
    return Answer(response, final_number(response), problem.answer)


def solved(seed: int) -> Iterator[Answer]:
    """Endless worked solutions of training problems, every domain equally often."""
    rng = random.Random(f"{seed} solved")
    streams = [stream(name, seed, test=False) for name in DOMAINS]
    while True:
        problem = next(rng.choice(streams))
        yield answer(problem, problem.solution)


def near_miss(number: str, response: str, rng: random.Random) -> str:
    """Another whole number that is easily taken for `number`: a digit, an order, a neighbour, a step of the working."""
    at = rng.randrange(len(number))
    changed = number[:at] + rng.choice("0123456789") + number[at + 1 :]
    misses = [
        changed,
        changed,
        number[: at - 1] + number[at] + number[at - 1] + number[at + 1 :] if at else changed,
        number[:at] + number[at + 1 :],
        number[:at] + rng.choice("0123456789") + number[at:],
        str(abs(int(number) + rng.choice((-100, -10, -1, 1, 10, 100)))),
        rng.choice(re.findall(r"\d+", response)),
    ]
    rng.shuffle(misses)
    return next((miss for miss in misses if miss and int(miss) != int(number)), str(int(number) + 1)).lstrip("0") or "0"


def rewritten(one: Answer, rng: random.Random) -> str:
    """The response with its final answer in another notation."""
    thousands = f"\\boxed{{{int(one.final):,}}}"
    notations = (*(notation.format(one.final) for notation in NOTATIONS), thousands)
    start, _, end = one.response.rpartition(f"\\boxed{{{one.final}}}")
    return start + rng.choice(notations) + end


def exchange(one: Answer, rng: random.Random) -> tuple[str, str, bool]:
    """A response as it is shown, a reference, and whether they agree; about as often as not."""
    if one.final is None:
        return one.response, one.reference, False
    if rng.random() < CUT_SHARE:
        cut = one.response[: rng.randrange(one.response.rindex("\\boxed"))]
        return cut, one.reference, False
    shown = rewritten(one, rng) if rng.random() < NOTATION_SHARE else one.response
    if rng.random() < 0.5:
        return shown, one.final, True
    if one.reference != one.final and rng.random() < 0.6:
        return shown, one.reference, False
    return shown, near_miss(one.final, one.response, rng), False


def exchanges(responses: Sequence[Answer], seed: int) -> Iterator[tuple[str, str]]:
    """Endless (message, reply) pairs: half from `responses` of the demo's models, half from worked solutions."""
    rng, worked = random.Random(f"{seed} exchanges"), solved(seed)
    while True:
        one = rng.choice(responses) if rng.random() < 0.5 else next(worked)
        response, reference, agree = exchange(one, rng)
        yield PROMPT.format(response=response, reference=reference), REPLIES[agree]


def exchange_texts(responses: Sequence[Answer], seed: int, count: int = 10_000) -> list[str]:
    """Messages with their replies, for the tokenizer."""
    return [message + reply for message, reply in itertools.islice(exchanges(responses, seed), count)]
