"""Fit estimators for the page: their intervals and flags, and their errors on other models."""

import math
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from entropy_sentinel.estimators.estimator_base import Estimator, FitFailure
from entropy_sentinel.estimators.estimator_registry import RECOMMENDED
from entropy_sentinel.estimators.estimator_settings import Estimation, Fitting
from entropy_sentinel.estimators.familiarity import Familiarity, residuals_if_unfamiliar
from entropy_sentinel.estimators.leave_one_out import validate_estimator
from entropy_sentinel.estimators.training_rows import TrainingRows, one_thread
from entropy_sentinel.estimators.training_support import Support
from entropy_sentinel.estimators.verdict import LEVELS
from entropy_sentinel.features.hashed_tokens import COLUMN, count_buckets
from entropy_sentinel.monitor.estimating.flags import LARGEST_SHARE
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.study.stages.estimate_stage import select_labelled_rows
from made.how_well.cases import METHODS, with_errors

SETTINGS = Fitting.from_settings(Estimation().model_dump() | {"seed": 42})
# The monitor's flags of a slice, by the column from which they are computed here.
FLAGS = ("unfamiliar", "outside support", "truncated", "training accuracy")


def read_observations(results: Path, judge: str) -> dict[str, pl.DataFrame]:
    """A study's observations with features, by model; domains without any label are left out."""
    result = {}
    for path in sorted((results / "observations" / judge).glob("*.parquet")):
        rows = OBSERVATIONS.read(path).filter(pl.col("feature_reason").is_null())
        result[path.stem] = rows.filter(pl.col("label").is_not_null().any().over("benchmark"))
    return result


def training_rows(rows: pl.DataFrame) -> TrainingRows:
    """The labelled rows of the study's training split."""
    return select_labelled_rows(rows.filter(split="train"), SETTINGS)


def chosen_by_benchmarks(observations: pl.DataFrame) -> float:
    """AEE of `recommended` if it chooses its method by benchmarks, not kinds; each benchmark is left out."""
    errors = []
    with one_thread():
        for (name,), asked in observations.group_by("benchmark", maintain_order=True):
            others = observations.filter(pl.col("benchmark") != name)
            fitted = training_rows(others.with_columns(kind=pl.lit(None, pl.String))).fit(RECOMMENDED)
            if not isinstance(fitted, FitFailure):
                known = asked.filter(pl.col("label").is_not_null())
                errors.append(abs(fitted.accuracy(known) - known["label"].cast(pl.Float64).mean()))
    return float(np.mean(errors))


def validated(observations: pl.DataFrame, sizes: Iterable[int]) -> pl.DataFrame:
    """`beside_estimates` of each domain for every training group of these sizes that lacks the domain."""
    names = observations["benchmark"].unique().sort()
    groups = [group for size in sizes for group in combinations(names, size)]
    inside = pl.col("benchmark")
    return pl.concat(
        beside_estimates(observations.filter(inside.is_in(group)), observations.filter(~inside.is_in(group)))
        for group in groups
    )


def beside_estimates(fitted_on: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """A case of `recommended` for each domain of `asked`, with the verdict, intervals and flags of the estimate.

    Columns in addition to those of cases: `verdict` of the validation on `fitted_on` and `spread` of its errors (their
    root mean square), `lower_80%`, `upper_80%` and so on for every level, and the columns FLAGS. The result is empty if
    no estimator can be fitted.
    """
    with one_thread():
        return with_errors(pl.DataFrame(_of(fitted_on, asked), infer_schema_length=None))


def _of(fitted_on: pl.DataFrame, asked: pl.DataFrame) -> Iterator[dict[str, object]]:
    rows, group = training_rows(fitted_on), fitted_on["benchmark"].unique().sort().to_list()
    estimator = rows.fit(RECOMMENDED)
    if isinstance(estimator, FitFailure):
        return
    validation, support, careful = (
        validate_estimator(rows, RECOMMENDED),
        Support.fit(rows.features, rows.domains),
        rows.caution,
    )
    errors = [domain.estimated - domain.true for domain in validation.domains if domain.estimated is not None]
    spread = float(np.sqrt(np.mean(np.square(errors)))) if errors else math.nan
    familiarity = None if rows.buckets is None else Familiarity.fit(rows.buckets, rows.domains, rows.groups)
    for (name,), part in asked.group_by("benchmark", maintain_order=True):
        case = _case(estimator, part) | {"benchmark": name, "k": len(group), "group": "+".join(group)}
        one = np.zeros(len(part), dtype=int)
        outside = support.flags(support.counts(part, one, 1), np.array([case["estimated"]]))
        unfamiliar = familiarity is not None and familiarity.flags(count_buckets(part[COLUMN], one, 1))[0] is not None
        residuals = residuals_if_unfamiliar(len(group)) if unfamiliar else validation.residuals
        for level in LEVELS:
            lower, upper, _ = residuals.intervals([case["estimated"]], [case["n"]], level)
            case |= {f"lower_{level:.0%}": float(lower[0]), f"upper_{level:.0%}": float(upper[0])}
        message = unfamiliar, outside[0] is not None, part["cut_off"].mean() > LARGEST_SHARE, careful is not None
        yield case | {"verdict": validation.verdict, "spread": spread} | dict(zip(FLAGS, message, strict=True))


def _case(estimator: Estimator, part: pl.DataFrame) -> dict[str, object]:
    """The estimate over a domain's labelled rows, with their true accuracy."""
    known = part.filter(pl.col("label").is_not_null())
    return {
        "model": part["model"][0],
        "method": estimator.name,
        "estimated": estimator.accuracy(known),
        "true": known["label"].mean(),
        "n": known["item_id"].n_unique(),
    }


def moved(fitted_on: pl.DataFrame, asked: pl.DataFrame, without_domain: bool) -> pl.DataFrame:
    """Cases of every method, fitted on the answers of one model or prompt and applied to those of another.

    Every domain of `asked` is estimated by a method fitted on all labelled domains of `fitted_on`. `without_domain`
    leaves out the estimated domain there.
    """
    result = []
    with one_thread():
        for (name,), part in asked.group_by("benchmark", maintain_order=True):
            known = fitted_on.filter(pl.col("benchmark") != name) if without_domain else fitted_on
            rows = training_rows(known)
            for method in METHODS:
                estimator = rows.fit(method)
                if not isinstance(estimator, FitFailure):
                    result.append(_case(estimator, part) | {"benchmark": name, "group": "", "k": 0, "method": method})
    return with_errors(pl.DataFrame(result))
