"""Stage `measures`: how well estimators rank and separate items by epistemic uncertainty, and statistics of p*.

p* is the true distribution of the right answers to a question.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypedDict

import polars as pl

from entropy_sentinel.schemas.file_sets import read_by_owner
from entropy_sentinel.study.items.row_fields import normalise_answer
from papers.ambiguity.ambiguity_exhibits import ANSWERS, ESTIMATOR_TITLES, PAPER_FORM
from papers.ambiguity.ambiguity_frames import ALIGNED_CLASSES, AUROCS, CONCORDANCES, ESTIMATES, P_STARS, UNCERTAINTIES
from papers.ambiguity.concordance import measure_concordance, measure_separation
from papers.ambiguity.uncertainty import jensen_shannon, measure_uncertainty


def measure_p_stars(answers: pl.DataFrame, source: str) -> Iterator[dict[str, Any]]:
    """Yield rows of P_STARS from the right answers of a frame ALIGNED_CLASSES.

    p* is a question's true distribution of right answers, from a source of counts. The divergence is from the p* of the
    benchmark's own counts, which are named `source`, over the answers of both; names are compared without case,
    punctuation, articles and space. It is null for that source itself.
    """
    # p* does not depend on the model, so one model's rows are enough.
    unique_answers = answers.unique(subset=[*P_STARS.key, "class"], keep="first", maintain_order=True)
    by_item = dict(unique_answers.group_by(P_STARS.key, maintain_order=True))
    for (benchmark, name, item), item_answers in by_item.items():
        shares = item_answers["p_star"].to_numpy()
        benchmark_answers = by_item.get((benchmark, source, item))
        divergence = None
        if name != source and benchmark_answers is not None:
            divergence = _measure_divergence(_index_by_name(benchmark_answers), _index_by_name(item_answers))
        yield {
            "benchmark": benchmark,
            "source": name,
            "item_id": item,
            "n_answers": len(item_answers),
            "counts": None if item_answers["count"].has_nulls() else item_answers["count"].to_list(),
            "entropy": measure_uncertainty(shares, shares).aleatoric,
            "divergence": divergence,
        }


def _index_by_name(answers: pl.DataFrame) -> dict[str, float]:
    """The p* of each answer, by its normalised name."""
    return {normalise_answer(name): share for name, share in answers.select("name", "p_star").iter_rows()}


def _measure_divergence(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    """The Jensen-Shannon divergence of two p*, by name of the answer; an answer that one lacks has 0 there."""
    names = dict.fromkeys([*first, *second])
    return jensen_shannon([first.get(name, 0.0) for name in names], [second.get(name, 0.0) for name in names])


class AmbiguityMeasureSettings(TypedDict):
    """`source` is the name of the benchmarks' own p*; items with at least the log of a threshold are uncertain."""

    source: str
    thresholds: list[float]


def write_measures(
    uncertainties: Sequence[str],
    estimates: Sequence[str],
    aligned: Sequence[str],
    models: Sequence[str],
    settings: AmbiguityMeasureSettings,
    concordances_output: str,
    aurocs_output: str,
    p_stars_output: str,
) -> None:
    """Write concordances, AUROCs, and statistics of p*, the true distribution of the right answers.

    `aligned` are files of ALIGNED_CLASSES: classes of a model's answers beside the right answers, which have p*.
    """
    rows = join_estimates(
        read_by_owner(UNCERTAINTIES, uncertainties, {"model": models}),
        read_by_owner(ESTIMATES, estimates, {"model": models}),
    )
    provenance = {"settings": dict(settings)}
    CONCORDANCES.write(CONCORDANCES.frame(list(measure_concordances(rows))), concordances_output, provenance)
    AUROCS.write(AUROCS.frame(list(measure_aurocs(rows, settings))), aurocs_output, provenance)
    answers = pl.concat(ALIGNED_CLASSES.read(path).filter("right") for path in aligned)
    P_STARS.write(P_STARS.frame(list(measure_p_stars(answers, settings["source"]))), p_stars_output, provenance)


def join_estimates(uncertainties: pl.DataFrame, estimates: pl.DataFrame) -> pl.DataFrame:
    """Join UNCERTAINTIES and ESTIMATES by item; the column `answers` is `one` or `several`, an item's right answers."""
    rows = uncertainties.join(estimates, on=ESTIMATES.key, how="left", maintain_order="left", validate="m:1")
    return rows.with_columns(answers=pl.when(pl.col("n_answers") == 1).then(pl.lit("one")).otherwise(pl.lit("several")))


def select_common_items(rows: pl.DataFrame) -> pl.DataFrame:
    """The items that have all estimators, ignoring estimators that no item has."""
    return rows.drop_nulls([name for name in ESTIMATOR_TITLES if rows[name].null_count() < len(rows)])


def measure_concordances(rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield rows of CONCORDANCES from the rows of `join_estimates`, for each group of items and estimator.

    All estimators of a group are compared on the same items.
    """
    for group_columns, group_rows, common_items in _split_groups(rows, ("model", "benchmark", "source", "form")):
        for name in ESTIMATOR_TITLES:
            reason = _explain_missing(group_rows, name)
            result = {} if reason else measure_concordance(common_items[name], common_items["epistemic"])._asdict()
            yield group_columns | {"estimator": name, "reason": reason} | result


def measure_aurocs(rows: pl.DataFrame, settings: AmbiguityMeasureSettings) -> Iterator[dict[str, Any]]:
    """Yield rows of AUROCS from the rows of `join_estimates`, for each group of items, threshold and estimator.

    The uncertainty has the paper's form: the KL divergence of the model's p from the benchmark's own p*, the true
    distribution of the answers.
    """
    benchmark_rows = rows.filter(form=PAPER_FORM, source=settings["source"])
    for group_columns, group_rows, common_items in _split_groups(benchmark_rows, ("model", "benchmark")):
        for threshold, name in product(settings["thresholds"], ESTIMATOR_TITLES):
            least_uncertainty = math.log(threshold)
            reason = _explain_missing(group_rows, name)
            n_uncertain = (common_items["epistemic"] >= least_uncertainty).sum()
            row = {"threshold": threshold, "n_uncertain": n_uncertain, "estimator": name, "reason": reason}
            auroc = {}
            if not reason:
                auroc = measure_separation(common_items[name], common_items["epistemic"], least_uncertainty)._asdict()
            yield group_columns | row | auroc


def _split_groups(
    rows: pl.DataFrame, keys: Sequence[str]
) -> Iterator[tuple[dict[str, Any], pl.DataFrame, pl.DataFrame]]:
    """Yield for each group by `keys` and number of right answers (`one`, `several`) its columns and two sets of rows.

    The rows of `join_estimates` in the group, and of these the items that have all estimators.
    """
    for key_values, key_rows in rows.group_by(keys, maintain_order=True):
        key_columns = dict(zip(keys, key_values, strict=True))
        for answers in ANSWERS:
            group_rows = key_rows.filter(answers=answers)
            if len(group_rows):
                common_items = select_common_items(group_rows)
                yield key_columns | {"answers": answers, "n_items": len(common_items)}, group_rows, common_items


def _explain_missing(group_rows: pl.DataFrame, estimator: str) -> str | None:
    """Why no item has the estimator; None if at least one has it."""
    if group_rows[estimator].null_count() < len(group_rows):
        return None
    return str(group_rows[f"{estimator}_reason"].drop_nulls().mode().sort()[0])
