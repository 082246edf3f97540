"""Stage `pairs`: agreement of every two judges, per model and benchmark and overall."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, TypedDict

import polars as pl

from entropy_sentinel.schemas.estimate_schema import ESTIMATES
from entropy_sentinel.schemas.label_schema import LABELS
from entropy_sentinel.schemas.response_schema import ITEM, RESPONSE, SAMPLE
from entropy_sentinel.statistics.estimate_errors import evaluate_estimates
from entropy_sentinel.statistics.judge_agreement import clustered_sample_size, cohen_kappa, wilson_interval
from entropy_sentinel.study.analyses.agreement.measuring.agreement_frames import ERRORS, JUDGED, PAIRS
from entropy_sentinel.study.analyses.display_names import Groups, list_training_groups


class JudgeLabelsFile(TypedDict):
    """A file of labels, with its judge, model and benchmark."""

    judge: str
    model: str
    benchmark: str
    path: str


def write_pairs(files: Sequence[JudgeLabelsFile], judges: Sequence[str], output: str) -> None:
    """Compare `judges` by their labels in `files`."""
    labels = pl.concat([_read_labels(**file) for file in files])
    PAIRS.write(compare_judges(labels, judges), output, {"judges": list(judges)})


def _read_labels(judge: str, model: str, benchmark: str, path: str) -> pl.DataFrame:
    """The labels in a file, with the columns judge, model, benchmark, item_id, sample and label."""
    keys = {"judge": pl.lit(judge), "model": pl.lit(model), "benchmark": pl.lit(benchmark)}
    return LABELS.read(path, [*SAMPLE, "label"]).with_columns(**keys)


def compare_judges(labels: pl.DataFrame, judges: Sequence[str]) -> pl.DataFrame:
    """A frame of contract PAIRS: rows for every two judges by model and benchmark, then by model, then overall.

    `labels` has columns judge, model, benchmark, item_id, sample and label (null if a judge cannot decide).
    """
    rows = []
    for first, second in combinations(judges, 2):
        by_judge = [labels.filter(judge=judge).drop("judge") for judge in (first, second)]
        both = by_judge[0].join(by_judge[1], on=RESPONSE, how="full", coalesce=True, maintain_order="left_right")
        for keys, part in _split_parts(both):
            rows.append({"first": first, "second": second, **keys, **compare_labels(part)})
    return PAIRS.frame(rows)


def _split_parts(both: pl.DataFrame) -> Iterator[tuple[dict[str, str | None], pl.DataFrame]]:
    """Yield the rows by model and benchmark, by model, and all, with their `model` and `benchmark`; None for all."""
    for (model, benchmark), part in both.group_by("model", "benchmark", maintain_order=True):
        yield {"model": model, "benchmark": benchmark}, part
    for (model,), part in both.group_by("model", maintain_order=True):
        yield {"model": model, "benchmark": None}, part
    yield {"model": None, "benchmark": None}, both


def compare_labels(both: pl.DataFrame) -> dict[str, Any]:
    """Counts, agreement and kappa of two judges, as columns of PAIRS.

    Their labels are the columns `label` and `label_right` of `both`; null if a judge cannot decide. Intervals account
    for the similarity of several samples of one item.
    """
    first, second = both["label"], both["label_right"]
    both_correct = int((first & second).sum())
    first_correct = int((first & ~second).sum())
    second_correct = int((~first & second).sum())
    both_incorrect = int((~first & ~second).sum())
    n_pairs = both_correct + first_correct + second_correct + both_incorrect
    # Counts are scaled so that their sum is the effective number of pairs.
    scale = _count_independent(both) / n_pairs if n_pairs else 1
    agreement = wilson_interval((both_correct + both_incorrect) * scale, n_pairs * scale)
    chance_corrected = cohen_kappa(
        [[both_correct * scale, first_correct * scale], [second_correct * scale, both_incorrect * scale]]
    )
    return {
        "n_responses": len(first),
        "n_pairs": n_pairs,
        "n_both_correct": both_correct,
        "n_first_correct": first_correct,
        "n_second_correct": second_correct,
        "n_both_incorrect": both_incorrect,
        "n_first_null": int((first.is_null() & second.is_not_null()).sum()),
        "n_second_null": int((first.is_not_null() & second.is_null()).sum()),
        "n_both_null": int((first.is_null() & second.is_null()).sum()),
        "agreement": agreement.estimate,
        "agreement_lower": agreement.lower,
        "agreement_upper": agreement.upper,
        "kappa": chance_corrected.estimate,
        "kappa_lower": chance_corrected.lower,
        "kappa_upper": chance_corrected.upper,
        "reason": chance_corrected.reason,
    }


def _count_independent(both: pl.DataFrame) -> float:
    """The effective number of responses that both judges label; a cluster is a model's samples of one item."""
    judged = both.drop_nulls(["label", "label_right"])
    clusters = judged.select(pl.struct("model", *ITEM).rank("dense")).to_series()
    return clustered_sample_size(judged["label"] == judged["label_right"], clusters)


class EstimatesFile(TypedDict):
    """A file of estimates and the judge whose labels they were made from."""

    judge: str
    path: str


def write_judged(files: Sequence[EstimatesFile], groups: Groups, judged_output: str, errors_output: str) -> None:
    """Write the frames JUDGED and ERRORS for the named training groups, `groups`."""
    estimates = pl.concat(ESTIMATES.read(file["path"]).with_columns(judge=pl.lit(file["judge"])) for file in files)
    estimator_by_group = {group.group_id: group.estimator for group in list_training_groups(groups)}
    JUDGED.write(select_judged(estimates, estimator_by_group), judged_output, {})
    ERRORS.write(compute_errors(estimates, estimator_by_group), errors_output, {})


def select_judged(estimates: pl.DataFrame, estimator_by_group: Mapping[str, str]) -> pl.DataFrame:
    """A frame of contract JUDGED, from ESTIMATES with a column `judge`.

    `estimator_by_group` has the estimator that the config names for each training group, by the group's id.
    """
    is_group_estimator = pl.col("estimator") == pl.col("group").replace_strict(
        estimator_by_group, default=None, return_dtype=pl.String
    )
    return estimates.filter(is_group_estimator).select(JUDGED.schema.names())


def compute_errors(estimates: pl.DataFrame, estimator_by_group: Mapping[str, str]) -> pl.DataFrame:
    """A frame of contract ERRORS, from ESTIMATES with a column `judge`; `estimator_by_group` is by a group's id."""
    held_out = estimates.filter(pl.col("role") == "held_out", pl.col("group").is_in(list(estimator_by_group)))
    return ERRORS.frame(list(_list_error_rows(held_out, estimator_by_group)))


def _list_error_rows(held_out: pl.DataFrame, estimator_by_group: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the row of ERRORS of each judge, model and training group, over the domains that were held out.

    It has the errors of the group's estimator, and the estimator with the smallest mean absolute error (AEE).
    """
    for (judge, model, group), rows in held_out.group_by("judge", "model", "group", maintain_order=True):
        errors_by_estimator = {}
        for (name,), part in rows.group_by("estimator", maintain_order=True):
            estimated, true = part["estimated_on_labelled"].to_numpy(), part["true_accuracy"].to_numpy()
            errors_by_estimator[name] = evaluate_estimates(estimated, true)
        measured = {name: errors for name, errors in errors_by_estimator.items() if errors.aee is not None}
        best = min(measured, key=lambda name: (measured[name].aee, name), default=None)
        yield {
            "judge": judge,
            "model": model,
            "group": group,
            "estimator": estimator_by_group[group],
            **errors_by_estimator[estimator_by_group[group]]._asdict(),
            "best": best,
            "best_aee": None if best is None else measured[best].aee,
            "best_rho": None if best is None else measured[best].rho,
        }
