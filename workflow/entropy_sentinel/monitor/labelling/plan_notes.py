"""What the labels of a first sample are good for, in sentences: before anybody has labelled."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import polars as pl

from entropy_sentinel.api.domains import advise_domains, count_domains, find_domain_columns
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.estimators.verdict import FEWEST_LABELS
from entropy_sentinel.formatting.text_format import format_count, format_list
from entropy_sentinel.monitor.labelling.cold_start_allocation import (
    LABELS_A_SLICE,
    Allocation,
    compute_usable_chance,
    count_domain_verdicts,
    is_fittable,
)
from entropy_sentinel.monitor.labelling.judge_budget import JudgeBudget
from entropy_sentinel.monitor.labelling.sample_table import Purpose, name_slice_columns
from entropy_sentinel.monitor.labelling.usable_probability import (
    LABELS_WITH_JUDGE,
    NEGLIGIBLE,
    PROBABLE,
    TYPICAL_ERROR,
    VERDICTS,
    JudgeQuality,
    LabelCount,
    compute_prospects,
    labels_for_usable,
)
from entropy_sentinel.monitor.monitor_options import SampleOptions

# Values that a note names.
_MOST_VALUES = 10
# From this probability of `usable` on, labels are better spent on a validated estimator.
_EVEN = 0.5
# What the labels give a `fit` whose validation is not likely to be `usable`.
_FIT_INSTEAD = {
    Purpose.WATCH: ", but can watch for drops between labels",
    Purpose.VALIDATE: f" at a mean error of {TYPICAL_ERROR:.2f}; no other choice of slices makes it larger",
}
# Intervals this wide tell little.
_WIDE = 0.5


def make_quality(options: SampleOptions) -> JudgeQuality:
    """The judge's sensitivity and specificity."""
    return JudgeQuality(options.judge_sensitivity, options.judge_specificity)


class _Domains(NamedTuple):
    """The slices with enough labels to count as domains of a validation: their number, and the fewest of each."""

    n: int
    labels: int
    verdicts: int


def _count_domains(slices: pl.DataFrame, judge: JudgeBudget | None, has_judge: bool) -> _Domains:
    """The slices with enough labels to count as domains, with a judge or without; zeros if there are none.

    Their verdicts are those that `judge`, a budget, pays for; as many as are useful if it is null.
    """
    enough = slices.filter(pl.col("n_to_label") >= (LABELS_WITH_JUDGE[0] if has_judge else FEWEST_LABELS))
    if enough.is_empty():
        return _Domains(0, 0, 0)
    labels, responses = (int(enough[name].to_numpy().min()) for name in ("n_to_label", "n_responses"))
    return _Domains(len(enough), labels, count_domain_verdicts(len(enough), responses, judge) if has_judge else 0)


def expect_validation(slices: pl.DataFrame, options: SampleOptions, judge: JudgeBudget | None) -> pl.DataFrame | None:
    """The probabilities of `usable` with these labels, and with other numbers of slices; null without a chance.

    In brackets they are with a judge, also if none is planned.
    """
    domains = _count_domains(slices, judge, has_judge=judge is not None)
    if not domains.n:
        return None
    verdicts = _count_domains(slices, judge, has_judge=True).verdicts
    return compute_prospects(domains.n, domains.labels, options.budget, make_quality(options), verdicts)


def describe_plan(
    plan: Allocation,
    rows: pl.DataFrame,
    widths: Mapping[str, pl.Series],
    options: SampleOptions,
    judge: JudgeBudget | None,
) -> Iterator[str]:
    """Yield what the budget is better spent on, what `usable` would take, and what is left out and what to do."""
    yield _compare_purposes(plan, widths, options, judge, is_fittable(rows))
    if rows["reason"].is_null().any():
        yield _describe_usable_labels(options)
    yield from _describe_left_out(plan, options)
    if plan.purpose is Purpose.WATCH:
        if not is_fittable(rows):
            yield _explain_unfittable(rows)
        yield from _suggest_domains(rows, plan, options)


def _compare_purposes(
    plan: Allocation,
    widths: Mapping[str, pl.Series],
    options: SampleOptions,
    judge: JudgeBudget | None,
    can_fit: bool,
) -> str:
    """On what the budget is better spent: knowing these slices now, or a validated estimator; and how likely each is.

    `widths` are the expected ones of the slices' intervals (`expect_widths`).
    """
    quality = make_quality(options)
    chance = compute_usable_chance(*_count_domains(plan.slices, judge, judge is not None), quality)
    if chance >= _EVEN:
        return (
            f"Best use of this budget: a validated estimator. With these labels{' and verdicts' if judge else ''}, "
            f"`fit` ends in `usable` with a probability of {chance:.0%} if its mean error is {TYPICAL_ERROR:.2f}; it "
            "then estimates new slices without labels. The labels also show the accuracies of these slices"
        )
    alone = _format_half_width(widths["width_labels_alone"], "from labels alone")
    name = "with the judge" if judge is not None else f"with a judge ({format_option('judge_usd')})"
    ways = ", ".join(filter(None, (alone, _format_half_width(widths["width_with_judge"], name))))
    too_few = ""
    if _find_largest(widths["width_labels_alone"]) >= _WIDE:
        too_few = f". That is little: name a column with fewer values ({format_option('by')}), or label more"
    widths_now = (
        f"Best use of this budget: know {'these slices' if len(plan.slices) > 1 else 'this slice'} now, with "
        f"accuracies within {ways}{too_few}"
    )
    if not can_fit:
        return widths_now
    likely = f"{chance:.0%}" if chance >= NEGLIGIBLE else f"under {NEGLIGIBLE:.0%}"
    if judge is None:
        with_judge = compute_usable_chance(*_count_domains(plan.slices, None, has_judge=True), quality)
        likely += f" ({with_judge:.0%} with a judge)" if with_judge >= max(NEGLIGIBLE, chance + 0.01) else ""
    instead = _FIT_INSTEAD[plan.purpose]
    return f"{widths_now}. A `fit` on these labels ends in `usable` with a probability of {likely}{instead}"


def _format_half_width(widths: pl.Series, way: str) -> str:
    """The largest half width of the intervals as text; empty if there is none."""
    largest = _find_largest(widths)
    return f"about ±{largest / 2:.2f} {way}" if largest else ""


def _find_largest(widths: pl.Series) -> float:
    """The largest of the widths that are not null; 0 if there is none."""
    return float(widths.drop_nulls().to_numpy().max(initial=0.0))


def _describe_usable_labels(options: SampleOptions) -> str:
    """How many labels the verdict `usable` needs, with this judge and without."""
    quality = make_quality(options)
    rates = f"a judge of sensitivity {quality.sensitivity:g} and specificity {quality.specificity:g}"
    with_judge, alone = (_format_count(labels_for_usable(TYPICAL_ERROR, judge)) for judge in (quality, None))
    return (
        f"What `usable` takes (probability {PROBABLE:.0%}, mean error {TYPICAL_ERROR:.2f}, a single validation): "
        f"{alone}; or {with_judge} and {VERDICTS} verdicts per domain by {rates} (`fit --judged`)"
    )


def _format_count(count: LabelCount | None) -> str:
    """Numbers of labels as text; null if even the most that were simulated are not enough."""
    if count is None:
        return "more labels than were simulated"
    return f"about {count.total:,} labels ({count.labels} in each of {count.domains} domains)"


def _describe_left_out(plan: Allocation, options: SampleOptions) -> Iterator[str]:
    """Yield the values that get no labels, why, and what to do; nothing if every value gets some."""
    by = name_slice_columns(options.by)
    if not by:
        return
    rest = plan.sizes.join(plan.slices.select(*by), on=list(by), how="anti", nulls_equal=True, maintain_order="left")
    few = rest.filter(pl.col("n_responses") < plan.fewest)
    unaffordable = rest.filter(pl.col("n_responses") >= plan.fewest)
    if len(few):
        yield (
            f"not sampled (fewer than {plan.fewest} responses): {_format_values(few, by)}. Give logs of a longer "
            "time, or a "
            "column that has these values as one"
        )
    if len(unaffordable) and plan.purpose is Purpose.WATCH:
        least = LABELS_A_SLICE if options.per_slice is None else options.per_slice
        needed = int(
            np.minimum(plan.sizes["n_responses"].to_numpy(), least)[: len(plan.slices) + len(unaffordable)].sum()
        )
        yield (
            f"not sampled (beyond the budget): {_format_values(unaffordable, by)}. {options.budget:,} labels are "
            f"{least} for each "
            f"of {format_count(len(plan.slices), 'value')} of {', '.join(options.by)}; name a column with fewer values "
            f"({format_option('by')}), or raise the budget: {format_option('budget', needed)} is enough for all"
        )
    elif len(unaffordable):
        yield (
            f"not sampled (including more would leave too few labels for each): {_format_values(unaffordable, by)}. "
            "To know these "
            f"slices too, use {format_option('per_slice', LABELS_A_SLICE)}"
        )


def _format_values(sizes: pl.DataFrame, by: Mapping[str, str]) -> str:
    """The first values of `sizes` with their numbers of responses."""
    names = []
    for row in sizes.iter_rows(named=True):
        value = "/".join("-" if row[name] is None else str(row[name]) for name in by)
        names.append(f"{value} ({row['n_responses']:,})")
    return format_list(names, _MOST_VALUES)


def _explain_unfittable(rows: pl.DataFrame) -> str:
    """Why no estimator can be fitted on all these responses."""
    if not rows["reason"].is_null().any():
        return (
            "these responses have no log-probabilities: labels and a judge tell the accuracies, but no estimator can "
            "be fitted, and drops are seen only in new labels"
        )
    models = rows["model"].n_unique()
    why = format_count(models, "model") if models > 1 else "several kinds of log-probabilities"
    one = format_option("where", "model=NAME", function="read_features")
    return f"these responses are of {why}, and an estimator is for one: `fit` needs {one}"


def _suggest_domains(rows: pl.DataFrame, plan: Allocation, options: SampleOptions) -> Iterator[str]:
    """Yield the columns with more domains than these, as far as there are any."""
    n_now = count_domains(rows, list(name_slice_columns(options.by))) if options.by else 1
    columns = find_domain_columns(rows.drop(*name_slice_columns(options.by)), options.by, n_now)
    if columns:
        yield f"for a validated estimator, or for more slices: {advise_domains(columns, 'by')}"
