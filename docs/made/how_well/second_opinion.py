"""What a second opinion is worth on the kinds of examples/kinds: another model's agreement with the logged answers."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.stats import hypergeom

from entropy_sentinel.judges.answer_matching import is_comparable, is_slice_comparable, match_answers
from entropy_sentinel.statistics.estimate_errors import measure_rho
from entropy_sentinel.statistics.monitoring.partner_strength import PartnerCheck, check_by_reference
from entropy_sentinel.statistics.monitoring.requested_slices import (
    WitnessedSlice,
    estimate_from_witness,
    measure_witness_errors,
)

EXAMPLE = Path(__file__).parents[3] / "examples" / "kinds"
FAR, LEVEL = 0.25, 0.9
# Ways to estimate the accuracy of a kind without its labels, by the columns of a frame of kinds.
FLOOR, ESTIMATOR, AGREEMENT = "floor", "estimator", "agreement"
AGREEMENT_OR_ESTIMATOR, MEAN = "agreement_or_estimator", "mean"
WAYS = (FLOOR, ESTIMATOR, AGREEMENT, AGREEMENT_OR_ESTIMATOR, MEAN)
QUESTIONS = (3, 5, 8, 12, 30, 60)
_DRAWS = 4000


class Quality(NamedTuple):
    """How good the estimates of some kinds are.

    `far` is the number of estimates that are off by more than FAR, and `worth` the number of random labels of each kind
    whose mean error is the same.
    """

    kinds: int
    error: float
    far: int
    rho: float | None
    worth: float


class Intervals(NamedTuple):
    """The share of 90 % intervals that hold, and their mean width."""

    coverage: float
    width: float


def read_kinds(folder: Path = EXAMPLE) -> pl.DataFrame:
    """`item_id`, `family` and `kind` of each question."""
    rows = [
        (f"{path.stem}-{number:05d}", path.stem, json.loads(line)["kind"])
        for path in sorted((folder / "benchmarks").glob("*.jsonl"))
        for number, line in enumerate(path.read_text("utf-8").splitlines())
    ]
    return pl.DataFrame(rows, schema=["item_id", "family", "kind"], orient="row")


def read_answers(model: str, folder: Path = EXAMPLE) -> pl.DataFrame:
    """A model's answers: `item_id`, `text`, `n_tokens`, `prompt_tokens` and `label`."""
    columns = ["item_id", "text", "n_tokens", "prompt_tokens"]
    texts = pl.concat(pl.read_parquet(path, columns=columns) for path in sorted((folder / "traces" / model).iterdir()))
    labels = pl.concat(pl.read_parquet(path) for path in sorted((folder / "labels" / model).iterdir()))
    return texts.join(labels.select("item_id", "label"), on="item_id", validate="1:1")


def compare_answers(watched: str, partner: str, folder: Path = EXAMPLE) -> pl.DataFrame:
    """A row for each answer of the watched model: `kind`, `family`, `label`, `comparable`, `asked`, `agrees`.

    `agrees` is null if the partner was not asked this question, or if one of both gave no answer. `partner_label` and
    the partner's tokens, `tokens_in` and `tokens_out`, are null if it was not asked.
    """
    opinions = read_answers(partner, folder).select(
        "item_id", "text", partner_label="label", tokens_in="prompt_tokens", tokens_out="n_tokens"
    )
    rows = read_answers(watched, folder).join(read_kinds(folder), on="item_id", validate="1:1")
    rows = rows.join(opinions, on="item_id", how="left", suffix="_partner", maintain_order="left")
    texts = rows.select("text", "text_partner").rows()
    return rows.with_columns(
        asked=pl.col("text_partner").is_not_null(),
        comparable=pl.Series([is_comparable(text) for text, _ in texts]),
        agrees=pl.Series(
            [None if other is None else match_answers(text, other) for text, other in texts], dtype=pl.Boolean
        ),
    )


def count_kinds(answers: pl.DataFrame) -> pl.DataFrame:
    """A row for each kind of `compare_answers`, in alphabetical order.

    `accuracy` is the true accuracy of all `n` answers, `agreement` the share of the `asked` ones that agree with the
    partner's, `agreed` their number; `comparable` says whether the kind can be compared by its logged answers.
    `watched` and `partner` are the accuracies of both models on the questions that the partner was asked.
    """
    asked = pl.col("agrees").is_not_null()
    rows = answers.group_by("kind", "family").agg(
        accuracy=pl.col("label").mean(),
        n=pl.len(),
        comparable="comparable",
        asked=asked.sum(),
        agreed=pl.col("agrees").sum(),
        watched=pl.col("label").filter(asked).mean(),
        partner=pl.col("partner_label").filter(asked).mean(),
        tokens_in=pl.col("tokens_in").mean(),
        tokens_out=pl.col("tokens_out").mean(),
    )
    rows = rows.filter(pl.col("asked") > 0).sort("kind")
    comparable = [is_slice_comparable(flags) for flags in rows["comparable"].to_list()]
    return rows.with_columns(pl.Series("comparable", comparable), agreement=pl.col("agreed") / pl.col("asked"))


def add_floor(kinds: pl.DataFrame, group: str = "kind") -> pl.DataFrame:
    """The kinds with FLOOR: the mean accuracy of the kinds with other values of the column `group`."""
    floors = [kinds.filter(pl.col(group) != value)["accuracy"].mean() for value in kinds[group]]
    return kinds.with_columns(pl.Series(FLOOR, floors))


def add_ways(kinds: pl.DataFrame, estimates: Mapping[str, float], group: str = "kind") -> pl.DataFrame:
    """The kinds of `count_kinds` with a column for each of WAYS.

    `estimates` are the estimator's, by kind, each fitted without the kind's value of the column `group`.
    """
    estimated = pl.col("kind").replace_strict(estimates, return_dtype=pl.Float64)
    comparable = pl.when("comparable")
    return (
        add_floor(kinds, group)
        .with_columns(estimated.alias(ESTIMATOR))
        .with_columns(
            comparable.then(AGREEMENT).otherwise(ESTIMATOR).alias(AGREEMENT_OR_ESTIMATOR),
            comparable.then((pl.col(AGREEMENT) + pl.col(ESTIMATOR)) / 2).otherwise(ESTIMATOR).alias(MEAN),
        )
    )


def measure_error(kinds: pl.DataFrame, way: str) -> float:
    """The mean distance of a way's estimates from the kinds' accuracies."""
    return float(_errors(kinds, way).mean())


def measure_quality(kinds: pl.DataFrame, way: str) -> Quality:
    """The quality of a way's estimates."""
    errors = _errors(kinds, way)
    return Quality(
        kinds=len(kinds),
        error=float(errors.mean()),
        far=int((errors > FAR).sum()),
        rho=measure_rho(kinds[way], kinds["accuracy"])[0],
        worth=count_labels_worth(kinds, float(errors.mean())),
    )


def measure_intervals(answers: pl.DataFrame, kinds: pl.DataFrame, way: str, group: str = "kind") -> Intervals:
    """How often the intervals of `kinds` hold, for AGREEMENT or its mean with the estimator (MEAN).

    The interval of a kind is that of a monitor: the chance of the questions asked, and the errors on the kinds with
    other values of the column `group`, whose answers are labelled.
    """
    slices = {name: _read_slice(answers.filter(kind=name), estimated) for name, estimated in _estimates(kinds, way)}
    held, widths = [], []
    for name, value, accuracy in kinds.select("kind", pl.col(group).alias("left_out"), "accuracy").iter_rows():
        labelled = kinds.filter(pl.col(group) != value)["kind"]
        estimate = estimate_from_witness(
            slices[name], measure_witness_errors([slices[other] for other in labelled]), LEVEL
        )
        assert estimate is not None  # every kind was asked about
        held.append(estimate.lower <= accuracy <= estimate.upper)
        widths.append(estimate.upper - estimate.lower)
    return Intervals(float(np.mean(held)), float(np.mean(widths)))


def _estimates(kinds: pl.DataFrame, way: str) -> Iterator[tuple[str, float | None]]:
    """Yield each kind with the estimate with which its agreement is averaged."""
    return kinds.select("kind", pl.col(ESTIMATOR) if way == MEAN else pl.lit(None)).iter_rows()


def _read_slice(answers: pl.DataFrame, estimated: float | None) -> WitnessedSlice:
    asked = answers.filter(pl.col("agrees").is_not_null())
    agrees, labels = (asked[name].cast(pl.Float64).to_numpy() for name in ("agrees", "label"))
    return WitnessedSlice(agrees, labels, len(answers), estimated=estimated)


def _errors(kinds: pl.DataFrame, way: str) -> np.ndarray:
    return np.abs(kinds[way].to_numpy() - kinds["accuracy"].to_numpy())


def count_labels_worth(kinds: pl.DataFrame, error: float) -> float:
    """How many random labels of each kind have this mean error alone, interpolated; at least one."""
    numbers = range(int(kinds["n"].min()), 0, -1)
    return float(np.interp(error, [expect_label_error(kinds, n) for n in numbers], numbers))


def expect_label_error(kinds: pl.DataFrame, n: int) -> float:
    """The mean error over kinds of the accuracy of `n` random labels, drawn without replacement."""
    right = (kinds["accuracy"] * kinds["n"]).round().cast(pl.Int64)
    return float(
        np.mean(
            [
                _expect_error(size, good, n, accuracy)
                for size, good, accuracy in zip(kinds["n"], right, kinds["accuracy"], strict=True)
            ]
        )
    )


def expect_error_of_questions(kinds: pl.DataFrame, n: int) -> float:
    """The mean error of the agreement on `n` random questions of those asked, or on all if fewer were asked."""
    columns = kinds.select("asked", "agreed", "accuracy").iter_rows()
    return float(np.mean([_expect_error(asked, agreed, min(n, asked), true) for asked, agreed, true in columns]))


def _expect_error(size: int, good: int, drawn: int, true: float) -> float:
    """The expected distance between `true` and the share of good ones, if `drawn` of `size` are drawn."""
    counts = np.arange(drawn + 1)
    return float(hypergeom.pmf(counts, size, good, drawn) @ np.abs(counts / drawn - true))


def compare_ways(kinds: pl.DataFrame, way: str, other: str) -> tuple[float, float, float]:
    """The mean error of a way minus that of another, and its 90 % interval by a bootstrap over families."""
    differences = kinds.with_columns(difference=_errors(kinds, way) - _errors(kinds, other))
    families = differences.group_by("family", maintain_order=True).agg(pl.col("difference").sum(), n=pl.len())
    total, n = families["difference"].to_numpy(), families["n"].to_numpy()
    drawn = np.random.default_rng(42).integers(len(n), size=(_DRAWS, len(n)))
    means = total[drawn].sum(axis=1) / n[drawn].sum(axis=1)
    lower, upper = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(total.sum() / n.sum()), float(lower), float(upper)


def check_strength(answers: pl.DataFrame) -> PartnerCheck:
    """Whether the partner is stronger than the watched model, by the labels of both on the same questions."""
    asked = answers.filter(pl.col("agrees").is_not_null())
    return check_by_reference(
        *(asked[name].cast(pl.Float64).to_numpy() for name in ("partner_label", "label", "agrees"))
    )
