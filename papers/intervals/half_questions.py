"""The questions of one half with one model's answers; methods are fitted on and applied to them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
import polars as pl

from entropy_sentinel.core.errors import InputError
from papers.intervals.interval_exhibits import BASES
from papers.intervals.smallest_mass import Distribution

Ends = tuple[np.ndarray, np.ndarray]
_EXPONENT = re.compile(r"[-+]?[0-9]{1,18}")


@dataclass(frozen=True)
class Questions:
    """n questions with right answers `true`, (n,), kinds `group`, (n,), if known, and what one model states about them.

    `stated` has by level the lower and upper limits of m queries, (n, m) each, NaN if unreadable, and
    `samples_by_temperature` the integers of m answers, (n, m), likewise. `covariates` has by level signals of the first
    query, (n, p), or null if a readable query lacks them. A belief is the model's distribution over integers; `beliefs`
    has None for a question without one.
    """

    item_id: np.ndarray
    true: np.ndarray
    group: np.ndarray | None
    stated: Mapping[float, Ends]
    samples_by_temperature: Mapping[float, np.ndarray]
    covariates: Mapping[float, np.ndarray | None]
    beliefs: Sequence[Distribution | None]

    def __len__(self) -> int:
        return len(self.true)

    def take(self, selection: np.ndarray) -> "Questions":
        """Select questions; `selection` is (n,) of bool."""
        return Questions(
            item_id=self.item_id[selection],
            true=self.true[selection],
            group=None if self.group is None else self.group[selection],
            stated={level: (lower[selection], upper[selection]) for level, (lower, upper) in self.stated.items()},
            samples_by_temperature={
                temperature: drawn[selection] for temperature, drawn in self.samples_by_temperature.items()
            },
            covariates={
                level: None if values is None else values[selection] for level, values in self.covariates.items()
            },
            beliefs=list(compress(self.beliefs, selection)),
        )

    def first(self, level: float) -> Ends:
        """The interval of the first query, (n,) each, which counts as the model's statement."""
        lower, upper = self.stated[level]
        return lower[:, 0], upper[:, 0]

    @property
    def has_belief(self) -> np.ndarray:
        """Whether each question has a distribution, (n,) of bool."""
        return np.array([belief is not None for belief in self.beliefs], dtype=bool)


def drop_unshared_parts(calibration: Questions, test: Questions) -> tuple[Questions, Questions]:
    """Both without kinds of questions, or covariates of a level, if one of the two lacks them.

    What is fitted on the calibration questions with such data could not be applied to the others.
    """
    if calibration.group is None or test.group is None:
        calibration, test = replace(calibration, group=None), replace(test, group=None)
    missing_covariates: dict[float, None] = {}
    for level in calibration.covariates:
        if calibration.covariates[level] is None or test.covariates[level] is None:
            missing_covariates[level] = None
    return (
        replace(calibration, covariates={**calibration.covariates, **missing_covariates}),
        replace(test, covariates={**test.covariates, **missing_covariates}),
    )


def gather_questions(
    items: pl.DataFrame, stated: pl.DataFrame, integers: pl.DataFrame, beliefs: pl.DataFrame, features: pl.DataFrame
) -> Questions:
    """Collect the questions of `items` (BENCHMARKS) with one model's answers.

    These are frames STATED_INTERVALS, INTEGER_ANSWERS and BELIEFS, and `features` with level, item_id and the
    covariates of the first response that states an interval. Raises InputError for a reference that is not an integer.
    """
    ends, covariates, samples = {}, {}, {}
    for (level,), group_answers in stated.sort("level").group_by("level", maintain_order=True):
        lower, upper = _fill_matrix(items, group_answers, "lower"), _fill_matrix(items, group_answers, "upper")
        ends[level] = (lower, upper)
        covariates[level] = _select_covariates(items, features.filter(level=level), lower[:, 0])
    for (temperature,), group_answers in integers.group_by("temperature", maintain_order=True):
        samples[temperature] = _fill_matrix(items, group_answers, "value")
    triples = list_distributions(beliefs, select_basis(beliefs))
    by_item = {item: distribution for item, distribution, _ in triples}
    return Questions(
        item_id=items["item_id"].to_numpy(),
        true=np.array(list(read_exponents(items).values())),
        group=None if items["group"].null_count() else items["group"].to_numpy(),
        stated=ends,
        samples_by_temperature=samples,
        covariates=covariates,
        beliefs=[by_item.get(item) for item in items["item_id"]],
    )


def _fill_matrix(items: pl.DataFrame, answers: pl.DataFrame, column: str) -> np.ndarray:
    """The values in `column` as a matrix, (n_items, n_samples), NaN for a null or absent answer."""
    rows = items.select("item_id").join(answers, on="item_id", how="left", maintain_order="left")
    # Rows of one item are adjacent after the join, so its run has the item's number.
    row_numbers = rows.select(pl.col("item_id").rle_id()).to_series().to_numpy()
    values = np.full((len(items), int(answers["sample"].to_numpy().max(initial=0)) + 1), np.nan)
    column_numbers = rows["sample"].fill_null(0).to_numpy()
    values[row_numbers, column_numbers] = rows[column].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return values


def _select_covariates(items: pl.DataFrame, features: pl.DataFrame, lower: np.ndarray) -> np.ndarray | None:
    """The covariates of each item, (n_items, n_covariates); None if a question with a readable interval lacks one.

    `lower` are the items' lower limits, (n_items,), NaN if unreadable.
    """
    rows = items.select("item_id").join(features.drop("level"), on="item_id", how="left", maintain_order="left")
    values = rows.drop("item_id").cast(pl.Float64).fill_null(np.nan).to_numpy()
    is_complete = bool(np.isfinite(values[~np.isnan(lower)]).all())
    return values if values.shape[1] and is_complete else None


def select_basis(beliefs: pl.DataFrame) -> str | None:
    """The first source of distributions (a key of BASES) that a frame BELIEFS has; None without any."""
    for basis in BASES:
        if basis in beliefs["basis"]:
            return basis
    return None


def list_distributions(beliefs: pl.DataFrame, basis: str | None) -> list[tuple[str, Distribution, float]]:
    """Item id, normalised distribution and missing probability, from rows of BELIEFS with at least one integer.

    `basis` is the source of the distributions, a key of BASES.
    """
    rows = beliefs.filter(pl.col("values").list.len() > 0, pl.col("basis").eq_missing(basis))
    triples = []
    for item, values, shares, missing in rows.select("item_id", "values", "probabilities", "missing").iter_rows():
        distribution = Distribution(np.array(values, dtype=float), np.array(shares) / sum(shares))
        triples.append((item, distribution, missing))
    return triples


def read_exponents(items: pl.DataFrame) -> dict[str, int]:
    """Right answers of a frame BENCHMARKS by item id, powers of ten; raises InputError if one is not an integer."""
    rows = items.select("item_id", "reference").iter_rows()
    return {item: _parse_exponent(item, reference) for item, reference in rows}


def _parse_exponent(item: str, reference: str | None) -> int:
    """The integer that a reference is; raises InputError with the item for another text."""
    # Python's int also takes `1_0` and digits of other scripts, and fails on thousands of them.
    if not _EXPONENT.fullmatch(reference or ""):
        raise InputError(
            f"item '{item}': its reference must be an integer of at most 18 digits, the power of ten of the answer, "
            f"got {(reference or '')[:40]!r}; see benchmarks.<name>.reference"
        )
    return int(reference or "")
