"""Sentences of a result without an estimator: what its accuracies rest on, and which slices have none, and why."""

import polars as pl

from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.formatting.text_format import format_count, format_list
from entropy_sentinel.monitor.labelling.label_proposal import FEWEST
from entropy_sentinel.monitor.labelling.monitor_witnesses import LEAST_SHARE
from entropy_sentinel.monitor.monitor_options import MODEL
from entropy_sentinel.monitor.monitor_result import MOST_SLICES, Monitored, name_slices
from entropy_sentinel.schemas.witness_schema import WitnessKind

_MOST_MODELS = 5
# From this share of drawn responses without a label on, a line says what accuracies then assume.
MANY_UNLABELLED = 0.1
# Why a witness is no estimate of a slice without labels.
_REASONS = {
    WitnessKind.VERDICT.value: "Verdicts alone do not count, because nothing shows how often the judge is wrong there.",
    WitnessKind.SECOND_OPINION.value: (
        "A second opinion counts only where most answers can be compared by their text, and where it was asked about a "
        "sample of the slice."
    ),
}


def describe_models(result: Monitored) -> list[str]:
    """A line about a log with several models that the slices do not tell apart."""
    models = result.provenance["models"]
    if len(models) < 2 or MODEL in result.by:
        return []
    names = [f"{name} ({n:,})" for name, n in models.items()]
    return [
        f"accuracies are over {len(models)} models together: {format_list(names, _MOST_MODELS)}. Use "
        f"{format_option('by', MODEL)} to tell them apart, or {format_option('where', f'{MODEL}=NAME')}"
    ]


def list_unlabelled_slices(result: Monitored) -> list[str]:
    """Lines about the slices, and about those of the newest window, that have no label, and what to do."""
    if result.has_estimates:
        return []
    lines = []
    unlabelled = result.slices.filter(pl.col("n_labelled") == 0, pl.col("use_accuracy").is_null())
    if len(unlabelled):
        by = "".join(f" --by {name}" for name in result.provenance["reading"]["by"])
        kinds = {witness["kind"] for witness in result.provenance["judge"] or ()}
        reasons = "".join(f" {reason}" for kind, reason in _REASONS.items() if kind in kinds)
        lines.append(
            f"no accuracy for {format_list(name_slices(result, unlabelled), MOST_SLICES, '; ')}: no labels.{reasons} "
            "Label at least "
            f"{FEWEST} responses of each: `sample LOGS{by}` chooses them"
        )
    if result.newest:
        lines += [*_unlabelled_now(result, unlabelled), *_unrepresented_now(result)]
    return lines


def _unrepresented_now(result: Monitored) -> list[str]:
    """A line about slices whose labels represent the whole time, but not the newest window."""
    by, window = list(result.by), result.provenance["window"]
    is_unrepresented = (pl.col("n_labelled") > 0) & pl.col("use_accuracy").is_null()
    always = result.slices.filter(is_unrepresented).select(by)
    rows = result.now.filter(is_unrepresented).join(always, on=by, how="anti", nulls_equal=True, maintain_order="left")
    if rows.is_empty():
        return []
    return [
        f"no accuracy of the newest {window} for "
        f"{format_list(name_slices(result, rows), MOST_SLICES, '; ')}: the labels "
        "represent "
        f"less than {LEAST_SHARE:.0%} of its responses; label more of them"
    ]


def describe_unlabelled_draws(result: Monitored) -> list[str]:
    """A line about drawn responses without a label, if they are many."""
    drawn = result.provenance.get("labels_drawn") or {"n": 0, "n_labelled": 0}
    n_without = drawn["n"] - drawn["n_labelled"]
    if n_without <= MANY_UNLABELLED * drawn["n"]:
        return []
    return [
        f"{n_without:,} of {format_count(drawn['n'], 'drawn response')} have no label ({n_without / drawn['n']:.0%}): "
        "accuracies assume that these are as often correct as the labelled ones. Label truncated and unreadable "
        "answers, too: false, if they did not help the user"
    ]


def _unlabelled_now(result: Monitored, unlabelled: pl.DataFrame) -> list[str]:
    """A line about slices with labels, but none of the newest window.

    `unlabelled` are the slices without any label, which other lines name.
    """
    by = list(result.by)
    rows = result.now.filter(pl.col("n_labelled") == 0, pl.col("use_accuracy").is_null())
    rows = rows.join(unlabelled.select(by), on=by, how="anti", nulls_equal=True, maintain_order="left")
    if rows.is_empty():
        return []
    limit = result.provenance["fail_below"]
    consequence = "" if limit is None else f", so {format_option('fail_below', limit)} did not check them"
    window = result.provenance["window"]
    return [
        f"no labels of the newest {window}, and of those pooled with it: "
        f"{format_list(name_slices(result, rows), MOST_SLICES, '; ')}{consequence}. Label some of these "
        "responses to see "
        "the "
        "accuracy now"
    ]
