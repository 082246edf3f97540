"""Labels on which the estimator was fitted: their responses keep no prediction that has seen the label."""

from collections.abc import Collection

import polars as pl

from entropy_sentinel.monitor.reading.problem_codes import ProblemKind
from entropy_sentinel.monitor.reading.problem_collection import Problems
from entropy_sentinel.monitor.summing.slice_sums import IS_TRAINING, P_OUT_OF_FOLD


def find_unpredicted_slices(labelled: pl.DataFrame) -> list[int]:
    """The slices with a labelled response that trained the estimator and has no prediction out of fold."""
    if labelled.is_empty():
        return []
    return labelled.filter(pl.col(IS_TRAINING) & pl.col(P_OUT_OF_FOLD).is_null())["slice"].unique().to_list()


def use_out_of_fold(responses: pl.DataFrame, unpredicted: Collection[int]) -> pl.DataFrame:
    """Responses with the predictions out of fold in `p`, where they trained the estimator.

    `unpredicted` are the numbers of the slices without any prediction out of fold. All their predictions become 0: they
    are constant, so they carry no information, and the estimate uses the labels only.
    """
    if responses.is_empty():
        return responses
    p = pl.coalesce(P_OUT_OF_FOLD, "p")
    return responses.with_columns(p=pl.when(pl.col("slice").is_in(list(unpredicted))).then(0.0).otherwise(p))


def note_training(problems: Problems, labelled: pl.DataFrame, has_record: bool) -> None:
    """Note the labels that may have trained an estimator without a record, and those without a prediction."""
    if labelled.is_empty():
        return
    if not has_record:
        problems.add(ProblemKind.TRAINING_UNKNOWN, count=len(labelled))
    elif unpredicted := find_unpredicted_slices(labelled):
        problems.add(ProblemKind.LABELS_TRAINED, count=int(labelled["slice"].is_in(unpredicted).sum()))
