"""Single trajectories from the files of the pass: their selection and values."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from entropy_sentinel.schemas.contract import check_readable
from entropy_sentinel.study.signal_families.forced_answer.forced_answer_frames import FORCED_ANSWERS


def compute_decayed_sums(probabilities: np.ndarray, alpha: float = 0.5) -> np.ndarray:
    """Decayed sums of probabilities, both (n_options, n_steps): at step t the sum over k = 1 .. t of
    (t - k + 1)^-alpha P_k.

    Nothing is renormalised, so the options need not add up to 1. With alpha = 0 it is the plain sum, with alpha = inf
    the probability of the step itself.
    """
    steps = probabilities.shape[1]
    weights = np.arange(1, steps + 1, dtype=float) ** -alpha
    sums = [np.convolve(row, weights)[:steps] for row in probabilities]
    return np.array(sums).reshape(probabilities.shape)


_COLUMNS = (
    *("tokens_to_answer", "answer_text", "positions", "entropies"),
    *("options", "option_probabilities", "eas", "mean_eas"),
)


@dataclass(frozen=True)
class Trajectory:
    """One response with one kind of inserted answer, and the answer entropy of its item in bits.

    `positions` are (P,) tokens and `entropies` (P,) bits. `probabilities` are (O, P) of `options`, 0 for an option that
    is not among the 20 most likely tokens; None if the question has no options.
    """

    item_id: str
    answer_entropy: float
    answer_text: str | None
    positions: np.ndarray
    entropies: np.ndarray
    eas: float
    mean_eas: float
    options: tuple[str, ...]
    probabilities: np.ndarray | None

    def decayed_options(self, alpha: float) -> np.ndarray:
        """The decayed sums of the options' probabilities at each token t = 1 .. T - 1, (O, T - 1).

        Probabilities at other positions are interpolated, as for the area.
        """
        assert self.probabilities is not None  # of a question with options
        tokens = np.arange(1, self.positions[-1] + 1)
        interpolated = [np.interp(tokens, self.positions, row) for row in self.probabilities]
        return compute_decayed_sums(np.array(interpolated), alpha)


def has_options(path: str) -> bool:
    """Whether a response in a file FORCED_ANSWERS has the probabilities of its question's options."""
    with check_readable(path, FORCED_ANSWERS.stage):
        has_probabilities = FORCED_ANSWERS.scan(path).select(pl.col("option_probabilities").is_not_null().any())
        return bool(has_probabilities.collect().item())


def select_median_item(items: pl.DataFrame, score: str) -> dict[str, object] | None:
    """The row of ITEMS with the median of the column `score` (the lower of two; ties by item id); None without any."""
    scored_items = items.drop_nulls(score).sort(score, "item_id")
    return scored_items.row((len(scored_items) - 1) // 2, named=True) if len(scored_items) else None


def load_trajectory(path: str, item: Mapping[str, object], answer: str) -> Trajectory:
    """The trajectory of the response that a row of ITEMS names, with `answer` inserted, from a file FORCED_ANSWERS.

    It exists if the item has a score.
    """
    with check_readable(path, FORCED_ANSWERS.stage):
        rows = FORCED_ANSWERS.scan(path).filter(item_id=item["item_id"], sample=item["sample"], answer=answer)
        row = rows.select(_COLUMNS).collect().row(0, named=True)
    probabilities = None
    if row["option_probabilities"] is not None:
        probabilities = np.nan_to_num(np.array(row["option_probabilities"], dtype=float))
    return Trajectory(
        str(item["item_id"]),
        float(str(item["answer_entropy"])),
        row["answer_text"],
        np.array(row["positions"]),
        np.array(row["entropies"], dtype=float),
        row["eas"],
        row["mean_eas"],
        tuple(row["options"] or ()),
        probabilities,
    )
