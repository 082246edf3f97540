"""How unsure the model was of an answer put in after each token of a response, as a small picture under its text."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from entropy_sentinel.frames.response import SAMPLE
from entropy_sentinel.signals.forced_answer import FORCED_ANSWERS

# The picture's units: bits to the top of it at least, its height, and points that it has at most.
_BITS, HEIGHT, _MOST_POINTS = 1.0, 60.0, 800
# Characters of an answer that are shown.
_LONGEST = 60
KINDS = {"own": "its own answer", "reference": "the reference", "none": "no answer"}


@dataclass(frozen=True)
class Trajectory:
    """H(t) in bits at `positions` t of the T - 1 tokens before the answer's last one, and its area."""

    answer: str
    text: str | None
    eas: float
    tokens_to_answer: int
    positions: tuple[int, ...]
    entropies: tuple[float, ...]

    @property
    def kind(self) -> str:
        """What was put in, in words."""
        return KINDS[self.answer] + ("" if self.text is None else f", {self.text[:_LONGEST]!r}")

    @property
    def largest(self) -> float:
        """The largest entropy, bits."""
        return max(self.entropies)

    @property
    def width(self) -> int:
        """The picture's width, from the first position to the last one: a unit for each token."""
        return max(self.tokens_to_answer - 2, 1)

    @property
    def outline(self) -> str:
        """The points of the area under the curve, as SVG has them: from the baseline and back to it."""
        top = max(self.largest, _BITS)
        every = -(-len(self.positions) // _MOST_POINTS)
        known = list(zip(self.positions, self.entropies, strict=True))
        # Of neighbours that make one point the largest: a peak must not go unseen.
        shown = [max(known[start : start + every], key=lambda point: point[1]) for start in range(0, len(known), every)]
        inner = [f"{t},{HEIGHT * (1 - entropy / top):.1f}" for t, entropy in shown]
        return " ".join([f"{shown[0][0]},{HEIGHT:g}", *inner, f"{shown[-1][0]},{HEIGHT:g}"])


def read_trajectories(path: str | Path | None, items: Iterable[str]) -> dict[tuple[str, int], list[Trajectory]]:
    """Those of the responses to `items` in a file of the pass `forced_answer`; none without a file."""
    if path is None:
        return {}
    columns = [*SAMPLE, "answer", "answer_text", "eas", "tokens_to_answer", "positions", "entropies"]
    rows = FORCED_ANSWERS.read(path, columns).filter(pl.col("item_id").is_in(list(items)), pl.col("eas").is_not_null())
    found: dict[tuple[str, int], list[Trajectory]] = {}
    for item, sample, answer, text, eas, length, positions, entropies in rows.iter_rows():
        one = Trajectory(answer, text, eas, length, tuple(positions), tuple(entropies))
        found.setdefault((item, sample), []).append(one)
    return found
