"""Say what witnesses are worth as estimates: whether a partner is strong enough, and how far off it is on labels."""

from collections.abc import Mapping
from typing import Any

from entropy_sentinel.formatting.text_format import format_count, format_list
from entropy_sentinel.monitor.labelling.monitor_witnesses import LEAST_SHARE
from entropy_sentinel.monitor.labelling.witness_estimates import FEWEST_ASKED
from entropy_sentinel.monitor.monitor_options import FROM_WITNESSES
from entropy_sentinel.monitor.monitor_result import LABEL_COLUMN, MOST_SLICES, Monitored
from entropy_sentinel.schemas.witness_schema import WitnessKind
from entropy_sentinel.statistics.monitoring.partner_strength import ENOUGH, FEWEST, PartnerVerdict
from entropy_sentinel.statistics.monitoring.requested_slices import PRIOR


def describe_witnesses(result: Monitored) -> list[str]:
    """A line about each second opinion, and about each judge whose calibrated verdicts are an estimate."""
    if LABEL_COLUMN not in result.slices.columns:
        return []
    lines = []
    used = any(rows["rests_on"].is_in(FROM_WITNESSES).any() for rows in (result.slices, result.now))
    if used and result.provenance["general_flags"]:
        flags = ", ".join(f"'{flag}'" for flag in result.provenance["general_flags"])
        lines.append(f"{flags}: about the estimates, not about accuracies from a second opinion or a judge")
    used_names = {*result.slices["witness"].drop_nulls(), *result.now["witness"].drop_nulls()}
    matched = {about["name"] for about in result.provenance["witness_estimates"] if about["n_asked"]}
    for about in result.provenance["witness_estimates"]:
        if not about["n_asked"]:  # with several models, that of another model
            if about["name"] not in matched:
                rows = format_count(about["n_rows"], "response")
                lines.append(
                    f"{about['name']}: the logs have none of its {rows}; give answers to a sample of these logs"
                )
            continue
        name = f"{about['name']}, on {about['watched']}" if "watched" in about else about["name"]
        if about["kind"] == WitnessKind.SECOND_OPINION:
            lines.append(
                f"{name}: {_describe_partner(about['partner'])}{_describe_errors(about)}{_describe_comparable(about)}"
            )
        elif any(name.startswith(about["name"]) for name in used_names):
            lines.append(f"{name}: calibrated by the labels of other slices.{_describe_errors(about)}")
    return lines


def _describe_partner(partner: Mapping[str, Any]) -> str:
    """Whether a partner, the model that gives the second opinion, is strong enough, with the numbers that tell."""
    n, verdict = partner["n"], partner["verdict"]
    if partner["has_reference"]:
        what = (
            f"on {format_count(n, 'answer')} with a reference, it is right on {partner['at_least']:.2f} "
            "and the watched "
            f"model on {partner['accuracy']:.2f}."
        )
    elif partner["sensitivity"] is not None:
        what = (
            f"on {format_count(n, 'labelled answer')}, it is right on {partner['at_least']:.2f} to "
            f"{partner['at_most']:.2f} "
            f"and the watched model on {partner['accuracy']:.2f}; it agrees with {partner['sensitivity']:.2f} of the "
            "right answers."
        )
    else:
        what = ""
    if verdict == PartnerVerdict.STRONG:
        return f"strong enough: {what}"
    if verdict == PartnerVerdict.WEAK:
        return f"no estimate, because it seems weaker than the watched model: {what} Ask a stronger one."
    return (
        f"partner not checked{f': {what}' if what else '.'} Label answers that it has seen: {FEWEST} may show that it "
        f"is stronger, and {ENOUGH} decide."
    )


def _describe_errors(about: Mapping[str, Any]) -> str:
    """How far off a witness (judge or second model) is on labelled slices, beside the estimator and the plain mean.

    `about` is what `witness_support.describe_witness` returns.
    """
    if about["error"] is None:
        return f" No slice has enough labels to show its errors, so intervals assume errors of {PRIOR.scale:.2f}."
    comparisons = []
    if about["estimator_error"] is not None:
        comparisons.append(f"the estimator by {about['estimator_error']:.2f}")
    if about["mean_error"] is not None:
        comparisons.append(f"the mean of the other slices by {about['mean_error']:.2f}")
    beside = f" ({', '.join(comparisons)})" if comparisons else ""
    return (
        f" As an estimate it is off by {about['error']:.2f} on "
        f"{format_count(about['n_slices'], 'labelled slice')}{beside}."
    )


def _describe_comparable(about: Mapping[str, Any]) -> str:
    """In which slices the answers cannot be compared, or do not represent the slice."""
    line = ""
    if about["kind"] == WitnessKind.SECOND_OPINION and not about["says_comparable"]:
        return " Its file has no column 'comparable', so no slice counts as comparable; `judge` writes this column."
    if about["n_estimable"] != about["n_slices_asked"]:
        line = (
            f" It can be an estimate of {about['n_estimable']} of "
            f"{format_count(about['n_slices_asked'], 'slice')}: in the "
            "others, most answers cannot be compared by their texts."
        )
    if about["partial"]:
        line += (
            f" Its answers are fewer than {FEWEST_ASKED}, or about less than {LEAST_SHARE:.0%} of the responses, in "
            f"{format_list(about['partial'], MOST_SLICES, '; ')}; they do not count as an estimate. Ask "
            "about more there."
        )
    return line
